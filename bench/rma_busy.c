/*
 * rma_busy.c - get_busy: reads of a target that computes, without MPI calls, beside
 * reads of the same target asleep.
 */
#include "bench/rma_remote.h"
#include "bench/row.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES_MOST = 1 << 22 };

struct times { /* of single reads, in ns */
    double *sample;
    size_t n, reads; /* reads: also those beyond SAMPLES_MOST */
    double most;
};

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Reads for a time, or for as long as the target computes. The read that is under way
 * then counts: it may be the one that waited for the end. */
static void take(struct bench_reads *reads, struct times *times, double seconds)
{
    double start = bench_now_ns(), end = start + 1e9 * seconds, now = start;
    bool busy = bench_target_computes(&reads->remote->target);
    times->n = times->reads = 0;
    times->most = 0;
    while (busy ? bench_target_computes(&reads->remote->target) : now < end) {
        double before = bench_now_ns();
        bench_reads_run(reads, 1);
        now = bench_now_ns();
        double spent = now - before;
        if (times->n < SAMPLES_MOST) times->sample[times->n++] = spent;
        if (spent > times->most) times->most = spent;
        times->reads++;
    }
    qsort(times->sample, times->n, sizeof *times->sample, compare);
}

static void print_times(bool json, const char *name, const struct times *times)
{
    double half = times->n ? times->sample[times->n / 2] : 0;
    double late = times->n ? times->sample[times->n * 99 / 100] : 0;
    printf(json ? "\"%s\": {\"p50_ns\": %.0f, \"p99_ns\": %.0f, \"max_ns\": %.0f, "
                  "\"reads\": %zu}, "
                : "%s: median %.0f ns, 99 %% below %.0f, slowest %.0f of %zu reads; ",
           name, half, late, times->most, times->reads);
}

static void measure_size(struct bench_remote *remote, size_t bytes, uint64_t *calls)
{
    const struct bench_options *options = remote->options;
    double seconds = options->plan.seconds;
    struct bench_reads reads = {.remote = remote,
                                .window = &remote->mpi,
                                .target = BENCH_SLEEPS,
                                .bytes = bytes};
    struct bench_reads native = {.remote = remote,
                                 .window = &remote->native,
                                 .target = BENCH_POLLS,
                                 .bytes = bytes};
    struct times times = {.sample = malloc(SAMPLES_MOST * sizeof *times.sample)};
    if (!times.sample) bench_die("out of memory");
    bench_reads_check(&native, "native", bench_reads_run, 1);
    bench_reads_check(&reads, "mpi", bench_reads_run, 1);
    printf(options->json ? "{\"test\": \"get_busy\", \"bytes\": %zu, " : "%zu bytes: ",
           bytes);
    take(&reads, &times, seconds);
    print_times(options->json, "idle", &times);
    reads.target = native.target = BENCH_GOES_ON;
    bench_target_compute(&remote->target, seconds);
    take(&reads, &times, seconds);
    if (!times.n) bench_die("the target computed for %g s, and no read began", seconds);
    print_times(options->json, "busy", &times);
    bench_target_tell(&remote->target, BENCH_POLLS);
    bench_target_compute(&remote->target, seconds);
    double before = bench_now_ns();
    bench_reads_run(&native, 1);
    printf(options->json ? "\"native_ns\": %.0f}\n" : "native: %.0f ns\n",
           bench_now_ns() - before);
    fflush(stdout);
    bench_reads_check(&reads, "mpi", bench_reads_run, 1);
    *calls += reads.calls;
    free(times.sample);
}

uint64_t bench_get_busy(const struct bench_options *options, int rank)
{
    struct bench_remote remote;
    uint64_t calls = 0;
    size_t most = 0;
    for (size_t i = 0; i < options->n_sizes; ++i)
        most = options->sizes[i] > most ? options->sizes[i] : most;
    bench_remote_open(&remote, options, rank, most);
    if (rank == BENCH_READER) calls = bench_remote_warm(&remote);
    for (size_t i = 0; rank == BENCH_READER && i < options->n_sizes; ++i)
        measure_size(&remote, options->sizes[i], &calls);
    bench_remote_close(&remote, rank);
    return calls;
}
