/*
 * DESIGN, correct Gets, rule 9, and field case A21: threads under
 * MPI_THREAD_MULTIPLE read two windows at once, each in its own epochs, while windows
 * come and go on another communicator; no read is wrong and none is lost from the
 * counters.
 */
#include "mpi_test.h"

#include <pthread.h>

enum { THREADS = 4, READS = 2500, BYTES = 1 << 16, WINDOWS = 2 };

static struct test_window windows[WINDOWS];
static MPI_Comm side;

struct job {
    pthread_t thread;
    unsigned number;
    unsigned wrong;
    bool vectors;
    MPI_Datatype type;
};

static unsigned seed_of(int window, int rank)
{
    return (unsigned)(10 * window + rank);
}

/* Many threads, one lock_all epoch, flushes of their own. */
static void *reader(void *argument)
{
    struct job *job = argument;
    unsigned char got[512];
    uint64_t random = job->number * 7919 + 1;
    for (int i = 0; i < READS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int window = (int)(random >> 33 & 1), target = (int)(random >> 40) % test.ranks;
        size_t at = (size_t)(random >> 20) % (BYTES - 4096);
        size_t bytes = 1 + (size_t)(random >> 50) % sizeof got;
        if (job->vectors && i % 8 == 0) {
            MPI_Get(got, 256, MPI_BYTE, target, (MPI_Aint)at, 1, job->type,
                    windows[window].win);
            MPI_Win_flush(target, windows[window].win);
            for (size_t k = 0; k < 16; k++)
                job->wrong +=
                    !pattern_is(got + 16 * k, seed_of(window, target), at + 64 * k, 16);
        } else if (i % 8 == 4) {
            MPI_Request request;
            MPI_Rget(got, (int)bytes, MPI_BYTE, target, (MPI_Aint)at, (int)bytes,
                     MPI_BYTE, windows[window].win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            job->wrong += !pattern_is(got, seed_of(window, target), at, bytes);
        } else {
            MPI_Get(got, (int)bytes, MPI_BYTE, target, (MPI_Aint)at, (int)bytes,
                    MPI_BYTE, windows[window].win);
            MPI_Win_flush(target, windows[window].win);
            job->wrong += !pattern_is(got, seed_of(window, target), at, bytes);
        }
    }
    return NULL;
}

/* Windows are made and freed meanwhile: the table of windows changes under the
 * readers. */
static void *maker(void *argument)
{
    struct job *job = argument;
    unsigned char got[64];
    int target = (test.rank + 1) % test.ranks;
    for (unsigned i = 0; i < 40; i++) {
        enum kind kind = i % KIND_COUNT;
        struct test_window w = window_open(side, kind, 4096, 1, "oriel_offload=true");
        pattern_fill(w.base, 100 + i + (unsigned)test.rank, 0, 4096);
        MPI_Barrier(side);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
        MPI_Get(got, 64, MPI_BYTE, target, 64, 64, MPI_BYTE, w.win);
        MPI_Win_unlock(target, w.win);
        job->wrong += !pattern_is(got, 100 + i + (unsigned)target, 64, 64);
        window_close(&w);
    }
    return NULL;
}

static void start(struct job *job, unsigned number, void *(*run)(void *))
{
    *job = (struct job){.number = number, .vectors = number % 2 == 0};
    MPI_Type_vector(16, 16, 64, MPI_BYTE, &job->type);
    MPI_Type_commit(&job->type);
    NEED(pthread_create(&job->thread, NULL, run, job) == 0, "a thread");
}

static void join(struct job *job, const char *what)
{
    pthread_join(job->thread, NULL);
    MPI_Type_free(&job->type);
    CHECK(job->wrong == 0, "%s: %u reads were wrong", what, job->wrong);
}

static void many_readers(enum kind kind, bool with_maker)
{
    struct job jobs[THREADS + 1];
    for (int i = 0; i < WINDOWS; i++) {
        windows[i] = window_open(MPI_COMM_WORLD, kind, BYTES, 1, "oriel_offload=true");
        pattern_fill(windows[i].base, seed_of(i, test.rank), 0, BYTES);
        MPI_Win_lock_all(0, windows[i].win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned i = 0; i < THREADS; i++)
        start(&jobs[i], (unsigned)test.rank * THREADS + i, reader);
    if (with_maker) start(&jobs[THREADS], 0, maker);
    for (int i = 0; i < THREADS; i++)
        join(&jobs[i], "a thread that reads");
    if (with_maker) join(&jobs[THREADS], "a thread that makes windows");
    uint64_t sum = 0;
    for (int i = 0; i < WINDOWS; i++) {
        sum += reads_served(&windows[i]);
        MPI_Win_unlock_all(windows[i].win);
    }
    if (has_counters(windows[0].win)) {
        uint64_t scattered =
            counter(windows[0].win, "scattered") + counter(windows[1].win, "scattered");
        CHECK(sum + scattered == THREADS * READS,
              "the counters of all threads add up (%llu + %llu of %d, %s)",
              (unsigned long long)sum, (unsigned long long)scattered, THREADS * READS,
              kind_names[kind]);
        CHECK(sum >= THREADS * READS * 7 / 8, "and nearly all reads are redirected");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; i++)
        window_close(&windows[i]);
}

/* Each thread locks a target of its own, with an update under the elided lock. */
static void *locker(void *argument)
{
    struct job *job = argument;
    int target = (int)job->number % test.ranks;
    for (int i = 0; i < READS / 10; i++) {
        uint64_t value = job->number * 1000000u + (unsigned)i, got = 0;
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, windows[0].win);
        MPI_Put(&value, 1, MPI_UINT64_T, target, test.rank, 1, MPI_UINT64_T,
                windows[0].win);
        MPI_Win_flush(target, windows[0].win);
        MPI_Get(&got, 1, MPI_UINT64_T, target, test.rank, 1, MPI_UINT64_T,
                windows[0].win);
        MPI_Win_unlock(target, windows[0].win);
        job->wrong += got != value;
    }
    return NULL;
}

static void many_lockers(enum kind kind, const char *keys)
{
    struct job jobs[THREADS];
    int n = test.ranks < THREADS ? test.ranks : THREADS;
    windows[0] = window_open(MPI_COMM_WORLD, kind, BYTES, 8, keys);
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned i = 0; i < (unsigned)n; i++)
        start(&jobs[i], i, locker);
    for (int i = 0; i < n; i++)
        join(&jobs[i], "a thread with locks of its own");
    ALL_SERVED(&windows[0], n * (READS / 10), "reads under many locks are redirected");
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&windows[0]);
}

int main(void)
{
    test_start_threads(2, MPI_THREAD_MULTIPLE);
    MPI_Comm_dup(MPI_COMM_WORLD, &side);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        many_readers(kind, false);
        many_readers(kind, true);
        many_lockers(kind, "oriel_offload=true");
        many_lockers(kind, "oriel_offload=true,oriel_access=fenced");
    }
    MPI_Comm_free(&side);
    return test_end();
}
