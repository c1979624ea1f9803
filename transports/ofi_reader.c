#define _GNU_SOURCE

#include "transports/ofi_reader.h"

#include "core/err.h"
#include "core/log.h"
#include "transports/ofi_peer.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* After a failed read the connection may be gone; rxm looks only every 10 ms, and until
 * then fails whatever it is given. */
enum { MEND_NS = 15000000, HANGUP_NS = 500000000 };
/* One fi_read: so a long read shows now and then that it moves. */
enum { PIECE_MOST = 32 << 20 };
enum { DEPTH_LEAST = 16, DEPTH_MOST = 2048, SHARE = 4, BATCH = 64, ROUNDS = 16 };

int oriel_ofi_reader_init(struct oriel_ofi_reader *reader,
                          const struct oriel_process *self,
                          const struct oriel_ofi_provider *provider,
                          const struct oriel_ofi_side *side, uint64_t chunk)
{
    size_t depth = side->info->tx_attr->size, most = side->info->ep_attr->max_msg_size;

    if (depth < DEPTH_LEAST) depth = DEPTH_LEAST;
    if (depth > DEPTH_MOST) depth = DEPTH_MOST;
    *reader = (struct oriel_ofi_reader){
        .self = self, .provider = provider, .side = *side, .depth = depth};
    reader->ops = calloc(depth, sizeof *reader->ops);
    if (!reader->ops) return -ENOMEM;
    for (size_t i = depth; i-- > 0;) {
        reader->ops[i].next = reader->free;
        reader->free = &reader->ops[i];
    }
    oriel_ofi_locals_init(&reader->locals, provider, side->info);
    reader->share = (unsigned)(depth / SHARE);
    reader->piece_bytes = oriel_ofi_locals_most(&reader->locals);
    if (most && most < reader->piece_bytes) reader->piece_bytes = most;
    if (chunk && chunk < reader->piece_bytes) reader->piece_bytes = chunk;
    if (reader->piece_bytes > PIECE_MOST) reader->piece_bytes = PIECE_MOST;
    return 0;
}

void oriel_ofi_reader_fini(struct oriel_ofi_reader *reader)
{
    oriel_ofi_side_disable(&reader->side);
    oriel_ofi_locals_fini(&reader->locals);
    oriel_ofi_side_close(&reader->side);
    oriel_ofi_remotes_fini(&reader->remotes);
    free(reader->ops);
}

int oriel_ofi_reader_enable(struct oriel_ofi_reader *reader)
{
    static int once;
    const char *failed = "";
    int error;

    if (reader->side.ep) return 0;
    error = 0;
    if (!reader->side.domain) {
        failed = "fi_domain";
        error = fi_domain(reader->side.fabric, reader->side.info, &reader->side.domain,
                          NULL);
        if (error) reader->side.domain = NULL;
    }
    if (!error) error = oriel_ofi_side_enable(&reader->side, false, &failed);
    if (error) {
        oriel_log_once(&once, ORIEL_LOG_WARN, "ofi: %s of %s fails: %s", failed,
                       reader->provider->name, reader->side.library->strerror(-error));
        return -EIO;
    }
    reader->generation++;
    return 0;
}

/* The op's piece is no longer in flight. */
static void finish(struct oriel_ofi_reader *reader, struct oriel_ofi_op *op, int error)
{
    struct oriel_track *track = op->track;

    if (!error) {
        oriel_ofi_local_land(&op->local, op->at, op->bytes);
        reader->landed++;
        track->landed++;
    }
    oriel_ofi_local_drop(&reader->locals, &op->local);
    op->peer->in_flight--;
    op->peer->remote->in_flight--;
    reader->in_flight--;
    op->peer = NULL;
    op->next = reader->free;
    reader->free = op;
    if (error && !track->error) track->error = error;
    track->pending--;
}

void oriel_ofi_reader_reset(struct oriel_ofi_reader *reader)
{
    bool were_in_flight = reader->in_flight > 0;

    if (were_in_flight && reader->provider->hangs_up) {
        /* Its domain as well: net's progress is a domain's, and would go on with what
         * the endpoint has under way. Such providers register no local memory and have
         * no raw keys, so nothing else hangs on it. */
        oriel_ofi_side_abandon(&reader->side);
        reader->side.domain = NULL;
    } else {
        oriel_ofi_side_disable(&reader->side);
    }
    for (size_t i = 0; i < reader->depth && reader->in_flight; i++)
        if (reader->ops[i].peer) finish(reader, &reader->ops[i], -ECANCELED);
    if (were_in_flight) oriel_ofi_locals_abandon(&reader->locals);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_mending(struct oriel_ofi_remote *remote)
{
    if (!remote->mended_ns) return false;
    if (now_ns() < remote->mended_ns) return true;
    remote->mended_ns = 0;
    return false;
}

/* Start one piece. Returns 0; -EAGAIN: the queue is full, or the provider is still
 * connecting; any other error of the peer. */
static int post(struct oriel_peer *peer, uint64_t offset, char *at, size_t bytes,
                struct oriel_track *track)
{
    struct oriel_ofi_reader *reader = peer->reader;
    struct oriel_ofi_op *op = reader->free;
    void *to, *desc;
    ssize_t result;
    int error;

    if (!op || peer->remote->in_flight >= reader->share || is_mending(peer->remote))
        return -EAGAIN;
    error = oriel_ofi_local_take(&reader->locals, &reader->side, at, bytes, &op->local,
                                 &to, &desc);
    if (error) return error;
    result = fi_read(reader->side.ep, to, bytes, desc, peer->remote->address,
                     peer->base + offset, peer->key, &op->context);
    if (result) {
        oriel_ofi_local_drop(&reader->locals, &op->local);
        return oriel_ofi_error(result);
    }
    reader->free = op->next;
    op->peer = peer;
    op->track = track;
    op->at = at;
    op->bytes = bytes;
    peer->in_flight++;
    peer->remote->in_flight++;
    reader->in_flight++;
    track->pending++;
    return 0;
}

/* Start as many pieces as there is room for. *done_out: the bytes of those. */
static int post_pieces(struct oriel_peer *peer, uint64_t offset, char *at, size_t bytes,
                       struct oriel_track *track, size_t *done_out)
{
    size_t most = peer->reader->piece_bytes;
    int error = 0;

    *done_out = 0;
    while (*done_out < bytes && !error) {
        size_t piece = bytes - *done_out < most ? bytes - *done_out : most;

        error = post(peer, offset + *done_out, at + *done_out, piece, track);
        if (!error) *done_out += piece;
    }
    return error;
}

static void end_rest(struct oriel_peer *peer, int error)
{
    struct oriel_track *track = peer->rest.track;

    for (struct oriel_peer **at = &peer->reader->rests; *at; at = &(*at)->rest.next) {
        if (*at != peer) continue;
        *at = peer->rest.next;
        break;
    }
    peer->rest.bytes = 0;
    if (error && !track->error) track->error = error;
    track->pending--;
}

/* Go on with what is left of an accepted span. */
static void carry_on(struct oriel_peer *peer)
{
    struct oriel_ofi_reader *reader = peer->reader;
    int error = oriel_ofi_reader_enable(reader);
    size_t done = 0;

    if (!error) error = peer->rest.track->error;
    if (!error)
        error =
            oriel_ofi_remote_resolve(peer->remote, &reader->side, reader->generation);
    if (!error)
        error = post_pieces(peer, peer->rest.offset, peer->rest.at, peer->rest.bytes,
                            peer->rest.track, &done);
    peer->rest.offset += done;
    peer->rest.at += done;
    peer->rest.bytes -= done;
    if (error != -EAGAIN) end_rest(peer, error);
}

static int check_range(const struct oriel_peer *peer, const struct oriel_span *spans,
                       size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (spans[i].offset > peer->bytes ||
            spans[i].bytes > peer->bytes - spans[i].offset)
            return -ERANGE;
    return 0;
}

ssize_t oriel_ofi_reader_get(struct oriel_peer *peer, const struct oriel_span *spans,
                             size_t n, struct oriel_track *track)
{
    struct oriel_ofi_reader *reader = peer->reader;
    int error = check_range(peer, spans, n);
    size_t i;

    if (error) return error;
    error = oriel_ofi_reader_enable(reader);
    if (!error)
        error =
            oriel_ofi_remote_resolve(peer->remote, &reader->side, reader->generation);
    if (error) return error;
    if (peer->rest.bytes) carry_on(peer);
    if (peer->rest.bytes) return -EAGAIN;
    for (i = 0; i < n && !error; i++) {
        size_t done;

        error = post_pieces(peer, spans[i].offset, spans[i].local, spans[i].bytes,
                            track, &done);
        if (!error) continue;
        if (!done) break;
        peer->rest.track = track;
        peer->rest.offset = spans[i].offset + done;
        peer->rest.at = (char *)spans[i].local + done;
        peer->rest.bytes = spans[i].bytes - done;
        peer->rest.next = reader->rests;
        reader->rests = peer;
        track->pending++;
        if (error != -EAGAIN) end_rest(peer, error);
    }
    return i ? (ssize_t)i : error;
}

/* Tell of a remote's first failure. */
static void blame(struct oriel_ofi_reader *reader, struct oriel_ofi_remote *remote,
                  const struct fi_cq_err_entry *entry)
{
    char address[128], detail[128] = "";
    const char *text = fi_cq_strerror(reader->side.cq, entry->prov_errno,
                                      entry->err_data, detail, sizeof detail);

    oriel_log(remote->blamed ? ORIEL_LOG_DEBUG : ORIEL_LOG_INFO,
              "ofi: a read of %s fails: %s (%s)",
              oriel_ofi_remote_text(remote, &reader->side, address, sizeof address),
              reader->side.library->strerror(entry->err), text ? text : detail);
    remote->blamed = true;
}

/* One failed read; returns false where the failure is not of a read but of all. */
static bool read_failure(struct oriel_ofi_reader *reader)
{
    struct fi_cq_err_entry entry = {0};
    struct oriel_ofi_op *op;

    if (fi_cq_readerr(reader->side.cq, &entry, 0) <= 0) return true;
    op = entry.op_context;
    if (!op || !op->peer) return false;
    if (!op->peer->remote->cancelled) blame(reader, op->peer->remote, &entry);
    op->peer->remote->mended_ns = now_ns() + MEND_NS;
    if (op->peer->remote->cancelled)
        finish(reader, op, -ECANCELED);
    else
        finish(reader, op, oriel_ofi_error(entry.err ? entry.err : FI_EIO));
    return true;
}

int oriel_ofi_reader_progress(struct oriel_ofi_reader *reader)
{
    struct fi_cq_entry entries[BATCH];
    struct oriel_peer *next;
    unsigned before = reader->landed;
    ssize_t n = BATCH;

    for (int i = 0; i < ROUNDS && reader->side.cq && n == BATCH; i++) {
        n = fi_cq_read(reader->side.cq, entries, BATCH);
        for (ssize_t k = 0; k < n; k++)
            finish(reader, entries[k].op_context, 0);
        if (n == -FI_EAVAIL && read_failure(reader)) {
            n = BATCH;
        } else if (n < 0 && n != -FI_EAGAIN) {
            oriel_log(ORIEL_LOG_INFO, "ofi: the endpoint fails and is opened anew");
            oriel_ofi_reader_reset(reader);
        }
    }
    for (struct oriel_peer *peer = reader->rests; peer; peer = next) {
        next = peer->rest.next;
        carry_on(peer);
    }
    return (int)(reader->landed - before);
}

/* End the connection, and see its reads end. */
static void hang_up(struct oriel_peer *peer)
{
    uint64_t deadline = now_ns() + HANGUP_NS;

    peer->remote->cancelled = true;
    if (oriel_ofi_remote_hangup(peer->remote))
        while (peer->in_flight && now_ns() < deadline)
            oriel_ofi_reader_progress(peer->reader);
    peer->remote->cancelled = false;
}

void oriel_ofi_reader_cancel(struct oriel_peer *peer)
{
    if (peer->rest.bytes) end_rest(peer, -ECANCELED);
    if (peer->in_flight) oriel_ofi_reader_progress(peer->reader);
    if (peer->in_flight && peer->reader->provider->hangs_up) hang_up(peer);
    if (peer->in_flight) oriel_ofi_reader_reset(peer->reader);
}
