#include "transports/ofi_blob.h"

#include <errno.h>
#include <string.h>

enum { BLOB_MAGIC = 0x4f46, BLOB_VERSION = 1 };
enum { FLAG_VIRTUAL = 1, FLAG_RAW = 2, FLAGS_ALL = 3 };

struct cursor {
    unsigned char *at;
    size_t left;
    bool failed;
};

static void put(struct cursor *cursor, const void *bytes, size_t n)
{
    if (cursor->failed || n > cursor->left) {
        cursor->failed = true;
        return;
    }
    memcpy(cursor->at, bytes, n);
    cursor->at += n;
    cursor->left -= n;
}

static void put_number(struct cursor *cursor, uint64_t value, size_t n)
{
    unsigned char bytes[8];

    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    put(cursor, bytes, n);
}

/* A length of two bytes, then so many. */
static void put_string(struct cursor *cursor, const void *bytes, size_t n)
{
    put_number(cursor, n, 2);
    put(cursor, bytes, n);
}

static void take(struct cursor *cursor, void *out, size_t n)
{
    if (cursor->failed || n > cursor->left) {
        cursor->failed = true;
        memset(out, 0, n);
        return;
    }
    memcpy(out, cursor->at, n);
    cursor->at += n;
    cursor->left -= n;
}

static uint64_t take_number(struct cursor *cursor, size_t n)
{
    unsigned char bytes[8] = {0};
    uint64_t value = 0;

    take(cursor, bytes, n);
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static size_t take_string(struct cursor *cursor, void *out, size_t most)
{
    size_t n = take_number(cursor, 2);

    if (n > most) cursor->failed = true;
    if (cursor->failed) return 0;
    take(cursor, out, n);
    return n;
}

unsigned oriel_ofi_blob_version(void)
{
    return BLOB_VERSION;
}

int oriel_ofi_blob_encode(const struct oriel_ofi_blob *blob, struct oriel_blob *out)
{
    struct cursor cursor = {.at = out->data, .left = sizeof out->data};

    put_number(&cursor, BLOB_MAGIC, 2);
    put_number(&cursor, BLOB_VERSION, 2);
    put_number(&cursor,
               (blob->is_virtual ? FLAG_VIRTUAL : 0) | (blob->is_raw ? FLAG_RAW : 0),
               2);
    put_number(&cursor, blob->address_format, 4);
    put_number(&cursor, blob->base, 8);
    put_number(&cursor, blob->bytes, 8);
    put_number(&cursor, blob->key, 8);
    put_number(&cursor, blob->raw_base, 8);
    put(&cursor, blob->nonce, sizeof blob->nonce);
    put(&cursor, blob->boot_id, sizeof blob->boot_id);
    put_string(&cursor, blob->provider, strlen(blob->provider));
    put_string(&cursor, blob->raw_key, blob->raw_key_bytes);
    put_string(&cursor, blob->address, blob->address_bytes);
    if (cursor.failed) return -EMSGSIZE;
    out->bytes = (uint32_t)(cursor.at - out->data);
    return 0;
}

static void take_fields(struct cursor *cursor, struct oriel_ofi_blob *out)
{
    uint64_t flags = take_number(cursor, 2);
    size_t length;

    if (flags & ~(uint64_t)FLAGS_ALL) cursor->failed = true;
    out->is_virtual = flags & FLAG_VIRTUAL;
    out->is_raw = flags & FLAG_RAW;
    out->address_format = (uint32_t)take_number(cursor, 4);
    out->base = take_number(cursor, 8);
    out->bytes = take_number(cursor, 8);
    out->key = take_number(cursor, 8);
    out->raw_base = take_number(cursor, 8);
    take(cursor, out->nonce, sizeof out->nonce);
    take(cursor, out->boot_id, sizeof out->boot_id);
    length = take_string(cursor, out->provider, ORIEL_OFI_NAME_MAX);
    out->provider[length] = '\0';
    out->raw_key_bytes = take_string(cursor, out->raw_key, sizeof out->raw_key);
    out->address_bytes = take_string(cursor, out->address, sizeof out->address);
}

int oriel_ofi_blob_decode(const struct oriel_blob *bytes, struct oriel_ofi_blob *out,
                          unsigned *version_out)
{
    struct oriel_blob copy = *bytes;
    struct cursor cursor = {.at = copy.data, .left = copy.bytes};

    if (copy.bytes > sizeof copy.data || take_number(&cursor, 2) != BLOB_MAGIC ||
        cursor.failed)
        return -EBADMSG;
    *version_out = (unsigned)take_number(&cursor, 2);
    if (cursor.failed) return -EBADMSG;
    if (*version_out != BLOB_VERSION) return -EPROTONOSUPPORT;
    take_fields(&cursor, out);
    if (cursor.failed || cursor.left || out->address_bytes == 0 ||
        out->base + out->bytes < out->base)
        return -EBADMSG;
    return 0;
}
