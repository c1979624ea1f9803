/*
 * ucx_link.h - the reading side of the ucx engine: one worker, one link to each peer
 * process, and the regions that are read over it.
 *
 * Threads: one at a time.
 */
#ifndef ORIEL_UCX_LINK_H
#define ORIEL_UCX_LINK_H

#include "core/hash.h"
#include "core/process.h"
#include "transports/transport.h"
#include "transports/ucx_lib.h"
#include "transports/ucx_wire.h"

/* FLIGHTS: UCX takes any number of reads and keeps them in memory. */
enum { ORIEL_UCX_FLIGHTS = 1024 };

enum oriel_ucx_state {
    ORIEL_UCX_NEW,   /* nothing asked, no rkey */
    ORIEL_UCX_ASKED, /* the owner has not answered */
    ORIEL_UCX_READY,
    ORIEL_UCX_ENDED /* peer->error says why */
};

struct oriel_ucx_link { /* to one worker of another process */
    struct oriel_ucx_reading *reading;
    UT_hash_handle hh;           /* by address, unless it has failed */
    struct oriel_ucx_link *next; /* of all */
    struct oriel_peer *peers;
    unsigned refs;    /* peers; 0: idle */
    uint64_t idle_at; /* reading->idled when it became so */
    ucp_ep_h ep;      /* NULL: to be opened by the next read */
    bool lost;        /* UCX reported the end of ep */
    bool answered;    /* the peer has answered on ep */
    uint32_t flights;
    struct oriel_process process;
    size_t address_bytes;
    unsigned char address[];
};

struct oriel_ucx_flight {    /* one request that UCX has */
    struct oriel_peer *peer; /* NULL: free */
    struct oriel_track *track;
    struct oriel_ucx_flight *next; /* free ones */
};

struct oriel_ucx_rest {      /* what is not begun of a span that was cut */
    struct oriel_peer *peer; /* NULL: nothing */
    struct oriel_span span;
    struct oriel_track *track;
};

struct oriel_ucx_reading {
    ucp_context_h context;
    ucp_worker_h worker; /* NULL: it could not be made anew */
    void *address;       /* of the worker */
    size_t address_bytes;
    struct oriel_ucx_link *links, *by_address;
    unsigned idle; /* links */
    uint64_t idled;
    uint64_t cookies;
    unsigned asked; /* peers that wait for an answer */
    bool lost;      /* some link */
    bool shares_memory;
    uint64_t chunk; /* most bytes of one request */
    struct oriel_ucx_rest rest;
    uint64_t looked_ns; /* when waiting links were last looked at */
    unsigned rounds;    /* of progress */
    uint32_t flying;
    uint32_t news; /* reads that landed, answers: since progress told */
    struct oriel_ucx_flight *free_flights, flights[ORIEL_UCX_FLIGHTS];
};

struct oriel_peer { /* a region, read over a link */
    struct oriel_ucx_link *link;
    struct oriel_peer *next; /* of the link's */
    enum oriel_ucx_state state;
    int error;
    bool leaving; /* the owner waits until nothing is in flight */
    uint64_t cookie;
    uint32_t flights;
    ucp_rkey_h rkey;
    struct oriel_ucx_name name;
    size_t rkey_bytes;
    unsigned char rkey_packed[];
};

int oriel_ucx_reading_open(uint64_t chunk, const char *device,
                           struct oriel_ucx_reading **out);
void oriel_ucx_reading_close(struct oriel_ucx_reading *reading);
/* What is due beside ucp_worker_progress: lost links, and owners on this node that
 * have died without a sign. */
void oriel_ucx_reading_tend(struct oriel_ucx_reading *reading);
/* A flight has ended. */
void oriel_ucx_flight_end(struct oriel_ucx_flight *flight, int error);

/* The link that the blob names, for one more peer; NULL: no memory. */
struct oriel_ucx_link *oriel_ucx_link_take(struct oriel_ucx_reading *reading,
                                           const struct oriel_ucx_blob *blob);
void oriel_ucx_link_give(struct oriel_ucx_link *link);
/* Give it an endpoint. */
int oriel_ucx_link_open(struct oriel_ucx_link *link);
/* End all reads over the link; when this returns none touches local memory. */
void oriel_ucx_link_cancel(struct oriel_ucx_link *link);
/* Owners on this node can be looked at without their help. 0: nothing against it;
 * -ORIEL_EGONE, -ORIEL_ENONCE. */
int oriel_ucx_look_at(const struct oriel_process *process);

/* A peer, and the link for it. */
int oriel_ucx_peer_connect(struct oriel_ucx_reading *reading,
                           const struct oriel_ucx_blob *blob, struct oriel_peer **out);
/* Nothing of it is in flight. */
void oriel_ucx_peer_disconnect(struct oriel_peer *peer);
/* 0: it may be read; -EAGAIN: it was asked for; else it never may. */
int oriel_ucx_peer_ready(struct oriel_peer *peer);
void oriel_ucx_peer_set(struct oriel_peer *peer, enum oriel_ucx_state state, int error);
/* Ask for the region, or say that it is read no more. */
void oriel_ucx_peer_ask(struct oriel_peer *peer, bool takes);
/* The handler of ORIEL_UCX_TELL; its argument is the reading side. */
ucs_status_t oriel_ucx_on_tell(void *argument, const void *header, size_t header_bytes,
                               void *data, size_t bytes,
                               const ucp_am_recv_param_t *param);

#endif
