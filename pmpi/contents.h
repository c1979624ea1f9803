/*
 * contents.h - the arguments of the call that made a datatype. For flatten.c only.
 */
#ifndef ORIEL_PMPI_CONTENTS_H
#define ORIEL_PMPI_CONTENTS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Counts and displacements in the order of the constructor's arguments, whichever
 * of its variants (int, MPI_Aint, MPI_Count) was called. */
struct oriel_contents {
    int combiner;
    size_t n_args, n_types;
    int64_t *args;       /* owned */
    MPI_Datatype *types; /* owned, and so is each type that is not predefined */
};

/* Returns 0; -EIO when the library refuses; -ENOMEM. */
int oriel_contents_read(MPI_Datatype type, struct oriel_contents *out);
void oriel_contents_fini(struct oriel_contents *contents);

/* The combiner that made a type: MPI_COMBINER_NAMED for predefined ones. Returns 0;
 * -EIO. */
int oriel_contents_combiner(MPI_Datatype type, int *out);

#endif
