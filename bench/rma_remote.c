#include "bench/rma_remote.h"
#include "bench/row.h"

#include <stdlib.h>
#include <string.h>

static void lock(struct bench_window *window)
{
    window->api->lock_all(0, window->win);
}

/* The target's memory by the library alone. */
static void open_bare(struct bench_remote *remote, int rank)
{
    const struct bench_options *options = remote->options;
    struct bench_card card = {0};
    if (!options->bare) return;
    if (rank == BENCH_TARGET)
        remote->server =
            bench_server_create(options->bare, remote->memory, remote->most, &card);
    PMPI_Bcast(&card, (int)sizeof card, MPI_BYTE, BENCH_TARGET, MPI_COMM_WORLD);
    if (rank != BENCH_READER) return;
    bench_link_open(&remote->link, options->bare, &card);
    bench_note_print(options->json, "bare", card.provider);
}

void bench_remote_open(struct bench_remote *remote, const struct bench_options *options,
                       int rank, size_t most)
{
    *remote = (struct bench_remote){.options = options, .most = most};
    if (most > INT32_MAX) bench_die("%zu bytes are more than an int holds", most);
    remote->memory = aligned_alloc(64, (most + 63) / 64 * 64);
    remote->here = aligned_alloc(64, (most + 63) / 64 * 64);
    if (!remote->memory || !remote->here) bench_die("out of memory");
    bench_pattern_fill(remote->memory, most);
    MPI_Info info = bench_info_create(options);
    bench_window_create(&bench_api_mpi, options, info, remote->memory, most,
                        &remote->mpi);
    bench_window_create(&bench_api_native, options, MPI_INFO_NULL, remote->memory, most,
                        &remote->native);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    bench_target_open(&remote->target);
    open_bare(remote, rank);
    if (rank == BENCH_TARGET) {
        bench_target_obey(&remote->target);
        return;
    }
    lock(&remote->native);
    lock(&remote->mpi);
}

uint64_t bench_remote_warm(struct bench_remote *remote)
{
    struct bench_reads reads = {
        .remote = remote, .window = &remote->mpi, .target = BENCH_POLLS, .bytes = 1};
    bench_reads_check(&reads, "mpi", bench_reads_run, 1);
    return reads.calls;
}

void bench_remote_close(struct bench_remote *remote, int rank)
{
    if (rank == BENCH_READER) {
        bench_target_tell(&remote->target, BENCH_POLLS);
        remote->mpi.api->unlock_all(remote->mpi.win);
        remote->native.api->unlock_all(remote->native.win);
        bench_link_close(&remote->link);
        bench_target_tell(&remote->target, BENCH_ENDS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    bench_server_destroy(remote->server);
    bench_target_close(&remote->target);
    bench_window_destroy(&remote->native);
    bench_window_destroy(&remote->mpi);
    free(remote->memory);
    free(remote->here);
}

void bench_reads_run(void *context, uint64_t n)
{
    struct bench_reads *reads = context;
    struct bench_remote *remote = reads->remote;
    bench_target_tell(&remote->target, reads->target);
    reads->calls += n;
    if (!reads->window) {
        remote->link.local = remote->here;
        remote->link.bytes = reads->bytes;
        bench_link_run(&remote->link, n);
        return;
    }
    const struct bench_api *api = reads->window->api;
    int bytes = (int)reads->bytes;
    for (uint64_t i = 0; i < n; ++i) {
        api->get(remote->here, bytes, MPI_BYTE, BENCH_TARGET, 0, bytes, MPI_BYTE,
                 reads->window->win);
        api->flush(BENCH_TARGET, reads->window->win);
    }
}

void bench_reads_together(void *context, uint64_t n)
{
    struct bench_reads *reads = context;
    struct bench_remote *remote = reads->remote;
    bench_target_tell(&remote->target, reads->target);
    reads->calls += n;
    if (!reads->window) {
        remote->link.local = remote->here;
        remote->link.bytes = reads->bytes;
        remote->link.stride = reads->stride;
        bench_link_together(&remote->link, n);
        return;
    }
    const struct bench_api *api = reads->window->api;
    int bytes = (int)reads->bytes;
    for (uint64_t i = 0; i < n; ++i)
        api->get(remote->here + i * reads->stride, bytes, MPI_BYTE, BENCH_TARGET,
                 (MPI_Aint)(i * reads->stride), bytes, MPI_BYTE, reads->window->win);
    api->flush(BENCH_TARGET, reads->window->win);
}

void bench_reads_check(struct bench_reads *reads, const char *name,
                       void (*run)(void *, uint64_t), uint64_t n)
{
    char *here = reads->remote->here;
    memset(here, 0, reads->remote->most);
    run(reads, n);
    for (uint64_t i = 0; i < n; ++i) {
        size_t at = i * reads->stride;
        size_t right = bench_pattern_check(here + at, reads->bytes, at);
        if (right != reads->bytes)
            bench_die("way '%s' read a wrong byte at %zu of read %d", name, right,
                      (int)i);
        if (!reads->stride) break;
    }
}
