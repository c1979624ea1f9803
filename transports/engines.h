/*
 * engines.h - the engines that this build has, in order of preference.
 */
#ifndef ORIEL_ENGINES_H
#define ORIEL_ENGINES_H

#include "transports/transport.h"

#define ORIEL_ENGINE(name) extern const struct oriel_transport oriel_transport_##name;
#include "transports/engines.def"
#undef ORIEL_ENGINE

enum oriel_engine_id {
#define ORIEL_ENGINE(name) ORIEL_ENGINE_ID_##name,
#include "transports/engines.def"
#undef ORIEL_ENGINE
    ORIEL_ENGINE_COUNT
};

/* The table of all engines, indexed by oriel_engine_id. */
extern const struct oriel_transport *const oriel_engines[ORIEL_ENGINE_COUNT];

/* The engine of that name, or NULL. */
const struct oriel_transport *oriel_engine_find(const char *name);

#endif
