/*
 * route.h - take or decline one read.
 */
#ifndef ORIEL_ROUTE_H
#define ORIEL_ROUTE_H

#include "core/span.h"
#include "core/window.h"

struct oriel_get {
    void *origin;
    uint64_t origin_count;
    const struct oriel_layout *origin_layout; /* NULL: unknown */
    int target;
    int64_t displacement; /* in units of the target's disp_unit */
    uint64_t target_count;
    const struct oriel_layout *target_layout; /* NULL: unknown */
    bool now; /* land before the call returns, also where reads may be deferred */
};

/* Serve one read, or say why it must be native; counts either. ORIEL_SERVED: the
 * bytes have landed, and memory order is that of an acquire; or, where window->defer
 * is set, they land by the next oriel_route_complete.
 *
 * On any other answer nothing was written that the native read will not overwrite.
 * Threads: any, also on the same window.
 */
enum oriel_reason oriel_route_get(struct oriel_window *window,
                                  const struct oriel_get *get);

/* Reads these pieces some other way. Returns 0 or an error of the caller's own. */
typedef int oriel_replay(struct oriel_window *window, int target,
                         const struct oriel_span *spans, size_t n);

/* Land the reads of one target, or of all (target < 0). Those that the engine cannot
 * land are handed to replay and counted as native. Returns 0 or replay's error. Blocks
 * up to ORIEL_TIMEOUT_S for a lost target Threads any */
int oriel_route_land(struct oriel_window *window, int target, oriel_replay *replay);

/* The same where nothing is under way, which is nearly always: one load. */
static inline int oriel_route_complete(struct oriel_window *window, int target,
                                       oriel_replay *replay)
{
    /* acquire: another thread's look may have landed this thread's bytes */
    if (!atomic_load_explicit(&window->in_flight, memory_order_acquire)) return 0;
    return oriel_route_land(window, target, replay);
}

/* Count a read that the caller found to be native before it asked. */
enum oriel_reason oriel_route_decline(struct oriel_window *window,
                                      enum oriel_reason reason);

#endif
