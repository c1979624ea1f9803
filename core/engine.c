#include "core/engine.h"

#include "core/config.h"
#include "core/err.h"
#include "core/log.h"
#include "core/service.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct oriel_engine *engine; /* NULL: not open */
    const char *why_not;
    bool tried;
    bool served;          /* the service thread knows of it, or it needs none */
    pthread_mutex_t turn; /* of its reading side */
} slots[ORIEL_ENGINE_COUNT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void open_one(unsigned id)
{
    const struct oriel_transport *transport = oriel_engines[id];
    const char *why = NULL;
    slots[id].tried = true;
    pthread_mutex_init(&slots[id].turn, NULL);
    int error = transport->open(oriel_config_get(), &slots[id].engine, &why);
    if (!error) {
        oriel_log(ORIEL_LOG_INFO, "engine %s is open%s%s", transport->name,
                  transport->describe ? ": " : "",
                  transport->describe ? transport->describe(slots[id].engine) : "");
        return;
    }
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
        if (slots[id].served) oriel_service_remove(slots[id].engine);
        if (slots[id].engine) oriel_engines[id]->close(slots[id].engine);
        if (slots[id].tried) pthread_mutex_destroy(&slots[id].turn);
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

int oriel_engine_serve(enum oriel_engine_id id)
{
    pthread_mutex_lock(&lock);
    int error = 0;
    if (!slots[id].served)
        error = oriel_service_add(oriel_engines[id], slots[id].engine);
    if (!error) slots[id].served = true;
    pthread_mutex_unlock(&lock);
    return error;
}

static bool takes_turns(enum oriel_engine_id id)
{
    return !(oriel_engines[id]->flags & ORIEL_ENGINE_CONCURRENT);
}

void oriel_engine_lock(enum oriel_engine_id id)
{
    if (takes_turns(id)) pthread_mutex_lock(&slots[id].turn);
}

void oriel_engine_unlock(enum oriel_engine_id id)
{
    if (takes_turns(id)) pthread_mutex_unlock(&slots[id].turn);
}

/* ---- orders ---- */

struct oriel_order oriel_order_all(void)
{
    struct oriel_order order = {.n = ORIEL_ENGINE_COUNT};
    for (unsigned id = 0; id < ORIEL_ENGINE_COUNT; id++)
        order.id[id] = (uint8_t)id;
    return order;
}

static int parse_name(const char *name, size_t length, struct oriel_order *order)
{
    if (length == 4 && strncmp(name, "self", 4) == 0) return 0;
    for (unsigned id = 0; id < ORIEL_ENGINE_COUNT; id++) {
        const char *known = oriel_engines[id]->name;
        if (strlen(known) != length || strncmp(known, name, length) != 0) continue;
        if (!(oriel_order_set(order) >> id & 1)) order->id[order->n++] = (uint8_t)id;
        return 0;
    }
    return -EINVAL;
}

int oriel_order_parse(const char *text, struct oriel_order *out, const char **bad_out)
{
    struct oriel_order order = {.chosen = true};
    if (!*text) {
        *out = oriel_order_all();
        return 0;
    }
    for (const char *name = text;; name++) {
        size_t length = strcspn(name, "+");
        if (parse_name(name, length, &order)) {
            *bad_out = name;
            return -EINVAL;
        }
        name += length;
        if (!*name) break;
    }
    *out = order;
    return 0;
}

unsigned oriel_order_set(const struct oriel_order *order)
{
    unsigned set = 0;
    for (int i = 0; i < order->n; i++)
        set |= 1u << order->id[i];
    return set;
}

struct oriel_order oriel_order_among(const struct oriel_order *order, unsigned set)
{
    struct oriel_order among = {.chosen = order->chosen};
    for (int i = 0; i < order->n; i++)
        if (set >> order->id[i] & 1) among.id[among.n++] = order->id[i];
    return among;
}

struct oriel_order oriel_order_for(const struct oriel_order *window,
                                   const struct oriel_order *process)
{
    if (!window->chosen) return *process;
    return oriel_order_among(window, oriel_order_set(process));
}
