/*
 * series.c - interleaved batches, medians and paired ratios.
 */
#define _GNU_SOURCE
#include "bench/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS_MIN = 15, BATCH_CALLS_MIN = 3 };

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* values must be sorted */
static double quantile(const double *values, unsigned n, double q)
{
    double at = q * (double)(n - 1);
    unsigned low = (unsigned)at;
    unsigned high = low + 1 < n ? low + 1 : low;
    return values[low] + (at - (double)low) * (values[high] - values[low]);
}

double bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static double batch(const struct bench_way *way, uint64_t calls)
{
    way->run(way->context, 1);
    double start = bench_now_ns();
    way->run(way->context, calls);
    return (bench_now_ns() - start) / (double)calls;
}

/* Calls that make a batch of batch_us, and at least a few of calls that are not very
 * slow; also warms the way up. */
static uint64_t calibrate(const struct bench_way *way, double batch_us)
{
    double least = 1e3 * batch_us;
    if (batch(way, 1) > 10 * least && batch(way, 1) > 10 * least) return 1;
    uint64_t calls = BATCH_CALLS_MIN;
    for (;;) {
        /* The best of three: a batch that was interrupted looks long enough. */
        double spent = batch(way, calls);
        spent = fmin(spent, fmin(batch(way, calls), batch(way, calls)));
        spent *= (double)calls;
        if (spent >= least) return calls;
        double factor = spent > 0 ? 1.2 * least / spent : 10;
        calls = (uint64_t)ceil((double)calls * fmin(fmax(factor, 1.5), 10));
    }
}

/* A new order of 0..n-1 for each round, so that no way always follows the same other
 * one. The same for every process: collective ways must agree. */
static void shuffle(unsigned *order, unsigned n, uint64_t *state)
{
    for (unsigned i = n - 1; i > 0; --i) {
        /* Knuth's MMIX generator; its high bits are the good ones. */
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        unsigned k = (unsigned)(*state >> 33) % (i + 1), swapped = order[i];
        order[i] = order[k];
        order[k] = swapped;
    }
}

/* Rounds until the plan's end. samples: BENCH_ROUNDS_MAX for each way. */
static unsigned take_samples(const struct bench_way *ways,
                             const struct bench_plan *plan,
                             const struct bench_series *series, double *samples)
{
    double end = bench_now_ns() + 1e9 * plan->seconds;
    unsigned most = plan->rounds ? plan->rounds : BENCH_ROUNDS_MAX;
    unsigned n = series->n, r = 0, order[BENCH_WAYS_MAX];
    uint64_t state = 1;
    for (unsigned i = 0; i < n; ++i)
        order[i] = i;
    while (r < most && (plan->rounds || r < ROUNDS_MIN || bench_now_ns() < end)) {
        shuffle(order, n, &state);
        for (unsigned k = 0; k < n; ++k) {
            unsigned i = order[k];
            samples[(size_t)i * BENCH_ROUNDS_MAX + r] =
                batch(&ways[i], series->calls[i]);
        }
        ++r;
    }
    return r;
}

static struct bench_summary summarise(const double *samples, double *scratch,
                                      unsigned rounds)
{
    for (unsigned r = 0; r < rounds; ++r)
        scratch[r] = samples[r];
    qsort(scratch, rounds, sizeof *scratch, compare);
    return (struct bench_summary){
        .median_ns = quantile(scratch, rounds, 0.5),
        .min_ns = scratch[0],
        .p05_ns = quantile(scratch, rounds, 0.05),
        .p95_ns = quantile(scratch, rounds, 0.95),
        .max_ns = scratch[rounds - 1],
    };
}

/* The interval is the pair of order statistics that holds the true median with
 * 95 % probability: n/2 -+ 0.98 sqrt(n) (binomial, normal approximation). */
static struct bench_ratio ratio_of(const double *first, const double *other,
                                   double *scratch, unsigned rounds)
{
    for (unsigned r = 0; r < rounds; ++r)
        scratch[r] = first[r] / other[r];
    qsort(scratch, rounds, sizeof *scratch, compare);
    double reach = 0.98 / sqrt((double)rounds);
    return (struct bench_ratio){
        .paired = quantile(scratch, rounds, 0.5),
        .low = quantile(scratch, rounds, fmax(0.5 - reach, 0)),
        .high = quantile(scratch, rounds, fmin(0.5 + reach, 1)),
    };
}

int bench_series_run(const struct bench_way *ways, unsigned n,
                     const struct bench_plan *plan, struct bench_series *out)
{
    if (n == 0 || n > BENCH_WAYS_MAX || plan->rounds > BENCH_ROUNDS_MAX) return -EINVAL;
    double *samples = malloc((size_t)(n + 1) * BENCH_ROUNDS_MAX * sizeof *samples);
    if (!samples) return -ENOMEM;
    double *scratch = samples + (size_t)n * BENCH_ROUNDS_MAX;
    struct bench_series series = {.n = n};
    for (unsigned i = 0; i < n; ++i)
        series.calls[i] =
            plan->calls ? plan->calls : calibrate(&ways[i], plan->batch_us);
    series.rounds = take_samples(ways, plan, &series, samples);
    for (unsigned i = 0; i < n; ++i) {
        const double *mine = samples + (size_t)i * BENCH_ROUNDS_MAX;
        series.ways[i] = summarise(mine, scratch, series.rounds);
        series.ratios[i] = ratio_of(samples, mine, scratch, series.rounds);
        series.ratios[i].of_medians =
            series.ways[0].median_ns / series.ways[i].median_ns;
    }
    free(samples);
    *out = series;
    return 0;
}
