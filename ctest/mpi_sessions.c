/*
 * DESIGN, correct Gets, rules 8 and 9: MPI-4 Sessions. Windows on a communicator that
 * was made from a session, without MPI_Init; beside a second session that ends first,
 * or (argument "world") beside the world model.
 */
#include "mpi_test.h"

#if MPI_VERSION < 4
int main(void)
{
    check_skip("this MPI has no Sessions");
}
#else

enum { BYTES = 8192 };
static unsigned char got[BYTES];

static MPI_Comm communicator(MPI_Session session)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "oriel-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                               &comm);
    MPI_Group_free(&group);
    return comm;
}

static void read_in(MPI_Comm comm, enum kind kind)
{
    int n;
    MPI_Comm_rank(comm, &test.rank);
    MPI_Comm_size(comm, &n);
    test.ranks = n;
    struct test_window w = window_open(comm, kind, BYTES, 1, "oriel_offload=true");
    int target = (test.rank + 1) % n;
    pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
    MPI_Barrier(comm);
    for (int i = 0; i < 10; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
        MPI_Get(got, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, w.win);
        MPI_Win_unlock(target, w.win);
        CHECK(pattern_is(got, (unsigned)target, 0, BYTES),
              "a read in a session is right (%s)", kind_names[kind]);
    }
    ALL_SERVED(&w, 10, "reads in a session are redirected");
    MPI_Barrier(comm);
    window_close(&w);
}

static void read_all(MPI_Comm comm)
{
    for (int kind = 0; kind < KIND_COUNT; kind++)
        read_in(comm, kind);
}

/* MPICH 4.0.2 crashes when a session is opened after all are closed, so they overlap.
 */
int main(int argc, char **argv)
{
    bool world = argc > 1 && strcmp(argv[1], "world") == 0;
    MPI_Session first, second;
    test_find_layer();
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first);
    MPI_Comm comm = communicator(first);
    read_all(comm);
    if (world) {
        /* Both models in one process; the world ends first. */
        MPI_Init(NULL, NULL);
        read_all(MPI_COMM_WORLD);
        read_all(comm);
        MPI_Finalize();
    } else {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
        MPI_Comm other = communicator(second);
        read_all(other);
        read_all(comm);
        MPI_Comm_free(&other);
        MPI_Session_finalize(&second);
    }
    read_all(comm);
    int failed = check_failures, all = 0;
    MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&first);
    if (test.rank == 0) return check_done() || all;
    return all != 0;
}
#endif
