/*
 * DESIGN, correct Gets, rule 5, and field case A20: what a target stores by plain
 * stores is what a reader sees after the two have synchronised, whichever way, every
 * round; and an aligned 8-byte value that is being stored is read whole.
 */
#include "mpi_test.h"

enum { WORDS = 512, BYTES = WORDS * 8 };
static uint64_t rounds = 1000, single_reads = 100000; /* even */
static uint64_t got[WORDS];

static void store(struct test_window *w, uint64_t value)
{
    for (size_t i = 0; i < WORDS; i++)
        ((uint64_t *)(void *)w->base)[i] = value * 1000003 + i;
}

static void is_stored(uint64_t value, const char *how, enum kind kind)
{
    bool right = true;
    for (size_t i = 0; i < WORDS; i++)
        right &= got[i] == value * 1000003 + i;
    CHECK(right, "round %llu of %s shows new bytes (%s)", (unsigned long long)value,
          how, kind_names[kind]);
}

static void read_all(struct test_window *w, int target)
{
    MPI_Get(got, WORDS, MPI_UINT64_T, target, 0, WORDS, MPI_UINT64_T, w->win);
}

/* Stores, Win_sync, barrier; then reads under lock_all. */
static void by_barrier(enum kind kind, const char *keys)
{
    struct test_window w = window_open(MPI_COMM_WORLD, kind, BYTES, 8, keys);
    int target = (test.rank + 1) % test.ranks;
    MPI_Win_lock_all(0, w.win);
    for (uint64_t round = 1; round <= rounds; round++) {
        store(&w, round);
        MPI_Win_sync(w.win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(w.win);
        read_all(&w, target);
        MPI_Win_flush(target, w.win);
        is_stored(round, "sync and barrier", kind);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(w.win);
    ALL_SERVED(&w, rounds, "reads after a barrier are redirected");
    window_close(&w);
}

/* Stores between fences; the reader reads in the fence epoch. */
static void by_fence(enum kind kind, const char *keys)
{
    struct test_window w = window_open(MPI_COMM_WORLD, kind, BYTES, 8, keys);
    int target = (test.rank + 1) % test.ranks;
    for (uint64_t round = 1; round <= rounds; round++) {
        store(&w, round);
        MPI_Win_fence(0, w.win);
        read_all(&w, target);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
        is_stored(round, "a fence", kind);
    }
    ALL_SERVED(&w, rounds, "reads in fence epochs are redirected");
    window_close(&w);
}

/* As DDStore does it: updates between two fences, then lock, read, unlock. */
static void by_fence_and_lock(enum kind kind)
{
    struct test_window w = window_open(MPI_COMM_WORLD, kind, BYTES, 8,
                                       "oriel_offload=true,oriel_access=fenced");
    int target = (test.rank + 1) % test.ranks;
    for (uint64_t round = 1; round <= rounds; round++) {
        MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win);
        store(&w, round);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
        read_all(&w, target);
        MPI_Win_unlock(target, w.win);
        is_stored(round, "fence and lock", kind);
    }
    ALL_SERVED(&w, rounds, "reads under locks after fences are redirected");
    window_close(&w);
}

/* A message tells that the bytes are there: no collective call, no window call at the
 * target but Win_sync. Both ranks take turns. */
static void by_message(enum kind kind)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, kind, BYTES, 8, "oriel_offload=true");
    MPI_Win_lock_all(0, w.win);
    for (uint64_t round = 1; round <= rounds && test.rank < 2; round++) {
        int peer = 1 - test.rank;
        if (round % 2 == (uint64_t)test.rank) {
            store(&w, round);
            MPI_Win_sync(w.win);
            MPI_Send(NULL, 0, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Win_sync(w.win);
            read_all(&w, peer);
            MPI_Win_flush(peer, w.win);
            is_stored(round, "sync and message", kind);
        }
    }
    MPI_Win_unlock_all(w.win);
    if (test.rank < 2)
        ALL_SERVED(&w, rounds / 2, "reads after a message are redirected");
    window_close(&w);
}

/* A reader that polls: flags that are seen in order carry the data stored before. */
static void polled(enum kind kind)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, kind, BYTES, 8, "oriel_offload=true");
    uint64_t *words = (uint64_t *)(void *)w.base, reads = 0;
    memset(w.base, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == 1) {
        /* The owner writes data, then the flag, and never waits for the reader. */
        for (uint64_t value = 1; value <= 200; value++) {
            __atomic_store_n(&words[1], value, __ATOMIC_RELAXED);
            __atomic_store_n(&words[0], value, __ATOMIC_RELEASE);
            usleep(200);
        }
    } else if (test.rank == 0) {
        bool ordered = true;
        uint64_t flag = 0, data = 0;
        MPI_Win_lock_all(0, w.win);
        while (flag < 200) {
            MPI_Get(&flag, 1, MPI_UINT64_T, 1, 0, 1, MPI_UINT64_T, w.win);
            MPI_Win_flush(1, w.win);
            MPI_Get(&data, 1, MPI_UINT64_T, 1, 1, 1, MPI_UINT64_T, w.win);
            MPI_Win_flush(1, w.win);
            ordered &= data >= flag;
            reads += 2;
        }
        MPI_Win_unlock_all(w.win);
        CHECK(ordered, "reads with a flush between them are in order (%s)",
              kind_names[kind]);
        ALL_SERVED(&w, reads, "polling reads are redirected");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&w);
}

/* Whole words under stores: every value has equal halves. */
static void torn(enum kind kind, int count)
{
    enum { ALL = 16 };
    struct test_window w =
        window_open(MPI_COMM_WORLD, kind, ALL * 8, 8, "oriel_offload=true");
    uint64_t *words = (uint64_t *)(void *)w.base;
    int *stop = shared_page();
    memset(w.base, 0, ALL * 8);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == 1) {
        for (uint64_t value = 0; !__atomic_load_n(stop, __ATOMIC_ACQUIRE); value++)
            for (int i = 0; i < ALL; i++)
                __atomic_store_n(&words[i], value % 65521 * 0x0001000100010001,
                                 __ATOMIC_RELAXED);
    } else if (test.rank == 0) {
        uint64_t torn_words = 0, reads = 0;
        MPI_Win_lock_all(MPI_MODE_NOCHECK, w.win);
        for (; reads < single_reads; reads++) {
            MPI_Get(got, count, MPI_UINT64_T, 1, (MPI_Aint)(reads % 4), count,
                    MPI_UINT64_T, w.win);
            MPI_Win_flush(1, w.win);
            for (int i = 0; i < count; i++)
                torn_words += got[i] % 0x0001000100010001 != 0;
        }
        __atomic_store_n(stop, 1, __ATOMIC_RELEASE);
        MPI_Win_unlock_all(w.win);
        CHECK(torn_words == 0, "no 8-byte value is torn (%s, %d at once): %llu were",
              kind_names[kind], count, (unsigned long long)torn_words);
        ALL_SERVED(&w, reads, "reads under stores are redirected");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&w);
    munmap(stop, 4096);
}

int main(int argc, char **argv)
{
    if (argc > 1) { /* so many times fewer */
        rounds /= (uint64_t)atoi(argv[1]);
        single_reads /= (uint64_t)atoi(argv[1]);
    }
    test_start(2);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        by_barrier(kind, "oriel_offload=true");
        by_barrier(kind, "oriel_offload=true,oriel_access=fenced");
        by_fence(kind, "oriel_offload=true");
        by_fence(kind, "oriel_offload=true,oriel_access=fenced");
        by_fence_and_lock(kind);
        by_message(kind);
        /* A library that reads by messages does not promise whole words, and waits
         * for the target. */
        if (!test.layer) continue;
        polled(kind);
        torn(kind, 1);
        torn(kind, 2);
    }
    return test_end();
}
