/*
 * place_dlopen.c - a program that opens libmpi with RTLD_LOCAL and takes every function
 * from the handle by dlsym. Symbol lookup does not pass through a preloaded library
 * then, so nothing can be redirected; it must be harmless.
 *
 *   place_dlopen libmpi.so.40|libmpich.so.12
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;

static void *find(const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "no %s: %s\n", name, dlerror());
        exit(2);
    }
    return symbol;
}

/* Function pointers of the right type, filled by name. */
#define CALLS(use)                                                                     \
    use(Init) use(Finalize) use(Comm_rank) use(Comm_size) use(Win_create)              \
        use(Win_free) use(Win_lock) use(Win_unlock) use(Get) use(Win_fence)            \
            use(Alloc_mem) use(Free_mem)
#define DECLARE(name) static __typeof__(MPI_##name) *call_##name;
CALLS(DECLARE)
#define FIND(name) *(void **)&call_##name = find("MPI_" #name);

#ifdef OPEN_MPI
#define WORLD ((MPI_Comm)find("ompi_mpi_comm_world"))
#define NO_INFO ((MPI_Info)find("ompi_mpi_info_null"))
#define INTEGER ((MPI_Datatype)find("ompi_mpi_int"))
#else
#define WORLD MPI_COMM_WORLD
#define NO_INFO MPI_INFO_NULL
#define INTEGER MPI_INT
#endif

int main(int argc, char **argv)
{
    library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
    if (!library || argc < 2) {
        printf("skipped: cannot open libmpi: %s\n", argc > 1 ? dlerror() : "no name");
        return 77;
    }
    CALLS(FIND)
    int rank, size, *base, got = -1;
    call_Init(&argc, &argv);
    call_Comm_rank(WORLD, &rank);
    call_Comm_size(WORLD, &size);
    MPI_Win win;
    call_Alloc_mem(sizeof(int), NO_INFO, &base);
    *base = 1000 + rank;
    call_Win_create(base, sizeof(int), sizeof(int), NO_INFO, WORLD, &win);
    call_Win_fence(0, win);
    call_Win_fence(MPI_MODE_NOSUCCEED, win);
    int target = (rank + 1) % size;
    call_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    call_Get(&got, 1, INTEGER, target, 0, 1, INTEGER, win);
    call_Win_unlock(target, win);
    call_Win_free(&win);
    call_Free_mem(base);
    call_Finalize();
    if (got != 1000 + target)
        fprintf(stderr, "rank %d read %d\n", rank, got);
    else if (rank == 0)
        puts("all reads right");
    return got == 1000 + target ? 0 : 1;
}
