#include "transports/engines.h"

#include <string.h>

const struct oriel_transport *const oriel_engines[ORIEL_ENGINE_COUNT] = {
#define ORIEL_ENGINE(name) [ORIEL_ENGINE_ID_##name] = &oriel_transport_##name,
#include "transports/engines.def"
#undef ORIEL_ENGINE
};

const struct oriel_transport *oriel_engine_find(const char *name)
{
    for (int i = 0; i < ORIEL_ENGINE_COUNT; i++)
        if (strcmp(oriel_engines[i]->name, name) == 0) return oriel_engines[i];
    return NULL;
}
