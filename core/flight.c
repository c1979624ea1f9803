#define _GNU_SOURCE
#include "core/flight.h"

#include "core/config.h"
#include "core/err.h"
#include "core/log.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    FEW = 16,       /* spans at first */
    MOST = 1 << 16, /* spans remembered before a read waits for those before it */
    RETRIES = 3,    /* of reads that the end of another peer took along */
    SPIN_NS = 50000,
    IDLE_NS = 50000, /* between two calls of oriel_flight_idle */
};

void (*oriel_flight_idle)(void);

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct oriel_flight *oriel_flight_create(enum oriel_engine_id id,
                                         struct oriel_peer *peer, _Atomic int *open)
{
    struct oriel_flight *flight = calloc(1, sizeof *flight);
    if (!flight) return NULL;
    flight->spans = calloc(FEW, sizeof *flight->spans);
    if (!flight->spans) {
        free(flight);
        return NULL;
    }
    flight->capacity = FEW;
    flight->id = id;
    flight->engine = oriel_engine_opened(id);
    flight->peer = peer;
    flight->open = open;
    return flight;
}

/* With the lock, while no thread is starting a read: it may let go of the lock with its
 * spans remembered and not yet under way. */
static void forget(struct oriel_flight *flight)
{
    if (flight->n) atomic_fetch_sub(flight->open, 1);
    flight->n = 0;
    flight->gets = flight->bytes = 0;
    flight->failed = false;
}

/* Nothing is under way on return. With the lock. */
static void give_up(struct oriel_flight *flight)
{
    if (flight->track.pending) oriel_engines[flight->id]->cancel(flight->peer);
    flight->track = (struct oriel_track){0};
}

void oriel_flight_destroy(struct oriel_flight *flight)
{
    if (!flight) return;
    oriel_engine_lock(flight->id);
    give_up(flight);
    forget(flight);
    oriel_engine_unlock(flight->id);
    free(flight->spans);
    free(flight);
}

/* ---- waiting: polls, and lets others have the core before long ---- */

struct wait {
    uint64_t start, idle; /* 0: it has only begun */
    uint32_t landed;      /* of the track, at the last look */
    uint64_t bytes;       /* to land: 1 ns each before the core is given away, which
                           * where it is shared costs some ms */
};

/* One look at the engine, with the lock, which is free for a moment meanwhile.
 * Returns 0; -ETIMEDOUT; the engine's error. */
static int poll_once(struct oriel_flight *flight, const struct oriel_track *track,
                     struct wait *wait)
{
    int error = oriel_engines[flight->id]->progress(flight->engine);
    if (error < 0) return error;
    if (track->landed !=
        wait->landed) { /* something moves; others' reads do not count */
        wait->landed = track->landed;
        wait->start = 0;
    }
    uint64_t now = now_ns();
    if (!wait->start) wait->start = now;
    if (!wait->idle) wait->idle = now;
    uint64_t waited = now - wait->start;
    bool idle = now - wait->idle > IDLE_NS; /* also while reads land */
    if (waited > (uint64_t)(oriel_config_get()->timeout_s * 1e9)) return -ETIMEDOUT;
    if (waited < SPIN_NS && !idle) return 0;
    oriel_engine_unlock(flight->id);
    if (idle && oriel_flight_idle) oriel_flight_idle();
    if (idle) wait->idle = now;
    if (waited >= SPIN_NS + wait->bytes) sched_yield();
    oriel_engine_lock(flight->id);
    return 0;
}

/* ---- starting ---- */

static int post(struct oriel_flight *flight, const struct oriel_span *spans, size_t n,
                struct oriel_track *track)
{
    const struct oriel_transport *transport = oriel_engines[flight->id];
    struct wait wait = {0};
    size_t done = 0;
    while (done < n) {
        ssize_t took = transport->get(flight->peer, spans + done, n - done, track);
        int error = took < 0 ? (int)took : 0;
        if (took > 0) {
            done += (size_t)took;
            wait.start = 0;
            continue;
        }
        if (error && error != -EAGAIN) return error;
        error = poll_once(flight, track, &wait);
        if (error) return error;
    }
    return 0;
}

/* Spans that have landed are of no use any more. With the lock. */
static void forget_landed(struct oriel_flight *flight)
{
    if (flight->starting || flight->track.pending || flight->track.error ||
        flight->failed)
        return;
    forget(flight);
}

static int remember(struct oriel_flight *flight, const struct oriel_span *spans,
                    size_t n)
{
    if (flight->n + n > flight->capacity) {
        size_t capacity = 2 * (flight->n + n);
        struct oriel_span *more =
            realloc(flight->spans, capacity * sizeof *flight->spans);
        if (!more) return -ENOMEM;
        flight->spans = more;
        flight->capacity = capacity;
    }
    if (!flight->n && n) atomic_fetch_add(flight->open, 1);
    memcpy(flight->spans + flight->n, spans, n * sizeof *spans);
    flight->n += n;
    return 0;
}

/* All that was remembered, once more; from a copy, since the lock is let go of now and
 * then. With the lock. */
static int restart(struct oriel_flight *flight)
{
    size_t n = flight->n;
    struct oriel_span *spans = malloc((n + 1) * sizeof *spans);
    if (!spans) return -ENOMEM;
    memcpy(spans, flight->spans, n * sizeof *spans);
    give_up(flight);
    int error = post(flight, spans, n, &flight->track);
    free(spans);
    return error;
}

/* With the lock. A read that ended since another peer's was given up is started again:
 * this peer is not to blame. */
static int land(struct oriel_flight *flight)
{
    struct wait wait = {.bytes = flight->bytes};
    int error = 0;
    for (int tries = 0; !error; tries++) {
        while (!error && flight->track.pending)
            error = poll_once(flight, &flight->track, &wait);
        if (!error) error = flight->track.error;
        if (error != -ECANCELED || tries == RETRIES) break;
        error = restart(flight);
    }
    if (!error) return flight->failed ? -EIO : 0; /* another thread saw it fail */
    give_up(flight);
    flight->failed = true;
    return error;
}

/* A read could not be started: the caller reads it some other way, and what was under
 * way before waits for somebody else. With the lock. */
static void lose(struct oriel_flight *flight, size_t first, size_t n)
{
    give_up(flight);
    flight->failed = true;
    for (size_t i = first; i < first + n; i++)
        flight->spans[i].bytes = 0;
}

int oriel_flight_start(struct oriel_flight *flight, const struct oriel_span *spans,
                       size_t n, uint64_t bytes)
{
    int error = 0;
    oriel_engine_lock(flight->id);
    forget_landed(flight);
    if (flight->n > MOST && !flight->failed) {
        error = land(flight);
        if (!error) forget_landed(flight);
    }
    if (flight->failed) error = -EIO;
    size_t first = flight->n;
    if (!error) error = remember(flight, spans, n);
    if (!error) {
        flight->starting++;
        error = post(flight, spans, n, &flight->track);
        if (!error && flight->failed) error = -EIO; /* by another thread's read */
        flight->starting--;
        if (error) lose(flight, first, n);
    }
    if (!error && bytes) {
        flight->gets++;
        flight->bytes += bytes;
    }
    oriel_engine_unlock(flight->id);
    return error;
}

int oriel_flight_read(struct oriel_flight *flight, const struct oriel_span *spans,
                      size_t n)
{
    struct oriel_track track = {0};
    struct wait wait = {0};
    for (size_t i = 0; i < n; i++)
        wait.bytes += spans[i].bytes;
    oriel_engine_lock(flight->id);
    int error = flight->failed ? -EIO : 0;
    for (int tries = 0; !error; tries++) {
        error = post(flight, spans, n, &track);
        while (!error && track.pending)
            error = poll_once(flight, &track, &wait);
        if (!error) error = track.error;
        if (error && track.pending) oriel_engines[flight->id]->cancel(flight->peer);
        if (error != -ECANCELED || tries == RETRIES) break;
        track = (struct oriel_track){0};
        error = 0;
    }
    oriel_engine_unlock(flight->id);
    return error;
}

int oriel_flight_wait(struct oriel_flight *flight)
{
    oriel_engine_lock(flight->id);
    int error = flight->failed ? -EIO : land(flight);
    if (!error) forget_landed(flight);
    oriel_engine_unlock(flight->id);
    return error;
}

bool oriel_flight_failed(struct oriel_flight *flight)
{
    oriel_engine_lock(flight->id);
    bool failed = flight->failed;
    oriel_engine_unlock(flight->id);
    return failed;
}

void oriel_flight_forget(struct oriel_flight *flight)
{
    oriel_engine_lock(flight->id);
    if (!flight->starting) {
        forget(flight);
    } else {
        /* A thread that is starting a read finds it failed and forgets it then; until
         * then nothing may be read a second time. */
        for (size_t i = 0; i < flight->n; i++)
            flight->spans[i].bytes = 0;
        flight->gets = flight->bytes = 0;
    }
    oriel_engine_unlock(flight->id);
}
