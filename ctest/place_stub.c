/*
 * place_stub.c - a serial stand-in for MPI, as some codes bring one to run without
 * MPI: MPI_* functions without any PMPI_*. Compiled twice: as the library (-DSTUB) and
 * as the program.
 */
#ifdef STUB
int MPI_Init(int *argc, char ***argv);
int MPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}
int MPI_Comm_size(int comm, int *size);
int MPI_Comm_size(int comm, int *size)
{
    (void)comm;
    *size = 1;
    return 0;
}
int MPI_Finalize(void);
int MPI_Finalize(void)
{
    return 0;
}
#else
#include <stdio.h>

int MPI_Init(int *argc, char ***argv);
int MPI_Comm_size(int comm, int *size);
int MPI_Finalize(void);

int main(int argc, char **argv)
{
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(0, &size);
    MPI_Finalize();
    printf("size %d\n", size);
    return size != 1;
}
#endif
