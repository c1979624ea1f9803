/* A program as a user has it, for cli.run: each rank reads its neighbour's window and
 * says what it saw. Exit code 3 when an argument says "fail". */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1000 };

int main(int argc, char **argv)
{
    int rank, size, bad = 0;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *words = malloc(WORDS * sizeof *words);
    for (int i = 0; i < WORDS; i++)
        words[i] = 100000 * rank + i;
    MPI_Win_create(words, WORDS * sizeof *words, sizeof *words, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
    int peer = (rank + 1) % size;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < WORDS; i++) {
        int got = -1;
        MPI_Get(&got, 1, MPI_INT, peer, i, 1, MPI_INT, win);
        MPI_Win_flush(peer, win);
        bad += got != 100000 * peer + i;
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    free(words);
    const char *preload = getenv("LD_PRELOAD");
    printf("rank %d of %d: %d bad, %s\n", rank, size, bad,
           preload && strstr(preload, "oriel") ? "preloaded" : "not preloaded");
    fflush(stdout);
    MPI_Finalize();
    return bad ? 1 : argc > 1 && strcmp(argv[1], "fail") == 0 ? 3 : 0;
}
