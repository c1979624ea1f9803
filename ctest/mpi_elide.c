/*
 * DESIGN, correct Gets, rule 2: locks that a redirected read does not need (NOCHECK,
 * and shared ones on a `fenced` or `immutable` window) are taken natively only when a
 * call comes that needs them. Every such call must still work and its data arrive,
 * and wrong calls must give the error class that a window without Oriel gives.
 */
#include "mpi_test.h"

enum { WORDS = 64, STEPS = 24 };

struct trace {
    int classes[STEPS], n;
};

static void note(struct trace *trace, int error)
{
    NEED(trace->n < STEPS, "the trace has room");
    MPI_Error_class(error, &trace->classes[trace->n++]);
}

/* How the epoch is opened, and on what window. */
static const struct mode {
    const char *name, *keys;
    int lock, assert;
    bool all;
} modes[] = {
    {"fenced, shared lock", "oriel_offload=true,oriel_access=fenced", MPI_LOCK_SHARED,
     0, false},
    {"immutable, shared lock", "oriel_offload=true,oriel_access=immutable",
     MPI_LOCK_SHARED, 0, false},
    {"general, shared NOCHECK", "oriel_offload=true", MPI_LOCK_SHARED, MPI_MODE_NOCHECK,
     false},
    {"general, exclusive NOCHECK", "oriel_offload=true", MPI_LOCK_EXCLUSIVE,
     MPI_MODE_NOCHECK, false},
    {"fenced, lock_all", "oriel_offload=true,oriel_access=fenced", 0, 0, true},
    {"general, lock_all NOCHECK", "oriel_offload=true", 0, MPI_MODE_NOCHECK, true},
};
enum { MODES = sizeof modes / sizeof modes[0] };

static int begin(const struct mode *mode, int target, MPI_Win win)
{
    if (mode->all) return MPI_Win_lock_all(mode->assert, win);
    return MPI_Win_lock(mode->lock, target, mode->assert, win);
}

static int finish(const struct mode *mode, int target, MPI_Win win)
{
    return mode->all ? MPI_Win_unlock_all(win) : MPI_Win_unlock(target, win);
}

/* The calls that need the native epoch; each changes word 1 of the target to 77. */
static const int32_t new_value = 77, old_value = 1;

static void by_put(int target, MPI_Win win)
{
    MPI_Put(&new_value, 1, MPI_INT32_T, target, 1, 1, MPI_INT32_T, win);
}

static void by_rput(int target, MPI_Win win)
{
    MPI_Request request;
    MPI_Rput(&new_value, 1, MPI_INT32_T, target, 1, 1, MPI_INT32_T, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void by_accumulate(int target, MPI_Win win)
{
    MPI_Accumulate(&new_value, 1, MPI_INT32_T, target, 1, 1, MPI_INT32_T, MPI_REPLACE,
                   win);
}

static void by_raccumulate(int target, MPI_Win win)
{
    MPI_Request request;
    MPI_Raccumulate(&new_value, 1, MPI_INT32_T, target, 1, 1, MPI_INT32_T, MPI_REPLACE,
                    win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int32_t fetched;

static void by_get_accumulate(int target, MPI_Win win)
{
    MPI_Get_accumulate(&new_value, 1, MPI_INT32_T, &fetched, 1, MPI_INT32_T, target, 1,
                       1, MPI_INT32_T, MPI_REPLACE, win);
}

static void by_rget_accumulate(int target, MPI_Win win)
{
    MPI_Request request;
    MPI_Rget_accumulate(&new_value, 1, MPI_INT32_T, &fetched, 1, MPI_INT32_T, target, 1,
                        1, MPI_INT32_T, MPI_REPLACE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void by_fetch_and_op(int target, MPI_Win win)
{
    MPI_Fetch_and_op(&new_value, &fetched, MPI_INT32_T, target, 1, MPI_REPLACE, win);
}

static void by_compare_and_swap(int target, MPI_Win win)
{
    MPI_Compare_and_swap(&new_value, &old_value, &fetched, MPI_INT32_T, target, 1, win);
}

static const struct change {
    const char *name;
    void (*make)(int target, MPI_Win win);
} changes[] = {
    {"Put", by_put},
    {"Rput", by_rput},
    {"Accumulate", by_accumulate},
    {"Raccumulate", by_raccumulate},
    {"Get_accumulate", by_get_accumulate},
    {"Rget_accumulate", by_rget_accumulate},
    {"Fetch_and_op", by_fetch_and_op},
    {"Compare_and_swap", by_compare_and_swap},
};
enum { CHANGES = sizeof changes / sizeof changes[0] };

static struct test_window open_words(enum kind kind, const char *keys)
{
    struct test_window w = window_open(MPI_COMM_WORLD, kind, WORDS * 4, 4, keys);
    for (int32_t i = 0; i < WORDS; i++)
        ((int32_t *)(void *)w.base)[i] = i;
    return w;
}

static void read_word(int32_t *got, int target, int word, MPI_Win win)
{
    *got = -1;
    MPI_Get(got, 1, MPI_INT32_T, target, word, 1, MPI_INT32_T, win);
}

/* A read, a change, a read after the flush, all in one epoch. Rank 0 changes rank 1,
 * and rank 1's own memory shows it when the epoch is closed. Returns the reads made. */
static uint64_t change_in_epoch(struct test_window *w, const struct mode *mode,
                                const struct change *change, bool flush)
{
    ((volatile int32_t *)(void *)w->base)[1] = old_value;
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == 0) {
        int32_t before, after = new_value;
        fetched = old_value;
        begin(mode, 1, w->win);
        read_word(&before, 1, 5, w->win);
        change->make(1, w->win);
        if (flush) {
            MPI_Win_flush(1, w->win);
            read_word(&after, 1, 1, w->win);
        }
        finish(mode, 1, w->win);
        CHECK(before == 5 && after == new_value && fetched == old_value,
              "%s, %s: reads around %s are right (%d, %d, %d)", mode->name,
              kind_names[w->kind], change->name, before, after, fetched);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, test.rank, 0, w->win);
    MPI_Win_sync(w->win);
    int32_t now = ((volatile int32_t *)(void *)w->base)[1];
    MPI_Win_unlock(test.rank, w->win);
    CHECK(now == (test.rank == 1 ? new_value : old_value), "%s: %s arrives (%s)",
          mode->name, change->name, kind_names[w->kind]);
    return test.rank == 0 ? (flush ? 2 : 1) : 0;
}

static void all_changes(enum kind kind, const struct mode *mode)
{
    struct test_window w = open_words(kind, mode->keys);
    uint64_t reads = 0;
    for (int change = 0; change < CHANGES; change++)
        for (int flush = 0; flush < 2; flush++) {
            reads += change_in_epoch(&w, mode, &changes[change], flush);
            ALL_SERVED(&w, reads, "reads around updates are redirected (%s, %s)",
                       mode->name, changes[change].name);
        }
    window_close(&w);
}

/* Calls that synchronise, in epochs without a transfer of the library's. */
static void only_synchronise(const struct mode *mode, MPI_Win win, struct trace *trace)
{
    note(trace, begin(mode, 1, win));
    note(trace, MPI_Win_sync(win));
    note(trace, MPI_Win_flush(1, win));
    note(trace, MPI_Win_flush_local(1, win));
    note(trace, MPI_Win_flush_all(win));
    note(trace, MPI_Win_flush_local_all(win));
    note(trace, finish(mode, 1, win));
    note(trace, begin(mode, 1, win));
    note(trace, finish(mode, 1, win));
}

static void double_lock(const struct mode *mode, MPI_Win win, struct trace *trace)
{
    note(trace, begin(mode, 1, win));
    note(trace, begin(mode, 1, win));
    note(trace, MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    note(trace, finish(mode, 1, win));
}

static void lock_all_under_lock(const struct mode *mode, MPI_Win win,
                                struct trace *trace)
{
    note(trace, begin(mode, 1, win));
    note(trace, MPI_Win_lock_all(mode->assert, win));
    note(trace, finish(mode, 1, win));
}

static void stray_unlock(const struct mode *mode, MPI_Win win, struct trace *trace)
{
    note(trace, MPI_Win_unlock(1, win));
    note(trace, MPI_Win_unlock_all(win));
    note(trace, begin(mode, 1, win));
    /* MPICH 4.0.2 aborts here. */
    if (test.openmpi && !mode->all) note(trace, MPI_Win_unlock(0, win));
    note(trace, finish(mode, 1, win));
    note(trace, finish(mode, 1, win));
}

static void flush_without_epoch(const struct mode *mode, MPI_Win win,
                                struct trace *trace)
{
    note(trace, begin(mode, 1, win));
    note(trace, finish(mode, 1, win));
    note(trace, MPI_Win_flush(1, win));
    note(trace, MPI_Win_flush_all(win));
}

/* The wrong kind of unlock for the lock. */
static void wrong_unlock(const struct mode *mode, MPI_Win win, struct trace *trace)
{
    note(trace, begin(mode, 1, win));
    note(trace, mode->all ? MPI_Win_unlock(1, win) : MPI_Win_unlock_all(win));
    note(trace, finish(mode, 1, win));
}

static void complete_under_lock(const struct mode *mode, MPI_Win win,
                                struct trace *trace)
{
    note(trace, begin(mode, 1, win));
    note(trace, MPI_Win_complete(win));
    note(trace, finish(mode, 1, win));
}

static void bad_arguments(const struct mode *mode, MPI_Win win, struct trace *trace)
{
    int32_t word = 0;
    note(trace, MPI_Win_lock(MPI_LOCK_SHARED, test.ranks, MPI_MODE_NOCHECK, win));
    note(trace, MPI_Win_lock(MPI_LOCK_SHARED, -7, MPI_MODE_NOCHECK, win));
    note(trace, MPI_Win_lock(12345, 1, 0, win));
    note(trace, begin(mode, 1, win));
    note(trace, MPI_Get(&word, 1, MPI_INT32_T, test.ranks, 0, 1, MPI_INT32_T, win));
    note(trace, MPI_Get(&word, -1, MPI_INT32_T, 1, 0, 1, MPI_INT32_T, win));
    note(trace, MPI_Get(&word, 1, MPI_DATATYPE_NULL, 1, 0, 1, MPI_INT32_T, win));
    note(trace, finish(mode, 1, win));
}

static const struct mistake {
    const char *name;
    void (*make)(const struct mode *mode, MPI_Win win, struct trace *trace);
} mistakes[] = {
    {"only synchronisation", only_synchronise},     {"a double lock", double_lock},
    {"lock_all under a lock", lock_all_under_lock}, {"a stray unlock", stray_unlock},
    {"a flush without epoch", flush_without_epoch}, {"the wrong unlock", wrong_unlock},
    {"complete under a lock", complete_under_lock}, {"bad arguments", bad_arguments},
};
enum { MISTAKES = sizeof mistakes / sizeof mistakes[0] };

/* Does the window still read right, after all that? */
static void still_works(const struct mode *mode, MPI_Win win, const char *after)
{
    MPI_Win_lock(mode->all ? MPI_LOCK_SHARED : mode->lock, 1, mode->assert, win);
    int32_t got;
    read_word(&got, 1, 9, win);
    MPI_Win_unlock(1, win);
    CHECK(got == 9, "after %s the window reads right (%s)", after, mode->name);
}

static void same_classes(enum kind kind, const struct mode *mode,
                         const struct mistake *mistake)
{
    struct trace traces[2] = {{.n = 0}, {.n = 0}};
    for (int served = 0; served < 2; served++) {
        struct test_window w =
            open_words(kind, served ? mode->keys : "oriel_offload=false");
        MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
        MPI_Barrier(MPI_COMM_WORLD);
        if (test.rank == 0) {
            mistake->make(mode, w.win, &traces[served]);
            if (served && test.layer) still_works(mode, w.win, mistake->name);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        window_close(&w);
    }
    for (int i = 0; i < traces[0].n; i++)
        CHECK(traces[0].classes[i] == traces[1].classes[i],
              "%s, %s (%s), call %d: error class %d, natively %d", mistake->name,
              mode->name, kind_names[kind], i, traces[1].classes[i],
              traces[0].classes[i]);
}

int main(void)
{
    test_start(2);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (int mode = 0; mode < MODES; mode++) {
            /* An immutable window is never changed. */
            if (!strstr(modes[mode].name, "immutable")) all_changes(kind, &modes[mode]);
            for (int mistake = 0; mistake < MISTAKES; mistake++)
                same_classes(kind, &modes[mode], &mistakes[mistake]);
        }
    return test_end();
}
