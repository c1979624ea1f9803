/*
 * What Oriel leaves to the library, and must not break: dynamic windows (A16), shared
 * windows, windows without annotation or with oriel_offload=false, windows whose info
 * asks something of the library's memory. They have no counters, and an Oriel window
 * beside them changes nothing.
 */
#include "mpi_test.h"

enum { BYTES = 8192 };
static unsigned char got[BYTES];
static int target;

static void served_beside(struct test_window *w)
{
    memset(got, 0, BYTES);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
    MPI_Get(got, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, w->win);
    MPI_Win_unlock(target, w->win);
    CHECK(pattern_is(got, (unsigned)target, 0, BYTES),
          "a served window beside others is read right");
}

static void dynamic(void)
{
    static unsigned char memory[BYTES] __attribute__((aligned(64)));
    MPI_Win win;
    MPI_Aint address, peers[64];
    MPI_Info info = info_from("oriel_offload=true");
    CHECK(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win) == MPI_SUCCESS,
          "a dynamic window may be annotated");
    info_free(&info);
    pattern_fill(memory, 500 + (unsigned)test.rank, 0, BYTES);
    MPI_Win_attach(win, memory, BYTES);
    MPI_Get_address(memory, &address);
    MPI_Allgather(&address, 1, MPI_AINT, peers, 1, MPI_AINT, MPI_COMM_WORLD);
    memset(got, 0, BYTES);
    MPI_Win_lock_all(0, win);
    MPI_Get(got, BYTES / 2, MPI_BYTE, target, peers[target], BYTES / 2, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    MPI_Get(got + BYTES / 2, BYTES / 2, MPI_BYTE, target,
            MPI_Aint_add(peers[target], BYTES / 2), BYTES / 2, MPI_BYTE, win);
    MPI_Win_unlock_all(win);
    CHECK(pattern_is(got, 500 + (unsigned)target, 0, BYTES),
          "a dynamic window is read by absolute addresses");
    CHECK(!is_served(win), "a dynamic window is not Oriel's");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
}

static void shared(void)
{
    MPI_Win win;
    MPI_Comm node;
    unsigned char *base, *peer;
    MPI_Aint size;
    int rank, n, unit;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &n);
    int next = (rank + 1) % n;
    MPI_Info info = info_from("oriel_offload=true");
    MPI_Win_allocate_shared(BYTES, 1, info, node, &base, &win);
    info_free(&info);
    MPI_Win_lock_all(0, win);
    pattern_fill(base, 600 + (unsigned)rank, 0, BYTES);
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    MPI_Win_shared_query(win, next, &size, &unit, &peer);
    CHECK(size == BYTES && unit == 1 &&
              pattern_is(peer, 600 + (unsigned)next, 0, BYTES),
          "a shared window is shared");
    MPI_Get(got, BYTES, MPI_BYTE, next, 0, BYTES, MPI_BYTE, win);
    MPI_Win_flush(next, win);
    CHECK(pattern_is(got, 600 + (unsigned)next, 0, BYTES), "and is read by Get");
    CHECK(!is_served(win), "a shared window is not Oriel's");
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
}

static void unserved(enum kind kind, const char *keys)
{
    struct test_window w = window_open(MPI_COMM_WORLD, kind, BYTES, 1, keys);
    pattern_fill(w.base, 700 + (unsigned)test.rank, 0, BYTES);
    MPI_Win_fence(0, w.win);
    MPI_Get(got, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, w.win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    CHECK(pattern_is(got, 700 + (unsigned)target, 0, BYTES),
          "a window that is not served is read right (%s)", kind_names[kind]);
    CHECK(!is_served(w.win), "and has no counters");
    window_close(&w);
}

/* Info that only the library can fulfil keeps the window on the library's memory. */
static void native_memory(const char *keys)
{
    struct test_window w = window_open(MPI_COMM_WORLD, KIND_ALLOCATE, BYTES, 1, keys);
    pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    served_beside(&w);
    CHECK(!is_served(w.win) || counter(w.win, "mapped") == 0,
          "%s keeps the window on the library's memory", keys);
    window_close(&w);
}

int main(void)
{
    test_start(2);
    target = (test.rank + 1) % test.ranks;
    struct test_window beside =
        window_open(MPI_COMM_WORLD, KIND_CREATE, BYTES, 1, "oriel_offload=true");
    pattern_fill(beside.base, (unsigned)test.rank, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    dynamic();
    served_beside(&beside);
    shared();
    served_beside(&beside);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        unserved(kind, NULL);
        unserved(kind, "oriel_offload=false");
        unserved(kind, "no_locks=true");
    }
    served_beside(&beside);
    native_memory("oriel_offload=true,alloc_shared_noncontig=true");
    native_memory("oriel_offload=true,mpi_minimum_memory_alignment=4096");
    ALL_SERVED(&beside, 3, "the served window counts its own reads only");
    window_close(&beside);
    return test_end();
}
