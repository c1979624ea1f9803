#define _GNU_SOURCE
#include "bench/rma_target.h"
#include "bench/rma.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STEPS = 10000 }; /* of a computation between two looks */

void bench_target_open(struct bench_target *target)
{
    int rank, unit;
    MPI_Aint bytes;
    void *base;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bytes = rank == BENCH_TARGET ? (MPI_Aint)sizeof *target->words : 0;
    PMPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                             &target->win);
    PMPI_Win_shared_query(target->win, BENCH_TARGET, &bytes, &unit, &base);
    target->words = base;
    if (rank == BENCH_TARGET) {
        atomic_store(&target->words->wanted, BENCH_POLLS);
        atomic_store(&target->words->doing, BENCH_POLLS);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
}

void bench_target_close(struct bench_target *target)
{
    PMPI_Win_free(&target->win);
}

static void futex(_Atomic uint32_t *word, int what, uint32_t value)
{
    syscall(SYS_futex, word, what, value, NULL, NULL, 0);
}

/* Gives up its core for nobody. */
static void compute(struct bench_words *words)
{
    double end = bench_now_ns() + (double)atomic_load(&words->compute_ns);
    uint32_t computes = BENCH_COMPUTES;
    volatile double sum = 0;
    while (bench_now_ns() < end)
        for (int i = 1; i <= STEPS; ++i)
            sum += 1.0 / i;
    atomic_compare_exchange_strong(&words->wanted, &computes, BENCH_POLLS);
}

void bench_target_obey(struct bench_target *target)
{
    struct bench_words *words = target->words;
    uint32_t what;
    int found;
    do {
        what = atomic_load(&words->wanted);
        atomic_store(&words->doing, what);
        if (what == BENCH_SLEEPS) futex(&words->wanted, FUTEX_WAIT, what);
        if (what == BENCH_COMPUTES) compute(words);
        if (what == BENCH_POLLS)
            PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found,
                        MPI_STATUS_IGNORE);
    } while (what != BENCH_ENDS);
}

void bench_target_tell(struct bench_target *target, enum bench_doing what)
{
    struct bench_words *words = target->words;
    if (what == BENCH_GOES_ON) return;
    if (atomic_load(&words->wanted) == (uint32_t)what &&
        atomic_load(&words->doing) == (uint32_t)what)
        return;
    atomic_store(&words->wanted, (uint32_t)what);
    futex(&words->wanted, FUTEX_WAKE, 1);
    while (atomic_load(&words->doing) != (uint32_t)what)
        sched_yield();
}

void bench_target_compute(struct bench_target *target, double seconds)
{
    atomic_store(&target->words->compute_ns, (uint64_t)(1e9 * seconds));
    bench_target_tell(target, BENCH_COMPUTES);
}

bool bench_target_computes(const struct bench_target *target)
{
    return atomic_load_explicit(&target->words->wanted, memory_order_relaxed) ==
           BENCH_COMPUTES;
}
