/*
 * Field case A13: windows on split, reversed and rotated communicators; a rank of the
 * window is not a rank of the world. Many rounds, with windows of several
 * communicators alive at once, and reads of every rank.
 */
#include "mpi_test.h"

enum { BYTES = 4096 };
static unsigned char got[BYTES];

/* The seed is the world's rank, so that a read of the wrong process shows. */
static void read_everyone(struct test_window *w, MPI_Comm comm, const int *world_ranks,
                          const char *what)
{
    int n;
    MPI_Comm_size(comm, &n);
    for (int target = 0; target < n; target++) {
        memset(got, 0, BYTES);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
        MPI_Get(got, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, w->win);
        MPI_Win_unlock(target, w->win);
        CHECK(pattern_is(got, (unsigned)world_ranks[target], 0, BYTES),
              "rank %d of a %s communicator is world rank %d (%s)", target, what,
              world_ranks[target], kind_names[w->kind]);
    }
    ALL_SERVED(w, n, "reads on a %s communicator are redirected", what);
}

/* The communicator is one of `parts` that make a window each. */
static void on_communicator(MPI_Comm comm, int parts, enum kind kind, const char *what)
{
    int n, *world_ranks;
    MPI_Comm_size(comm, &n);
    world_ranks = calloc((size_t)n, sizeof *world_ranks);
    MPI_Allgather(&test.rank, 1, MPI_INT, world_ranks, 1, MPI_INT, comm);
    struct test_window w =
        parts == 1 ? window_open(comm, kind, BYTES, 1, "oriel_offload=true")
                   : window_open_in_turn(test.rank % parts, parts, comm, kind, BYTES, 1,
                                         "oriel_offload=true");
    pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
    MPI_Barrier(comm);
    read_everyone(&w, comm, world_ranks, what);
    MPI_Barrier(comm);
    window_close(&w);
    free(world_ranks);
}

/* A window of the world stays alive beside one of a part of it. */
static void together(MPI_Comm part, enum kind kind)
{
    int world[64], n, *ranks = calloc((size_t)test.ranks, sizeof *ranks);
    for (int i = 0; i < test.ranks && i < 64; i++)
        world[i] = i;
    MPI_Comm_size(part, &n);
    MPI_Allgather(&test.rank, 1, MPI_INT, ranks, 1, MPI_INT, part);
    struct test_window a =
        window_open(MPI_COMM_WORLD, kind, BYTES, 1, "oriel_offload=true");
    struct test_window b = window_open_in_turn(test.rank % 2, 2, part, kind, BYTES, 1,
                                               "oriel_offload=true");
    pattern_fill(a.base, (unsigned)test.rank, 0, BYTES);
    pattern_fill(b.base, (unsigned)test.rank, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    read_everyone(&b, part, ranks, "part");
    read_everyone(&a, MPI_COMM_WORLD, world, "whole");
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&a);
    window_close(&b);
    free(ranks);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    test_start(4);
    MPI_Comm reversed, rotated, halves, alone, duplicate;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test.rank, &reversed);
    MPI_Comm_split(MPI_COMM_WORLD, 0, (test.rank + 1) % test.ranks, &rotated);
    MPI_Comm_split(MPI_COMM_WORLD, test.rank % 2, -test.rank, &halves);
    MPI_Comm_split(MPI_COMM_WORLD, test.rank == 0 ? 1 : MPI_UNDEFINED, 0, &alone);
    MPI_Comm_dup(reversed, &duplicate);
    for (int round = 0; round < rounds; round++) {
        enum kind kind = round % KIND_COUNT;
        on_communicator(reversed, 1, kind, "reversed");
        on_communicator(rotated, 1, kind, "rotated");
        on_communicator(halves, 2, kind, "halved");
        on_communicator(duplicate, 1, kind, "duplicated");
        together(halves, kind);
        /* Open MPI 4.1.4 makes no window on a communicator of one process. */
        if (!test.openmpi && alone != MPI_COMM_NULL && kind == KIND_CREATE)
            on_communicator(alone, 1, kind, "one-process");
        if (!test.openmpi && kind == KIND_CREATE)
            on_communicator(MPI_COMM_SELF, 1, kind, "self");
    }
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&rotated);
    MPI_Comm_free(&halves);
    MPI_Comm_free(&duplicate);
    if (alone != MPI_COMM_NULL) MPI_Comm_free(&alone);
    return test_end();
}
