/*
 * rma_fabric.c - get_fabric, get_together, get_first: reads over a fabric.
 *
 * The target sleeps while Oriel or the bare loop reads, and polls for native reads:
 * each at its best. Ways: "mpi", what the program gets; "bare", the fabric library
 * alone; "native", the MPI library alone.
 */
#include "bench/rma_remote.h"
#include "bench/row.h"

#include <stdio.h>
#include <string.h>

/* GAP: so that no two reads can be made one. */
enum { TOGETHER = 1000, WAYS = 3, GAP = 64 };

static size_t largest(const struct bench_options *options)
{
    size_t most = 0;
    for (size_t i = 0; i < options->n_sizes; ++i)
        most = options->sizes[i] > most ? options->sizes[i] : most;
    return most;
}

static void print_series(const struct bench_options *options, size_t bytes,
                         const struct bench_way *ways, unsigned n,
                         const struct bench_plan *plan)
{
    struct bench_series series;
    int error = bench_series_run(ways, n, plan, &series);
    if (error) bench_die("%s", strerror(-error));
    struct bench_row row = {options->test, bytes, ways, &series};
    bench_row_print(options->json, &row);
}

static uint64_t measure(struct bench_remote *remote)
{
    const struct bench_options *options = remote->options;
    struct bench_reads reads[WAYS] = {
        {.remote = remote, .window = &remote->mpi, .target = BENCH_SLEEPS},
        {.remote = remote, .window = &remote->native, .target = BENCH_POLLS},
        {.remote = remote, .target = BENCH_SLEEPS},
    };
    struct bench_way ways[WAYS] = {{"mpi", bench_reads_run, &reads[0]},
                                   {"native", bench_reads_run, &reads[1]},
                                   {"bare", bench_reads_run, &reads[2]}};
    unsigned n = options->bare ? 3 : 2;
    reads[0].calls = bench_remote_warm(remote);
    bench_note_print(options->json, "engine",
                     bench_window_info(&remote->mpi, "oriel_engine"));
    bench_row_heads(options->json, ways, n);
    for (size_t i = 0; i < options->n_sizes; ++i) {
        for (unsigned k = 0; k < n; ++k) {
            reads[k].bytes = options->sizes[i];
            bench_reads_check(&reads[k], ways[k].name, bench_reads_run, 1);
        }
        print_series(options, options->sizes[i], ways, n, &options->plan);
    }
    return reads[0].calls;
}

uint64_t bench_get_fabric(const struct bench_options *options, int rank)
{
    struct bench_remote remote;
    uint64_t calls = 0;
    bench_remote_open(&remote, options, rank, largest(options));
    if (rank == BENCH_READER) calls = measure(&remote);
    bench_remote_close(&remote, rank);
    return calls;
}

/* n reads with one completion, beside n with one each. */
static uint64_t measure_together(struct bench_remote *remote, uint64_t n_reads)
{
    const struct bench_options *options = remote->options;
    struct bench_reads reads[WAYS] = {
        {.remote = remote, .window = &remote->mpi, .target = BENCH_SLEEPS},
        {.remote = remote, .window = &remote->mpi, .target = BENCH_SLEEPS},
        {.remote = remote, .target = BENCH_SLEEPS},
    };
    struct bench_way ways[WAYS] = {{"mpi", bench_reads_together, &reads[0]},
                                   {"single", bench_reads_run, &reads[1]},
                                   {"bare", bench_reads_together, &reads[2]}};
    unsigned n = options->bare ? 3 : 2;
    struct bench_plan plan = options->plan;
    plan.calls = n_reads;
    reads[0].calls = bench_remote_warm(remote);
    bench_row_heads(options->json, ways, n);
    for (unsigned k = 0; k < n; ++k) {
        reads[k].bytes = options->sizes[0];
        if (k != 1) reads[k].stride = options->sizes[0] + GAP;
        bench_reads_check(&reads[k], ways[k].name, ways[k].run, k == 1 ? 1 : n_reads);
    }
    print_series(options, options->sizes[0], ways, n, &plan);
    return reads[0].calls + reads[1].calls;
}

uint64_t bench_get_together(const struct bench_options *options, int rank)
{
    struct bench_remote remote;
    uint64_t calls = 0, n = options->plan.calls ? options->plan.calls : TOGETHER;
    if (n > INT32_MAX / (options->sizes[0] + GAP))
        bench_die("so many reads are too large");
    bench_remote_open(&remote, options, rank, n * (options->sizes[0] + GAP));
    if (rank == BENCH_READER) calls = measure_together(&remote, n);
    bench_remote_close(&remote, rank);
    return calls;
}

/* The first read of this process connects; the second does not. */
uint64_t bench_get_first(const struct bench_options *options, int rank)
{
    struct bench_remote remote;
    struct bench_reads reads = {
        .remote = &remote, .target = BENCH_SLEEPS, .bytes = options->sizes[0]};
    bench_remote_open(&remote, options, rank, largest(options));
    if (rank == BENCH_READER) {
        double times[4];
        reads.window = &remote.mpi;
        bench_target_tell(&remote.target, reads.target);
        for (int i = 0; i < 2; ++i) {
            times[i] = bench_now_ns();
            bench_reads_check(&reads, "mpi", bench_reads_run, 1);
        }
        times[2] = bench_now_ns();
        if (options->bare) {
            reads.window = NULL;
            bench_reads_check(&reads, "bare", bench_reads_run, 1);
            times[3] = bench_now_ns();
        }
        printf(options->json ? "{\"test\": \"get_first\", \"bytes\": %zu, "
                               "\"first_ns\": %.0f, \"second_ns\": %.0f, "
                               "\"bare_ns\": %.0f}\n"
                             : "%zu bytes: first read %.0f ns, second %.0f ns, first "
                               "bare one %.0f ns\n",
               reads.bytes, times[1] - times[0], times[2] - times[1],
               options->bare ? times[3] - times[2] : 0);
    }
    bench_remote_close(&remote, rank);
    return 2;
}
