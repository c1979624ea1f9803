/*
 * place_hazard.c - what goes wrong when a layer sees only some of a program's calls.
 *
 * Legal MPI from end to end. Other tools may hide any function from Oriel (a tool that
 * comes first in the preload calls PMPI_* and Oriel never hears of it), so windows may
 * be freed unseen and their handles reused, locks end unseen, memory come and go
 * unseen. Every byte is checked in every round.
 */
#include "place_reads.h"

enum { CELLS = 512, ROUNDS = 12 };

static int rank, size, wrong;

static void expect(int got, int want, const char *what)
{
    if (got != want && wrong++ < 5)
        fprintf(stderr, "rank %d: %s: got %d, expected %d\n", rank, what, got, want);
}

static int get_cell(MPI_Win win, int target, int cell)
{
    int got = -1;
    MPI_Get(&got, 1, MPI_INT, target, cell, 1, MPI_INT, win);
    MPI_Win_flush(target, win);
    return got;
}

/* Updates by the native library, then reads of the same cells. */
static void run_updates(MPI_Win win, int round)
{
    int target = (rank + 1) % size, one = 1, cell = 8 + rank;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 20; i++) {
        int value = round * 1000 + i, result = -1;
        MPI_Put(&value, 1, MPI_INT, target, cell, 1, MPI_INT, win);
        MPI_Win_flush(target, win);
        expect(get_cell(win, target, cell), value, "put, flush, get");
        MPI_Accumulate(&one, 1, MPI_INT, target, cell, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_flush(target, win);
        expect(get_cell(win, target, cell), value + 1, "accumulate, flush, get");
        MPI_Fetch_and_op(&one, &result, MPI_INT, target, cell, MPI_SUM, win);
        MPI_Win_flush(target, win);
        expect(result, value + 1, "fetch and op");
        expect(get_cell(win, target, cell), value + 2, "fetch and op, flush, get");
    }
    MPI_Win_unlock_all(win);
}

/* Reads of the target's own stores, by each kind of epoch. */
static void run_stores(MPI_Win win, int *base, int round)
{
    int target = (rank + 1) % size, got;
    for (int i = 0; i < 8; i++) {
        base[0] = round * 100 + i * 10 + rank;
        MPI_Win_fence(0, win);
        got = -1;
        if (i % 2) {
            MPI_Get(&got, 1, MPI_INT, target, 0, 1, MPI_INT, win);
            MPI_Win_fence(0, win);
        } else {
            MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
            MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
            MPI_Get(&got, 1, MPI_INT, target, 0, 1, MPI_INT, win);
            MPI_Win_unlock(target, win);
        }
        expect(got, round * 100 + i * 10 + target, "the target's store");
        MPI_Win_fence(0, win);
    }
}

static void run_window(MPI_Win win, int *base, int round)
{
    for (int i = 0; i < CELLS; i++)
        base[i] = -i;
    MPI_Win_fence(0, win);
    run_stores(win, base, round);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    run_updates(win, round);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win win;
        int *base, *block;
        /* Freed just before each create: handles and addresses come back. */
        MPI_Win_allocate(CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL,
                         MPI_COMM_WORLD, &base, &win);
        run_window(win, base, round);
        MPI_Win_free(&win);

        MPI_Alloc_mem(CELLS * sizeof(int), MPI_INFO_NULL, &block);
        MPI_Win_create(block, CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL,
                       MPI_COMM_WORLD, &win);
        run_window(win, block, round);
        MPI_Win_free(&win);
        MPI_Free_mem(block);

        block = aligned_alloc(64, CELLS * sizeof(int));
        MPI_Win_create(block, CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL,
                       MPI_COMM_WORLD, &win);
        run_window(win, block, round);
        MPI_Win_free(&win);
        free(block);
    }
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) puts(all == 0 ? "all reads right" : "reads wrong");
    MPI_Finalize();
    return all != 0;
}
