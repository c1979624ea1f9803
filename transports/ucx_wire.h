/*
 * ucx_wire.h - what goes from process to process: blobs, and the messages by which a
 * reader asks for a region.
 *
 * Over software transports UCX reads whatever address a peer names and checks no key.
 * So a reader asks first, and the owner knows who may still read a region.
 */
#ifndef ORIEL_UCX_WIRE_H
#define ORIEL_UCX_WIRE_H

#include "core/process.h"
#include "transports/transport.h"

/* Of one region; the key is random, and the owner's alone. */
struct oriel_ucx_name {
    uint64_t key, base, bytes;
};

/* A blob is this head, the rkey, the worker's address. */
struct oriel_ucx_head {
    uint16_t version, ucx_major, ucx_minor;
    uint16_t rkey_bytes, address_bytes, reserved;
    uint32_t checksum; /* of the whole, with 0 here */
    struct oriel_ucx_name name;
    struct oriel_process process;
};

struct oriel_ucx_blob { /* decoded; points into a blob */
    struct oriel_ucx_head head;
    const unsigned char *rkey, *address;
};

/* Returns 0; -EMSGSIZE. */
int oriel_ucx_blob_encode(struct oriel_ucx_head *head, const void *rkey,
                          const void *address, struct oriel_blob *out);
/* Returns 0; -EBADMSG; -EPROTONOSUPPORT: from another version of Oriel or UCX. */
int oriel_ucx_blob_decode(const struct oriel_blob *blob, struct oriel_ucx_blob *out);

/* Active messages of these workers. */
enum { ORIEL_UCX_ASK = 0, ORIEL_UCX_TELL = 1 };

/* Reader to owner; its data is the reader's address. */
struct oriel_ucx_ask {
    uint32_t magic;
    uint32_t takes; /* 1: may I read it? 0: I read it no more */
    uint64_t cookie;
    struct oriel_ucx_name name;
    unsigned char nonce[ORIEL_NONCE_BYTES]; /* of the owner that is meant */
};

/* Owner to reader. */
struct oriel_ucx_tell {
    uint32_t magic;
    int32_t error;   /* 0: read; else -errno: read no more */
    uint64_t cookie; /* 0: all that have the key */
    uint64_t key;    /* 0 as well: the reader's endpoint is dropped */
    unsigned char nonce[ORIEL_NONCE_BYTES]; /* of the owner */
};

enum { ORIEL_UCX_MAGIC = 0x6c65726f };

#endif
