#define _GNU_SOURCE
#include "core/config.h"
#include "core/log.h"
#include "pmpi/layer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * MPI_Win_allocate is taken over only where that makes nothing worse.
 *
 * Open MPI maps such windows on the node itself, and its Put is fast only there: never.
 * MPICH may or may not (4.0.2 over UCX does not): the job's first such window measures
 * a native one, and all ranks agree on what the slowest saw.
 */

/* A mapped read costs 0.04 us, an unmapped one over 1 us (bench/figures): anything in
 * between tells the two apart. */
static const double MAPPED_NS = 400;
enum { READS = 30 };

static _Atomic int known = ORIEL_TAKEOVER_UNKNOWN;

enum oriel_takeover oriel_takeover_known(void)
{
#if defined(OPEN_MPI)
    return ORIEL_TAKEOVER_NO;
#else
    const struct oriel_config *config = oriel_config_get();
    if (!config->arena || strcmp(config->takeover, "never") == 0)
        return ORIEL_TAKEOVER_NO;
    if (strcmp(config->takeover, "always") == 0) return ORIEL_TAKEOVER_YES;
    return known;
#endif
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_read_ns(MPI_Win win, int target)
{
    double took[READS];
    struct timespec a, b;
    uint64_t word;
    for (int i = 0; i < READS; i++) {
        clock_gettime(CLOCK_MONOTONIC, &a);
        native.Get(&word, 8, MPI_BYTE, target, 0, 8, MPI_BYTE, win);
        native.Win_flush(target, win);
        clock_gettime(CLOCK_MONOTONIC, &b);
        took[i] = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
    }
    qsort(took, READS, sizeof took[0], compare);
    return took[READS / 2];
}

/* The rank in comm of another process on this node, or -1. */
static int neighbour(MPI_Comm comm, int self)
{
    MPI_Comm node;
    int n, rank, other = -1;
    if (native.Comm_split_type(comm, MPI_COMM_TYPE_SHARED, self, MPI_INFO_NULL, &node))
        return -1;
    if (native.Comm_size(node, &n) == MPI_SUCCESS &&
        native.Comm_rank(node, &rank) == MPI_SUCCESS && n > 1 &&
        native.Sendrecv(&self, 1, MPI_INT, (rank + n - 1) % n, 0, &other, 1, MPI_INT,
                        (rank + 1) % n, 0, node, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        other = -1;
    native.Comm_free(&node);
    return other;
}

/* Nanoseconds of a native read on the node, 0 where there is nobody to read. */
static int64_t measure(MPI_Comm comm, int self)
{
    int64_t ns = 0;
    MPI_Win win;
    void *base;
    int target = neighbour(comm, self);
    if (native.Win_allocate(64, 1, MPI_INFO_NULL, comm, &base, &win)) return 0;
    if (target >= 0 && native.Win_lock_all(0, win) == MPI_SUCCESS) {
        ns = (int64_t)median_read_ns(win, target) + 1;
        native.Win_unlock_all(win);
    }
    native.Win_free(&win);
    return ns;
}

enum oriel_takeover oriel_takeover_probe(MPI_Comm comm)
{
    int n, self;
    if (native.Comm_size(comm, &n) || native.Comm_rank(comm, &self))
        return ORIEL_TAKEOVER_NO;
    /* Alone there is nobody to serve, and nothing to learn. */
    if (n == 1) return ORIEL_TAKEOVER_NO;
    int64_t ns = measure(comm, self), slowest = 0;
    if (native.Allreduce(&ns, &slowest, 1, MPI_INT64_T, MPI_MAX, comm))
        return ORIEL_TAKEOVER_NO;
    if (slowest == 0) return ORIEL_TAKEOVER_NO;
    enum oriel_takeover answer =
        (double)slowest > MAPPED_NS ? ORIEL_TAKEOVER_YES : ORIEL_TAKEOVER_NO;
    known = (int)answer;
    if (self == 0)
        oriel_log(ORIEL_LOG_INFO,
                  "a native read of an MPI_Win_allocate window on the node takes %lld "
                  "ns: such windows %s",
                  (long long)slowest,
                  answer == ORIEL_TAKEOVER_YES ? "get Oriel's memory" : "stay native");
    return answer;
}
