#define _GNU_SOURCE
#include "pmpi/rows.h"

#include <limits.h>
#include <stdlib.h>

/* Blobs that do not fit into rows follow by themselves. All ranks have all rows, so
 * they agree whether there are any. */
int oriel_rows_finish(struct oriel_rows *rows, const unsigned char *mine, MPI_Comm comm)
{
    size_t total = 0;
    for (int i = 0; i < rows->n; i++) {
        rows->row[i].blobs_at = (uint32_t)total;
        total += oriel_row_long_bytes(&rows->row[i]);
    }
    if (!total || total > INT_MAX) return MPI_SUCCESS; /* too long: unreachable */
    int *bytes = calloc((size_t)rows->n, sizeof *bytes);
    int *at = calloc((size_t)rows->n, sizeof *at);
    rows->long_blobs = malloc(total);
    if (!bytes || !at || !rows->long_blobs) {
        free(bytes);
        free(at);
        native.Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < rows->n; i++) {
        bytes[i] = (int)oriel_row_long_bytes(&rows->row[i]);
        at[i] = (int)rows->row[i].blobs_at;
    }
    int error = native.Allgatherv(mine, bytes[rows->self], MPI_BYTE, rows->long_blobs,
                                  bytes, at, MPI_BYTE, comm);
    free(at);
    free(bytes);
    return error;
}

void oriel_rows_free(struct oriel_rows *rows)
{
    free(rows->long_blobs);
    free(rows->row);
}
