#define _GNU_SOURCE
#include "core/config.h"
#include "pmpi/layer.h"

#include <time.h>

/* Reading the clock costs as much as a mapped read, so it is read once in so many
 * reads, a long one counting for several. */
enum { CREDIT_PER_LOOK = 64, BYTES_PER_CREDIT = 8192 };

static uint64_t poke_ns;
static _Atomic uint64_t last_ns; /* of the last native progress that was noted */
static _Thread_local uint64_t credit;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void oriel_progress_init(void)
{
    poke_ns = oriel_config_get()->poke_us * 1000;
}

static void look(void)
{
    uint64_t now = now_ns();
    if (now - atomic_load_explicit(&last_ns, memory_order_relaxed) < poke_ns) return;
    int flag;
    if (poke_ns && oriel_layer.private_comm != MPI_COMM_NULL)
        native.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, oriel_layer.private_comm, &flag,
                      MPI_STATUS_IGNORE);
    atomic_store_explicit(&last_ns, now, memory_order_relaxed);
}

void oriel_progress_tick(uint64_t bytes)
{
    credit += 1 + bytes / BYTES_PER_CREDIT;
    if (credit < CREDIT_PER_LOOK) return;
    credit = 0;
    look();
}
