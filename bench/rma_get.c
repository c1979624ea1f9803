/*
 * rma_get.c - get_latency and get_strided: one read with its completion.
 *
 * Ways: "mpi", what the program gets; "native", the MPI library alone; "bare", the
 * same bytes by the system call or copy with nothing around it. All ways of a row
 * write to the same local buffer, and on created windows all read the same memory.
 */
#include "bench/rma.h"
#include "bench/row.h"

#include <stdlib.h>
#include <string.h>

enum { ELEMENT = 8, STRIDE = 64 }; /* of get_strided, in bytes */

struct reader { /* one way of reading by MPI */
    struct bench_window window;
    int (*get)(void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win);
    int assertion;
    int count; /* bytes at the origin */
    int target_count;
    MPI_Datatype target_type;
    void *local;
    uint64_t calls;
};

static void run_flush(void *context, uint64_t n)
{
    struct reader *reader = context;
    const struct bench_api *api = reader->window.api;
    MPI_Win win = reader->window.win;
    for (uint64_t i = 0; i < n; ++i) {
        api->get(reader->local, reader->count, MPI_BYTE, BENCH_TARGET, 0,
                 reader->target_count, reader->target_type, win);
        api->flush(BENCH_TARGET, win);
    }
    reader->calls += n;
}

static void run_lock(void *context, uint64_t n)
{
    struct reader *reader = context;
    const struct bench_api *api = reader->window.api;
    MPI_Win win = reader->window.win;
    for (uint64_t i = 0; i < n; ++i) {
        api->lock(MPI_LOCK_SHARED, BENCH_TARGET, reader->assertion, win);
        api->get(reader->local, reader->count, MPI_BYTE, BENCH_TARGET, 0,
                 reader->target_count, reader->target_type, win);
        api->unlock(BENCH_TARGET, win);
    }
    reader->calls += n;
}

/* All of get_latency or get_strided, on either rank. */
struct job {
    const struct bench_options *options;
    bool strided, flush;
    size_t most; /* bytes of a window */
    void *memory, *local, *hull, *stand_in;
    MPI_Datatype vector;
    struct reader mpi, native;
    struct bench_peer peer;
    struct bench_bare bare;
    struct bench_way ways[3];
};

static size_t window_bytes(const struct job *job, size_t bytes)
{
    return job->strided ? bytes / ELEMENT * STRIDE : bytes;
}

static void job_open(struct job *job)
{
    const struct bench_options *options = job->options;
    for (size_t i = 0; i < options->n_sizes; ++i) {
        size_t bytes = window_bytes(job, options->sizes[i]);
        job->most = bytes > job->most ? bytes : job->most;
        if (bytes > INT32_MAX || bytes == 0)
            bench_die("%zu bytes: a size is at least 1 and fits an int",
                      options->sizes[i]);
    }
    job->memory = malloc(job->most);
    job->local = malloc(job->most);
    job->hull = malloc(job->most);
    if (!job->memory || !job->local || !job->hull) bench_die("out of memory");
    bench_pattern_fill(job->memory, job->most);
    MPI_Info info = bench_info_create(options);
    bench_window_create(&bench_api_mpi, options, info, job->memory, job->most,
                        &job->mpi.window);
    bench_window_create(&bench_api_native, options, MPI_INFO_NULL, job->memory,
                        job->most, &job->native.window);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    job->mpi.assertion = job->native.assertion =
        options->nocheck ? MPI_MODE_NOCHECK : 0;
    job->mpi.local = job->native.local = job->local;
    job->peer = bench_peer_exchange(&job->mpi.window, job->most);
}

static void job_close(struct job *job)
{
    bench_window_destroy(&job->native.window);
    bench_window_destroy(&job->mpi.window);
    bench_memory_destroy(job->stand_in, job->most);
    free(job->memory);
    free(job->local);
    free(job->hull);
}

static void job_size(struct job *job, size_t bytes)
{
    struct reader *readers[] = {&job->mpi, &job->native};
    for (int i = 0; i < 2; ++i) {
        readers[i]->count = (int)bytes;
        readers[i]->target_count = job->strided ? 1 : (int)bytes;
        readers[i]->target_type = job->strided ? job->vector : MPI_BYTE;
    }
    job->bare.bytes =
        job->strided ? bytes / ELEMENT * STRIDE - STRIDE + ELEMENT : bytes;
    job->bare.count = bytes / ELEMENT;
}

/* The bare way is a copy where the target's memory is mapped here, the system call
 * where the program owns it. */
static const char *bare_choose(struct job *job)
{
    struct bench_bare *bare = &job->bare;
    struct bench_way *way = &job->ways[2];
    *bare = (struct bench_bare){.local = job->local,
                                .pid = job->peer.pid,
                                .remote = job->peer.base,
                                .element = ELEMENT,
                                .stride = STRIDE,
                                .hull = job->hull};
    *way = (struct bench_way){"bare", bench_bare_cma, bare};
    if (job->strided) way->run = bench_bare_cma_strided;
    if (job->strided || strcmp(job->options->kind, "create") == 0)
        return "process_vm_readv of the same bytes";
    way->run = bench_bare_memcpy;
    bare->remote = bench_place_find(&job->peer.place, job->most);
    if (bare->remote) return "memcpy from the same mapping";
    job->stand_in = bench_memory_create(job->most, 1);
    if (!job->stand_in) bench_die("out of memory");
    bare->remote = job->stand_in;
    return "memcpy from a shared mapping of this process";
}

static void check(const struct job *job, const struct bench_way *way, size_t bytes)
{
    size_t piece = job->strided ? ELEMENT : bytes;
    memset(job->local, 0, bytes);
    way->run(way->context, 1);
    for (size_t at = 0; at < bytes; at += piece) {
        size_t from = job->strided ? at / ELEMENT * STRIDE : at;
        size_t right = bench_pattern_check((char *)job->local + at, piece, from);
        if (right != piece)
            bench_die("way '%s' read a wrong byte at %zu of %zu", way->name, at + right,
                      bytes);
    }
}

static void measure(struct job *job)
{
    const struct bench_options *options = job->options;
    void (*run)(void *, uint64_t) = job->flush ? run_flush : run_lock;
    job->ways[0] = (struct bench_way){"mpi", run, &job->mpi};
    job->ways[1] = (struct bench_way){"native", run, &job->native};
    if (job->flush) {
        job->mpi.window.api->lock_all(job->mpi.assertion, job->mpi.window.win);
        job->native.window.api->lock_all(job->native.assertion, job->native.window.win);
    }
    for (size_t i = 0; i < options->n_sizes; ++i) {
        size_t bytes = options->sizes[i];
        if (job->strided)
            MPI_Type_vector((int)(bytes / ELEMENT), ELEMENT, STRIDE, MPI_BYTE,
                            &job->vector);
        if (job->strided) MPI_Type_commit(&job->vector);
        job_size(job, bytes);
        if (i == 0) {
            /* The first read makes the mapping that bare_choose looks for. */
            run(&job->mpi, 1);
            bench_note_print(options->json, "engine",
                             bench_window_info(&job->mpi.window, "oriel_engine"));
            bench_note_print(options->json, "bare", bare_choose(job));
            bench_row_heads(options->json, job->ways, 3);
            job_size(job, bytes);
        }
        for (int k = 0; k < 3; ++k)
            check(job, &job->ways[k], bytes);
        struct bench_series series;
        int error = bench_series_run(job->ways, 3, &options->plan, &series);
        if (error) bench_die("%s", strerror(-error));
        struct bench_row row = {options->test, bytes, job->ways, &series};
        bench_row_print(options->json, &row);
        if (job->strided) MPI_Type_free(&job->vector);
    }
    if (job->flush) {
        job->native.window.api->unlock_all(job->native.window.win);
        job->mpi.window.api->unlock_all(job->mpi.window.win);
    }
}

static uint64_t run_job(const struct bench_options *options, int rank, bool strided)
{
    struct job job = {.options = options, .strided = strided};
    job.flush = strcmp(options->sync, "flush") == 0;
    job_open(&job);
    if (rank == BENCH_READER) measure(&job);
    MPI_Barrier(MPI_COMM_WORLD);
    job_close(&job);
    return job.mpi.calls;
}

uint64_t bench_get_latency(const struct bench_options *options, int rank)
{
    return run_job(options, rank, false);
}

uint64_t bench_get_strided(const struct bench_options *options, int rank)
{
    return run_job(options, rank, true);
}
