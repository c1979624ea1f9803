/*
 * create.h - making a window that may be redirected.
 */
#ifndef ORIEL_PMPI_CREATE_H
#define ORIEL_PMPI_CREATE_H

#include "pmpi/layer.h"

/* One call of MPI_Win_create or MPI_Win_allocate, in either count size. */
struct oriel_request {
    enum oriel_window_kind kind;
    void *base;     /* MPI_Win_create */
    void *base_out; /* MPI_Win_allocate: where the address goes, a void ** */
    MPI_Aint bytes, unit;
    MPI_Info info;
    MPI_Comm comm;
    /* The native call with these arguments; and MPI_Win_create of base. */
    int (*native)(const struct oriel_request *request, MPI_Win *win);
    int (*native_on_memory)(const struct oriel_request *request, MPI_Win *win);
};

/* Collective over request->comm. Returns an MPI error code. */
int oriel_window_make(const struct oriel_request *request, MPI_Win *win);

/* ---- wish.c: what the program's info keys and the rules say ---------------------- */

/* Of this window. Disabled: nothing is wanted. */
struct oriel_wish oriel_wish_find(MPI_Info info, uint64_t index, uint64_t bytes);
/* Is the key there, and "true"? */
bool oriel_info_true(MPI_Info info, const char *key);
/* Does MPI_Win_allocate's info ask for something that only native memory can give? */
bool oriel_info_native_memory(MPI_Info info);

/* Put a made window into the table and the list; opens the gate. */
void oriel_windows_add(struct oriel_mpi_window *mine);

/* Give back memory of a taken-over window. */
void oriel_memory_put(void *base);

#endif
