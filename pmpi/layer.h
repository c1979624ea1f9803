/*
 * layer.h - what the wrappers share: the layer's state, its windows, and the steps
 * that creation, reads and synchronisation are made of.
 *
 * A hand-written wrapper has four moves: guard, find the window, act or route, else
 * call the native function.
 */
#ifndef ORIEL_PMPI_LAYER_H
#define ORIEL_PMPI_LAYER_H

#include "core/route.h"
#include "core/rules.h"
#include "core/window.h"
#include "pmpi/gate.h"
#include "pmpi/native.h"
#include "pmpi/wrap.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- init.c: the layer's life ------------------------------------------------ */

struct oriel_layer {
    struct oriel_rules *rules;  /* NULL: disabled, see oriel_layer_prepare */
    bool init_seen;             /* MPI_Init or MPI_Init_thread passed here */
    bool world_proven;          /* every rank of MPI_COMM_WORLD has the layer */
    bool world_agreed;          /* ... and joins the report: MPI_Init was seen */
    struct oriel_order engines; /* those of ORIEL_ENGINES */
    bool report;                /* some rank asked for ORIEL_STATS (agreed) */
    bool threads;               /* MPI_THREAD_MULTIPLE */
    bool started;               /* engines are open, some window is redirected */
    uint64_t world_id;          /* of this process: random */
    MPI_Comm private_comm;      /* of this process alone, from start to the end */
    uint32_t host;              /* equal on ranks that share a node */
    _Atomic uint32_t created;   /* windows that this process has created */
};
extern struct oriel_layer oriel_layer;

/* Read the configuration, once; at the first call that needs it. A broken one, or
 * ORIEL_WINDOWS=none, leaves rules NULL: the layer then only joins the others'
 * exchanges. */
void oriel_layer_prepare(void);
/* MPI_Init was called, and MPI_Finalize not yet. */
bool oriel_layer_world(void);
/* At the first window that some rank wants: engines, datatypes, the private
 * communicator. Local; comm is the window's. */
void oriel_layer_start(MPI_Comm comm);

/* ---- agree.c: what the ranks tell each other ----------------------------------- */

/* Are all members of the communicator known to have the layer? */
bool oriel_agree_proven(MPI_Comm comm);
/* Maxima over the ranks. Not proven: nonblocking, and ends the job with a message
 * after ORIEL_TIMEOUT_S. Returns an MPI error code. */
int oriel_agree_max(MPI_Comm comm, const int16_t *in, int16_t *out, int n);
/* After MPI_Init: all ranks of MPI_COMM_WORLD. */
void oriel_agree_world(void);

/* ---- library.c: what this MPI library guarantees ------------------------------- */

/* For a window that the native library has just made. */
void oriel_library_rules(MPI_Win win, enum oriel_access access,
                         struct oriel_epoch_rules *out);

/* ---- fortran.c: programs whose calls may pass unseen ----------------------------- */

/* Are Fortran bindings of this MPI loaded? Then some calls are possibly unseen. */
bool oriel_fortran_loaded(void);

/* ---- takeover.c: whose memory MPI_Win_allocate gives ---------------------------- */

enum oriel_takeover { ORIEL_TAKEOVER_UNKNOWN, ORIEL_TAKEOVER_YES, ORIEL_TAKEOVER_NO };
enum oriel_takeover oriel_takeover_known(void);
/* Collective, for a job's first MPI_Win_allocate: measure the native one. The answer
 * is the same on every rank of comm. */
enum oriel_takeover oriel_takeover_probe(MPI_Comm comm);

/* ---- window.c: creation and free ------------------------------------------------ */

enum oriel_window_kind { ORIEL_KIND_CREATE, ORIEL_KIND_ALLOCATE };

/* The MPI layer's part of a window: core's user pointer. */
struct oriel_mpi_window {
    struct oriel_window *core; /* owned */
    MPI_Win handle;
    enum oriel_window_kind kind;
    bool taken_over;         /* MPI_Win_allocate on memory of ours */
    bool no_locks;           /* some rank's info said no_locks */
    _Atomic bool shared_out; /* the handle went to Fortran: unseen calls are possible */
    void *base;              /* this rank's part */
    MPI_Aint bytes;
    struct oriel_wish wish;
    uint64_t index; /* in order of creation in this process */
    uint64_t id[2]; /* of the window in the job: the same on its ranks */
    struct oriel_mpi_window *next, *previous; /* all live ones */
};

static inline struct oriel_window *oriel_find(MPI_Win win)
{
    return oriel_window_find((uintptr_t)win);
}

/* True: certainly not a window of ours. So short that a wrapper which asks this first
 * hands its arguments on where they are. */
static inline bool oriel_absent(MPI_Win win)
{
    return oriel_window_absent((uintptr_t)win);
}

/* For calls that matter only where Oriel serves some target. */
static inline struct oriel_window *oriel_find_served(MPI_Win win)
{
    struct oriel_window *window = oriel_find(win);
    return window && !window->passive ? window : NULL;
}

static inline struct oriel_mpi_window *
oriel_mpi_window(const struct oriel_window *window)
{
    return window->user;
}

/* A handle that the library has just given out is not the tracked window's that had it
 * before: that one was freed where nobody saw it. */
void oriel_windows_evict(MPI_Win win);

/* Withdraw the windows that the program did not free. */
void oriel_windows_fini(void);

/* ---- sync.c: elided locks ---------------------------------------------------------
 */

/* Before any native call on the window that needs its epochs: take the elided locks
 * natively. target < 0: all of them; else that target's and lock_all. Returns an MPI
 * error code of the native lock. */
int oriel_sync_take(struct oriel_window *window, int target);
static inline int oriel_sync_native(struct oriel_window *window, int target)
{
    if (atomic_load_explicit(&window->epoch->elided, memory_order_relaxed) == 0)
        return MPI_SUCCESS;
    return oriel_sync_take(window, target);
}

/* ---- replay.c: reads under way -----------------------------------------------------
 */

/* Read pieces natively that an engine lost; the next native flush completes them. */
int oriel_replay_native(struct oriel_window *window, int target,
                        const struct oriel_span *spans, size_t n);
/* Land the redirected reads of one target, or of all (target < 0), before the native
 * call that completes reads. Returns an MPI error code. */
static inline int oriel_complete(struct oriel_window *window, int target)
{
    return oriel_route_complete(window, target, oriel_replay_native);
}

/* ---- progress.c: the native library's progress ------------------------------------
 */

void oriel_progress_init(void);
void oriel_progress_fini(void);
/* Give the library a chance now, unless it had one lately. Threads: any. */
void oriel_progress_look(void);
/* After each redirected read, of so many bytes. */
void oriel_progress_tick(uint64_t bytes);

/* ---- report.c: counters at the end --------------------------------------------------
 */

/* Keep a window's counters past its free. */
void oriel_report_keep(const struct oriel_mpi_window *window);
/* MPI_Init was called: a report is due at MPI_Finalize, whatever sessions did before.
 */
void oriel_report_rearm(void);
/* Collective over MPI_COMM_WORLD where world_agreed, else this process only. */
void oriel_report_write(void);

/* Live windows, for report.c; walk under the lock. */
struct oriel_mpi_window *oriel_windows_lock(void);
void oriel_windows_unlock(void);

#endif
