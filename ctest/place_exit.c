/*
 * place_exit.c - the ways in which programs end with windows that they never freed.
 *
 *   place_exit finalize|epoch|exit|return|abort
 */
#include "place_reads.h"

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "finalize";
    struct reads t = {0};
    unsigned char *base[READS_KINDS];
    MPI_Win win[READS_KINDS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.size);
    for (int kind = 0; kind < READS_KINDS; kind++) {
        win[kind] = reads_open(&t, kind, &base[kind]);
        for (int round = 0; round < 40; round++)
            reads_one(&t, kind, win[kind], round);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win[kind]);
        t.redirected += reads_count(win[kind], "redirected");
    }
    if (strcmp(way, "epoch") == 0)
        MPI_Win_lock_all(0, win[READS_CREATE]); /* and left open */
    MPI_Barrier(MPI_COMM_WORLD);
    if (t.rank == 0) {
        printf("gets=%llu redirected=%llu wrong=%llu below=0\n%s\n", t.gets,
               t.redirected, t.wrong, t.wrong ? "reads wrong" : "all reads right");
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(way, "exit") == 0) exit(0);
    if (strcmp(way, "return") == 0) return 0;
    if (strcmp(way, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Finalize();
    return 0;
}
