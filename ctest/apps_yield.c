/*
 * apps_yield.c - let waiting MPICH ranks give way where they outnumber the cores.
 *
 * MPICH 4.0.2 polls UCX without ever yielding. Four ranks on two cores then take
 * milliseconds for a barrier, and a program with 10^5 of them takes an hour. Preloaded
 * in native runs and under Oriel alike; Open MPI has mpi_yield_when_idle.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

/* Idle polls before a rank gives way: a message between two running ranks takes fewer.
 */
enum { PATIENCE = 20 };

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    static _Thread_local unsigned idle;

    if (!next) {
        *(void **)&next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    }
    unsigned done = next(worker);
    if (done) {
        idle = 0;
    } else if (++idle >= PATIENCE) {
        idle = 0;
        sched_yield();
    }
    return done;
}
