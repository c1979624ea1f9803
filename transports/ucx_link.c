#define _GNU_SOURCE
#include "transports/ucx_link.h"

#include "core/err.h"
#include "core/log.h"
#include "core/vmread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* CLOSE_NS: how long UCX may take to end the reads of an endpoint before the worker
 * goes with it. LOOK_NS, LOOK_ROUNDS: how often owners are looked at while reads
 * wait; a look costs 2 us, the clock 0.1 us. */
enum { IDLE_MOST = 64, CLOSE_NS = 500000000, LOOK_NS = 50000000, LOOK_ROUNDS = 256 };
/* A long read is seen to move. */
enum { PIECE_MOST = 32 << 20 };

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what ends ---- */

void oriel_ucx_flight_end(struct oriel_ucx_flight *flight, int error)
{
    struct oriel_peer *peer = flight->peer;
    struct oriel_ucx_reading *reading = peer->link->reading;

    if (error && !flight->track->error) flight->track->error = error;
    if (!error) flight->track->landed++;
    flight->track->pending--;
    peer->flights--;
    peer->link->flights--;
    reading->flying--;
    reading->news++;
    flight->peer = NULL;
    flight->next = reading->free_flights;
    reading->free_flights = flight;
    if (peer->leaving && !peer->flights && peer->link->ep && !peer->link->lost) {
        peer->leaving = false;
        oriel_ucx_peer_ask(peer, false);
    }
}

static void end_peers(struct oriel_ucx_link *link, int error)
{
    for (struct oriel_peer *at = link->peers; at; at = at->next)
        if (at->state != ORIEL_UCX_ENDED)
            oriel_ucx_peer_set(at, ORIEL_UCX_ENDED, error);
}

static void end_rest(struct oriel_ucx_link *link, int error)
{
    struct oriel_ucx_rest *rest = &link->reading->rest;

    if (!rest->peer || rest->peer->link != link) return;
    if (!rest->track->error) rest->track->error = error;
    rest->track->pending--;
    rest->peer = NULL;
}

/* All that belongs to the endpoint and that no read can use any more. */
static void forget_ep(struct oriel_ucx_link *link, bool worker_lives)
{
    for (struct oriel_peer *at = link->peers; at; at = at->next) {
        /* Keys may lie in the worker's memory, which is gone with it. */
        if (at->rkey && worker_lives) oriel_ucx.ucp_rkey_destroy(at->rkey);
        at->rkey = NULL;
        if (at->state != ORIEL_UCX_ENDED) oriel_ucx_peer_set(at, ORIEL_UCX_NEW, 0);
    }
    link->ep = NULL;
    link->lost = false;
    link->answered = false;
}

static void hide(struct oriel_ucx_link *link)
{
    if (link->hh.tbl) HASH_DELETE(hh, link->reading->by_address, link);
    link->hh.tbl = NULL;
}

static int open_worker(struct oriel_ucx_reading *reading);

/* The last resort: a worker that is gone writes nowhere. */
static void renew_worker(struct oriel_ucx_reading *reading)
{
    oriel_log(ORIEL_LOG_INFO, "ucx: the reading worker is made anew");
    for (struct oriel_ucx_link *at = reading->links; at; at = at->next)
        at->ep = NULL; /* goes with the worker; nothing is to be sent on it */
    if (reading->worker) oriel_ucx.ucp_worker_destroy(reading->worker);
    reading->worker = NULL;
    for (int i = 0; i < ORIEL_UCX_FLIGHTS; i++)
        if (reading->flights[i].peer)
            oriel_ucx_flight_end(&reading->flights[i], -ECANCELED);
    for (struct oriel_ucx_link *at = reading->links; at; at = at->next) {
        end_rest(at, -ECANCELED);
        forget_ep(at, false);
    }
    free(reading->address);
    reading->address = NULL;
    open_worker(reading);
}

void oriel_ucx_link_cancel(struct oriel_ucx_link *link)
{
    struct oriel_ucx_reading *reading = link->reading;
    uint64_t deadline = now_ns() + CLOSE_NS;
    /* All processes write into one queue of this worker, and one that stopped while it
     * wrote holds it up for all. */
    bool jams = link->flights && reading->shares_memory &&
                oriel_process_is_near(&link->process);

    end_rest(link, -ECANCELED);
    if (link->ep) oriel_ucx_drop(link->ep);
    link->ep = NULL;
    while (link->flights && reading->worker && now_ns() < deadline)
        oriel_ucx.ucp_worker_progress(reading->worker);
    if (link->flights || jams)
        renew_worker(reading);
    else
        forget_ep(link, true);
}

/* An endpoint that UCX gave up. The owner may only have taken memory back from a
 * reader that did not let go of it (ucx_serve.h): where it had answered before, it is
 * asked again. */
static void tend_lost(struct oriel_ucx_link *link)
{
    bool again = link->answered;

    oriel_ucx_link_cancel(link);
    if (again) return;
    hide(link);
    end_peers(link, -ECONNRESET);
}

int oriel_ucx_look_at(const struct oriel_process *process)
{
    unsigned char seen[ORIEL_NONCE_BYTES];
    int error;

    if (!oriel_process_is_near(process)) return 0;
    error = oriel_vmread_one(process->pid, process->nonce_address, seen, sizeof seen);
    if (error == -ORIEL_EGONE) return error;
    if (error == -EFAULT) return -ORIEL_ENONCE;
    if (error) return 0;
    return memcmp(seen, process->nonce, sizeof seen) == 0 ? 0 : -ORIEL_ENONCE;
}

static bool waits(const struct oriel_ucx_link *link)
{
    if (link->flights) return true;
    for (const struct oriel_peer *at = link->peers; at; at = at->next)
        if (at->state == ORIEL_UCX_ASKED) return true;
    return false;
}

/* Shared memory tells of nobody's death; sockets that a child inherited neither. */
static void look_at_owners(struct oriel_ucx_reading *reading)
{
    uint64_t now;

    if (!reading->flying && !reading->asked) return;
    if (++reading->rounds % LOOK_ROUNDS) return;
    now = now_ns();
    if (now - reading->looked_ns < LOOK_NS) return;
    reading->looked_ns = now;
    for (struct oriel_ucx_link *at = reading->links; at; at = at->next) {
        int error = waits(at) ? oriel_ucx_look_at(&at->process) : 0;

        if (!error) continue;
        oriel_ucx_link_cancel(at);
        hide(at);
        end_peers(at, error);
    }
}

void oriel_ucx_reading_tend(struct oriel_ucx_reading *reading)
{
    if (reading->lost) {
        reading->lost = false;
        for (struct oriel_ucx_link *at = reading->links; at; at = at->next)
            if (at->lost) tend_lost(at);
    }
    look_at_owners(reading);
}

/* ---- links ---- */

static void on_lost(void *argument, ucp_ep_h ep, ucs_status_t status)
{
    struct oriel_ucx_link *link = argument;

    (void)status;
    if (link->ep != ep) return; /* an endpoint from before */
    link->lost = true;
    link->reading->lost = true;
}

int oriel_ucx_link_open(struct oriel_ucx_link *link)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLER,
                              .address = (ucp_address_t *)link->address,
                              .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                              .err_handler = {on_lost, link}};
    ucs_status_t status;

    if (!link->reading->worker && open_worker(link->reading)) return -EIO;
    status = oriel_ucx.ucp_ep_create(link->reading->worker, &params, &link->ep);
    if (status == UCS_OK) return 0;
    link->ep = NULL;
    return oriel_ucx_failed(status, "to connect");
}

static struct oriel_ucx_link *add_link(struct oriel_ucx_reading *reading,
                                       const struct oriel_ucx_blob *blob)
{
    size_t bytes = blob->head.address_bytes;
    struct oriel_ucx_link *made = calloc(1, sizeof *made + bytes);

    if (!made) return NULL;
    made->reading = reading;
    made->process = blob->head.process;
    made->address_bytes = bytes;
    memcpy(made->address, blob->address, bytes);
    HASH_ADD(hh, reading->by_address, address, bytes, made);
    if (!made->hh.tbl) {
        free(made);
        return NULL;
    }
    made->next = reading->links;
    reading->links = made;
    reading->idle++;
    return made;
}

static void free_link(struct oriel_ucx_link *link)
{
    hide(link);
    if (link->ep) oriel_ucx_drop(link->ep);
    free(link);
}

static void remove_link(struct oriel_ucx_link *link)
{
    struct oriel_ucx_link **at = &link->reading->links;

    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    link->reading->idle--;
    free_link(link);
}

/* Connections are kept for the next region of the same process. */
static void remove_oldest(struct oriel_ucx_reading *reading)
{
    struct oriel_ucx_link *oldest = NULL;

    for (struct oriel_ucx_link *at = reading->links; at; at = at->next)
        if (!at->refs && (!oldest || at->idle_at < oldest->idle_at)) oldest = at;
    if (oldest) remove_link(oldest);
}

struct oriel_ucx_link *oriel_ucx_link_take(struct oriel_ucx_reading *reading,
                                           const struct oriel_ucx_blob *blob)
{
    struct oriel_ucx_link *link;

    HASH_FIND(hh, reading->by_address, blob->address, blob->head.address_bytes, link);
    if (!link) link = add_link(reading, blob);
    if (link && link->refs++ == 0) reading->idle--;
    return link;
}

void oriel_ucx_link_give(struct oriel_ucx_link *link)
{
    struct oriel_ucx_reading *reading = link->reading;

    if (--link->refs) return;
    link->idle_at = ++reading->idled;
    reading->idle++;
    if (!link->hh.tbl)
        remove_link(link);
    else if (reading->idle > IDLE_MOST)
        remove_oldest(reading);
}

/* ---- open and close ---- */

static int open_worker(struct oriel_ucx_reading *reading)
{
    ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = ORIEL_UCX_TELL,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = oriel_ucx_on_tell,
        .arg = reading};
    int error = oriel_ucx_worker(reading->context, &reading->worker);

    if (error) {
        reading->worker = NULL;
        return error;
    }
    error = oriel_ucx_failed(
        oriel_ucx.ucp_worker_set_am_recv_handler(reading->worker, &handler),
        "to set up its worker");
    if (!error)
        error = oriel_ucx_address(reading->worker, ORIEL_BLOB_MAX, &reading->address,
                                  &reading->address_bytes);
    if (!error) return 0;
    oriel_ucx.ucp_worker_destroy(reading->worker);
    reading->worker = NULL;
    return error;
}

int oriel_ucx_reading_open(uint64_t chunk, const char *device,
                           struct oriel_ucx_reading **out)
{
    struct oriel_ucx_reading *reading = calloc(1, sizeof *reading);
    int error;

    if (!reading) return -ENOMEM;
    reading->chunk = chunk && chunk < PIECE_MOST ? chunk : PIECE_MOST;
    reading->shares_memory = oriel_ucx_shares_memory();
    for (int i = 0; i < ORIEL_UCX_FLIGHTS; i++) {
        reading->flights[i].next = reading->free_flights;
        reading->free_flights = &reading->flights[i];
    }
    error = oriel_ucx_context(UCP_FEATURE_RMA | UCP_FEATURE_AM, false, device,
                              &reading->context);
    if (error) goto free_reading;
    error = open_worker(reading);
    if (error) goto cleanup;
    *out = reading;
    return 0;

cleanup:
    oriel_ucx.ucp_cleanup(reading->context);
free_reading:
    free(reading);
    return error;
}

void oriel_ucx_reading_close(struct oriel_ucx_reading *reading)
{
    while (reading->links) {
        struct oriel_ucx_link *link = reading->links;

        reading->links = link->next;
        free_link(link);
    }
    if (reading->worker) {
        oriel_ucx.ucp_worker_progress(reading->worker);
        oriel_ucx.ucp_worker_destroy(reading->worker);
    }
    oriel_ucx.ucp_cleanup(reading->context);
    free(reading->address);
    free(reading);
}
