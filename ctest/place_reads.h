/*
 * place_reads.h - reads windows of each kind and checks every byte.
 *
 * A program of its own (place_reads.c) and a plugin (place_plugin.c). It knows Oriel
 * only by one function, found at run time: what the counters say is printed, the
 * script judges. place_below.c, where it is loaded, adds what the MPI library itself
 * was asked for, which no counter of ours can embellish.
 */
#ifndef ORIEL_CTEST_PLACE_READS_H
#define ORIEL_CTEST_PLACE_READS_H

#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef PLACE_DIRECT
#include "oriel_mpi.h"
#endif

enum { READS_BYTES = 1 << 16, READS_MAX = 512 };

enum reads_kind { READS_CREATE, READS_ALLOC_MEM, READS_ALLOCATE, READS_KINDS };

struct reads {
    int rank, size, rounds;
    unsigned long long gets, redirected, wrong;
};

/* int oriel_mpi_counter(MPI_Win win, const char *name, uint64_t *out) */
typedef int reads_counter(MPI_Win win, const char *name, uint64_t *out);

static inline uint64_t reads_count(MPI_Win win, const char *name)
{
    reads_counter *counter;
#ifdef PLACE_DIRECT
    counter = oriel_mpi_counter;
#else
    *(void **)&counter = dlsym(RTLD_DEFAULT, "oriel_mpi_counter");
#endif
    uint64_t value = 0;
    if (!counter || counter(win, name, &value) != 0) return 0;
    return value;
}

static inline unsigned long long reads_below(void)
{
    unsigned long long (*below)(void);
    *(void **)&below = dlsym(RTLD_DEFAULT, "place_below_gets");
    return below ? below() : 0;
}

static inline unsigned char reads_pattern(int rank, int kind, size_t i)
{
    uint32_t x =
        (uint32_t)i * 2654435761u + (uint32_t)rank * 40503u + (uint32_t)kind * 97u;
    return (unsigned char)(x >> 13);
}

static inline MPI_Win reads_open(struct reads *t, int kind, unsigned char **base)
{
    MPI_Win win;
    if (kind == READS_ALLOCATE) {
        MPI_Win_allocate(READS_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, &win);
    } else {
        if (kind == READS_CREATE)
            *base = aligned_alloc(64, READS_BYTES);
        else
            MPI_Alloc_mem(READS_BYTES, MPI_INFO_NULL, base);
        MPI_Win_create(*base, READS_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    for (size_t i = 0; i < READS_BYTES; i++)
        (*base)[i] = reads_pattern(t->rank, kind, i);
    MPI_Win_fence(0, win);
    return win;
}

static inline void reads_close(int kind, unsigned char *base, MPI_Win *win)
{
    MPI_Win_free(win);
    if (kind == READS_CREATE)
        free(base);
    else if (kind == READS_ALLOC_MEM)
        MPI_Free_mem(base);
}

/* One Get of the round's bytes, completed in the round's way. */
static inline void reads_one(struct reads *t, int kind, MPI_Win win, int round)
{
    unsigned char got[READS_MAX] = {0};
    int target = (t->rank + 1 + round) % t->size;
    int bytes = 1 + (round * 37) % READS_MAX;
    size_t at = (size_t)round * 911 % (READS_BYTES - READS_MAX);
    MPI_Request request;
    switch (round % 4) {
    case 0:
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Get(got, bytes, MPI_BYTE, target, (MPI_Aint)at, bytes, MPI_BYTE, win);
        MPI_Win_unlock(target, win);
        break;
    case 1:
        MPI_Win_lock_all(0, win);
        MPI_Get(got, bytes, MPI_BYTE, target, (MPI_Aint)at, bytes, MPI_BYTE, win);
        MPI_Win_flush(target, win);
        MPI_Win_unlock_all(win);
        break;
    case 2:
        MPI_Win_lock_all(0, win);
        MPI_Rget(got, bytes, MPI_BYTE, target, (MPI_Aint)at, bytes, MPI_BYTE, win,
                 &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Win_unlock_all(win);
        break;
    default:
        MPI_Win_fence(0, win);
        MPI_Get(got, bytes, MPI_BYTE, target, (MPI_Aint)at, bytes, MPI_BYTE, win);
        MPI_Win_fence(0, win);
        break;
    }
    t->gets++;
    for (int i = 0; i < bytes; i++)
        if (got[i] != reads_pattern(target, kind, at + (size_t)i)) t->wrong++;
}

static inline void reads_kind(struct reads *t, int kind)
{
    unsigned char *base = NULL;
    MPI_Win win = reads_open(t, kind, &base);
    for (int round = 0; round < t->rounds; round++)
        reads_one(t, kind, win, round);
    MPI_Win_fence(0, win);
    t->redirected += reads_count(win, "redirected");
    reads_close(kind, base, &win);
}

/* Between MPI_Init and MPI_Finalize. Prints on rank 0; returns an exit code. */
static inline int reads_run(int rounds)
{
    struct reads t = {.rounds = rounds};
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.size);
    for (int kind = 0; kind < READS_KINDS; kind++)
        reads_kind(&t, kind);
    unsigned long long mine[4] = {t.gets, t.redirected, t.wrong, reads_below()}, sum[4];
    MPI_Allreduce(mine, sum, 4, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (t.rank == 0) {
        printf("gets=%llu redirected=%llu wrong=%llu below=%llu\n", sum[0], sum[1],
               sum[2], sum[3]);
        puts(sum[2] == 0 ? "all reads right" : "reads wrong");
        fflush(stdout);
    }
    return sum[2] == 0 ? 0 : 1;
}

#endif
