#define _GNU_SOURCE
#include "core/route.h"

#include "core/config.h"
#include "core/copy.h"
#include "core/device.h"
#include "core/err.h"
#include "core/log.h"
#include "core/process.h"
#include "core/scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

enum {
    SPANS = 1024, /* handed to an engine at once: 256 take twice as long in sum */
    /* A fabric reads gaps of so many bytes sooner than it starts another read; such a
     * hull is copied from a buffer of its own. */
    FABRIC_GAP_BYTES = 4096,
    HULL_MOST = 64 << 20,
    KERNEL_MOST = 1 << 30, /* one process_vm_readv */
    NODE_GAP_BYTES = 1024, /* for the same on the node: less than a page */
    /* Engines join pieces that lie close (docs/engines.md). Many that are both small
     * and further apart than this are read one by one, and lose against the native
     * library. */
    FAR_BYTES = 1024,
    SMALL_BYTES = 256,
    MANY = 32,
    MOST_FAILURES = 8,
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline bool contiguous(const struct oriel_get *get)
{
    return get->origin_layout->contiguous && get->target_layout->contiguous;
}

/* A read that passed every check. */
struct plan {
    struct oriel_target *target;
    uint64_t start; /* of displacement 0 of the target type, from the window's base */
    uint64_t bytes; /* data */
    int64_t low, high; /* the target's hull, from start */
};

/* Where in the target's window the read lies. */
static enum oriel_reason place(const struct oriel_get *get, struct plan *plan)
{
    const struct oriel_target *target = plan->target;
    int64_t start, first, last;
    if (get->displacement < 0 ||
        __builtin_mul_overflow(get->displacement, (int64_t)target->disp_unit, &start))
        return ORIEL_NATIVE_range;
    if (get->target_layout->contiguous) {
        plan->low = 0;
        plan->high = (int64_t)plan->bytes;
    } else if (oriel_layout_bounds(get->target_layout, get->target_count, &plan->low,
                                   &plan->high)) {
        return ORIEL_NATIVE_range;
    }
    if (__builtin_add_overflow(start, plan->low, &first) ||
        __builtin_add_overflow(start, plan->high, &last) || first < 0 ||
        (uint64_t)last > target->bytes)
        return ORIEL_NATIVE_range;
    plan->start = (uint64_t)start;
    return ORIEL_SERVED;
}

/* Positive proof of everything that a redirected read needs. */
static inline enum oriel_reason check(struct oriel_window *window,
                                      const struct oriel_get *get, struct plan *plan)
{
    if (get->target < 0 || get->target >= window->n) return ORIEL_NATIVE_range;
    enum oriel_reason reason = oriel_epoch_read(window->epoch, get->target);
    if (reason != ORIEL_SERVED) return reason;
    if (!get->origin_layout || !get->target_layout) return ORIEL_NATIVE_type;

    uint64_t there;
    if (__builtin_mul_overflow(get->origin_count, get->origin_layout->bytes,
                               &plan->bytes) ||
        __builtin_mul_overflow(get->target_count, get->target_layout->bytes, &there) ||
        plan->bytes > INT64_MAX || there > INT64_MAX)
        return ORIEL_NATIVE_range;
    if (plan->bytes == 0 || there == 0) return ORIEL_NATIVE_empty;
    if (plan->bytes != there) return ORIEL_NATIVE_type;
    if (!get->origin) return ORIEL_NATIVE_origin;

    plan->target = &window->targets[get->target];
    reason = place(get, plan);
    if (reason != ORIEL_SERVED) return reason;
    if (oriel_device_memory(get->origin, plan->bytes)) return ORIEL_NATIVE_device;

    enum oriel_link link =
        atomic_load_explicit(&plan->target->link, memory_order_acquire);
    if (link == ORIEL_LINK_UNTRIED) link = oriel_window_connect(window, get->target);
    return link == ORIEL_LINK_READY ? ORIEL_SERVED : plan->target->why;
}

/* By an engine whose reads have landed when get returns. */
static int get_now(struct oriel_target *target, const struct oriel_span *spans,
                   size_t n)
{
    const struct oriel_transport *transport = oriel_engines[target->engine];
    struct oriel_track track = {0};
    for (size_t done = 0; done < n;) {
        ssize_t took = transport->get(target->peer, spans + done, n - done, &track);
        if (took < 0) return (int)took;
        done += (size_t)took;
    }
    return 0;
}

/* Not inlined: its spans would cost every contiguous read a frame of pages. */
static __attribute__((noinline)) int read_pieces(const struct oriel_get *get,
                                                 const struct plan *plan, bool now)
{
    struct oriel_span spans[SPANS];
    struct oriel_walk walk;
    struct oriel_step step;
    oriel_walk_init(&walk, get->origin_layout, get->target_layout, plan->bytes);
    bool more = oriel_walk_next(&walk, &step);
    while (more) {
        size_t n = 0;
        for (; more && n < SPANS; more = oriel_walk_next(&walk, &step))
            spans[n++] = (struct oriel_span){
                .offset = plan->start + (uint64_t)step.target,
                .local = (char *)get->origin + step.origin,
                .bytes = step.bytes,
            };
        struct oriel_flight *flight = plan->target->flight;
        int error;
        if (!flight)
            error = get_now(plan->target, spans, n);
        else if (now) /* not remembered: the origin is the program's again on return */
            error = oriel_flight_read(flight, spans, n);
        else
            error = oriel_flight_start(flight, spans, n, more ? 0 : plan->bytes);
        if (error) return error;
    }
    return 0;
}

/* All between the first piece and the last into a buffer, and from there to their
 * places. Lands at once. */
static int read_hull(const struct oriel_get *get, const struct plan *plan)
{
    struct oriel_target *target = plan->target;
    uint64_t bytes = (uint64_t)(plan->high - plan->low);
    bool large = bytes > ORIEL_SCRATCH_BYTES;
    char *hull = large ? malloc(bytes) : oriel_scratch_take();
    struct oriel_span span = {plan->start + (uint64_t)plan->low, hull, bytes};
    if (!hull) return -ENOMEM;
    int error = target->flight ? oriel_flight_read(target->flight, &span, 1)
                               : get_now(target, &span, 1);
    if (!error)
        oriel_layout_copy(get->origin, get->origin_layout, hull - plan->low,
                          get->target_layout, plan->bytes);
    if (large)
        free(hull);
    else
        oriel_scratch_give(hull);
    return error;
}

static uint64_t pieces_of(const struct oriel_layout *layout, uint64_t count)
{
    uint64_t pieces = 1;
    if (!layout->contiguous && __builtin_mul_overflow(layout->n, count, &pieces))
        return UINT64_MAX;
    return pieces;
}

static bool scattered(const struct plan *plan, uint64_t pieces, uint64_t far_bytes)
{
    return pieces > MANY && plan->bytes / pieces < SMALL_BYTES &&
           (uint64_t)(plan->high - plan->low) / pieces > far_bytes;
}

static bool pays_as_hull(const struct plan *plan, uint64_t pieces, uint64_t most_bytes,
                         uint64_t gap_bytes)
{
    uint64_t bytes = (uint64_t)(plan->high - plan->low);
    return pieces > 1 && bytes <= most_bytes && bytes / pieces <= gap_bytes;
}

/* One line a target. -EIO and -EFAULT may be one read's own fault; a target that goes
 * on failing is left to the native library, like a lost one. Its peer is kept until the
 * window goes: other threads may be using it. */
static enum oriel_reason engine_failed(struct oriel_target *target, int error)
{
    unsigned before =
        atomic_fetch_add_explicit(&target->failures, 1, memory_order_relaxed);
    if (before == 0)
        oriel_log(ORIEL_LOG_WARN,
                  "engine %s failed on a read: %s; the native library reads it",
                  oriel_engines[target->engine]->name, oriel_strerror(error));
    if ((error != -EIO && error != -EFAULT && error != -ENOMEM) ||
        before + 1 >= MOST_FAILURES) {
        target->why = ORIEL_NATIVE_engine_failed;
        atomic_store_explicit(&target->link, ORIEL_LINK_NONE, memory_order_release);
    }
    return ORIEL_NATIVE_engine_failed;
}

static enum oriel_reason read_node(const struct oriel_get *get, struct plan *plan)
{
    int error = -EFAULT; /* as a gap that may not be read gives */
    if (contiguous(get)) {
        struct oriel_span span = {plan->start, get->origin, plan->bytes};
        error = get_now(plan->target, &span, 1);
    } else {
        uint64_t pieces = pieces_of(get->target_layout, get->target_count);
        if (scattered(plan, pieces, FAR_BYTES)) return ORIEL_NATIVE_scattered;
        if (pays_as_hull(plan, pieces, ORIEL_SCRATCH_BYTES, NODE_GAP_BYTES))
            error = read_hull(get, plan);
        if (error == -EFAULT) error = read_pieces(get, plan, true);
    }
    return error ? engine_failed(plan->target, error) : ORIEL_SERVED;
}

/* Started, and landed where the window or the read asks for it. */
static enum oriel_reason read_fabric(const struct oriel_window *window,
                                     const struct oriel_get *get, struct plan *plan)
{
    struct oriel_flight *flight = plan->target->flight;
    bool now = get->now || !atomic_load_explicit(&window->defer, memory_order_relaxed);
    int error;
    if (contiguous(get)) {
        struct oriel_span span = {plan->start, get->origin, plan->bytes};
        error = now ? oriel_flight_read(flight, &span, 1)
                    : oriel_flight_start(flight, &span, 1, plan->bytes);
    } else {
        uint64_t pieces = pieces_of(get->target_layout, get->target_count);
        if (scattered(plan, pieces, FABRIC_GAP_BYTES)) return ORIEL_NATIVE_scattered;
        if (pays_as_hull(plan, pieces, HULL_MOST, FABRIC_GAP_BYTES)) {
            error = read_hull(get, plan);
        } else {
            error = read_pieces(get, plan, now);
        }
    }
    return error ? engine_failed(plan->target, error) : ORIEL_SERVED;
}

static enum oriel_reason read_engine(const struct oriel_window *window,
                                     const struct oriel_get *get, struct plan *plan)
{
    return plan->target->flight ? read_fabric(window, get, plan) : read_node(get, plan);
}

/* By the kernel, without a further call: after a system call each return is
 * mispredicted, and the levels of an engine would cost a small read a tenth of its
 * time. False: not read, or not all; the engine then says why. */
static inline bool read_address(const struct oriel_get *get, const struct plan *plan)
{
    const struct oriel_target *target = plan->target;
    if (plan->bytes > KERNEL_MOST || oriel_process_forked()) return false;
    struct iovec local = {get->origin, plan->bytes};
    struct iovec remote = {(void *)(uintptr_t)(target->address + plan->start),
                           plan->bytes};
    return process_vm_readv(target->pid, &local, 1, &remote, 1, 0) ==
           (ssize_t)plan->bytes;
}

static inline enum oriel_reason serve(struct oriel_window *window,
                                      const struct oriel_get *get, struct plan *plan)
{
    enum oriel_reason reason = check(window, get, plan);
    if (reason != ORIEL_SERVED) return reason;
    struct oriel_target *target = plan->target;
    if (target->mapped && contiguous(get))
        oriel_copy(get->origin, target->mapped + plan->start, plan->bytes);
    else if (target->mapped)
        oriel_layout_copy(get->origin, get->origin_layout, target->mapped + plan->start,
                          get->target_layout, plan->bytes);
    else if (!target->pid || !contiguous(get) || !read_address(get, plan))
        reason = read_engine(window, get, plan);
    atomic_thread_fence(memory_order_acquire);
    return reason;
}

static void add_latency(struct oriel_window *window, uint64_t ns)
{
    if (window->threads) pthread_mutex_lock(&window->lock);
    oriel_hist_add(window->latency, ns);
    if (window->threads) pthread_mutex_unlock(&window->lock);
}

/* A read that lands later is timed to where it is seen to have landed. */
static enum oriel_reason serve_timed(struct oriel_window *window,
                                     const struct oriel_get *get, struct plan *plan)
{
    uint64_t before = now_ns();
    enum oriel_reason reason = serve(window, get, plan);
    if (reason != ORIEL_SERVED) return reason;
    struct oriel_flight *flight = plan->target->flight;
    uint64_t none = 0;
    if (flight && atomic_load_explicit(&window->in_flight, memory_order_relaxed))
        atomic_compare_exchange_strong(&flight->since_ns, &none, before);
    else
        add_latency(window, now_ns() - before);
    return reason;
}

enum oriel_reason oriel_route_get(struct oriel_window *window,
                                  const struct oriel_get *get)
{
    struct plan plan;
    enum oriel_reason reason;
    if (window->latency &&
        atomic_fetch_add_explicit(&window->tick, 1, memory_order_relaxed) %
                window->sample ==
            0)
        reason = serve_timed(window, get, &plan);
    else
        reason = serve(window, get, &plan);
    if (reason != ORIEL_SERVED) return oriel_route_decline(window, reason);
    if (oriel_epoch_load(&window->epoch->fence))
        atomic_store_explicit(&window->epoch->fence_read, 1, memory_order_relaxed);
    oriel_count(window, &window->counters.path[plan.target->path], 1);
    oriel_count(window, &window->counters.bytes, plan.bytes);
    return ORIEL_SERVED;
}

/* The reads of a target that its engine lost: they count as native from here on. */
static int replay_lost(struct oriel_window *window, int rank, int error,
                       oriel_replay *replay)
{
    struct oriel_target *target = &window->targets[rank];
    struct oriel_flight *flight = target->flight;
    uint64_t gets = flight->gets;
    engine_failed(target, error);
    oriel_count(window, &window->counters.path[target->path], (uint64_t)0 - gets);
    oriel_count(window, &window->counters.bytes, (uint64_t)0 - flight->bytes);
    oriel_count(window, &window->counters.native[ORIEL_NATIVE_engine_failed], gets);
    error = replay(window, rank, flight->spans, flight->n);
    oriel_flight_forget(flight);
    return error;
}

static int land_one(struct oriel_window *window, int rank, oriel_replay *replay)
{
    struct oriel_flight *flight = window->targets[rank].flight;
    int error = oriel_flight_wait(flight);
    uint64_t since = atomic_exchange(&flight->since_ns, 0);
    if (error) {
        pthread_mutex_lock(&window->replay_lock);
        /* Else another thread has read it; the native flush completes that, too. */
        error =
            oriel_flight_failed(flight) ? replay_lost(window, rank, error, replay) : 0;
        pthread_mutex_unlock(&window->replay_lock);
        return error;
    }
    if (since && window->latency) add_latency(window, now_ns() - since);
    return 0;
}

int oriel_route_land(struct oriel_window *window, int target, oriel_replay *replay)
{
    int first = target, last = target, error = 0;
    if (target < 0) {
        first = 0;
        last = window->n - 1;
    }
    for (int rank = first; rank <= last && rank < window->n; rank++) {
        if (!atomic_load_explicit(&window->in_flight, memory_order_relaxed)) break;
        int lost = 0;
        /* link is set after flight, with release order */
        if (atomic_load_explicit(&window->targets[rank].link, memory_order_acquire) !=
                ORIEL_LINK_UNTRIED &&
            window->targets[rank].flight)
            lost = land_one(window, rank, replay);
        if (!error) error = lost;
    }
    atomic_thread_fence(memory_order_acquire);
    return error;
}

enum oriel_reason oriel_route_decline(struct oriel_window *window,
                                      enum oriel_reason reason)
{
    oriel_count(window, &window->counters.native[reason], 1);
    return reason;
}
