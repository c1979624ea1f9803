/*
 * DESIGN, correct Gets, rule 7: MPI_Rget's request is a native one that is right in
 * every call that takes requests, alone and among others; the data is there when it
 * completes, also when its datatype was freed before (A5).
 */
#include "mpi_test.h"

enum { BYTES = 8192, N = 8 };
static unsigned char got[N][256];
static MPI_Request requests[2 * N];

static int target;

/* N reads, each of its own place. */
static void read_all(MPI_Win win)
{
    memset(got, 0, sizeof got);
    for (int i = 0; i < N; i++)
        MPI_Rget(got[i], 256, MPI_BYTE, target, i * 300, 256, MPI_BYTE, win,
                 &requests[i]);
}

static void all_right(const char *how)
{
    bool right = true;
    for (size_t i = 0; i < N; i++)
        right &= pattern_is(got[i], (unsigned)target, i * 300, 256);
    CHECK(right, "after %s the data is there", how);
}

static void gone(const MPI_Request *list, int n, const char *how)
{
    for (int i = 0; i < n; i++)
        CHECK(list[i] == MPI_REQUEST_NULL, "%s takes the request", how);
}

static void one_by_one(MPI_Win win)
{
    MPI_Status status;
    read_all(win);
    for (int i = 0; i < N; i++)
        CHECK(MPI_Wait(&requests[i], i % 2 ? &status : MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS,
              "Wait succeeds");
    all_right("Wait");
    gone(requests, N, "Wait");
    read_all(win);
    for (int i = 0; i < N; i++)
        for (int flag = 0; !flag;)
            MPI_Test(&requests[i], &flag, &status);
    all_right("Test");
    gone(requests, N, "Test");
    read_all(win);
    for (int i = 0; i < N; i++) {
        for (int flag = 0; !flag;)
            MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
        CHECK(requests[i] != MPI_REQUEST_NULL, "Request_get_status keeps the request");
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    all_right("Request_get_status");
}

static void by_any_and_some(MPI_Win win)
{
    int index, count, indices[N], done = 0;
    MPI_Status statuses[N];
    read_all(win);
    for (int i = 0; i < N; i++) {
        MPI_Waitany(N, requests, &index, MPI_STATUS_IGNORE);
        CHECK(index >= 0 && index < N, "Waitany finds a request");
    }
    MPI_Waitany(N, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index == MPI_UNDEFINED, "and at the end none");
    all_right("Waitany");
    read_all(win);
    while (done < N) {
        MPI_Testsome(N, requests, &count, indices, statuses);
        done += count;
    }
    all_right("Testsome");
    gone(requests, N, "Testsome");
    read_all(win);
    for (done = 0; done < N; done += count)
        MPI_Waitsome(N, requests, &count, indices, statuses);
    all_right("Waitsome");
    read_all(win);
    for (int flag = 0; !flag;)
        MPI_Testall(N, requests, &flag, statuses);
    all_right("Testall");
    gone(requests, N, "Testall");
}

/* Reads among messages and empty requests. */
static void mixed(MPI_Win win)
{
    static int out[N], in[N];
    MPI_Request list[3 * N + 1];
    MPI_Status statuses[3 * N + 1];
    int behind = (test.rank + test.ranks - 1) % test.ranks;
    memset(in, 0, sizeof in);
    read_all(win);
    for (int i = 0; i < N; i++) {
        out[i] = test.rank * 100 + i;
        list[3 * i] = requests[i];
        MPI_Irecv(&in[i], 1, MPI_INT, behind, i, MPI_COMM_WORLD, &list[3 * i + 1]);
        MPI_Isend(&out[i], 1, MPI_INT, target, i, MPI_COMM_WORLD, &list[3 * i + 2]);
    }
    list[3 * N] = MPI_REQUEST_NULL;
    MPI_Waitall(3 * N + 1, list, statuses);
    all_right("Waitall with messages");
    gone(list, 3 * N + 1, "Waitall");
    for (int i = 0; i < N; i++)
        CHECK(in[i] == behind * 100 + i && statuses[3 * i + 1].MPI_SOURCE == behind &&
                  statuses[3 * i + 1].MPI_TAG == i,
              "the messages beside reads are right");
}

/* A request that is freed; the flush then completes the read. MPICH 4.0.2 takes the
 * requests of RMA calls for invalid here. */
static void freed(MPI_Win win)
{
    read_all(win);
    for (int i = 0; i < N; i++)
        CHECK(MPI_Request_free(&requests[i]) == MPI_SUCCESS &&
                  requests[i] == MPI_REQUEST_NULL,
              "Request_free takes the request");
    MPI_Win_flush(target, win);
    all_right("Request_free and flush");
}

/* A5: vectors on either side, freed before the wait. MPICH 4.0.2 itself reads wrong
 * bytes or crashes here. */
static void vectors(MPI_Win win, bool both)
{
    unsigned char to[64 * 16];
    MPI_Datatype remote, origin;
    MPI_Request request;
    MPI_Type_vector(64, 4, 16, MPI_BYTE, &remote);
    MPI_Type_vector(64, 4, 8, MPI_BYTE, &origin);
    MPI_Type_commit(&remote);
    MPI_Type_commit(&origin);
    memset(to, 0xA5, sizeof to);
    MPI_Rget(to, both ? 1 : 256, both ? origin : MPI_BYTE, target, 40, 1, remote, win,
             &request);
    MPI_Type_free(&remote);
    MPI_Type_free(&origin);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    bool right = true;
    for (size_t i = 0; i < 64; i++)
        right &= pattern_is(to + i * (both ? 8 : 4), (unsigned)target, 40 + i * 16, 4);
    CHECK(right, "a vector whose type was freed is read into %s",
          both ? "a vector" : "contiguous bytes");
}

/* Rget to nowhere, and of nothing. */
static void nothing(MPI_Win win)
{
    MPI_Request request;
    unsigned char byte = 0xA5;
    MPI_Rget(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Rget(&byte, 0, MPI_BYTE, target, 0, 0, MPI_BYTE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(byte == 0xA5, "Rget of nothing reads nothing");
    COUNTED(win, "proc-null", 1, "Rget from MPI_PROC_NULL is the library's");
    COUNTED(win, "empty", 1, "Rget of nothing is the library's");
}

int main(void)
{
    test_start(2);
    target = (test.rank + 1) % test.ranks;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct test_window w =
            window_open(MPI_COMM_WORLD, kind, BYTES, 1, "oriel_offload=true");
        pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, w.win);
        one_by_one(w.win);
        by_any_and_some(w.win);
        mixed(w.win);
        if (test.openmpi) freed(w.win);
        if (test.layer || test.openmpi) {
            vectors(w.win, false);
            vectors(w.win, true);
        }
        CHECK(!has_counters(w.win) ||
                  reads_served(&w) == (test.openmpi ? 9 : 8) * N + 2,
              "every Rget is redirected (%s)", kind_names[kind]);
        MPI_Barrier(MPI_COMM_WORLD);
        nothing(w.win);
        MPI_Win_unlock_all(w.win);
        window_close(&w);
    }
    return test_end();
}
