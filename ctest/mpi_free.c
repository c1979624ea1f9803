/*
 * DESIGN, correct Gets, rule 8: the end of a window. Free with no_locks, handles that
 * are reused at once, a free that fails because a lock is held, a rank that frees
 * while another still reads, and windows that are never freed (C5, with argument
 * "leave").
 */
#include "mpi_test.h"

enum { BYTES = 65536 };
static unsigned char got[BYTES];

static void read_right(struct test_window *w, int target, unsigned seed,
                       const char *when)
{
    memset(got, 0, BYTES);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
    MPI_Get(got, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, w->win);
    MPI_Win_unlock(target, w->win);
    CHECK(pattern_is(got, seed + (unsigned)target, 0, BYTES), "%s a read is right (%s)",
          when, kind_names[w->kind]);
}

/* With no_locks the native free need not wait for the others: Oriel must, or a rank's
 * memory is withdrawn and given back while another reads it. The last rank frees at
 * once, rank 0 reads on in its fence epoch, which is over only for the last rank. */
static void no_locks(enum kind kind)
{
    int last = test.ranks - 1;
    for (unsigned round = 0; round < 5; round++) {
        struct test_window w = window_open(MPI_COMM_WORLD, kind, BYTES, 1,
                                           "oriel_offload=true,no_locks=true");
        pattern_fill(w.base, round + (unsigned)test.rank, 0, BYTES);
        MPI_Win_fence(0, w.win);
        for (int i = 0; i < 20; i++)
            MPI_Get(got, BYTES, MPI_BYTE, last, 0, BYTES, MPI_BYTE, w.win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
        CHECK(pattern_is(got, round + (unsigned)last, 0, BYTES),
              "a window without locks is read right (%s)", kind_names[kind]);
        ALL_SERVED(&w, 20, "a window without locks is redirected");
        window_close(&w);
    }
}

/* A new window gets the handle of the freed one; nothing of the old may live on. */
static void handles(enum kind kind)
{
    int target = (test.rank + 1) % test.ranks;
    for (unsigned round = 0; round < 30; round++) {
        bool annotated = round % 3 != 2;
        struct test_window w =
            window_open(MPI_COMM_WORLD, kind, BYTES, 1,
                        annotated ? "oriel_offload=true" : "oriel_offload=false");
        pattern_fill(w.base, 7 * round + (unsigned)test.rank, 0, BYTES);
        MPI_Barrier(MPI_COMM_WORLD);
        read_right(&w, target, 7 * round, "in a window with a used handle");
        if (annotated)
            ALL_SERVED(&w, 1, "its counters start at nought");
        else
            CHECK(!is_served(w.win), "a window that is not served has no counters");
        window_close(&w);
        CHECK(w.win == MPI_WIN_NULL, "free takes the handle");
    }
}

/* Two windows whose lives overlap, freed in either order. */
static void overlapping(enum kind kind)
{
    int target = (test.rank + 1) % test.ranks;
    struct test_window w[4];
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 4; i++) {
            w[i] = window_open(MPI_COMM_WORLD, kind, BYTES, 1, "oriel_offload=true");
            pattern_fill(w[i].base, 10 * i + (unsigned)test.rank, 0, BYTES);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (unsigned left = 0; left < 4; left++) {
            for (unsigned i = left; i < 4; i++) {
                unsigned at = round % 2 ? i - left : i;
                read_right(&w[at], target, 10 * at, "while windows go");
            }
            MPI_Barrier(MPI_COMM_WORLD);
            window_close(&w[round % 2 ? 3 - left : left]);
        }
    }
}

/* Free under a lock: what the library says; where it refuses, the window lives on. */
static void free_under_lock(enum kind kind, const char *keys)
{
    static const char *const off = "oriel_offload=false";
    int classes[2] = {-1, -1}, target = (test.rank + 1) % test.ranks;
    for (int served = 0; served < 2; served++) {
        struct test_window w =
            window_open(MPI_COMM_WORLD, kind, BYTES, 1, served ? keys : off);
        pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
        MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
        MPI_Get(got, 8, MPI_BYTE, target, 0, 8, MPI_BYTE, w.win);
        MPI_Win handle = w.win;
        int error = MPI_Win_free(&w.win);
        MPI_Error_class(error, &classes[served]);
        if (error != MPI_SUCCESS) {
            CHECK(w.win == handle, "a free that fails keeps the handle");
            MPI_Get(got, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, w.win);
            MPI_Win_unlock(target, w.win);
            CHECK(pattern_is(got, (unsigned)target, 0, BYTES),
                  "the epoch goes on after a free that failed (%s)", kind_names[kind]);
            read_right(&w, target, 0, "after a free that failed");
            if (served) ALL_SERVED(&w, 3, "and is redirected");
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Win_free(&w.win);
        }
        if (kind == KIND_CREATE) free(w.base);
        if (kind == KIND_ALLOC_MEM) MPI_Free_mem(w.base);
    }
    CHECK(classes[0] == classes[1],
          "free under a lock gives error class %d, natively %d (%s)", classes[1],
          classes[0], kind_names[kind]);
}

/* The last rank is in free already, the others read it for a while. */
static void early_free(enum kind kind)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, kind, BYTES, 1, "oriel_offload=true");
    int last = test.ranks - 1;
    pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank != last) {
        usleep(20000);
        for (int i = 0; i < 200; i++)
            read_right(&w, last, 0, "while its owner is in free");
        ALL_SERVED(&w, 200, "reads of a rank that is in free are redirected");
    }
    window_close(&w);
}

/* Left to the end of the process. */
static int leave(void)
{
    int target = (test.rank + 1) % test.ranks;
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (int i = 0; i < 3; i++) {
            struct test_window w =
                window_open(MPI_COMM_WORLD, kind, BYTES, 1, "oriel_offload=true");
            pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
            MPI_Barrier(MPI_COMM_WORLD);
            read_right(&w, target, 0, "in a window that is never freed");
            ALL_SERVED(&w, 1, "and redirected");
        }
    return test_end();
}

int main(int argc, char **argv)
{
    test_start(2);
    if (argc > 1 && strcmp(argv[1], "leave") == 0) return leave();
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        no_locks(kind);
        handles(kind);
        overlapping(kind);
        free_under_lock(kind, "oriel_offload=true");
        free_under_lock(kind, "oriel_offload=true,oriel_access=fenced");
        early_free(kind);
    }
    return test_end();
}
