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
        atomic_store(&target->words->order, BENCH_POLLS);
        atomic_store(&target->words->obeyed, 0);
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
static void compute(struct bench_words *words, uint32_t order)
{
    double end = bench_now_ns() + (double)atomic_load(&words->compute_ns);
    volatile double sum = 0;
    while (bench_now_ns() < end)
        for (int i = 1; i <= STEPS; ++i)
            sum += 1.0 / i;
    (void)sum;
    uint32_t then = (order & ~(uint32_t)BENCH_DOING) | BENCH_POLLS;
    atomic_compare_exchange_strong(&words->order, &order, then);
}

void bench_target_obey(struct bench_target *target)
{
    struct bench_words *words = target->words;
    uint32_t what, order;
    int found;
    do {
        order = atomic_load(&words->order);
        what = order & BENCH_DOING;
        atomic_store(&words->obeyed, order & ~(uint32_t)BENCH_DOING);
        if (what == BENCH_SLEEPS) futex(&words->order, FUTEX_WAIT, order);
        if (what == BENCH_COMPUTES) compute(words, order);
        if (what == BENCH_POLLS)
            PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found,
                        MPI_STATUS_IGNORE);
    } while (what != BENCH_ENDS);
}

void bench_target_tell(struct bench_target *target, enum bench_doing what)
{
    struct bench_words *words = target->words;
    if (what == BENCH_GOES_ON) return;
    uint32_t order = atomic_load(&words->order), doing = BENCH_DOING;
    if ((order & doing) == (uint32_t)what) return;
    order = (order & ~doing) + doing + 1;
    atomic_store(&words->order, order | (uint32_t)what);
    futex(&words->order, FUTEX_WAKE, 1);
    while (atomic_load(&words->obeyed) != order)
        sched_yield();
}

void bench_target_compute(struct bench_target *target, double seconds)
{
    atomic_store(&target->words->compute_ns, (uint64_t)(1e9 * seconds));
    bench_target_tell(target, BENCH_COMPUTES);
}

bool bench_target_computes(const struct bench_target *target)
{
    uint32_t order = atomic_load_explicit(&target->words->order, memory_order_relaxed);
    return (order & BENCH_DOING) == BENCH_COMPUTES;
}
