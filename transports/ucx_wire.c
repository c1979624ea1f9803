#include "transports/ucx_wire.h"

#include "core/log.h"
#include "transports/ucx_lib.h"

#include <errno.h>
#include <string.h>

enum { BLOB_VERSION = 1 };
_Static_assert(sizeof(struct oriel_ucx_head) == 104, "padding would make blobs differ");
_Static_assert(sizeof(struct oriel_ucx_ask) == 56, "the same in every build");
_Static_assert(sizeof(struct oriel_ucx_tell) == 40, "the same in every build");

/* FNV-1a: against damage, not against forgery. */
static uint32_t checksum(const unsigned char *data, size_t bytes)
{
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ data[i]) * 16777619u;
    return sum;
}

int oriel_ucx_blob_encode(struct oriel_ucx_head *head, const void *rkey,
                          const void *address, struct oriel_blob *out)
{
    size_t bytes = sizeof *head + head->rkey_bytes + head->address_bytes;
    unsigned major, minor, release;
    unsigned char *at = out->data;

    if (bytes > ORIEL_BLOB_MAX) return -EMSGSIZE;
    oriel_ucx.ucp_get_version(&major, &minor, &release);
    head->version = BLOB_VERSION;
    head->ucx_major = (uint16_t)major;
    head->ucx_minor = (uint16_t)minor;
    head->reserved = 0;
    head->checksum = 0;
    memcpy(at, head, sizeof *head);
    if (head->rkey_bytes) memcpy(at + sizeof *head, rkey, head->rkey_bytes);
    memcpy(at + sizeof *head + head->rkey_bytes, address, head->address_bytes);
    head->checksum = checksum(at, bytes);
    memcpy(at, head, sizeof *head);
    out->bytes = (uint32_t)bytes;
    return 0;
}

static int check_version(const struct oriel_ucx_head *head)
{
    static int once;
    unsigned major, minor, release;

    oriel_ucx.ucp_get_version(&major, &minor, &release);
    if (head->ucx_major == major && head->ucx_minor == minor) return 0;
    oriel_log_once(&once, ORIEL_LOG_WARN,
                   "ucx: a peer has UCX %u.%u and this process %u.%u; give both the "
                   "same",
                   head->ucx_major, head->ucx_minor, major, minor);
    return -EPROTONOSUPPORT;
}

int oriel_ucx_blob_decode(const struct oriel_blob *blob, struct oriel_ucx_blob *out)
{
    struct oriel_ucx_head *head = &out->head;
    unsigned char copy[ORIEL_BLOB_MAX];
    uint32_t sum;

    if (blob->bytes < sizeof *head || blob->bytes > ORIEL_BLOB_MAX) return -EBADMSG;
    memcpy(head, blob->data, sizeof *head);
    if (head->version != BLOB_VERSION) return -EBADMSG;
    if (blob->bytes != sizeof *head + head->rkey_bytes + head->address_bytes)
        return -EBADMSG;
    sum = head->checksum;
    head->checksum = 0;
    memcpy(copy, blob->data, blob->bytes);
    memcpy(copy, head, sizeof *head);
    if (checksum(copy, blob->bytes) != sum) return -EBADMSG;
    if (head->name.base + head->name.bytes < head->name.base || !head->address_bytes ||
        (head->name.bytes && !head->rkey_bytes))
        return -EBADMSG;
    out->rkey = blob->data + sizeof *head;
    out->address = out->rkey + head->rkey_bytes;
    return check_version(head);
}
