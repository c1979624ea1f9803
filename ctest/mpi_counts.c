/*
 * Makes a known number of reads of each sort on four ranks, for mpi_stats.py, which
 * compares them with the report. With argument "leave" the last window is not freed.
 * What each window should show, over all ranks:
 *
 *   0  create     40 cma, 12 self, 8 proc-null, 16 empty, 4 dirty; 40 * 100 + 12 * 8
 *                 bytes
 *   1  create     28 mapped (MPI_Alloc_mem), 12 no-epoch, 28 * 64 bytes
 *   -  not annotated: 20 reads that are not counted
 *   3  allocate   24 of 8 bytes, served or left to a library that maps the window
 *   4  create     on two halves of the world: two windows of 2 ranks, 4 cma each
 */
#include "mpi_test.h"

static unsigned char got[128];
static int target;

static void get(MPI_Win win, int rank, int bytes)
{
    MPI_Get(got, bytes, MPI_BYTE, rank, 0, bytes, MPI_BYTE, win);
}

static void first(void)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, KIND_CREATE, 4096, 1, "oriel_offload=true");
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < 10; i++)
        get(w.win, target, 100);
    for (int i = 0; i < 3; i++)
        get(w.win, test.rank, 8);
    for (int i = 0; i < 2; i++)
        get(w.win, MPI_PROC_NULL, 8);
    for (int i = 0; i < 4; i++)
        get(w.win, target, 0);
    MPI_Win_flush_all(w.win);
    MPI_Put(got, 1, MPI_BYTE, target, 4000 + test.rank, 1, MPI_BYTE, w.win);
    get(w.win, target, 8);
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&w);
}

static void second(void)
{
    struct test_window w = window_open(MPI_COMM_WORLD, KIND_ALLOC_MEM, 4096, 1,
                                       "oriel_offload=true,oriel_access=fenced");
    MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
    for (int i = 0; i < 7; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
        get(w.win, target, 64);
        MPI_Win_unlock(target, w.win);
    }
    for (int i = 0; i < 3; i++)
        get(w.win, target, 8); /* an error, and counted */
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&w);
}

static void not_annotated(void)
{
    struct test_window w = window_open(MPI_COMM_WORLD, KIND_CREATE, 4096, 1, NULL);
    MPI_Win_fence(0, w.win);
    for (int i = 0; i < 5; i++)
        get(w.win, target, 8);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    window_close(&w);
}

static void third(void)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, KIND_ALLOCATE, 4096, 1, "oriel_offload=true");
    MPI_Win_fence(0, w.win);
    for (int i = 0; i < 6; i++)
        get(w.win, target, 8);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    window_close(&w);
}

static void halves(bool leave)
{
    MPI_Comm half;
    int rank;
    MPI_Comm_split(MPI_COMM_WORLD, test.rank % 2, test.rank, &half);
    MPI_Comm_rank(half, &rank);
    struct test_window w = window_open_in_turn(test.rank % 2, 2, half, KIND_CREATE, 64,
                                               1, "oriel_offload=true");
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < 2; i++)
        get(w.win, 1 - rank, 16);
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(half);
    if (!leave) window_close(&w);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    test_start(4);
    NEED(test.ranks == 4, "four ranks");
    target = (test.rank + 1) % test.ranks;
    first();
    second();
    not_annotated();
    third();
    halves(argc > 1 && strcmp(argv[1], "leave") == 0);
    CHECK(true, "the reads were made");
    return test_end();
}
