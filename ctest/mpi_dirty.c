/*
 * DESIGN, correct Gets, rule 4: after a native Put or accumulate, reads of that target
 * are native until a call that completes updates at the target; flush_local and Wait
 * are none. A redirected read would overtake the update.
 */
#include "mpi_test.h"

enum { WORDS = 1024 };
static const int32_t ones[WORDS];

struct run {
    struct test_window w;
    uint64_t redirected, dirty; /* what the counters should say by now */
};

static void update(struct run *run, int how, int32_t value, int target)
{
    MPI_Request request = MPI_REQUEST_NULL;
    static int32_t kept[16]; /* origin buffers live until the flush */
    static int next;
    int32_t *from = &kept[next++ % 16];
    MPI_Win win = run->w.win;
    static int32_t result, compare;
    *from = value;
    switch (how) {
    case 0:
        MPI_Put(from, 1, MPI_INT32_T, target, 1, 1, MPI_INT32_T, win);
        break;
    case 1:
        MPI_Rput(from, 1, MPI_INT32_T, target, 1, 1, MPI_INT32_T, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* completes it here, not there */
        break;
    case 2:
        MPI_Accumulate(from, 1, MPI_INT32_T, target, 1, 1, MPI_INT32_T, MPI_REPLACE,
                       win);
        break;
    case 3:
        MPI_Raccumulate(from, 1, MPI_INT32_T, target, 1, 1, MPI_INT32_T, MPI_REPLACE,
                        win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 4:
        MPI_Get_accumulate(from, 1, MPI_INT32_T, &result, 1, MPI_INT32_T, target, 1, 1,
                           MPI_INT32_T, MPI_REPLACE, win);
        break;
    case 5:
        MPI_Fetch_and_op(from, &result, MPI_INT32_T, target, 1, MPI_REPLACE, win);
        break;
    case 6:
        compare = value - 1;
        MPI_Compare_and_swap(from, &compare, &result, MPI_INT32_T, target, 1, win);
        break;
    }
}
enum { UPDATES = 7 };

/* A read that must be right whoever makes it. */
static void read_back(struct run *run, int target, int32_t value, bool native,
                      const char *when)
{
    int32_t got = -1;
    MPI_Get(&got, 1, MPI_INT32_T, target, 1, 1, MPI_INT32_T, run->w.win);
    if (native)
        run->dirty++;
    else
        run->redirected++;
    COUNTED(run->w.win, "dirty", run->dirty, "a read is native when %s", when);
    COUNTED(run->w.win, "redirected", run->redirected, "or else redirected");
    MPI_Win_flush(target, run->w.win);
    if (!native) CHECK(got == value, "a redirected read after %s is right", when);
}

static struct run start(enum kind kind)
{
    struct run run = {.redirected = 0};
    run.w = window_open(MPI_COMM_WORLD, kind, WORDS * 4, 4, "oriel_offload=true");
    memcpy(run.w.base, ones, sizeof ones);
    MPI_Barrier(MPI_COMM_WORLD);
    return run;
}

static void finish(struct run *run)
{
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&run->w);
}

static void lock_and_flush(enum kind kind, int how)
{
    struct run run = start(kind);
    if (test.rank == 0) {
        MPI_Win win = run.w.win;
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        update(&run, how, 1, 1);
        MPI_Win_flush(1, win);
        read_back(&run, 1, 1, false, "a flush");
        update(&run, how, 2, 1);
        MPI_Win_flush_all(win);
        read_back(&run, 1, 2, false, "a flush of all");
        update(&run, how, 3, 1);
        MPI_Win_flush_local(1, win);
        read_back(&run, 1, 3, true, "only a local flush was made");
        read_back(&run, 1, 3, false, "the flush behind that read");
        update(&run, how, 4, 1);
        MPI_Win_flush_local_all(win);
        read_back(&run, 1, 4, true, "only a local flush of all was made");
        update(&run, how, 5, 1);
        MPI_Win_sync(win);
        read_back(&run, 1, 5, true, "only a sync was made");
        update(&run, how, 6, 1);
        read_back(&run, 1, 6, true, "an update was just made");
        update(&run, how, 7, 1);
        MPI_Win_unlock(1, win);
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        read_back(&run, 1, 7, false, "an unlock");
        MPI_Win_unlock(1, win);
    }
    finish(&run);
}

static void lock_all(enum kind kind, int how)
{
    struct run run = start(kind);
    if (test.rank == 0) {
        MPI_Win win = run.w.win;
        MPI_Win_lock_all(0, win);
        update(&run, how, 1, 1);
        read_back(&run, 1, 1, true, "an update was just made under lock_all");
        update(&run, how, 2, 1);
        /* Another target is clean. */
        read_back(&run, 0, 0, false, "an update of another rank");
        MPI_Win_flush(0, win);
        read_back(&run, 1, 2, true, "only another target was flushed");
        update(&run, how, 3, 1);
        MPI_Win_unlock_all(win);
        MPI_Win_lock_all(0, win);
        read_back(&run, 1, 3, false, "an unlock of all");
        MPI_Win_unlock_all(win);
    }
    finish(&run);
}

static void fence(enum kind kind, int how)
{
    struct run run = start(kind);
    MPI_Win win = run.w.win;
    MPI_Win_fence(0, win);
    if (test.rank == 0) update(&run, how, 1, 1);
    MPI_Win_fence(0, win);
    int32_t got[2] = {-1, -1};
    if (test.rank == 0) {
        MPI_Get(&got[0], 1, MPI_INT32_T, 1, 1, 1, MPI_INT32_T, win);
        COUNTED(win, "redirected", 1, "a fence makes targets clean");
        update(&run, how, 2, 1);
        MPI_Get(&got[1], 1, MPI_INT32_T, 1, 2, 1, MPI_INT32_T, win);
        COUNTED(win, "dirty", 1, "an update in this fence epoch does not");
    }
    MPI_Win_fence(0, win);
    /* A fabric read may land late, after the update that conflicts with it. */
    if (test.rank == 0)
        CHECK((got[0] == 1 || got[0] == 2) && got[1] == 0, "reads between fences");
    if (test.rank == 1)
        CHECK(((volatile int32_t *)(void *)run.w.base)[1] == 2, "updates arrive");
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    finish(&run);
}

/* A large update is under way for a while; a read behind a local flush that was
 * redirected would see old bytes. */
static void large_put(enum kind kind)
{
    enum { BYTES = 1 << 22 };
    static unsigned char from[BYTES], got[BYTES];
    struct test_window w =
        window_open(MPI_COMM_WORLD, kind, BYTES, 1, "oriel_offload=true");
    memset(w.base, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == 0) {
        MPI_Win_lock_all(0, w.win);
        for (unsigned round = 1; round <= 20; round++) {
            memset(from, (int)round, BYTES);
            MPI_Put(from, BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, w.win);
            MPI_Win_flush_local(1, w.win);
            MPI_Win_flush(1, w.win);
            MPI_Get(got, BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, w.win);
            MPI_Win_flush(1, w.win);
            CHECK(all_bytes(got, (unsigned char)round, BYTES),
                  "what was put and flushed is read (%s)", kind_names[kind]);
        }
        MPI_Win_unlock_all(w.win);
        ALL_SERVED(&w, 20, "reads after a flush are redirected");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&w);
}

int main(void)
{
    test_start(2);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        large_put(kind);
        if (kind == KIND_ALLOCATE && test.openmpi) continue; /* left to the library */
        for (int how = 0; how < UPDATES; how++) {
            lock_and_flush(kind, how);
            lock_all(kind, how);
            fence(kind, how);
        }
    }
    return test_end();
}
