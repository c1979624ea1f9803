/*
 * rows.h - what the ranks exchange about one window.
 */
#ifndef ORIEL_PMPI_ROWS_H
#define ORIEL_PMPI_ROWS_H

#include "pmpi/layer.h"

struct oriel_rows {
    int n, self;
    struct oriel_row *row;     /* n */
    unsigned char *long_blobs; /* of the rows that do not hold their own, or NULL */
};

/* Collective, when all rows are known: exchange the blobs that do not fit into them.
 * mine: this rank's. Returns an MPI error code. */
int oriel_rows_finish(struct oriel_rows *rows, const unsigned char *mine,
                      MPI_Comm comm);
void oriel_rows_free(struct oriel_rows *rows);

#endif
