/*
 * rma_create.c - win_create: what a window's life costs, create and free together.
 */
#include "bench/rma.h"
#include "bench/row.h"

#include <stdlib.h>
#include <string.h>

/* Both ranks must make the same calls, so their number is fixed beforehand. */
enum { CALLS = 4, ROUNDS = 120 };

struct life { /* one way to make and free a window */
    const struct bench_api *api;
    MPI_Info info;
    bool allocate;
    void *memory;
    size_t bytes;
};

static void run(void *context, uint64_t n)
{
    const struct life *life = context;
    const struct bench_api *api = life->api;
    for (uint64_t i = 0; i < n; ++i) {
        MPI_Win win;
        void *base;
        if (life->allocate)
            api->win_allocate((MPI_Aint)life->bytes, 1, life->info, MPI_COMM_WORLD,
                              &base, &win);
        else
            api->win_create(life->memory, (MPI_Aint)life->bytes, 1, life->info,
                            MPI_COMM_WORLD, &win);
        api->win_free(&win);
    }
}

static void measure(const struct bench_options *options, const struct bench_way *ways,
                    size_t bytes, bool speak)
{
    struct bench_plan plan = {.rounds = ROUNDS, .calls = CALLS};
    if (options->plan.calls) plan.rounds = (unsigned)options->plan.calls;
    struct bench_series series;
    int error = bench_series_run(ways, 2, &plan, &series);
    if (error) bench_die("%s", strerror(-error));
    struct bench_row row = {options->test, bytes, ways, &series};
    if (speak) bench_row_print(options->json, &row);
}

uint64_t bench_win_create(const struct bench_options *options, int rank)
{
    bool speak = rank == BENCH_READER;
    MPI_Info info = bench_info_create(options);
    struct life mpi = {.api = &bench_api_mpi, .info = info};
    struct life native = {.api = &bench_api_native, .info = MPI_INFO_NULL};
    struct bench_way ways[] = {{"mpi", run, &mpi}, {"native", run, &native}};
    mpi.allocate = native.allocate = strcmp(options->kind, "allocate") == 0;
    bool alloc_mem = strcmp(options->kind, "alloc_mem") == 0;
    if (speak) bench_row_heads(options->json, ways, 2);
    for (size_t i = 0; i < options->n_sizes; ++i) {
        size_t bytes = options->sizes[i];
        mpi.bytes = native.bytes = bytes;
        if (alloc_mem)
            MPI_Alloc_mem((MPI_Aint)bytes, info, &mpi.memory);
        else
            mpi.memory = malloc(bytes);
        if (!mpi.memory) bench_die("out of memory");
        native.memory = mpi.memory;
        measure(options, ways, bytes, speak);
        if (alloc_mem)
            MPI_Free_mem(mpi.memory);
        else
            free(mpi.memory);
    }
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    return 0;
}
