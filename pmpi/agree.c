#define _GNU_SOURCE
#include "core/config.h"
#include "core/log.h"
#include "pmpi/layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* How many times ORIEL_TIMEOUT_S is waited at window creation, as against MPI_Init,
 * from which the ranks return together. */
enum { LATE = 5 };

static void give_up(MPI_Comm comm, const char *cause)
{
    oriel_log(ORIEL_LOG_ERROR,
              "not all ranks load Oriel: use oriel run. (%s.) The job ends here, since "
              "the ranks would disagree about its windows",
              cause);
    native.Abort(comm, EXIT_FAILURE);
}

static void give_up_late(MPI_Comm comm, double limit)
{
    char cause[96];
    snprintf(cause, sizeof cause,
             "A rank did not answer within %g s, see ORIEL_TIMEOUT_S", limit);
    give_up(comm, cause);
}

/* The exchange met another call of a rank without the layer: MPI then reports lengths
 * that do not fit, and what it left behind fits no later call. */
static void give_up_mismatched(MPI_Comm comm, int error)
{
    char text[MPI_MAX_ERROR_STRING] = "", cause[MPI_MAX_ERROR_STRING + 64];
    int length;
    native.Error_string(error, text, &length);
    snprintf(cause, sizeof cause, "The ranks' first exchange failed: %s", text);
    give_up(comm, cause);
}

/* Polls, and sleeps between polls once the others are late: on a node with more ranks
 * than cores they need the core. */
static int wait_for(MPI_Comm comm, MPI_Request *request, double limit)
{
    const struct timespec nap = {.tv_nsec = 50000};
    double start = now_s();
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
        if (waited > limit) give_up_late(comm, limit);
    }
}

static int agree_late(MPI_Comm comm, const int16_t *in, int16_t *out, int n,
                      double limit)
{
    MPI_Request request;
    int error = native.Iallreduce(in, out, n, MPI_INT16_T, MPI_MAX, comm, &request);
    if (!error) error = wait_for(comm, &request, limit);
    if (error) give_up_mismatched(comm, error);
    return error;
}

/* Every member is one of MPI_COMM_WORLD's. */
static bool inside_world(MPI_Comm comm)
{
    MPI_Group mine, world;
    int n = 0, rank, inside = 1;
    if (native.Comm_group(comm, &mine)) return false;
    if (native.Comm_group(MPI_COMM_WORLD, &world)) {
        native.Group_free(&mine);
        return false;
    }
    native.Group_size(mine, &n);
    for (int i = 0; i < n && inside; i++)
        inside =
            native.Group_translate_ranks(mine, 1, &i, world, &rank) == MPI_SUCCESS &&
            rank != MPI_UNDEFINED;
    native.Group_free(&mine);
    native.Group_free(&world);
    return inside;
}

bool oriel_agree_proven(MPI_Comm comm)
{
    return oriel_layer.world_proven && (comm == MPI_COMM_WORLD || inside_world(comm));
}

/* An exchange of the whole world proves it, and all ranks see that alike. */
static void learn(MPI_Comm comm)
{
    int same = MPI_UNEQUAL;
    if (oriel_layer.world_proven || !oriel_layer_world()) return;
    if (native.Comm_compare(comm, MPI_COMM_WORLD, &same) == MPI_SUCCESS &&
        (same == MPI_IDENT || same == MPI_CONGRUENT || same == MPI_SIMILAR))
        oriel_layer.world_proven = true;
}

int oriel_agree_max(MPI_Comm comm, const int16_t *in, int16_t *out, int n)
{
    if (oriel_agree_proven(comm))
        return native.Allreduce(in, out, n, MPI_INT16_T, MPI_MAX, comm);
    /* A rank may be late for good reasons here, and nothing tells it from one that
     * does not load Oriel. */
    int error = agree_late(comm, in, out, n, LATE * oriel_config_get()->timeout_s);
    if (!error) learn(comm);
    return error;
}

/* Lands where a call of a rank without the layer is taken for this exchange. */
enum { PROOF_WORDS = 4, PROOF_WORD = 0x6f72 };

static void exchange_world(void)
{
    double limit = oriel_config_get()->timeout_s;
    int16_t in[2 * PROOF_WORDS + 1], out[2 * PROOF_WORDS + 1] = {0};
    for (int i = 0; i < PROOF_WORDS; i++) {
        in[i] = (int16_t)(PROOF_WORD - 977 * i);
        in[PROOF_WORDS + i] = (int16_t)-in[i];
    }
    in[2 * PROOF_WORDS] = oriel_config_get()->stats[0] != '\0';
    int error = agree_late(MPI_COMM_WORLD, in, out, 2 * PROOF_WORDS + 1, limit);
    if (!error && memcmp(in, out, 2 * PROOF_WORDS * sizeof in[0]) != 0)
        give_up(MPI_COMM_WORLD, "A rank answered with another call");
    if (error) return;
    oriel_layer.world_proven = true;
    oriel_layer.world_agreed = true;
    oriel_layer.report = out[2 * PROOF_WORDS] != 0;
}

void oriel_agree_world(void)
{
    MPI_Errhandler before;
    if (native.Comm_get_errhandler(MPI_COMM_WORLD, &before)) return;
    native.Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    exchange_world();
    native.Comm_set_errhandler(MPI_COMM_WORLD, before);
    native.Errhandler_free(&before);
}
