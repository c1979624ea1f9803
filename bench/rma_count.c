/*
 * rma_count.c - overhead: calls to be counted under callgrind, on a window that
 * nobody annotated.
 *
 * Rank 0 runs under valgrind with --toggle-collect='count_*', so that nothing but
 * the one call of an op is counted, and --dump-after=phase_run, so that each op has
 * a profile of its own; figures.py reads those. Alone it only makes the calls.
 */
#include "bench/rma.h"
#include "bench/row.h"

#include <string.h>

enum { CALLS = 200, WARM = 3, WINDOW_BYTES = 4096 };

/* What the calls work on; one window at a time. */
static MPI_Win win;
static MPI_Group peers; /* the other rank */
static char local[WINDOW_BYTES];

/* count_: not inlined, and not a tail call, so that the tool sees it entered and
 * left. plain_: the same call, not counted. */
#define COUNTED(name, call)                                                            \
    static __attribute__((noinline)) void count_##name(void)                           \
    {                                                                                  \
        call;                                                                          \
        __asm__ volatile("" ::: "memory");                                             \
    }                                                                                  \
    static void plain_##name(void)                                                     \
    {                                                                                  \
        call;                                                                          \
    }

COUNTED(get, MPI_Get(local, 8, MPI_BYTE, BENCH_TARGET, 0, 8, MPI_BYTE, win))
COUNTED(lock, MPI_Win_lock(MPI_LOCK_SHARED, BENCH_TARGET, 0, win))
COUNTED(unlock, MPI_Win_unlock(BENCH_TARGET, win))
COUNTED(lock_all, MPI_Win_lock_all(0, win))
COUNTED(unlock_all, MPI_Win_unlock_all(win))
COUNTED(flush, MPI_Win_flush(BENCH_TARGET, win))
COUNTED(flush_all, MPI_Win_flush_all(win))
COUNTED(flush_local, MPI_Win_flush_local(BENCH_TARGET, win))
COUNTED(flush_local_all, MPI_Win_flush_local_all(win))
COUNTED(sync, MPI_Win_sync(win))
COUNTED(start, MPI_Win_start(peers, 0, win))
COUNTED(complete, MPI_Win_complete(win))
COUNTED(post, MPI_Win_post(peers, 0, win))
COUNTED(wait, MPI_Win_wait(win))
COUNTED(fence, MPI_Win_fence(0, win))

static void nothing(void) {}

static void serve_start(void)
{
    plain_post();
    plain_wait();
}

static void serve_post(void)
{
    plain_start();
    plain_complete();
}

struct op {
    const char *name;
    bool epoch; /* inside lock_all */
    void (*counted)(void), (*plain)(void);
    void (*before)(void), (*after)(void);
    void (*peer)(void); /* what rank 1 does meanwhile */
};

#define OP(mpi, name, epoch, before, after, peer)                                      \
    {                                                                                  \
        mpi, epoch, count_##name, plain_##name, before, after, peer                    \
    }

static const struct op ops[] = {
    OP("MPI_Get", get, true, nothing, plain_flush, nothing),
    OP("MPI_Win_lock", lock, false, nothing, plain_unlock, nothing),
    OP("MPI_Win_unlock", unlock, false, plain_lock, nothing, nothing),
    OP("MPI_Win_lock_all", lock_all, false, nothing, plain_unlock_all, nothing),
    OP("MPI_Win_unlock_all", unlock_all, false, plain_lock_all, nothing, nothing),
    OP("MPI_Win_flush", flush, true, plain_get, nothing, nothing),
    OP("MPI_Win_flush_all", flush_all, true, plain_get, nothing, nothing),
    OP("MPI_Win_flush_local", flush_local, true, plain_get, nothing, nothing),
    OP("MPI_Win_flush_local_all", flush_local_all, true, plain_get, nothing, nothing),
    OP("MPI_Win_sync", sync, true, nothing, nothing, nothing),
    OP("MPI_Win_start", start, false, nothing, plain_complete, serve_start),
    OP("MPI_Win_complete", complete, false, plain_start, nothing, serve_start),
    OP("MPI_Win_post", post, false, nothing, plain_wait, serve_post),
    OP("MPI_Win_wait", wait, false, plain_post, nothing, serve_post),
    OP("MPI_Win_fence", fence, false, nothing, nothing, plain_fence),
};

/* Its end is where the tool writes the profile of this op. */
static __attribute__((noinline)) void phase_run(const struct op *op, uint64_t calls)
{
    for (uint64_t i = 0; i < calls; ++i) {
        op->before();
        op->counted();
        op->after();
    }
    __asm__ volatile("" ::: "memory");
}

/* Symbols are bound at the first call; that is not the call's cost. */
static void warm(const struct op *op)
{
    for (int i = 0; i < WARM; ++i) {
        op->before();
        op->plain();
        op->after();
    }
}

static void serve_run(const struct op *op, uint64_t calls)
{
    for (uint64_t i = 0; i < calls; ++i)
        op->peer();
}

static void peers_create(int rank)
{
    MPI_Group world;
    int other = 1 - rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &peers);
    MPI_Group_free(&world);
}

static void ops_run(const struct bench_options *options, int rank)
{
    uint64_t calls = options->plan.calls ? options->plan.calls : CALLS;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
        bool reader = rank == BENCH_READER;
        if (reader) bench_count_print(options->json, ops[i].name, calls);
        MPI_Barrier(MPI_COMM_WORLD);
        if (ops[i].epoch && reader) plain_lock_all();
        if (reader) {
            warm(&ops[i]);
            phase_run(&ops[i], calls);
        } else {
            serve_run(&ops[i], WARM + calls);
        }
        if (ops[i].epoch && reader) plain_unlock_all();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

uint64_t bench_overhead(const struct bench_options *options, int rank)
{
    static char memory[WINDOW_BYTES], memory_beside[WINDOW_BYTES];
    MPI_Win beside = MPI_WIN_NULL;
    if (options->beside) {
        MPI_Info info = bench_info_create(options);
        MPI_Win_create(memory_beside, sizeof memory_beside, 1, info, MPI_COMM_WORLD,
                       &beside);
        if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    }
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    peers_create(rank);
    ops_run(options, rank);
    MPI_Group_free(&peers);
    MPI_Win_free(&win);
    if (beside != MPI_WIN_NULL) MPI_Win_free(&beside);
    return 0;
}
