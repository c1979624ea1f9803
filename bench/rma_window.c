/*
 * rma_window.c - the two entries into the library, and windows made by either.
 */
#include "bench/rma.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

const struct bench_api bench_api_mpi = {
    .name = "mpi",
    .alloc_mem = MPI_Alloc_mem,
    .free_mem = MPI_Free_mem,
    .win_create = MPI_Win_create,
    .win_allocate = MPI_Win_allocate,
    .win_free = MPI_Win_free,
    .lock = MPI_Win_lock,
    .unlock = MPI_Win_unlock,
    .lock_all = MPI_Win_lock_all,
    .unlock_all = MPI_Win_unlock_all,
    .flush = MPI_Win_flush,
    .get = MPI_Get,
};

const struct bench_api bench_api_native = {
    .name = "native",
    .alloc_mem = PMPI_Alloc_mem,
    .free_mem = PMPI_Free_mem,
    .win_create = PMPI_Win_create,
    .win_allocate = PMPI_Win_allocate,
    .win_free = PMPI_Win_free,
    .lock = PMPI_Win_lock,
    .unlock = PMPI_Win_unlock,
    .lock_all = PMPI_Win_lock_all,
    .unlock_all = PMPI_Win_unlock_all,
    .flush = PMPI_Win_flush,
    .get = PMPI_Get,
};

MPI_Info bench_info_create(const struct bench_options *options)
{
    MPI_Info info = MPI_INFO_NULL;
    if (strcmp(options->offload, "none") == 0) return info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "oriel_offload", options->offload);
    MPI_Info_set(info, "oriel_access", options->access);
    return info;
}

/* The target's bytes change before the first epoch of the reader, under a lock
 * that orders the stores for either memory model. */
static void fill(struct bench_window *window, size_t bytes)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    window->api->lock(MPI_LOCK_EXCLUSIVE, rank, 0, window->win);
    bench_pattern_fill(window->base, bytes);
    window->api->unlock(rank, window->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

void bench_window_create(const struct bench_api *api,
                         const struct bench_options *options, MPI_Info info,
                         void *memory, size_t bytes, struct bench_window *out)
{
    struct bench_window window = {.api = api, .base = memory};
    if (strcmp(options->kind, "allocate") == 0) {
        api->win_allocate((MPI_Aint)bytes, 1, info, MPI_COMM_WORLD, &window.base,
                          &window.win);
    } else {
        if (strcmp(options->kind, "alloc_mem") == 0) {
            api->alloc_mem((MPI_Aint)bytes, info, &window.base);
            window.own = true;
        }
        api->win_create(window.base, (MPI_Aint)bytes, 1, info, MPI_COMM_WORLD,
                        &window.win);
    }
    fill(&window, bytes);
    *out = window;
}

void bench_window_destroy(struct bench_window *window)
{
    window->api->win_free(&window->win);
    if (window->own) window->api->free_mem(window->base);
}

const char *bench_window_info(const struct bench_window *window, const char *key)
{
    static char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int found = 0;
    if (window->api == &bench_api_mpi) {
        MPI_Win_get_info(window->win, &info);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
        MPI_Info_free(&info);
    }
    return found ? value : "";
}

struct bench_peer bench_peer_exchange(const struct bench_window *window, size_t bytes)
{
    struct bench_peer peer = {
        .pid = getpid(),
        .base = window->base,
        .place = bench_place_of(window->base, bytes),
    };
    MPI_Bcast(&peer, (int)sizeof peer, MPI_BYTE, BENCH_TARGET, MPI_COMM_WORLD);
    return peer;
}
