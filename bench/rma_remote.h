/*
 * rma_remote.h - windows read over a fabric, a target that does as it is told, and the
 * same memory exposed to a bare loop.
 */
#ifndef BENCH_RMA_REMOTE_H
#define BENCH_RMA_REMOTE_H

#include "bench/fabric.h"
#include "bench/rma.h"
#include "bench/rma_target.h"

struct bench_remote {
    const struct bench_options *options;
    size_t most;         /* bytes of a window */
    char *memory, *here; /* exposed; where reads arrive */
    struct bench_window mpi, native;
    struct bench_target target;
    struct bench_server *server; /* target; NULL: no bare way */
    struct bench_link link;      /* reader */
};

struct bench_reads { /* one way of reading, as context of a bench_way */
    struct bench_remote *remote;
    const struct bench_window *window; /* NULL: bare */
    enum bench_doing target;           /* what it does meanwhile */
    size_t bytes, stride;              /* stride: between reads of reads_together */
    uint64_t calls;
};

/* Collective. The reader has both windows locked, and the target obeys until close. */
void bench_remote_open(struct bench_remote *remote, const struct bench_options *options,
                       int rank, size_t most);
/* The reader, before the target sleeps: where locks are lazy, the first read is native
 * and waits for the target. Returns the Gets that it made. */
uint64_t bench_remote_warm(struct bench_remote *remote);
void bench_remote_close(struct bench_remote *remote, int rank);

/* run functions: one read after the other, or n reads and one completion. */
void bench_reads_run(void *context, uint64_t n);
void bench_reads_together(void *context, uint64_t n);

/* Read `n` times through `run` and compare with the pattern. */
void bench_reads_check(struct bench_reads *reads, const char *name,
                       void (*run)(void *, uint64_t), uint64_t n);

#endif
