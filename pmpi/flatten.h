/*
 * flatten.h - how a derived datatype was built, read back from the MPI library and
 * turned into pieces. For datatype.c only.
 */
#ifndef ORIEL_PMPI_FLATTEN_H
#define ORIEL_PMPI_FLATTEN_H

#include "core/span.h"

#include <mpi.h>

/* More pieces than this go native: the list alone would be 16 MiB. */
enum { ORIEL_FLATTEN_PIECES = 1 << 20 };

/* What the library says of a type; it has the last word. */
struct oriel_measure {
    int64_t bytes; /* MPI_Type_size */
    int64_t lb, extent;
    int64_t true_lb, true_extent;
};
/* Returns 0; -EIO when the library refuses. */
int oriel_measure_type(MPI_Datatype type, struct oriel_measure *out);

/* A flattened type. */
struct oriel_flat {
    struct oriel_piece_list list;
    uint64_t bytes;    /* sum of the pieces */
    int64_t low, high; /* bounds of the pieces; 0 and 0 for none */
    int64_t lb, ub;    /* MPI's bounds: elements are ub - lb apart */
};

/* Flatten a valid derived type, committed or not. *out is the caller's to free with
 * oriel_pieces_fini(&out->list).
 * Returns 0; -ENOTSUP for what Oriel does not flatten (distributed arrays, members
 * without bytes to copy such as MPI_LB); -E2BIG, -EOVERFLOW; -EIO when the outcome
 * differs from what the library says; -ENOMEM, which may be otherwise next time.
 * Threads: any; calls MPI, so no lock may be held that an MPI callback takes. */
int oriel_flatten(MPI_Datatype type, struct oriel_flat *out);

/* From datatype.c: true when type is one of the predefined types; *out is then its
 * layout, NULL for one that has no bytes to copy. */
bool oriel_datatype_basic(MPI_Datatype type, const struct oriel_layout **out);

#endif
