/*
 * rma_target.h - the reader tells the target what to do meanwhile, through shared
 * memory: a target that sleeps or computes can hear no message.
 */
#ifndef BENCH_RMA_TARGET_H
#define BENCH_RMA_TARGET_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum bench_doing {
    BENCH_POLLS,    /* MPI progress: the best case for a native read */
    BENCH_SLEEPS,   /* no MPI call, no instruction */
    BENCH_COMPUTES, /* no MPI call for a time; then it polls */
    BENCH_ENDS,
    BENCH_GOES_ON, /* what it did before: for the reader only */
};

enum { BENCH_DOING = 7 };

struct bench_words {        /* in shared memory */
    _Atomic uint32_t order; /* its number, and in BENCH_DOING's bits what */
    _Atomic uint32_t obeyed;
    _Atomic uint64_t compute_ns;
};

struct bench_target {
    MPI_Win win; /* owns words; never redirected */
    struct bench_words *words;
};

/* Collective. */
void bench_target_open(struct bench_target *target);
void bench_target_close(struct bench_target *target);

/* The target: until the reader says BENCH_ENDS. */
void bench_target_obey(struct bench_target *target);

/* The reader; each returns when the target does so. */
void bench_target_tell(struct bench_target *target, enum bench_doing what);
void bench_target_compute(struct bench_target *target, double seconds);
bool bench_target_computes(const struct bench_target *target);

#endif
