/*
 * engine.h - the engines of this process: opened once, shared by all windows.
 */
#ifndef ORIEL_ENGINE_H
#define ORIEL_ENGINE_H

#include "transports/engines.h"

/* A set of engines: bit i is engine i. */
enum { ORIEL_ENGINES_ALL = (1 << ORIEL_ENGINE_COUNT) - 1 };

/* Open those of `wanted` that are not open yet; one that does not work is left out
 * and tried no more. Returns the usable part of `wanted`. Threads: any. */
unsigned oriel_engines_open(unsigned wanted);
/* No region and no peer is left. */
void oriel_engines_close(void);

/* NULL: not open. */
struct oriel_engine *oriel_engine_opened(enum oriel_engine_id id);
/* Why it could not be opened; NULL: it is open, or was never tried. */
const char *oriel_engine_why_not(enum oriel_engine_id id);

/* Parse engine names joined by '+' into a set, such as "node+ofi". "self" needs no
 * bit: a process's own memory is always copied. Empty text means all.
 * Returns 0; -EINVAL, and *bad_out then points at the unknown name in text. */
int oriel_engines_parse(const char *text, unsigned *out, const char **bad_out);

#endif
