#include "core/engine.h"

#include "core/config.h"
#include "core/err.h"
#include "core/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct oriel_engine *engine; /* NULL: not open */
    const char *why_not;
    bool tried;
} slots[ORIEL_ENGINE_COUNT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void open_one(unsigned id)
{
    const struct oriel_transport *transport = oriel_engines[id];
    const char *why = NULL;
    slots[id].tried = true;
    int error = transport->open(oriel_config_get(), &slots[id].engine, &why);
    if (!error) return;
    slots[id].engine = NULL;
    slots[id].why_not = why ? why : "it could not be opened";
    oriel_log(ORIEL_LOG_INFO, "engine %s is not used: %s (%s)", transport->name,
              slots[id].why_not, oriel_strerror(error));
}

unsigned oriel_engines_open(unsigned wanted)
{
    unsigned usable = 0;
    pthread_mutex_lock(&lock);
    for (unsigned id = 0; id < ORIEL_ENGINE_COUNT; id++) {
        if (!(wanted >> id & 1)) continue;
        if (!slots[id].tried) open_one(id);
        if (slots[id].engine) usable |= 1u << id;
    }
    pthread_mutex_unlock(&lock);
    return usable;
}

void oriel_engines_close(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned id = 0; id < ORIEL_ENGINE_COUNT; id++) {
        if (slots[id].engine) oriel_engines[id]->close(slots[id].engine);
        memset(&slots[id], 0, sizeof slots[id]);
    }
    pthread_mutex_unlock(&lock);
}

struct oriel_engine *oriel_engine_opened(enum oriel_engine_id id)
{
    pthread_mutex_lock(&lock);
    struct oriel_engine *engine = slots[id].engine;
    pthread_mutex_unlock(&lock);
    return engine;
}

const char *oriel_engine_why_not(enum oriel_engine_id id)
{
    pthread_mutex_lock(&lock);
    const char *why = slots[id].why_not;
    pthread_mutex_unlock(&lock);
    return why;
}

static int parse_name(const char *name, size_t length, unsigned *set)
{
    if (length == 4 && strncmp(name, "self", 4) == 0) return 0;
    for (unsigned id = 0; id < ORIEL_ENGINE_COUNT; id++) {
        const char *known = oriel_engines[id]->name;
        if (strlen(known) == length && strncmp(known, name, length) == 0) {
            *set |= 1u << id;
            return 0;
        }
    }
    return -EINVAL;
}

int oriel_engines_parse(const char *text, unsigned *out, const char **bad_out)
{
    unsigned set = 0;
    if (!*text) {
        *out = ORIEL_ENGINES_ALL;
        return 0;
    }
    for (const char *name = text;; name++) {
        size_t length = strcspn(name, "+");
        if (parse_name(name, length, &set)) {
            *bad_out = name;
            return -EINVAL;
        }
        name += length;
        if (!*name) break;
    }
    *out = set;
    return 0;
}
