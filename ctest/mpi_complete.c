/*
 * DESIGN, correct Gets, rule 3: every completing call still reaches the MPI library
 * when reads around it are redirected. Rank 0 mixes redirected reads of rank 1 with a
 * Put to rank 2; after each completing call, and without any other, rank 2 must have
 * the bytes. Also: notices by message, since those use another path than the window.
 */
#include "mpi_test.h"

enum { BYTES = 1 << 16, HALF = BYTES / 2, ROUNDS = 10 };

enum call { FLUSH, FLUSH_ALL, UNLOCK, UNLOCK_ALL, FENCE, CALLS };
static const char *const names[CALLS] = {"flush", "flush_all", "unlock", "unlock_all",
                                         "fence"};

static void begin(enum call call, MPI_Win win)
{
    if (call == FENCE) return;
    if (call == FLUSH_ALL || call == UNLOCK_ALL || call == FLUSH) {
        MPI_Win_lock_all(0, win);
    } else {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win);
    }
}

static void complete(enum call call, MPI_Win win)
{
    if (call == FLUSH) {
        MPI_Win_flush(1, win);
        MPI_Win_flush(2, win);
    }
    if (call == FLUSH_ALL) MPI_Win_flush_all(win);
    if (call == UNLOCK_ALL) MPI_Win_unlock_all(win);
    if (call == UNLOCK) {
        MPI_Win_unlock(2, win);
        MPI_Win_unlock(1, win);
    }
    if (call == FENCE) MPI_Win_fence(0, win);
}

static void after(enum call call, MPI_Win win)
{
    if (call == FLUSH || call == FLUSH_ALL) MPI_Win_unlock_all(win);
}

static void origin(struct test_window *w, enum call call, unsigned round)
{
    static unsigned char from[HALF], got[HALF];
    pattern_fill(from, 50 + round, 0, HALF);
    begin(call, w->win);
    MPI_Get(got, HALF, MPI_BYTE, 1, 0, HALF, MPI_BYTE, w->win);
    MPI_Put(from, HALF, MPI_BYTE, 2, HALF, HALF, MPI_BYTE, w->win);
    MPI_Get(got, HALF / 2, MPI_BYTE, 1, 0, HALF / 2, MPI_BYTE, w->win);
    complete(call, w->win);
    CHECK(pattern_is(got, 1, 0, HALF), "reads before %s are right", names[call]);
    if (call != FENCE) MPI_Send(NULL, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD);
    after(call, w->win);
}

static void owner(struct test_window *w, enum call call, unsigned round)
{
    if (call == FENCE)
        MPI_Win_fence(0, w->win);
    else
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* Where the model is unified, a flushed Put needs no more than this. */
    if (call != FENCE) MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, w->win);
    CHECK(pattern_is(w->base + HALF, 50 + round, 0, HALF),
          "a Put beside redirected reads has arrived after %s (%s)", names[call],
          kind_names[w->kind]);
    if (call != FENCE) MPI_Win_unlock(2, w->win);
}

static void run(enum kind kind, enum call call)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, kind, BYTES, 1, "oriel_offload=true");
    pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
    for (unsigned round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (call == FENCE) MPI_Win_fence(0, w.win);
        if (test.rank == 0) origin(&w, call, round);
        if (test.rank == 2) owner(&w, call, round);
        if (test.rank == 1 && call == FENCE) MPI_Win_fence(0, w.win);
        if (call == FENCE) MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    }
    if (test.rank == 0)
        ALL_SERVED(&w, 2 * ROUNDS, "reads beside a Put to another rank are redirected");
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&w);
}

int main(void)
{
    test_start(3);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (int call = 0; call < CALLS; call++)
            run(kind, call);
    return test_end();
}
