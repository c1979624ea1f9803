/*
 * ofi_reader.h - the reading side: peers, and reads in flight.
 *
 * Every piece of a read in flight has an op, from a pool as deep as the provider's
 * queue. What of an accepted span does not fit stays with its peer as a rest, which
 * progress carries on.
 *
 * Cancelling: most providers cannot take an RMA read back, so the endpoint is closed,
 * and opened anew at the next read. Addresses resolved by an endpoint die with it;
 * the generation tells.
 *
 * Threads: one caller at a time.
 */
#ifndef ORIEL_OFI_READER_H
#define ORIEL_OFI_READER_H

#include "transports/ofi_local.h"
#include "transports/ofi_remote.h"

struct oriel_ofi_op {
    struct fi_context2 context; /* first; libfabric's while in flight */
    struct oriel_ofi_op *next;  /* free list */
    struct oriel_peer *peer;    /* NULL: free */
    struct oriel_track *track;
    void *at; /* where the bytes belong */
    size_t bytes;
    struct oriel_ofi_local local;
};

struct oriel_ofi_reader {
    const struct oriel_process *self;
    const struct oriel_ofi_provider *provider;
    struct oriel_ofi_side side; /* enabled at the first connect */
    unsigned generation;        /* of its endpoint, from 1 */
    struct oriel_ofi_remotes remotes;
    struct oriel_ofi_locals locals;
    struct oriel_ofi_op *ops, *free;
    size_t depth;             /* of ops */
    unsigned share;           /* reads in flight of one remote: others find room */
    unsigned in_flight;       /* ops */
    unsigned landed;          /* ops so far; it wraps */
    size_t piece_bytes;       /* most of one fi_read */
    struct oriel_peer *rests; /* peers with a rest */
};

/* Takes the opened side over. chunk: ORIEL_CHUNK. Returns 0; -ENOMEM. */
int oriel_ofi_reader_init(struct oriel_ofi_reader *reader,
                          const struct oriel_process *self,
                          const struct oriel_ofi_provider *provider,
                          const struct oriel_ofi_side *side, uint64_t chunk);
void oriel_ofi_reader_fini(struct oriel_ofi_reader *reader);

/* Open the endpoint, if it is not. Returns 0; -EIO. */
int oriel_ofi_reader_enable(struct oriel_ofi_reader *reader);
/* Close it: all reads in flight end with -ECANCELED, rests stay. */
void oriel_ofi_reader_reset(struct oriel_ofi_reader *reader);

/* As in transports/transport.h; progress returns how many pieces landed. */
ssize_t oriel_ofi_reader_get(struct oriel_peer *peer, const struct oriel_span *spans,
                             size_t n, struct oriel_track *track);
int oriel_ofi_reader_progress(struct oriel_ofi_reader *reader);
void oriel_ofi_reader_cancel(struct oriel_peer *peer);

#endif
