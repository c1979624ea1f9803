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
};

/* Serve one read, or say why it must be native; counts either. ORIEL_SERVED: the
 * bytes have landed, and memory order is that of an acquire.
 *
 * On any other answer nothing was written that the native read will not overwrite.
 * Threads: any, also on the same window.
 */
enum oriel_reason oriel_route_get(struct oriel_window *window,
                                  const struct oriel_get *get);

/* Count a read that the caller found to be native before it asked. */
enum oriel_reason oriel_route_decline(struct oriel_window *window,
                                      enum oriel_reason reason);

#endif
