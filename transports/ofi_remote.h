/*
 * ofi_remote.h - the processes that are read: one address each, however many of their
 * regions are connected.
 *
 * Threads: one caller at a time.
 */
#ifndef ORIEL_OFI_REMOTE_H
#define ORIEL_OFI_REMOTE_H

#include "core/hash.h"
#include "transports/ofi_blob.h"
#include "transports/ofi_side.h"

struct oriel_ofi_remote {
    unsigned refs;       /* peers that use it; 0: idle, kept for the next one */
    unsigned in_flight;  /* reads of it */
    unsigned generation; /* of the endpoint that resolved it; 0: none yet */
    fi_addr_t address;
    bool blamed;        /* its first failure was told */
    bool cancelled;     /* its connection is being ended by us */
    uint64_t mended_ns; /* no read before; 0: it is well */
    UT_hash_handle hh;
    size_t name_bytes;
    unsigned char name[]; /* the process's nonce, then its endpoint's address */
};

struct oriel_ofi_remotes {
    struct oriel_ofi_remote *table;
    unsigned idle;
};

/* Find or make. *twin_out: some other process, before or after, had the same address.
 * Returns 0; -ENOMEM. */
int oriel_ofi_remote_take(struct oriel_ofi_remotes *remotes,
                          const struct oriel_ofi_blob *blob,
                          struct oriel_ofi_remote **out, bool *twin_out);
/* Nothing of it is in flight. generation: of the side's endpoint. */
void oriel_ofi_remote_drop(struct oriel_ofi_remotes *remotes,
                           struct oriel_ofi_remote *remote, struct oriel_ofi_side *side,
                           unsigned generation);
void oriel_ofi_remotes_fini(struct oriel_ofi_remotes *remotes);

/* Make its address known to the side's endpoint. Returns 0; -ENOTCONN. */
int oriel_ofi_remote_resolve(struct oriel_ofi_remote *remote,
                             struct oriel_ofi_side *side, unsigned generation);

/* End its connection from below. Returns whether there was one. */
bool oriel_ofi_remote_hangup(const struct oriel_ofi_remote *remote);

/* The address for people. */
const char *oriel_ofi_remote_text(const struct oriel_ofi_remote *remote,
                                  struct oriel_ofi_side *side, char *out,
                                  size_t out_bytes);

#endif
