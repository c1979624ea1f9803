#define _GNU_SOURCE
#include "transports/ucx_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void oriel_ucx_peer_set(struct oriel_peer *peer, enum oriel_ucx_state state, int error)
{
    struct oriel_ucx_reading *reading = peer->link->reading;

    if (peer->state == ORIEL_UCX_ASKED) reading->asked--;
    if (state == ORIEL_UCX_ASKED) reading->asked++;
    peer->state = state;
    peer->error = error;
}

void oriel_ucx_peer_ask(struct oriel_peer *peer, bool takes)
{
    struct oriel_ucx_link *link = peer->link;
    struct oriel_ucx_ask ask = {.magic = ORIEL_UCX_MAGIC,
                                .takes = takes,
                                .cookie = peer->cookie,
                                .name = peer->name};

    if (!link->ep || link->lost) return;
    memcpy(ask.nonce, link->process.nonce, sizeof ask.nonce);
    oriel_ucx_send(link->ep, ORIEL_UCX_ASK, UCP_AM_SEND_FLAG_REPLY, &ask, sizeof ask,
                   link->reading->address, link->reading->address_bytes);
}

int oriel_ucx_peer_ready(struct oriel_peer *peer)
{
    struct oriel_ucx_link *link = peer->link;
    int error = 0;

    if (peer->state == ORIEL_UCX_READY && !link->lost) return 0;
    if (link->lost) return -EAGAIN; /* the next progress sees to it */
    if (peer->state == ORIEL_UCX_ASKED) return -EAGAIN;
    if (peer->state == ORIEL_UCX_ENDED) return peer->error;
    if (!link->ep) error = oriel_ucx_link_open(link);
    if (!error && peer->rkey_bytes && !peer->rkey)
        error = oriel_ucx_failed(
            oriel_ucx.ucp_ep_rkey_unpack(link->ep, peer->rkey_packed, &peer->rkey),
            "to use a key");
    if (error) {
        oriel_ucx_peer_set(peer, ORIEL_UCX_ENDED, error);
        return error;
    }
    oriel_ucx_peer_ask(peer, true);
    oriel_ucx_peer_set(peer, ORIEL_UCX_ASKED, 0);
    return -EAGAIN;
}

/* What the owner of a link said about one peer of it. */
static void hear(struct oriel_peer *peer, const struct oriel_ucx_tell *what)
{
    bool meant = what->cookie
                     ? peer->cookie == what->cookie && peer->state == ORIEL_UCX_ASKED
                     : peer->name.key == what->key;

    if (!meant || peer->state == ORIEL_UCX_ENDED) return;
    peer->link->answered = true;
    peer->link->reading->news++;
    if (what->error)
        oriel_ucx_peer_set(peer, ORIEL_UCX_ENDED, what->error);
    else
        oriel_ucx_peer_set(peer, ORIEL_UCX_READY, 0);
    if (what->cookie) return;
    peer->leaving = peer->flights > 0;
    if (!peer->leaving) oriel_ucx_peer_ask(peer, false);
}

ucs_status_t oriel_ucx_on_tell(void *argument, const void *header, size_t header_bytes,
                               void *data, size_t bytes,
                               const ucp_am_recv_param_t *param)
{
    struct oriel_ucx_reading *reading = argument;
    struct oriel_ucx_tell what;

    (void)data, (void)bytes, (void)param;
    if (header_bytes != sizeof what) return UCS_OK;
    memcpy(&what, header, sizeof what);
    if (what.magic != ORIEL_UCX_MAGIC) return UCS_OK;
    for (struct oriel_ucx_link *link = reading->links; link; link = link->next) {
        if (memcmp(what.nonce, link->process.nonce, sizeof what.nonce) != 0) continue;
        if (!what.cookie && !what.key && link->answered)
            link->lost = reading->lost = true;
        for (struct oriel_peer *at = link->peers; at; at = at->next)
            hear(at, &what);
    }
    return UCS_OK;
}

int oriel_ucx_peer_connect(struct oriel_ucx_reading *reading,
                           const struct oriel_ucx_blob *blob, struct oriel_peer **out)
{
    const struct oriel_ucx_head *head = &blob->head;
    struct oriel_peer *peer;
    int error = oriel_ucx_look_at(&head->process);

    if (error) return error;
    peer = calloc(1, sizeof *peer + head->rkey_bytes);
    if (!peer) return -ENOMEM;
    peer->link = oriel_ucx_link_take(reading, blob);
    if (!peer->link) {
        free(peer);
        return -ENOMEM;
    }
    peer->next = peer->link->peers;
    peer->link->peers = peer;
    peer->cookie = ++reading->cookies;
    peer->name = head->name;
    peer->rkey_bytes = head->rkey_bytes;
    memcpy(peer->rkey_packed, blob->rkey, head->rkey_bytes);
    error = oriel_ucx_peer_ready(peer);
    if (error && error != -EAGAIN) {
        oriel_ucx_peer_disconnect(peer);
        return error;
    }
    *out = peer;
    return 0;
}

void oriel_ucx_peer_disconnect(struct oriel_peer *peer)
{
    struct oriel_ucx_link *link = peer->link;
    struct oriel_peer **at = &link->peers;

    if (link->ep && !link->lost && peer->state != ORIEL_UCX_NEW &&
        peer->state != ORIEL_UCX_ENDED)
        oriel_ucx_peer_ask(peer, false);
    oriel_ucx_peer_set(peer, ORIEL_UCX_ENDED, 0);
    if (peer->rkey) oriel_ucx.ucp_rkey_destroy(peer->rkey);
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    free(peer);
    oriel_ucx_link_give(link);
}
