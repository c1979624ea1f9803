#include "transports/ofi_peer.h"

#include "core/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns 0: a blob that this side can read; else as connect. */
static int check(const struct oriel_ofi_reader *reader,
                 const struct oriel_blob *encoded, struct oriel_ofi_blob *blob)
{
    static int once;
    unsigned version = 0;
    int error = oriel_ofi_blob_decode(encoded, blob, &version);

    if (error == -EPROTONOSUPPORT)
        oriel_log_once(&once, ORIEL_LOG_WARN,
                       "ofi: a peer publishes version %u, this Oriel reads version %u; "
                       "use the same Oriel on both sides",
                       version, oriel_ofi_blob_version());
    if (error) return error;
    /* Other provider, other kind of address, other node: not my kind of peer. */
    if (strcmp(blob->provider, reader->provider->name) != 0 ||
        blob->address_format != reader->side.info->addr_format)
        return -ENOTSUP;
    if (reader->provider->is_local &&
        memcmp(blob->boot_id, reader->self->boot_id, sizeof blob->boot_id) != 0)
        return -ENOTSUP;
    return 0;
}

static int map_key(struct oriel_peer *peer, struct oriel_ofi_blob *blob)
{
    int error;

    peer->key = blob->key;
    if (!blob->is_raw) return 0;
    error = fi_mr_map_raw(peer->reader->side.domain, blob->raw_base, blob->raw_key,
                          blob->raw_key_bytes, &peer->key, 0);
    if (error) return -EBADMSG;
    peer->is_mapped = true;
    return 0;
}

int oriel_ofi_peer_connect(struct oriel_ofi_reader *reader,
                           const struct oriel_blob *blob, struct oriel_peer **out)
{
    struct oriel_ofi_blob decoded;
    struct oriel_peer *peer;
    bool twin;
    int error = check(reader, blob, &decoded);

    if (!error) error = oriel_ofi_reader_enable(reader);
    if (error) return error;
    peer = calloc(1, sizeof *peer);
    if (!peer) return -ENOMEM;
    peer->reader = reader;
    peer->base = decoded.is_virtual ? decoded.base : 0;
    peer->bytes = decoded.bytes;
    error = map_key(peer, &decoded);
    if (error) goto free_peer;
    error = oriel_ofi_remote_take(&reader->remotes, &decoded, &peer->remote, &twin);
    if (error) goto unmap_key;
    /* What the endpoint remembers of that address is the other process. */
    if (twin) oriel_ofi_reader_reset(reader);
    *out = peer;
    return 0;

unmap_key:
    if (peer->is_mapped) fi_mr_unmap_key(reader->side.domain, peer->key);
free_peer:
    free(peer);
    return error;
}

void oriel_ofi_peer_disconnect(struct oriel_peer *peer)
{
    struct oriel_ofi_reader *reader = peer->reader;

    oriel_ofi_reader_cancel(peer);
    if (peer->is_mapped) fi_mr_unmap_key(reader->side.domain, peer->key);
    oriel_ofi_remote_drop(&reader->remotes, peer->remote, &reader->side,
                          reader->generation);
    free(peer);
}
