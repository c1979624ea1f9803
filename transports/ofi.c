/*
 * ofi.c - reads by fi_read over any provider of libfabric's.
 *
 * Two sides that share no lock: one serves (ofi_server.c), one reads (ofi_reader.c,
 * ofi_peer.c). Which provider and interface: ofi_provider.c, ofi_nic.c.
 */
#include "core/config.h"
#include "core/log.h"
#include "core/process.h"
#include "transports/ofi_peer.h"
#include "transports/ofi_server.h"
#include "transports/transport.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct oriel_engine {
    struct oriel_ofi_provider provider;
    struct oriel_ofi_reader reader;
    struct oriel_ofi_server server;
};

/* For ever: the last reason why there is no engine. */
static char reason[512];
static pthread_mutex_t reason_lock = PTHREAD_MUTEX_INITIALIZER;

static int open_sides(struct oriel_engine *engine, const struct oriel_config *config,
                      const struct oriel_process *self,
                      const struct oriel_ofi_library *library,
                      struct oriel_ofi_side *side, const char **why_out)
{
    int error = oriel_ofi_reader_init(&engine->reader, self, &engine->provider, side,
                                      config->chunk);

    if (error) {
        *why_out = "out of memory";
        oriel_ofi_side_close(side);
        return error;
    }
    error = oriel_ofi_server_init(&engine->server, self, &engine->provider, library,
                                  engine->reader.side.info);
    if (error) {
        *why_out = "no descriptor is left";
        oriel_ofi_reader_fini(&engine->reader);
    }
    return error;
}

static int ofi_open(const struct oriel_config *config, struct oriel_engine **out,
                    const char **why_out)
{
    const struct oriel_ofi_library *library;
    const struct oriel_process *self;
    struct oriel_ofi_side side;
    struct oriel_engine *engine;
    int error = oriel_process_self(&self, why_out);

    if (!error) error = oriel_ofi_library_load(&library, why_out);
    if (error) return error;
    engine = calloc(1, sizeof *engine);
    if (!engine) {
        *why_out = "out of memory";
        return -ENOMEM;
    }
    pthread_mutex_lock(&reason_lock);
    error = oriel_ofi_provider_open(library, config, &engine->provider, &side, reason,
                                    sizeof reason);
    if (error) *why_out = reason;
    pthread_mutex_unlock(&reason_lock);
    if (!error) error = open_sides(engine, config, self, library, &side, why_out);
    if (error) {
        free(engine);
        return error;
    }
    oriel_log(ORIEL_LOG_INFO, "ofi: %s", engine->provider.text);
    *out = engine;
    return 0;
}

/* A fork child leaves all as it is: connections and locks are its parent's. */
static void ofi_close(struct oriel_engine *engine)
{
    if (!engine || oriel_process_forked()) return;
    oriel_ofi_reader_fini(&engine->reader);
    oriel_ofi_server_fini(&engine->server);
    free(engine);
}

static const char *ofi_describe(const struct oriel_engine *engine)
{
    return engine->provider.text;
}

static int ofi_expose(struct oriel_engine *engine, void *base, size_t bytes,
                      struct oriel_region **out, struct oriel_blob *blob_out)
{
    if (oriel_process_forked()) return -EOWNERDEAD;
    return oriel_ofi_server_expose(&engine->server, base, bytes, out, blob_out);
}

static void ofi_withdraw(struct oriel_region *region)
{
    if (region && !oriel_process_forked()) oriel_ofi_server_withdraw(region);
}

static int ofi_connect(struct oriel_engine *engine, const struct oriel_blob *blob,
                       struct oriel_peer **out)
{
    if (oriel_process_forked()) return -EOWNERDEAD;
    return oriel_ofi_peer_connect(&engine->reader, blob, out);
}

static void ofi_disconnect(struct oriel_peer *peer)
{
    if (peer && !oriel_process_forked()) oriel_ofi_peer_disconnect(peer);
}

static ssize_t ofi_get(struct oriel_peer *peer, const struct oriel_span *spans,
                       size_t n, struct oriel_track *track)
{
    if (oriel_process_forked()) return -EOWNERDEAD;
    return oriel_ofi_reader_get(peer, spans, n, track);
}

static int ofi_progress(struct oriel_engine *engine)
{
    if (oriel_process_forked()) return -EOWNERDEAD;
    return oriel_ofi_reader_progress(&engine->reader);
}

static void ofi_cancel(struct oriel_peer *peer)
{
    if (!oriel_process_forked()) oriel_ofi_reader_cancel(peer);
}

static int ofi_serve(struct oriel_engine *engine)
{
    if (oriel_process_forked()) return -EOWNERDEAD;
    return oriel_ofi_server_serve(&engine->server);
}

static int ofi_rest(struct oriel_engine *engine, int *fd_out)
{
    if (oriel_process_forked()) return -EOWNERDEAD;
    return oriel_ofi_server_rest(&engine->server, fd_out);
}

const struct oriel_transport oriel_transport_ofi = {
    .name = "ofi",
    .counted_as = "ofi",
    .open = ofi_open,
    .close = ofi_close,
    .describe = ofi_describe,
    .expose = ofi_expose,
    .withdraw = ofi_withdraw,
    .connect = ofi_connect,
    .disconnect = ofi_disconnect,
    .get = ofi_get,
    .progress = ofi_progress,
    .cancel = ofi_cancel,
    .serve = ofi_serve,
    .rest = ofi_rest,
};
