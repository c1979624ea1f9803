#include "core/window.h"

#include "core/err.h"
#include "core/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { REMOVED = 1, FIRST_BITS = 6 };

struct oriel_window_table *_Atomic oriel_window_table;

/* Writers hold this; readers see every table that ever was, so tables are kept. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t live, used; /* windows; slots that are not empty */
static struct old_table {
    struct old_table *next;
    struct oriel_window_table *table;
} * old_tables;

/* By one engine. Returns the bytes of its blob; 0: not exposed. */
static uint32_t expose_by(unsigned id, void *base, uint64_t bytes,
                          struct oriel_region **out, unsigned char *blob_out)
{
    const struct oriel_transport *transport = oriel_engines[id];
    struct oriel_engine *engine = oriel_engine_opened(id);
    struct oriel_blob blob;
    if (!engine) return 0;
    int error = oriel_engine_serve(id);
    if (!error) error = transport->expose(engine, base, bytes, out, &blob);
    if (error) {
        oriel_log(ORIEL_LOG_WARN, "engine %s does not expose %llu bytes: %s",
                  transport->name, (unsigned long long)bytes, oriel_strerror(error));
        *out = NULL;
        return 0;
    }
    memcpy(blob_out, blob.data, blob.bytes);
    return blob.bytes;
}

static size_t blobs_bytes(const struct oriel_row *row)
{
    size_t bytes = 0;
    for (unsigned id = 0; id < ORIEL_ENGINE_COUNT; id++)
        bytes += row->blob_bytes[id];
    return bytes;
}

size_t oriel_row_long_bytes(const struct oriel_row *row)
{
    size_t bytes = blobs_bytes(row);
    return bytes > sizeof row->blob ? bytes : 0;
}

unsigned oriel_window_expose(void *base, uint64_t bytes, unsigned engines,
                             struct oriel_region *exposed[ORIEL_ENGINE_COUNT],
                             struct oriel_row *row, unsigned char *blobs_out)
{
    unsigned done = 0;
    size_t at = 0;
    memset(exposed, 0, ORIEL_ENGINE_COUNT * sizeof exposed[0]);
    for (unsigned id = 0; bytes && id < ORIEL_ENGINE_COUNT; id++) {
        if (!(engines >> id & 1)) continue;
        row->blob_bytes[id] = expose_by(id, base, bytes, &exposed[id], blobs_out + at);
        at += row->blob_bytes[id];
        if (row->blob_bytes[id]) done |= 1u << id;
    }
    if (at <= sizeof row->blob) memcpy(row->blob, blobs_out, at);
    return done;
}

void oriel_window_withdraw(struct oriel_region *exposed[ORIEL_ENGINE_COUNT])
{
    for (unsigned id = 0; id < ORIEL_ENGINE_COUNT; id++) {
        if (exposed[id]) oriel_engines[id]->withdraw(exposed[id]);
        exposed[id] = NULL;
    }
}

static void fill_target(struct oriel_window *window, int rank, void *own_base)
{
    const struct oriel_row *row = &window->rows[rank];
    const struct oriel_row *self = &window->rows[window->self];
    struct oriel_target *target = &window->targets[rank];
    target->bytes = row->bytes;
    target->disp_unit = row->disp_unit;
    if (row->flags & ORIEL_ROW_NATIVE_MAPPED && row->host == self->host) {
        target->link = ORIEL_LINK_NONE;
        target->why = ORIEL_NATIVE_already_mapped;
    } else if (!(row->flags & ORIEL_ROW_USABLE)) {
        target->link = ORIEL_LINK_NONE;
        target->why = ORIEL_NATIVE_unreachable;
    } else if (rank == window->self) {
        target->mapped = own_base;
        target->path = ORIEL_PATH_self;
        target->link = ORIEL_LINK_READY;
    }
}

struct oriel_window *oriel_window_create(const struct oriel_window_spec *spec,
                                         struct oriel_row *rows,
                                         unsigned char *long_blobs,
                                         struct oriel_region *exposed[])
{
    struct oriel_window *window = calloc(1, sizeof *window);
    if (!window) return NULL;
    window->targets = calloc((size_t)spec->n, sizeof *window->targets);
    window->epoch = oriel_epoch_create(spec->n, spec->self, &spec->rules);
    if (spec->sample) window->latency = calloc(1, sizeof *window->latency);
    if (!window->targets || !window->epoch || (spec->sample && !window->latency))
        goto free_all;
    if (pthread_mutex_init(&window->lock, NULL)) goto free_all;
    if (pthread_mutex_init(&window->take_lock, NULL)) goto free_all;
    if (pthread_mutex_init(&window->replay_lock, NULL)) goto free_all;
    window->n = spec->n;
    window->self = spec->self;
    window->threads = spec->threads;
    window->sample = spec->sample;
    window->access = spec->access;
    window->engines = spec->engines;
    window->rows = rows;
    window->long_blobs = long_blobs;
    window->defer = spec->defer;
    memcpy(window->exposed, exposed, sizeof window->exposed);
    window->passive = true;
    for (int rank = 0; rank < spec->n; rank++) {
        fill_target(window, rank, spec->base);
        if (window->targets[rank].why != ORIEL_NATIVE_already_mapped)
            window->passive = false;
    }
    return window;

free_all:
    free(window->latency);
    oriel_epoch_destroy(window->epoch);
    free(window->targets);
    free(window);
    return NULL;
}

void oriel_window_destroy(struct oriel_window *window)
{
    if (!window) return;
    for (int rank = 0; rank < window->n; rank++) {
        struct oriel_target *target = &window->targets[rank];
        oriel_flight_destroy(target->flight);
        if (!target->peer) continue;
        oriel_engine_lock(target->engine);
        oriel_engines[target->engine]->disconnect(target->peer);
        oriel_engine_unlock(target->engine);
    }
    oriel_window_withdraw(window->exposed);
    pthread_mutex_destroy(&window->replay_lock);
    pthread_mutex_destroy(&window->take_lock);
    pthread_mutex_destroy(&window->lock);
    free(window->latency);
    oriel_epoch_destroy(window->epoch);
    free(window->long_blobs);
    free(window->rows);
    free(window->targets);
    free(window);
}

/* Connect by one engine; 0 when its peer is there now. */
static int connect_by(struct oriel_window *window, struct oriel_target *target,
                      unsigned id, const struct oriel_blob *blob)
{
    const struct oriel_transport *transport = oriel_engines[id];
    struct oriel_peer *peer = NULL;
    oriel_engine_lock(id);
    int error = transport->connect(oriel_engine_opened(id), blob, &peer);
    oriel_engine_unlock(id);
    if (error) return error;
    if (!(transport->flags & ORIEL_ENGINE_IMMEDIATE)) {
        target->flight = oriel_flight_create(id, peer, &window->in_flight);
        if (!target->flight) {
            oriel_engine_lock(id);
            transport->disconnect(peer);
            oriel_engine_unlock(id);
            return -ENOMEM;
        }
    }
    target->peer = peer;
    target->engine = (uint8_t)id;
    target->mapped = transport->map ? transport->map(peer) : NULL;
    if (transport->address && !transport->address(peer, &target->pid, &target->address))
        target->pid = 0;
    target->path = ORIEL_PATH_mapped;
    if (!target->mapped) {
        target->path = 0;
        for (unsigned path = 0; path < ORIEL_PATH_COUNT; path++)
            if (strcmp(oriel_path_names[path], transport->counted_as) == 0)
                target->path = (uint8_t)path;
    }
    oriel_log(ORIEL_LOG_DEBUG, "rank %d is read by %s", (int)(target - window->targets),
              oriel_path_names[target->path]);
    return 0;
}

/* The blob of one engine in a row; false: that engine does not expose it. */
static bool find_blob(const struct oriel_window *window, const struct oriel_row *row,
                      unsigned id, struct oriel_blob *out)
{
    const unsigned char *data = row->blob;
    size_t total = blobs_bytes(row);
    if (!row->blob_bytes[id] || total > ORIEL_BLOBS_MAX ||
        row->blob_bytes[id] > ORIEL_BLOB_MAX)
        return false;
    if (total > sizeof row->blob) {
        if (!window->long_blobs) return false;
        data = window->long_blobs + row->blobs_at;
    }
    for (unsigned before = 0; before < id; before++)
        data += row->blob_bytes[before];
    out->bytes = row->blob_bytes[id];
    memcpy(out->data, data, out->bytes);
    return true;
}

static enum oriel_link connect_target(struct oriel_window *window, int rank)
{
    struct oriel_target *target = &window->targets[rank];
    for (int i = 0; i < window->engines.n; i++) {
        unsigned id = window->engines.id[i];
        struct oriel_blob blob;
        if (!find_blob(window, &window->rows[rank], id, &blob) ||
            !oriel_engine_opened(id))
            continue;
        int error = connect_by(window, target, id, &blob);
        if (!error) return ORIEL_LINK_READY;
        /* Said once an engine: it is the same for the windows and ranks to come. */
        static int said[ORIEL_ENGINE_COUNT];
        if (error != -ENOTSUP)
            oriel_log_once(&said[id], ORIEL_LOG_WARN,
                           "engine %s does not reach rank %d of a window: %s",
                           oriel_engines[id]->name, rank, oriel_strerror(error));
    }
    target->why = ORIEL_NATIVE_unreachable;
    return ORIEL_LINK_NONE;
}

enum oriel_link oriel_window_connect(struct oriel_window *window, int target)
{
    _Atomic uint8_t *link = &window->targets[target].link;
    enum oriel_link now = atomic_load_explicit(link, memory_order_acquire);
    if (now != ORIEL_LINK_UNTRIED) return now;
    pthread_mutex_lock(&window->lock);
    now = atomic_load_explicit(link, memory_order_acquire);
    if (now == ORIEL_LINK_UNTRIED) {
        now = connect_target(window, target);
        atomic_store_explicit(link, (uint8_t)now, memory_order_release);
    }
    pthread_mutex_unlock(&window->lock);
    return now;
}

/* A table of twice the live windows or more, without the removed slots. */
static int table_grow(void)
{
    unsigned bits = FIRST_BITS;
    while (((size_t)1 << bits) < 4 * (live + 1))
        bits++;
    struct oriel_window_table *table =
        calloc(1, sizeof *table + ((size_t)1 << bits) * sizeof table->slots[0]);
    struct old_table *old = calloc(1, sizeof *old);
    if (!table || !old) {
        free(table);
        free(old);
        return -ENOMEM;
    }
    table->mask = ((size_t)1 << bits) - 1;
    table->mask_bytes = table->mask * sizeof table->slots[0];
    struct oriel_window_table *from = atomic_load(&oriel_window_table);
    size_t count = from ? (size_t)from->mask + 1 : 0;
    for (size_t i = 0; i < count; i++) {
        uintptr_t key = from->slots[i].key;
        if (key <= REMOVED) continue;
        size_t at = oriel_window_hash(key, table->mask);
        while (table->slots[at].key)
            at = (at + 1) & (((size_t)1 << bits) - 1);
        table->slots[at].key = key;
        table->slots[at].window = from->slots[i].window;
    }
    used = live;
    old->table = from;
    old->next = old_tables;
    old_tables = old;
    atomic_store_explicit(&oriel_window_table, table, memory_order_release);
    return 0;
}

/* The slot with that key, else the first free one on its way. */
static struct oriel_window_slot *table_slot(uintptr_t key)
{
    struct oriel_window_table *table = atomic_load(&oriel_window_table);
    size_t mask = (size_t)table->mask;
    struct oriel_window_slot *removed = NULL;
    for (size_t i = oriel_window_hash(key, table->mask);; i = (i + 1) & mask) {
        struct oriel_window_slot *slot = &table->slots[i];
        if (slot->key == key) return slot;
        if (slot->key == REMOVED && !removed) removed = slot;
        if (slot->key == 0) return removed ? removed : slot;
    }
}

struct oriel_window *oriel_window_search(const struct oriel_window_table *table,
                                         size_t slot, uintptr_t key)
{
    size_t mask = (size_t)table->mask;
    for (size_t i = (slot + 1) & mask;; i = (i + 1) & mask) {
        uintptr_t at = atomic_load_explicit(&table->slots[i].key, memory_order_acquire);
        if (at == key)
            return atomic_load_explicit(&table->slots[i].window, memory_order_acquire);
        if (at == 0) return NULL;
    }
}

int oriel_window_insert(struct oriel_window *window, uintptr_t key)
{
    int error = 0;
    pthread_mutex_lock(&table_lock);
    struct oriel_window_table *table = atomic_load(&oriel_window_table);
    if (!table || 2 * (used + 1) > table->mask + 1) error = table_grow();
    if (!error) {
        struct oriel_window_slot *slot = table_slot(key);
        if (slot->key != key) {
            live++;
            if (slot->key == 0) used++;
        }
        window->key = key;
        atomic_store_explicit(&slot->window, window, memory_order_release);
        atomic_store_explicit(&slot->key, key, memory_order_release);
    }
    pthread_mutex_unlock(&table_lock);
    return error;
}

void oriel_window_remove(struct oriel_window *window)
{
    pthread_mutex_lock(&table_lock);
    if (window->key && atomic_load(&oriel_window_table)) {
        struct oriel_window_slot *slot = table_slot(window->key);
        if (slot->key == window->key) {
            atomic_store_explicit(&slot->key, REMOVED, memory_order_release);
            atomic_store_explicit(&slot->window, NULL, memory_order_release);
            live--;
        }
        window->key = 0;
    }
    pthread_mutex_unlock(&table_lock);
}

struct oriel_window *oriel_window_any(void)
{
    struct oriel_window *found = NULL;
    pthread_mutex_lock(&table_lock);
    struct oriel_window_table *table = atomic_load(&oriel_window_table);
    size_t count = table ? (size_t)table->mask + 1 : 0;
    for (size_t i = 0; i < count && !found; i++)
        if (table->slots[i].key > REMOVED) found = table->slots[i].window;
    pthread_mutex_unlock(&table_lock);
    return found;
}

void oriel_window_stats(const struct oriel_window *window, struct oriel_stats *out)
{
    memset(out, 0, sizeof *out);
    out->bytes = window->counters.bytes;
    for (int i = 0; i < ORIEL_PATH_COUNT; i++)
        out->path[i] = window->counters.path[i];
    for (int i = 0; i < ORIEL_REASON_COUNT; i++)
        out->native[i] = window->counters.native[i];
    if (window->latency) out->latency = *window->latency;
}
