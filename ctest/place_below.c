/*
 * place_below.c - sits below the layer and counts what the MPI library is asked for.
 *
 * A preloaded library that defines PMPI_Get and PMPI_Rget: whoever looks for them
 * finds these first, and they go on to the library's own. MPI_Get itself is not
 * touched, so without the layer nothing is counted and `below` stays 0.
 */
#include <dlfcn.h>
#include <mpi.h>

static unsigned long long gets;

unsigned long long place_below_gets(void)
{
    return __atomic_load_n(&gets, __ATOMIC_RELAXED);
}

int PMPI_Get(void *origin, int origin_count, MPI_Datatype origin_type, int target,
             MPI_Aint disp, int target_count, MPI_Datatype target_type, MPI_Win win)
{
    int (*next)(void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win);
    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Get");
    __atomic_add_fetch(&gets, 1, __ATOMIC_RELAXED);
    return next(origin, origin_count, origin_type, target, disp, target_count,
                target_type, win);
}

int PMPI_Rget(void *origin, int origin_count, MPI_Datatype origin_type, int target,
              MPI_Aint disp, int target_count, MPI_Datatype target_type, MPI_Win win,
              MPI_Request *request)
{
    int (*next)(void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win,
                MPI_Request *);
    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Rget");
    /* A redirected Rget ends in a native one to MPI_PROC_NULL: no read. */
    if (target != MPI_PROC_NULL) __atomic_add_fetch(&gets, 1, __ATOMIC_RELAXED);
    return next(origin, origin_count, origin_type, target, disp, target_count,
                target_type, win, request);
}
