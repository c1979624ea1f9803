#define _GNU_SOURCE
#include "core/config.h"
#include "core/log.h"
#include "pmpi/layer.h"

#include <stdlib.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void give_up(MPI_Comm comm)
{
    oriel_log(ORIEL_LOG_ERROR,
              "not all ranks load Oriel: use oriel run. (A rank did not answer within "
              "ORIEL_TIMEOUT_S=%g s.) The job ends here, since the ranks would "
              "disagree about its windows",
              oriel_config_get()->timeout_s);
    native.Abort(comm, EXIT_FAILURE);
}

/* Polls, and sleeps between polls once the others are late: on a node with more ranks
 * than cores they need the core. */
static int wait_for(MPI_Comm comm, MPI_Request *request)
{
    const struct timespec nap = {.tv_nsec = 50000};
    double start = now_s(), limit = oriel_config_get()->timeout_s;
    int done = 0, polls = 0, warned = 0;
    for (;;) {
        int error = native.Test(request, &done, MPI_STATUS_IGNORE);
        if (error || done) return error;
        if (++polls < 1000) continue;
        nanosleep(&nap, NULL);
        double waited = now_s() - start;
        if (waited > 5 && limit > 10)
            oriel_log_once(&warned, ORIEL_LOG_WARN,
                           "waiting for a rank that is late, or that does not load "
                           "Oriel (oriel run loads it everywhere); %g s at most",
                           limit);
        if (waited > limit) give_up(comm);
    }
}

static int agree_late(MPI_Comm comm, const int64_t *in, int64_t *out, int n)
{
    MPI_Request request;
    int error = native.Iallreduce(in, out, n, MPI_INT64_T, MPI_MAX, comm, &request);
    return error ? error : wait_for(comm, &request);
}

bool oriel_agree_proven(MPI_Comm comm)
{
    if (!oriel_layer.world_agreed) return false;
    if (comm == MPI_COMM_WORLD) return true;
    MPI_Group mine, world;
    int n = 0, proven = 1;
    if (native.Comm_group(comm, &mine)) return false;
    if (native.Comm_group(MPI_COMM_WORLD, &world)) {
        native.Group_free(&mine);
        return false;
    }
    native.Group_size(mine, &n);
    int *ranks = malloc(2 * (size_t)n * sizeof *ranks);
    if (ranks) {
        for (int i = 0; i < n; i++)
            ranks[i] = i;
        if (native.Group_translate_ranks(mine, n, ranks, world, ranks + n)) proven = 0;
        for (int i = 0; i < n; i++)
            if (ranks[n + i] == MPI_UNDEFINED) proven = 0;
    } else {
        proven = 0;
    }
    free(ranks);
    native.Group_free(&mine);
    native.Group_free(&world);
    return proven;
}

int oriel_agree_max(MPI_Comm comm, const int64_t *in, int64_t *out, int n)
{
    if (oriel_agree_proven(comm))
        return native.Allreduce(in, out, n, MPI_INT64_T, MPI_MAX, comm);
    return agree_late(comm, in, out, n);
}

void oriel_agree_world(void)
{
    int64_t in[1] = {oriel_config_get()->stats[0] != '\0'}, out[1];
    if (agree_late(MPI_COMM_WORLD, in, out, 1)) return;
    oriel_layer.world_agreed = true;
    oriel_layer.report = out[0] != 0;
}
