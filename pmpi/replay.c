#define _GNU_SOURCE
#include "pmpi/layer.h"

#include <limits.h>

enum { PART = 1 << 30 }; /* bytes of one native read: its count is an int */

/* Bytes at an offset that need not be a multiple of the target's displacement unit. */
static int read_at(MPI_Win win, void *local, int bytes, int target, uint64_t offset,
                   uint32_t unit)
{
    MPI_Aint displacement = (MPI_Aint)(offset / unit), rest = (MPI_Aint)(offset % unit);
    MPI_Datatype type;
    if (!rest)
        return native.Get(local, bytes, MPI_BYTE, target, displacement, bytes, MPI_BYTE,
                          win);
    int error = native.Type_create_hindexed(1, &bytes, &rest, MPI_BYTE, &type);
    if (error) return error;
    error = native.Type_commit(&type);
    if (!error)
        error = native.Get(local, bytes, MPI_BYTE, target, displacement, 1, type, win);
    native.Type_free(&type);
    return error;
}

int oriel_replay_native(struct oriel_window *window, int target,
                        const struct oriel_span *spans, size_t n)
{
    MPI_Win win = oriel_mpi_window(window)->handle;
    int error = oriel_sync_native(window, target);
    for (size_t i = 0; i < n && !error; i++)
        for (size_t at = 0; at < spans[i].bytes && !error; at += PART) {
            size_t left = spans[i].bytes - at;
            error = read_at(win, (char *)spans[i].local + at,
                            (int)(left < PART ? left : PART), target,
                            spans[i].offset + at, window->targets[target].disp_unit);
        }
    return error;
}
