/*
 * series.h - times several ways to do the same thing, interleaved.
 *
 * A machine's speed drifts by more than the differences that a bench is after, so
 * no way is timed alone: short batches of all ways take turns, each round gives
 * one paired sample, and what is reported are medians of batches and of paired
 * ratios. Knows nothing of MPI.
 */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H

#include <stdint.h>

enum { BENCH_WAYS_MAX = 6, BENCH_ROUNDS_MAX = 1000 };

/* One way to do it; run makes n calls, each with its completion. */
struct bench_way {
    const char *name;
    void (*run)(void *context, uint64_t n);
    void *context; /* the caller's */
};

struct bench_plan {
    double seconds;  /* for all ways of a row together */
    double batch_us; /* shortest batch that is timed */
    /* Both set: exactly so many, whatever time they take. For ways that are
     * collective, since all ranks must then make the same calls. */
    uint64_t calls;
    unsigned rounds;
};

struct bench_summary { /* of the batches of one way, in ns a call */
    double median_ns, min_ns, p05_ns, p95_ns, max_ns;
};

struct bench_ratio {   /* time of the first way over that of another */
    double of_medians; /* ratio of the two medians */
    double paired;     /* median of the rounds' ratios */
    double low, high;  /* 95 % interval of paired, by order statistics */
};

struct bench_series {
    unsigned n, rounds;
    uint64_t calls[BENCH_WAYS_MAX]; /* in a batch */
    struct bench_summary ways[BENCH_WAYS_MAX];
    struct bench_ratio ratios[BENCH_WAYS_MAX]; /* [0] is 1 */
};

double bench_now_ns(void); /* of a clock that only goes forward */

/* Time n ways. Each batch is preceded by one call that is not timed, so that all
 * ways find their data equally warm, and the order changes with every round.
 * Returns 0; -EINVAL for n or rounds out of range; -ENOMEM. */
int bench_series_run(const struct bench_way *ways, unsigned n,
                     const struct bench_plan *plan, struct bench_series *out);

#endif
