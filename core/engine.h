/*
 * engine.h - the engines of this process: opened once, shared by all windows.
 */
#ifndef ORIEL_ENGINE_H
#define ORIEL_ENGINE_H

#include "transports/engines.h"

#include <stdbool.h>
#include <stdint.h>

/* A set of engines: bit i is engine i. */
enum { ORIEL_ENGINES_ALL = (1 << ORIEL_ENGINE_COUNT) - 1 };

/* Open those of `wanted` that are not open yet; one that does not work is left out
 * and tried no more. Returns the usable part of `wanted`. Threads: any. */
unsigned oriel_engines_open(unsigned wanted);
/* No region and no peer is left. */
void oriel_engines_close(void);

/* Have the service thread look after an open engine, if it needs one; before it exposes
 * anything. Returns 0, or why nobody would serve its peers, as oriel_service_add. */
int oriel_engine_serve(enum oriel_engine_id id);

/* One caller at a time is on the reading side of an engine that is not
 * ORIEL_ENGINE_CONCURRENT; for one that is, these do nothing. */
void oriel_engine_lock(enum oriel_engine_id id);
void oriel_engine_unlock(enum oriel_engine_id id);

/* NULL: not open. */
struct oriel_engine *oriel_engine_opened(enum oriel_engine_id id);
/* Why it could not be opened; NULL: it is open, or was never tried. */
const char *oriel_engine_why_not(enum oriel_engine_id id);

/* Engines in order of preference. */
struct oriel_order {
    bool chosen; /* by name, and not just all that there are */
    uint8_t n;
    uint8_t id[ORIEL_ENGINE_COUNT];
};

/* All engines, in the order of engines.def; nobody chose. */
struct oriel_order oriel_order_all(void);
/* Parse engine names joined by '+', best first, such as "node+ofi". "self" may be
 * named and changes nothing: a process's own memory is always copied. Empty text
 * means all. Returns 0; -EINVAL, and *bad_out then points at the unknown name. */
int oriel_order_parse(const char *text, struct oriel_order *out, const char **bad_out);
/* The engines of it as a set: bit i is engine i. */
unsigned oriel_order_set(const struct oriel_order *order);
/* Those of it that are in the set, in the same order. */
struct oriel_order oriel_order_among(const struct oriel_order *order, unsigned set);
/* What a window asks for, within what the process may use: `window` where it chose,
 * else `process`. */
struct oriel_order oriel_order_for(const struct oriel_order *window,
                                   const struct oriel_order *process);

#endif
