/*
 * place_plugin.c - a library that uses MPI, as Python's extension modules do: linked to
 * libmpi itself, opened by a host that is not, with RTLD_LOCAL.
 */
#include "place_reads.h"

int place_plugin_run(int *argc, char ***argv);

int place_plugin_run(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    int failed = reads_run(80);
    MPI_Finalize();
    return failed;
}
