/*
 * place_calls.c - calls that tools tend to forget: every RMA call, big counts,
 * extensions of the library (MPIX_*). All must resolve under the preload, also with
 * LD_BIND_NOW, and give what they give natively.
 */
#include "place_reads.h"

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

static int rank, size, wrong;

static void expect(long got, long want, const char *what)
{
    if (got != want) {
        wrong++;
        fprintf(stderr, "rank %d: %s: got %ld, expected %ld\n", rank, what, got, want);
    }
}

static void wait_for(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* The request-based and the local-flush calls. Cells 0 to 15 of the target are only
 * this origin's: everyone writes to its right neighbour. */
static void run_requests(MPI_Win win)
{
    int target = (rank + 1) % size, value = 40 + rank, one = 1, got = -1, result = -1;
    MPI_Request request;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Rput(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win, &request);
    wait_for(&request);
    MPI_Win_flush_all(win);
    MPI_Rget(&got, 1, MPI_INT, target, 0, 1, MPI_INT, win, &request);
    wait_for(&request);
    expect(got, value, "Rput, Rget");
    MPI_Raccumulate(&one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win, &request);
    wait_for(&request);
    MPI_Win_flush(target, win);
    MPI_Rget_accumulate(&one, 1, MPI_INT, &result, 1, MPI_INT, target, 0, 1, MPI_INT,
                        MPI_SUM, win, &request);
    wait_for(&request);
    MPI_Win_flush(target, win);
    expect(result, value + 1, "Rget_accumulate");
    MPI_Get_accumulate(NULL, 0, MPI_INT, &result, 1, MPI_INT, target, 0, 1, MPI_INT,
                       MPI_NO_OP, win);
    MPI_Win_flush_local(target, win);
    expect(result, value + 2, "Get_accumulate");
    int seven = 7, old = value + 2;
    MPI_Compare_and_swap(&seven, &old, &result, MPI_INT, target, 0, win);
    MPI_Win_flush_local_all(win);
    expect(result, value + 2, "Compare_and_swap");
    MPI_Win_flush_all(win);
    got = -1;
    MPI_Get(&got, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_flush_local(target, win);
    expect(got, 7, "Get, flush_local");
    MPI_Win_sync(win);
    MPI_Win_unlock_all(win);
}

static void run_pscw(MPI_Win win, int *base)
{
    MPI_Group world, right, left;
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, got = -1,
        flag = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &next, &right);
    MPI_Group_incl(world, 1, &previous, &left);
    for (int round = 0; round < 50; round++) {
        base[20] = 1000 * round + rank;
        MPI_Win_post(left, 0, win);
        MPI_Win_start(right, 0, win);
        MPI_Get(&got, 1, MPI_INT, next, 20, 1, MPI_INT, win);
        MPI_Win_complete(win);
        expect(got, 1000 * round + next, "start, Get, complete");
        if (round % 2)
            MPI_Win_wait(win);
        else
            for (flag = 0; !flag;)
                MPI_Win_test(win, &flag);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&right);
    MPI_Group_free(&left);
}

static void run_shared(void)
{
    MPI_Win win;
    int *mine, *theirs, unit = 0;
    MPI_Aint bytes = 0;
    MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Win_lock_all(0, win);
    mine[0] = 500 + rank;
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &theirs);
    MPI_Win_sync(win);
    expect(theirs[0], 500 + (rank + 1) % size, "a store seen by Win_shared_query");
    expect((long)bytes, 64, "the size by Win_shared_query");
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void run_dynamic(void)
{
    MPI_Win win;
    int *block = aligned_alloc(64, 64), got = -1;
    MPI_Aint here, there;
    block[0] = 700 + rank;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, block, 64);
    MPI_Get_address(block, &here);
    MPI_Sendrecv(&here, 1, MPI_AINT, (rank + size - 1) % size, 0, &there, 1, MPI_AINT,
                 (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, win);
    MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, there, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    expect(got, 700 + (rank + 1) % size, "a Get from attached memory");
    MPI_Win_detach(win, block);
    MPI_Win_free(&win);
    free(block);
}

static void run_attributes(MPI_Win win, const int *base)
{
    void *value = NULL;
    int flag = 0, length;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Info info;
    MPI_Group group;
    MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag);
    expect(flag && value == (const void *)base, 1, "MPI_WIN_BASE");
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag);
    expect(flag ? (long)*(MPI_Aint *)value : -1, 256, "MPI_WIN_SIZE");
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag);
    expect(flag ? *(int *)value : -1, 4, "MPI_WIN_DISP_UNIT");
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag);
    expect(flag ? *(int *)value : -1, MPI_WIN_FLAVOR_ALLOCATE, "MPI_WIN_CREATE_FLAVOR");
    MPI_Win_set_name(win, "a name");
    MPI_Win_get_name(win, name, &length);
    expect(strcmp(name, "a name"), 0, "the name");
    MPI_Win_get_info(win, &info);
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_get_group(win, &group);
    MPI_Group_size(group, &length);
    expect(length, size, "the size of the group");
    MPI_Group_free(&group);
}

/* What MPI_Win_shared_query says of windows that are not shared: printed, since the
 * libraries differ. */
static void run_queries(MPI_Win win, const char *kind)
{
    int unit = -1, error, class = 0;
    MPI_Aint bytes = -1;
    void *base = NULL;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    error = MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &base);
    MPI_Error_class(error, &class);
    if (rank == 0)
        printf("shared_query on %s: class %d bytes %ld\n", kind, class,
               error ? 0L : (long)bytes);
    MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL);
}

#if MPI_VERSION >= 4
static void run_big(void)
{
    MPI_Win win;
    long *base = NULL, got = -1, value = 900 + rank, two = 2, old = -1;
    int target = (rank + 1) % size;
    MPI_Request request;
    MPI_Win_allocate_c(256, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    base[1] = 800 + rank;
    MPI_Win_fence(0, win);
    MPI_Get_c(&got, 1, MPI_LONG, target, 1, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    expect(got, 800 + target, "Get_c");
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock_all(0, win);
    MPI_Put_c(&value, 1, MPI_LONG, target, 2, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
    MPI_Accumulate_c(&two, 1, MPI_LONG, target, 2, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush(target, win);
    MPI_Rget_c(&got, 1, MPI_LONG, target, 2, 1, MPI_LONG, win, &request);
    wait_for(&request);
    expect(got, value + 2, "Put_c, Accumulate_c, Rget_c");
    MPI_Get_accumulate_c(&two, 1, MPI_LONG, &old, 1, MPI_LONG, target, 2, 1, MPI_LONG,
                         MPI_SUM, win);
    MPI_Win_flush(target, win);
    expect(old, value + 2, "Get_accumulate_c");
    MPI_Rput_c(&value, 1, MPI_LONG, target, 2, 1, MPI_LONG, win, &request);
    wait_for(&request);
    MPI_Win_flush(target, win);
    got = -1;
    MPI_Get_c(&got, 1, MPI_LONG, target, 2, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
    expect(got, value, "Rput_c, Get_c");
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Count n = -1;
    MPI_Bcast_c(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Type_size_c(MPI_LONG, &n);
    expect((long)n, sizeof(long), "Type_size_c");
}
#endif

static void run_extensions(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT) || defined(MPICH)
    expect(MPIX_Query_cuda_support() >= 0, 1, "MPIX_Query_cuda_support");
#endif
#if defined(MPICH)
    int flag = -1;
    MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &flag);
    expect(flag >= 0, 1, "MPIX_GPU_query_support");
    /* Not for ch4 to call, but it must resolve. */
    int (*volatile agree)(MPI_Comm, int *) = MPIX_Comm_agree;
    expect(agree != NULL, 1, "MPIX_Comm_agree");
#endif
}

int main(int argc, char **argv)
{
    MPI_Win win;
    int *base;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(256, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    memset(base, 0, 256);
    MPI_Barrier(MPI_COMM_WORLD);
    run_requests(win);
    MPI_Barrier(MPI_COMM_WORLD);
    run_pscw(win, base);
    run_attributes(win, base);
    run_queries(win, "an allocated window");
    MPI_Win_free(&win);
    base = aligned_alloc(64, 256);
    MPI_Win_create(base, 256, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    run_queries(win, "a created window");
    MPI_Win_free(&win);
    free(base);
    run_shared();
    run_dynamic();
#if MPI_VERSION >= 4
    run_big();
#endif
    run_extensions();
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) puts(all == 0 ? "all reads right" : "reads wrong");
    MPI_Finalize();
    return all != 0;
}
