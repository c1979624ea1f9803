/*
 * DESIGN, correct Gets, rule 2: what locks exclude. On a general window a redirected
 * read under a lock never sees half of what the holder of an exclusive lock stores;
 * on a `fenced` window a shared lock on another rank needs no exclusion, so a reader
 * gets through although the target holds an exclusive lock on itself, but a lock on
 * the own rank and an exclusive one are real.
 */
#include "mpi_test.h"

enum { BYTES = 4096, ROUNDS = 60 };

/* The target stores one value all over, slowly, under an exclusive lock. */
static void store_slowly(struct test_window *w, unsigned char value)
{
    volatile unsigned char *bytes = w->base;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test.rank, 0, w->win);
    for (size_t i = 0; i < BYTES; i++) {
        bytes[i] = value;
        if (i == BYTES / 2) usleep(300);
    }
    MPI_Win_sync(w->win);
    MPI_Win_unlock(test.rank, w->win);
}

static void general(enum kind kind, int lock)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, kind, BYTES, 1, "oriel_offload=true");
    static unsigned char got[BYTES];
    int *stop = shared_page();
    memset(w.base, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == 1) {
        for (int value = 1; value <= ROUNDS; value++)
            store_slowly(&w, (unsigned char)value);
        __atomic_store_n(stop, 1, __ATOMIC_RELEASE);
    } else if (test.rank == 0) {
        uint64_t reads = 0;
        bool whole = true, forwards = true;
        unsigned char last = 0;
        while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE) || last != ROUNDS) {
            MPI_Win_lock(lock, 1, 0, w.win);
            MPI_Get(got, BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, w.win);
            MPI_Win_unlock(1, w.win);
            whole &= all_bytes(got, got[0], BYTES);
            forwards &= got[0] >= last;
            last = got[0];
            reads++;
            if (reads % 8 == 0) usleep(200); /* let the writer have its lock */
        }
        CHECK(whole, "a read under a lock sees no half-made change (%s)",
              kind_names[kind]);
        CHECK(forwards, "later reads never see older bytes (%s)", kind_names[kind]);
        ALL_SERVED(&w, reads, "reads under locks are redirected");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&w);
    munmap(stop, 4096);
}

/* Natively the reader would wait for rank 1 to unlock. */
static void fenced_passes(enum kind kind)
{
    struct test_window w = window_open(MPI_COMM_WORLD, kind, BYTES, 1,
                                       "oriel_offload=true,oriel_access=fenced");
    static unsigned char got[BYTES];
    int *done = shared_page();
    pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
    if (test.rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == 1) {
        double deadline = seconds() + 30;
        while (!__atomic_load_n(done, __ATOMIC_ACQUIRE) && seconds() < deadline)
            usleep(100);
        CHECK(__atomic_load_n(done, __ATOMIC_ACQUIRE),
              "a shared lock on a fenced window waits for nobody (%s)",
              kind_names[kind]);
        MPI_Win_unlock(1, w.win);
    } else if (test.rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w.win);
        MPI_Get(got, BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, w.win);
        MPI_Win_unlock(1, w.win);
        __atomic_store_n(done, 1, __ATOMIC_RELEASE);
        CHECK(pattern_is(got, 1, 0, BYTES), "and its reads are right");
        COUNTED(w.win, "redirected", 1, "and redirected");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&w);
    munmap(done, 4096);
}

/* Exclusive locks on a fenced window exclude each other as always: two ranks add to
 * a counter of rank 0 by Get and Put. */
static void fenced_excludes(enum kind kind)
{
    struct test_window w = window_open(MPI_COMM_WORLD, kind, 8, 8,
                                       "oriel_offload=true,oriel_access=fenced");
    memset(w.base, 0, 8);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t value = 0;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
        MPI_Get(&value, 1, MPI_UINT64_T, 0, 0, 1, MPI_UINT64_T, w.win);
        MPI_Win_flush(0, w.win);
        value++;
        MPI_Put(&value, 1, MPI_UINT64_T, 0, 0, 1, MPI_UINT64_T, w.win);
        MPI_Win_unlock(0, w.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == 0) {
        uint64_t sum;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
        memcpy(&sum, w.base, 8);
        MPI_Win_unlock(0, w.win);
        CHECK(sum == (uint64_t)(ROUNDS * test.ranks),
              "exclusive locks on a fenced window exclude (%s): %llu of %d",
              kind_names[kind], (unsigned long long)sum, ROUNDS * test.ranks);
    }
    ALL_SERVED(&w, ROUNDS, "reads under exclusive locks are redirected");
    window_close(&w);
}

int main(void)
{
    test_start(2);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        general(kind, MPI_LOCK_SHARED);
        general(kind, MPI_LOCK_EXCLUSIVE);
        fenced_excludes(kind);
        /* Left to Open MPI, such a window locks as Open MPI does. */
        if (test.layer && (kind != KIND_ALLOCATE || !test.openmpi)) fenced_passes(kind);
    }
    return test_end();
}
