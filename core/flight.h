/*
 * flight.h - the reads of one target that were started and have not landed.
 *
 * Every started piece is remembered until all have landed, so that a failing engine
 * loses nothing: what was under way is read again, by the engine or natively.
 *
 * Threads: any; a flight is touched under its engine's lock only, which the functions
 * here take.
 */
#ifndef ORIEL_FLIGHT_H
#define ORIEL_FLIGHT_H

#include "core/engine.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct oriel_flight {
    enum oriel_engine_id id;
    struct oriel_engine *engine;
    struct oriel_peer *peer;
    struct oriel_track track;
    struct oriel_span *spans; /* owned: what is under way, or may be */
    size_t n, capacity;
    uint64_t gets, bytes;      /* of the reads that the spans belong to */
    _Atomic uint64_t since_ns; /* when a read was started that is to be timed; else 0 */
    int starting;              /* threads that are handing spans to the engine */
    bool failed;       /* the engine gave up: the spans wait for somebody else */
    _Atomic int *open; /* of the window: flights that have spans */
};

/* Called every now and then by who waits here, so that an MPI library below can make
 * progress; NULL: nothing to do. Set before the first read. */
extern void (*oriel_flight_idle)(void);

/* open: counts the flights that remember something; it outlives this one. NULL: out of
 * memory. */
struct oriel_flight *oriel_flight_create(enum oriel_engine_id id,
                                         struct oriel_peer *peer, _Atomic int *open);
/* Gives up what is still under way. NULL is accepted. */
void oriel_flight_destroy(struct oriel_flight *flight);

/* Start one read, or a part of one. bytes: of all its parts, for the counters, with the
 * last one; 0 with those before. Returns 0: the pieces are remembered, and under way or
 * landed; else -errno: none of them is, and earlier reads have failed with them
 * (flight->failed). Blocks  while the queue is full, up to ORIEL_TIMEOUT_S */
int oriel_flight_start(struct oriel_flight *flight, const struct oriel_span *spans,
                       size_t n, uint64_t bytes);
/* One read, landed on return, whatever else is under way. Returns 0 or -errno: nothing
 * of it is under way any more. Blocks  up to ORIEL_TIMEOUT_S */
int oriel_flight_read(struct oriel_flight *flight, const struct oriel_span *spans,
                      size_t n);
/* Wait for all that is under way. Returns 0: it has landed and is forgotten. -errno:
 * the engine failed, nothing is under way any more, and flight->spans still has what
 * was. Blocks  up to ORIEL_TIMEOUT_S */
int oriel_flight_wait(struct oriel_flight *flight);
/* Did the engine give up, and nobody has read the spans yet? */
bool oriel_flight_failed(struct oriel_flight *flight);
/* Forget the spans of a failed flight: somebody else has read them. */
void oriel_flight_forget(struct oriel_flight *flight);

#endif
