/*
 * DESIGN, correct Gets, rule 2: a read is redirected only in an epoch that holds at
 * the target. Without one, in PSCW epochs and after a fence that need not wait for
 * the others, it is native: the target there updates late, so a read that is
 * redirected nevertheless shows old bytes. Every call's error class is compared with
 * a window that is not served (also A17, a lock between fences).
 */
#include "mpi_test.h"

enum { BYTES = 4096, STEPS = 32 };
static unsigned char got[BYTES];

/* The error classes of a sequence of calls on one window. */
struct trace {
    int classes[STEPS], n;
};

static void note(struct trace *trace, int error)
{
    NEED(trace->n < STEPS, "the trace has room");
    MPI_Error_class(error, &trace->classes[trace->n++]);
}

static int next_rank(void)
{
    return (test.rank + 1) % test.ranks;
}

static int get(struct test_window *w)
{
    return MPI_Get(got, 64, MPI_BYTE, next_rank(), 64, 64, MPI_BYTE, w->win);
}

static void got_is(unsigned seed, const char *what)
{
    CHECK(pattern_is(got, seed, 64, 64), "%s reads the right bytes", what);
    memset(got, 0, 64);
}

static struct test_window open_served(bool served, enum kind kind)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, kind, BYTES, 1,
                    served ? "oriel_offload=true" : "oriel_offload=false");
    pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
    MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    return w;
}

/* Reads outside of every epoch, and after one has been closed. */
static void outside(struct test_window *w, struct trace *trace)
{
    note(trace, get(w));
    note(trace, MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    note(trace, MPI_Win_unlock(next_rank(), w->win));
    note(trace, get(w));
    note(trace, MPI_Win_lock_all(0, w->win));
    note(trace, MPI_Win_unlock_all(w->win));
    note(trace, get(w));
    note(trace, MPI_Win_fence(0, w->win));
    note(trace, MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    note(trace, get(w));
    COUNTED(w->win, "no-epoch", 4, "reads without an epoch are native");
    COUNTED(w->win, "gets", 4, "and counted once");
}

/* A lock on one target is no epoch for another. */
static void wrong_target(struct test_window *w, struct trace *trace)
{
    note(trace, MPI_Win_lock(MPI_LOCK_SHARED, test.rank, 0, w->win));
    note(trace, get(w));
    note(trace, MPI_Win_unlock(test.rank, w->win));
    COUNTED(w->win, "no-epoch", 1, "a lock on another target is no epoch for this one");
}

static void fences(struct test_window *w, struct trace *trace)
{
    note(trace, MPI_Win_fence(MPI_MODE_NOSTORE, w->win));
    note(trace, get(w));
    note(trace, MPI_Win_fence(MPI_MODE_NOPUT, w->win));
    got_is((unsigned)next_rank(), "a fence");
    note(trace, get(w));
    note(trace, MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, w->win));
    got_is((unsigned)next_rank(), "a second fence");
    note(trace, get(w));
    note(trace, MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    got_is((unsigned)next_rank(), "the last fence");
    ALL_SERVED(w, 3, "reads between fences are redirected");
}

/* A17, after a read in the fence epoch itself. */
static void read_then_lock(struct test_window *w, struct trace *trace)
{
    note(trace, MPI_Win_fence(0, w->win));
    note(trace, get(w));
    int error = MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win);
    note(trace, error);
    if (error == MPI_SUCCESS) {
        note(trace, get(w));
        note(trace, MPI_Win_unlock(next_rank(), w->win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    note(trace, MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    got_is((unsigned)next_rank(), "a read in a fence epoch, then a lock");
}

/* A17. What the library makes of a lock in a fence epoch is its own affair. */
static void lock_between_fences(struct test_window *w, struct trace *trace)
{
    note(trace, MPI_Win_fence(0, w->win));
    int error = MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win);
    note(trace, error);
    if (error == MPI_SUCCESS) {
        note(trace, get(w));
        note(trace, MPI_Win_unlock(next_rank(), w->win));
        got_is((unsigned)next_rank(), "a lock between fences");
        ALL_SERVED(w, 1, "a read under a lock between fences is redirected");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    note(trace, MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
}

static void lock_all_between_fences(struct test_window *w, struct trace *trace)
{
    note(trace, MPI_Win_fence(0, w->win));
    int error = MPI_Win_lock_all(0, w->win);
    note(trace, error);
    if (error == MPI_SUCCESS) {
        note(trace, get(w));
        note(trace, MPI_Win_unlock_all(w->win));
        got_is((unsigned)next_rank(), "lock_all between fences");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    note(trace, MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
}

/* The last rank stores late, in the epoch before. */
static void store_late(struct test_window *w, unsigned seed)
{
    if (test.rank == test.ranks - 1) usleep(50000);
    pattern_fill(w->base, seed + (unsigned)test.rank, 0, BYTES);
}

static void no_precede(struct test_window *w, struct trace *trace)
{
    static const int asserts[] = {MPI_MODE_NOPRECEDE, 0};
    for (unsigned round = 0; round < 2; round++) {
        store_late(w, 100 * (round + 1));
        note(trace, MPI_Win_fence(asserts[round], w->win));
        note(trace, get(w));
        note(trace, MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
        got_is(100 * (round + 1) + (unsigned)next_rank(), "a fence with a late rank");
    }
    COUNTED(w->win, "fence", 1, "a read after NOPRECEDE is native");
}

/* Everyone is origin and target of its neighbours. */
static void pscw(struct test_window *w, struct trace *trace)
{
    MPI_Group all, to, from;
    int ahead = next_rank(), behind = (test.rank + test.ranks - 1) % test.ranks;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &ahead, &to);
    MPI_Group_incl(all, 1, &behind, &from);
    for (unsigned round = 0; round < 3; round++) {
        store_late(w, 1000 * (round + 1));
        note(trace, MPI_Win_post(from, 0, w->win));
        note(trace, MPI_Win_start(to, 0, w->win));
        note(trace, get(w));
        note(trace, MPI_Win_complete(w->win));
        got_is(1000 * (round + 1) + (unsigned)ahead, "start and complete");
        if (round == 1) {
            for (int flag = 0; !flag;)
                MPI_Win_test(w->win, &flag);
        } else {
            note(trace, MPI_Win_wait(w->win));
        }
    }
    COUNTED(w->win, "pscw", 3, "reads in PSCW epochs are native");
    COUNTED(w->win, "redirected", 0, "and never redirected");
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&all);
}

/* After every other kind of epoch, a lock serves reads again. */
static void lock_after_all(struct test_window *w, struct trace *trace)
{
    MPI_Group all;
    int target = next_rank();
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    note(trace, MPI_Win_post(all, 0, w->win));
    note(trace, MPI_Win_start(all, 0, w->win));
    note(trace, MPI_Win_complete(w->win));
    note(trace, MPI_Win_wait(w->win));
    MPI_Group_free(&all);
    MPI_Barrier(MPI_COMM_WORLD);
    note(trace, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win));
    note(trace, get(w));
    note(trace, MPI_Win_unlock(target, w->win));
    got_is((unsigned)target, "a lock after PSCW");
    ALL_SERVED(w, 1, "a lock after PSCW serves reads");
}

typedef void step(struct test_window *w, struct trace *trace);

/* The same calls on a window that is not served and on one that is. */
static void compare(const char *what, step *run, enum kind kind)
{
    struct trace traces[2] = {{.n = 0}, {.n = 0}};
    for (int served = 0; served < 2; served++) {
        struct test_window w = open_served(served, kind);
        if (!served) {
            /* Counters of a window that is not Oriel's are not asked for. */
            bool layer = test.layer;
            test.layer = false;
            run(&w, &traces[served]);
            test.layer = layer;
        } else {
            run(&w, &traces[served]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        window_close(&w);
    }
    CHECK(traces[0].n == traces[1].n, "%s: as many calls as natively", what);
    for (int i = 0; i < traces[0].n; i++)
        CHECK(traces[0].classes[i] == traces[1].classes[i],
              "%s, call %d (%s): error class %d, natively %d", what, i,
              kind_names[kind], traces[1].classes[i], traces[0].classes[i]);
}

int main(void)
{
    test_start(2);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        compare("outside of epochs", outside, kind);
        compare("a lock on another target", wrong_target, kind);
        compare("fences", fences, kind);
        compare("a lock between fences", lock_between_fences, kind);
        compare("a read between fences, then a lock", read_then_lock, kind);
        compare("lock_all between fences", lock_all_between_fences, kind);
        compare("fences that need not wait", no_precede, kind);
        compare("post, start, complete, wait", pscw, kind);
        compare("a lock after PSCW", lock_after_all, kind);
    }
    return test_end();
}
