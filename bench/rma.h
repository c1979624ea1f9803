/*
 * rma.h - MPI windows for the bench, natively and through whatever is preloaded.
 *
 * "Native in the same run" means the PMPI_* names: what the program would call if
 * no layer were there, without a layer's instructions around it. A window made by
 * PMPI_Win_create is one that the layer never heard of.
 */
#ifndef BENCH_RMA_H
#define BENCH_RMA_H

#include "bench/bare.h"
#include "bench/options.h"

#include <mpi.h>

/* Rank 0 reads, rank 1 is read. */
enum { BENCH_READER = 0, BENCH_TARGET = 1, BENCH_RANKS = 2 };

struct bench_api { /* the functions of one entry into the library */
    const char *name;
    int (*alloc_mem)(MPI_Aint, MPI_Info, void *);
    int (*free_mem)(void *);
    int (*win_create)(void *, MPI_Aint, int, MPI_Info, MPI_Comm, MPI_Win *);
    int (*win_allocate)(MPI_Aint, int, MPI_Info, MPI_Comm, void *, MPI_Win *);
    int (*win_free)(MPI_Win *);
    int (*lock)(int, int, int, MPI_Win);
    int (*unlock)(int, MPI_Win);
    int (*lock_all)(int, MPI_Win);
    int (*unlock_all)(MPI_Win);
    int (*flush)(int, MPI_Win);
    int (*get)(void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win);
};
extern const struct bench_api bench_api_mpi;    /* MPI_*: Oriel, if it is loaded */
extern const struct bench_api bench_api_native; /* PMPI_* */

struct bench_window {
    const struct bench_api *api; /* not owned */
    MPI_Win win;
    void *base; /* of this rank's part; owned if `own` */
    bool own;
};

/* The info of a window as the options say; MPI_INFO_NULL for --offload none. The
 * caller frees it. */
MPI_Info bench_info_create(const struct bench_options *options);

/* Collective. A window of options->kind over `bytes` that hold the pattern; for
 * "create" they are at `memory`, the caller's. */
void bench_window_create(const struct bench_api *api,
                         const struct bench_options *options, MPI_Info info,
                         void *memory, size_t bytes, struct bench_window *out);
void bench_window_destroy(struct bench_window *window);

/* What the window's info says under a key; "" if nothing. Valid until the next
 * call. */
const char *bench_window_info(const struct bench_window *window, const char *key);

/* Where the target's part of a window is, for bare reads of the same bytes. */
struct bench_peer {
    pid_t pid;
    const void *base; /* there */
    struct bench_place place;
};
/* Collective: the target tells the reader. */
struct bench_peer bench_peer_exchange(const struct bench_window *window, size_t bytes);

/* The tests; collective. Each returns the Gets that rank 0 made by MPI_Get. */
uint64_t bench_get_latency(const struct bench_options *options, int rank);
uint64_t bench_get_strided(const struct bench_options *options, int rank);
uint64_t bench_win_create(const struct bench_options *options, int rank);
uint64_t bench_get_fabric(const struct bench_options *options, int rank);
uint64_t bench_get_together(const struct bench_options *options, int rank);
uint64_t bench_get_first(const struct bench_options *options, int rank);
uint64_t bench_get_busy(const struct bench_options *options, int rank);
uint64_t bench_idle(const struct bench_options *options, int rank);
uint64_t bench_overhead(const struct bench_options *options, int rank);

#endif
