/*
 * ucx.c - reads by ucp_get_nbx.
 *
 * A process has two contexts, each with a worker: one lets peers read and belongs to
 * the service thread (ucx_serve.h), one reads (ucx_link.h). They share no lock.
 */
#include "core/config.h"
#include "core/process.h"
#include "transports/ucx_lib.h"
#include "transports/ucx_link.h"
#include "transports/ucx_serve.h"
#include "transports/ucx_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct oriel_engine {
    struct oriel_ucx_serving *serving;
    struct oriel_ucx_reading *reading;
    char description[256];
};

static void describe(struct oriel_engine *engine)
{
    static const char *const variables[] = {"ORIEL_UCX_TLS", "UCX_TLS"};
    char over[160];
    const char *value = NULL;
    int i = 0;

    oriel_ucx_serving_describe(engine->serving, over, sizeof over);
    for (; i < 2 && !value; i++)
        value = getenv(variables[i]);
    snprintf(engine->description, sizeof engine->description,
             "UCX %s over %s%s%s%s%.40s%s", oriel_ucx.ucp_get_version_string(),
             over[0] ? over : "what it finds", value ? " (" : "",
             value ? variables[i - 1] : "", value ? "=" : "", value ? value : "",
             value ? ")" : "");
}

/* UCX counts the ports of InfiniBand devices: "mlx5_0:1". */
static void name_device(const struct oriel_config *config, char *out, size_t out_bytes)
{
    char path[256];
    bool counts;

    snprintf(path, sizeof path, "%s/class/infiniband/%s", config->sysfs, config->nic);
    counts = *config->nic && !strchr(config->nic, ':') && access(path, F_OK) == 0;
    snprintf(out, out_bytes, "%s%s", config->nic, counts ? ":1" : "");
}

static int ucx_open(const struct oriel_config *config, struct oriel_engine **out,
                    const char **why_out)
{
    const struct oriel_process *self;
    struct oriel_engine *engine;
    char device[64];
    int error = oriel_process_self(&self, why_out);

    if (!error) error = oriel_ucx_load(why_out);
    if (error) return error;
    *why_out = "UCX cannot be started; ORIEL_LOG=debug shows what it says";
    engine = calloc(1, sizeof *engine);
    if (!engine) return -ENOMEM;
    oriel_ucx_enter();
    name_device(config, device, sizeof device);
    error = oriel_ucx_serving_open(device, &engine->serving);
    if (error) goto free_engine;
    error = oriel_ucx_reading_open(config->chunk, device, &engine->reading);
    if (error) goto close_serving;
    describe(engine);
    if (*device && !strstr(engine->description, device)) {
        *why_out = "UCX has no device of the name in ORIEL_NIC";
        error = -ENOTSUP;
        goto close_reading;
    }
    oriel_ucx_leave();
    *out = engine;
    return 0;

close_reading:
    oriel_ucx_reading_close(engine->reading);
close_serving:
    oriel_ucx_serving_close(engine->serving);
free_engine:
    oriel_ucx_leave();
    free(engine);
    return error;
}

/* A fork child leaves everything as it is: it is the parent's. */
static void ucx_close(struct oriel_engine *engine)
{
    if (!engine || oriel_process_forked()) return;
    oriel_ucx_enter();
    oriel_ucx_reading_close(engine->reading);
    oriel_ucx_serving_close(engine->serving);
    oriel_ucx_leave();
    free(engine);
}

static const char *ucx_describe(const struct oriel_engine *engine)
{
    return engine->description;
}

static int ucx_expose(struct oriel_engine *engine, void *base, size_t bytes,
                      struct oriel_region **out, struct oriel_blob *blob_out)
{
    if (oriel_process_forked()) return -EOWNERDEAD;
    return oriel_ucx_serving_expose(engine->serving, base, bytes, out, blob_out);
}

static void ucx_withdraw(struct oriel_region *region)
{
    if (region && !oriel_process_forked()) oriel_ucx_serving_withdraw(region);
}

static int ucx_connect(struct oriel_engine *engine, const struct oriel_blob *blob,
                       struct oriel_peer **out)
{
    struct oriel_ucx_blob decoded;
    int error;

    if (oriel_process_forked()) return -EOWNERDEAD;
    error = oriel_ucx_blob_decode(blob, &decoded);
    if (error) return error;
    oriel_ucx_enter();
    error = oriel_ucx_peer_connect(engine->reading, &decoded, out);
    oriel_ucx_leave();
    return error;
}

static void on_landed(void *request, ucs_status_t status, void *flight)
{
    oriel_ucx_flight_end(flight, oriel_ucx_errno(status));
    oriel_ucx.ucp_request_free(request);
}

/* Begin one request. 1: it landed at once; 0: it is under way; -errno. */
static int begin(struct oriel_peer *peer, const struct oriel_span *span,
                 struct oriel_track *track)
{
    struct oriel_ucx_reading *reading = peer->link->reading;
    struct oriel_ucx_flight *flight = reading->free_flights;
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                 .cb.send = on_landed,
                                 .user_data = flight,
                                 .memory_type = UCS_MEMORY_TYPE_HOST};
    ucs_status_ptr_t request;

    if (!flight) return -EAGAIN;
    request = oriel_ucx.ucp_get_nbx(peer->link->ep, span->local, span->bytes,
                                    peer->name.base + span->offset, peer->rkey, &param);
    if (!request) {
        track->landed++;
        return 1;
    }
    if (UCS_PTR_IS_ERR(request)) {
        ucs_status_t status = UCS_PTR_STATUS(request);

        if (status == UCS_ERR_NO_MEMORY && reading->flying) return -EAGAIN;
        return oriel_ucx_failed(status, "to read");
    }
    reading->free_flights = flight->next;
    *flight = (struct oriel_ucx_flight){.peer = peer, .track = track};
    track->pending++;
    peer->flights++;
    peer->link->flights++;
    reading->flying++;
    return 0;
}

/* Begin what is left of a cut span. */
static void go_on(struct oriel_ucx_reading *reading)
{
    struct oriel_ucx_rest *rest = &reading->rest;

    while (rest->peer) {
        struct oriel_span part = rest->span;
        int error;

        if (part.bytes > reading->chunk) part.bytes = reading->chunk;
        error = begin(rest->peer, &part, rest->track);
        if (error == -EAGAIN) return;
        rest->span.offset += part.bytes;
        rest->span.local = (char *)rest->span.local + part.bytes;
        rest->span.bytes -= part.bytes;
        if (error < 0 && !rest->track->error) rest->track->error = error;
        if (error >= 0 && rest->span.bytes) continue;
        rest->track->pending--;
        rest->peer = NULL;
    }
}

/* Begin one span. 0, -EAGAIN: not, or -errno: not. */
static int take(struct oriel_peer *peer, const struct oriel_span *span,
                struct oriel_track *track)
{
    struct oriel_ucx_reading *reading = peer->link->reading;
    int error;

    if (span->bytes == 0) return 0;
    if (reading->rest.peer || !reading->free_flights) return -EAGAIN;
    if (span->bytes <= reading->chunk) {
        error = begin(peer, span, track);
        return error < 0 ? error : 0;
    }
    reading->rest = (struct oriel_ucx_rest){peer, *span, track};
    track->pending++;
    go_on(reading);
    return 0;
}

static ssize_t get(struct oriel_peer *peer, const struct oriel_span *spans, size_t n,
                   struct oriel_track *track)
{
    struct oriel_ucx_reading *reading = peer->link->reading;
    size_t taken = 0;
    int error;

    /* What an idle reader has not heard yet: that the region is gone. */
    if (!reading->flying && reading->worker)
        oriel_ucx.ucp_worker_progress(reading->worker);
    error = oriel_ucx_peer_ready(peer);
    while (!error && taken < n) {
        error = take(peer, &spans[taken], track);
        if (!error) taken++;
    }
    return taken ? (ssize_t)taken : error;
}

static ssize_t ucx_get(struct oriel_peer *peer, const struct oriel_span *spans,
                       size_t n, struct oriel_track *track)
{
    ssize_t taken;

    if (oriel_process_forked()) return -EOWNERDEAD;
    for (size_t i = 0; i < n; i++)
        if (spans[i].offset > peer->name.bytes ||
            spans[i].bytes > peer->name.bytes - spans[i].offset)
            return -ERANGE;
    oriel_ucx_enter();
    taken = get(peer, spans, n, track);
    oriel_ucx_leave();
    return taken;
}

static int ucx_progress(struct oriel_engine *engine)
{
    struct oriel_ucx_reading *reading = engine->reading;
    uint32_t news;

    if (oriel_process_forked()) return -EOWNERDEAD;
    oriel_ucx_enter();
    if (reading->worker) oriel_ucx.ucp_worker_progress(reading->worker);
    if (reading->rest.peer) go_on(reading);
    oriel_ucx_reading_tend(reading);
    oriel_ucx_leave();
    news = reading->news;
    reading->news = 0;
    return reading->worker ? (int)news : -EIO;
}

static void cancel(struct oriel_peer *peer)
{
    if (peer->flights || peer->link->reading->rest.peer == peer)
        oriel_ucx_link_cancel(peer->link);
}

static void ucx_cancel(struct oriel_peer *peer)
{
    if (oriel_process_forked()) return;
    oriel_ucx_enter();
    cancel(peer);
    oriel_ucx_leave();
}

static void ucx_disconnect(struct oriel_peer *peer)
{
    if (!peer || oriel_process_forked()) return;
    oriel_ucx_enter();
    cancel(peer);
    oriel_ucx_peer_disconnect(peer);
    oriel_ucx_leave();
}

static int ucx_serve(struct oriel_engine *engine)
{
    if (oriel_process_forked()) return -EOWNERDEAD;
    return oriel_ucx_serving_serve(engine->serving);
}

static int ucx_rest(struct oriel_engine *engine, int *fd_out)
{
    if (oriel_process_forked()) return -EOWNERDEAD;
    return oriel_ucx_serving_rest(engine->serving, fd_out);
}

const struct oriel_transport oriel_transport_ucx = {
    .name = "ucx",
    .counted_as = "ucx",
    .open = ucx_open,
    .close = ucx_close,
    .describe = ucx_describe,
    .expose = ucx_expose,
    .withdraw = ucx_withdraw,
    .connect = ucx_connect,
    .disconnect = ucx_disconnect,
    .get = ucx_get,
    .progress = ucx_progress,
    .cancel = ucx_cancel,
    .serve = ucx_serve,
    .rest = ucx_rest,
};
