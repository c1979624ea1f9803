/*
 * Nobody waits for a busy rank: a reader gets its bytes while the target computes
 * (B1), and (DESIGN, correct Gets, rule 6) a rank that makes only redirected reads
 * still lets others' updates of its own memory go on. The busy rank waits for a flag
 * outside of MPI, so a read or an update that needs it runs into its deadline.
 */
#include "mpi_test.h"

enum { BYTES = 1 << 20 };
static const double deadline_s = 20;
static unsigned char got[BYTES];

/* Compute, without MPI, until the flag is set. */
static void compute_until(const int *flag, const char *what, enum kind kind)
{
    volatile double sum = 0;
    double deadline = seconds() + deadline_s;
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE) && seconds() < deadline)
        for (int i = 0; i < 10000; i++)
            sum = sum + i * 0.5;
    CHECK(__atomic_load_n(flag, __ATOMIC_ACQUIRE),
          "%s does not wait for the target (%s)", what, kind_names[kind]);
}

/* Rank 0 reads rank 1, which computes. lock_all was taken before, or not. */
static void busy_target(enum kind kind, bool locked, const char *keys, const char *what)
{
    struct test_window w = window_open(MPI_COMM_WORLD, kind, BYTES, 1, keys);
    int *done = shared_page();
    pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Lock, and a first read: connections may be made while the target helps. */
    if (locked && test.rank == 0) {
        MPI_Win_lock_all(0, w.win);
        MPI_Get(got, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, w.win);
        MPI_Win_flush(1, w.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == 1) compute_until(done, what, kind);
    if (test.rank == 0) {
        for (int i = 0; i < 20; i++) {
            size_t bytes = i % 2 ? 8 : BYTES;
            memset(got, 0, bytes);
            if (!locked) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w.win);
            MPI_Get(got, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, w.win);
            if (locked)
                MPI_Win_flush(1, w.win);
            else
                MPI_Win_unlock(1, w.win);
            CHECK(pattern_is(got, 1, 0, bytes), "%s gets the right bytes", what);
        }
        __atomic_store_n(done, 1, __ATOMIC_RELEASE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (locked && test.rank == 0) MPI_Win_unlock_all(w.win);
    if (test.rank == 0) ALL_SERVED(&w, locked ? 21 : 20, "and is redirected");
    window_close(&w);
    munmap(done, 4096);
}

/* Rank 1 updates rank 0, which only reads rank 1, and stops when it sees the update
 * done: by the flag, not by MPI. */
static void starved(enum kind kind, size_t read_bytes)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, kind, BYTES, 1, "oriel_offload=true");
    int *done = shared_page();
    memset(w.base, 1, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w.win);
    if (test.rank == 1) {
        static int32_t one = 1, old;
        memset(got, 2, BYTES);
        for (int i = 0; i < 10; i++) {
            MPI_Put(got, BYTES, MPI_BYTE, 0, 0, BYTES, MPI_BYTE, w.win);
            MPI_Win_flush(0, w.win);
            MPI_Fetch_and_op(&one, &old, MPI_INT32_T, 0, 0, MPI_SUM, w.win);
            MPI_Win_flush(0, w.win);
        }
        __atomic_store_n(done, 1, __ATOMIC_RELEASE);
    } else if (test.rank == 0) {
        uint64_t reads = 0;
        double deadline = seconds() + deadline_s;
        while (!__atomic_load_n(done, __ATOMIC_ACQUIRE)) {
            MPI_Get(got, (int)read_bytes, MPI_BYTE, 1, 0, (int)read_bytes, MPI_BYTE,
                    w.win);
            if (++reads % 256 == 0 && seconds() > deadline) break;
        }
        CHECK(__atomic_load_n(done, __ATOMIC_ACQUIRE),
              "updates of a rank that only reads go on (%s, %zu bytes, %llu reads)",
              kind_names[kind], read_bytes, (unsigned long long)reads);
        CHECK(!test.layer || reads > 0, "it reads");
    }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == 0) CHECK(w.base[BYTES - 1] == 2, "and arrive");
    window_close(&w);
    munmap(done, 4096);
}

int main(void)
{
    test_start(2);
    if (!test.layer) check_skip("without Oriel, reads wait for the target");
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        starved(kind, 8);
        starved(kind, 65536);
        if (kind == KIND_ALLOCATE && test.openmpi) continue; /* left to the library */
        busy_target(kind, true, "oriel_offload=true", "a read under lock_all");
        busy_target(kind, false, "oriel_offload=true,oriel_access=fenced",
                    "lock, read, unlock of a fenced window");
        busy_target(kind, false, "oriel_offload=true,oriel_access=immutable",
                    "lock, read, unlock of an immutable window");
    }
    return test_end();
}
