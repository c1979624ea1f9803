/*
 * ofi_blob.h - what the engine publishes about a region: little-endian fields without
 * gaps, readable between machines and versions of Oriel.
 */
#ifndef ORIEL_OFI_BLOB_H
#define ORIEL_OFI_BLOB_H

#include "core/process.h"
#include "transports/transport.h"

#include <stdbool.h>

enum { ORIEL_OFI_KEY_MAX = 256, ORIEL_OFI_ADDRESS_MAX = 256, ORIEL_OFI_NAME_MAX = 64 };

struct oriel_ofi_blob {
    char provider[ORIEL_OFI_NAME_MAX + 1];
    uint32_t address_format; /* FI_SOCKADDR_IN ... */
    bool is_virtual;         /* the remote address is base + offset, else offset */
    bool is_raw;             /* raw_key is to be mapped; else key */
    uint64_t base, bytes, key, raw_base;
    unsigned char raw_key[ORIEL_OFI_KEY_MAX];
    size_t raw_key_bytes;
    unsigned char address[ORIEL_OFI_ADDRESS_MAX]; /* of the serving endpoint */
    size_t address_bytes;
    unsigned char nonce[ORIEL_NONCE_BYTES]; /* of the process */
    unsigned char boot_id[16];              /* of its node */
};

/* Returns 0; -EMSGSIZE: it does not fit. */
int oriel_ofi_blob_encode(const struct oriel_ofi_blob *blob, struct oriel_blob *out);

/* Returns 0; -EBADMSG: not such a blob; -EPROTONOSUPPORT: of another version, which
 * *version_out tells. */
int oriel_ofi_blob_decode(const struct oriel_blob *bytes, struct oriel_ofi_blob *out,
                          unsigned *version_out);

/* The version that this build writes and reads. */
unsigned oriel_ofi_blob_version(void);

#endif
