/*
 * Field cases A18 and A25: 10 000 rounds of post, start, read, complete, wait (number
 * of rounds as argument), which Oriel leaves to the library; and 10 000 reads before
 * one fence, of 8 bytes and of 8 KiB.
 */
#include "mpi_test.h"

enum { READS = 10000, LARGE = 8192, SLOTS = 64 };

/* Every rank reads the next one; a value a round. */
static void pscw(int rounds)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, KIND_ALLOC_MEM, 64, 8, "oriel_offload=true");
    uint64_t *mine = (uint64_t *)(void *)w.base, got = 0;
    int ahead = (test.rank + 1) % test.ranks;
    int behind = (test.rank + test.ranks - 1) % test.ranks, wrong = 0;
    MPI_Group all, to, from;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &ahead, &to);
    MPI_Group_incl(all, 1, &behind, &from);
    for (int round = 0; round < rounds; round++) {
        mine[0] = (uint64_t)round * 1000 + (uint64_t)test.rank;
        MPI_Win_post(from, 0, w.win);
        MPI_Win_start(to, 0, w.win);
        MPI_Get(&got, 1, MPI_UINT64_T, ahead, 0, 1, MPI_UINT64_T, w.win);
        MPI_Win_complete(w.win);
        MPI_Win_wait(w.win);
        wrong += got != (uint64_t)round * 1000 + (uint64_t)ahead;
    }
    CHECK(wrong == 0, "%d PSCW rounds read right", rounds);
    COUNTED(w.win, "pscw", rounds, "and are left to the library");
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&all);
    window_close(&w);
}

static void before_one_fence(enum kind kind, size_t bytes)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, kind, SLOTS * bytes, 1, "oriel_offload=true");
    unsigned char *got = calloc(SLOTS, bytes);
    int target = (test.rank + 1) % test.ranks;
    pattern_fill(w.base, (unsigned)test.rank, 0, SLOTS * bytes);
    MPI_Win_fence(0, w.win);
    for (size_t i = 0; i < READS; i++)
        MPI_Get(got + i % SLOTS * bytes, (int)bytes, MPI_BYTE, target,
                (MPI_Aint)(i % SLOTS * bytes), (int)bytes, MPI_BYTE, w.win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    CHECK(pattern_is(got, (unsigned)target, 0, SLOTS * bytes),
          "%d reads of %zu bytes before one fence are right (%s)", READS, bytes,
          kind_names[kind]);
    ALL_SERVED(&w, READS, "and redirected");
    free(got);
    window_close(&w);
}

int main(int argc, char **argv)
{
    test_start(2);
    pscw(argc > 1 ? atoi(argv[1]) : 1000);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        before_one_fence(kind, 8);
        before_one_fence(kind, LARGE);
    }
    return test_end();
}
