/*
 * place_lone.c - what a program may do first after MPI_Init.
 *
 *   place_lone barrier|bcast|allreduce|window|message|compute [seconds before MPI_Init]
 *
 * For jobs in which only some ranks load Oriel: whatever the program's first call is,
 * it meets the layer's first exchange of the other ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INTS = 1 << 16 };
static int block[INTS];

static void run_window(int rank, int size)
{
    int *base, got = -1;
    MPI_Win win;
    /* MPICH 4.0.2 returns wrong bytes of allocated windows under 16 bytes. */
    MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &base, &win);
    *base = rank;
    MPI_Win_fence(0, win);
    MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    if (got != (rank + 1) % size) exit(1);
}

static void run_message(int rank, int size)
{
    int token = rank, got = -1;
    MPI_Status status;
    MPI_Request request;
    MPI_Isend(&token, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &request);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (got != (rank + size - 1) % size || status.MPI_TAG != 7) exit(1);
}

int main(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "barrier";
    if (argc > 2) sleep((unsigned)atoi(argv[2]));
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(first, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(first, "bcast") == 0)
        MPI_Bcast(block, INTS, MPI_INT, 0, MPI_COMM_WORLD);
    else if (strcmp(first, "allreduce") == 0)
        MPI_Allreduce(MPI_IN_PLACE, block, INTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(first, "window") == 0)
        run_window(rank, size);
    else if (strcmp(first, "message") == 0)
        run_message(rank, size);
    else
        sleep(1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) puts("the program ended by itself");
    MPI_Finalize();
    return 0;
}
