/*
 * oriel_mpi.h - what an MPI program may say to Oriel, and ask it.
 *
 * A program that uses these names still runs where Oriel is not loaded: MPI libraries
 * ignore info keys that they do not know, and oriel_mpi_counter can be looked up with
 * dlsym(RTLD_DEFAULT, "oriel_mpi_counter").
 */
#ifndef ORIEL_MPI_H
#define ORIEL_MPI_H

#include <mpi.h>
#include <stdint.h>

/* Info keys for MPI_Win_create, MPI_Win_allocate and MPI_Alloc_mem. */
#define ORIEL_KEY_OFFLOAD "oriel_offload" /* "true", "false", or engines: "node" */
#define ORIEL_KEY_ACCESS "oriel_access"   /* "general", "fenced", "immutable" */
/* Shown by MPI_Win_get_info: the engines that serve the window, joined by '+'. */
#define ORIEL_KEY_ENGINE "oriel_engine"

#ifdef __cplusplus
extern "C" {
#endif

/* One counter of a window, of this process's own calls since its creation.
 *
 *   win   a window
 *   name  "gets", "redirected", "native", "bytes" (data bytes of redirected reads),
 *         a path ("self", "mapped", "cma") or a reason ("dirty", "no-epoch", ...)
 *   out   untouched on failure
 * Returns 0; -1 where Oriel does not serve the window or knows no such counter
 * Threads any
 */
int oriel_mpi_counter(MPI_Win win, const char *name, uint64_t *out);

#ifdef __cplusplus
}
#endif

#endif
