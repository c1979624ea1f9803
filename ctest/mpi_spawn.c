/*
 * Field case A15: processes that are started by others. Window on the merged
 * communicator: its ranks are not those of one MPI_COMM_WORLD, and the reads are right
 * whoever makes them; where the library makes no such window (Open MPI 4.1.4), neither
 * does Oriel. Skips where the library cannot spawn (MPICH 4.0.2 as Debian builds it).
 */
#include "mpi_test.h"

enum { BYTES = 4096, CHILDREN = 2 };
static unsigned char got[BYTES];

static void read_all(MPI_Comm merged, enum kind kind)
{
    int rank, n;
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_size(merged, &n);
    struct test_window w = window_open(merged, kind, BYTES, 1, "oriel_offload=true");
    pattern_fill(w.base, (unsigned)rank, 0, BYTES);
    MPI_Barrier(merged);
    for (int target = 0; target < n; target++) {
        memset(got, 0, BYTES);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
        MPI_Get(got, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, w.win);
        MPI_Win_unlock(target, w.win);
        CHECK(pattern_is(got, (unsigned)target, 0, BYTES),
              "rank %d of the merged processes is read right (%s)", target,
              kind_names[kind]);
    }
    CHECK(!is_served(w.win) || counter(w.win, "gets") == (uint64_t)n,
          "a window of both worlds, if it is served, counts its reads");
    MPI_Barrier(merged);
    window_close(&w);
}

/* The error class of a native window on that communicator. */
static int native_class(MPI_Comm merged)
{
    MPI_Win win;
    int class, error = PMPI_Win_create(got, BYTES, 1, MPI_INFO_NULL, merged, &win);
    MPI_Error_class(error, &class);
    if (!error) PMPI_Win_free(&win);
    return class;
}

static int layer_class(MPI_Comm merged)
{
    MPI_Win win;
    MPI_Info info = info_from("oriel_offload=true");
    int class, error = MPI_Win_create(got, BYTES, 1, info, merged, &win);
    info_free(&info);
    MPI_Error_class(error, &class);
    if (!error) MPI_Win_free(&win);
    return class;
}

static int finish(MPI_Comm *both, MPI_Comm *merged)
{
    int all = 0, mine = check_failures;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, *merged);
    MPI_Comm_free(merged);
    MPI_Comm_disconnect(both);
    return all;
}

int main(int argc, char **argv)
{
    MPI_Comm parent, both, merged;
    int error;
    (void)argc;
    MPI_Init(NULL, NULL);
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test.ranks);
    test_find_layer();
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        error = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0,
                               MPI_COMM_WORLD, &both, MPI_ERRCODES_IGNORE);
        if (error) {
            char text[MPI_MAX_ERROR_STRING];
            int length;
            MPI_Error_string(error, text, &length);
            printf("%s\n", text);
            MPI_Finalize();
            check_skip("this launcher does not spawn");
        }
    } else {
        both = parent;
    }
    MPI_Intercomm_merge(both, parent != MPI_COMM_NULL, &merged);
    MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
    int class = native_class(merged), ours = layer_class(merged);
    CHECK(class == ours, "a window across worlds gives class %d, natively %d", ours,
          class);
    for (int kind = 0; kind < KIND_COUNT && class == MPI_SUCCESS; kind++)
        read_all(merged, kind);
    int failures = finish(&both, &merged);
    MPI_Finalize();
    if (parent == MPI_COMM_NULL && test.rank == 0) return check_done() || failures;
    return failures != 0;
}
