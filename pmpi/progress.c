#define _GNU_SOURCE
#include "core/config.h"
#include "pmpi/layer.h"

#include <time.h>

/* Reading the clock costs as much as a mapped read, so it is read once in so many
 * reads, a long one counting for several. */
enum { CREDIT_PER_LOOK = 64, BYTES_PER_CREDIT = 8192 };

/* A receive on the private communicator that nothing ever matches: testing it has both
 * libraries make progress. (MPICH 4.0.2's MPI_Iprobe does not, on a communicator of one
 * process.) */
static MPI_Request receive;
static _Atomic bool poking;
static uint64_t poke_ns;
static _Atomic uint64_t last_ns; /* of the last native progress that was noted */
static _Thread_local uint64_t credit __attribute__((tls_model("initial-exec")));

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void oriel_progress_init(void)
{
    poke_ns = oriel_config_get()->poke_us * 1000;
    receive = MPI_REQUEST_NULL;
    oriel_flight_idle = NULL;
    if (!poke_ns || oriel_layer.private_comm == MPI_COMM_NULL) return;
    if (native.Irecv(NULL, 0, MPI_BYTE, 0, 0, oriel_layer.private_comm, &receive))
        receive = MPI_REQUEST_NULL;
    else
        oriel_flight_idle = oriel_progress_look;
}

void oriel_progress_fini(void)
{
    oriel_flight_idle = NULL;
    if (receive == MPI_REQUEST_NULL) return;
    native.Cancel(&receive);
    native.Wait(&receive, MPI_STATUS_IGNORE);
}

/* One thread at a time may test a request; the others need not wait for it. */
void oriel_progress_look(void)
{
    uint64_t now = now_ns();
    if (now - atomic_load_explicit(&last_ns, memory_order_relaxed) < poke_ns) return;
    if (atomic_exchange_explicit(&poking, true, memory_order_acquire)) return;
    int flag;
    if (receive != MPI_REQUEST_NULL) native.Test(&receive, &flag, MPI_STATUS_IGNORE);
    atomic_store_explicit(&last_ns, now, memory_order_relaxed);
    atomic_store_explicit(&poking, false, memory_order_release);
}

void oriel_progress_tick(uint64_t bytes)
{
    credit += 1 + bytes / BYTES_PER_CREDIT;
    if (credit < CREDIT_PER_LOOK) return;
    credit = 0;
    oriel_progress_look();
}
