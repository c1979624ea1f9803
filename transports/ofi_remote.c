#include "transports/ofi_remote.h"

#include "transports/ofi_hangup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* A connection costs milliseconds, and windows come and go. */
    IDLE_MOST = 256
};

static const unsigned char *address_of(const struct oriel_ofi_remote *remote)
{
    return remote->name + ORIEL_NONCE_BYTES;
}

static size_t address_bytes(const struct oriel_ofi_remote *remote)
{
    return remote->name_bytes - ORIEL_NONCE_BYTES;
}

static bool has_twin(const struct oriel_ofi_remotes *remotes,
                     const struct oriel_ofi_blob *blob)
{
    for (const struct oriel_ofi_remote *at = remotes->table; at; at = at->hh.next)
        if (address_bytes(at) == blob->address_bytes &&
            memcmp(address_of(at), blob->address, blob->address_bytes) == 0)
            return true;
    return false;
}

int oriel_ofi_remote_take(struct oriel_ofi_remotes *remotes,
                          const struct oriel_ofi_blob *blob,
                          struct oriel_ofi_remote **out, bool *twin_out)
{
    unsigned char name[ORIEL_NONCE_BYTES + ORIEL_OFI_ADDRESS_MAX];
    size_t n = ORIEL_NONCE_BYTES + blob->address_bytes;
    struct oriel_ofi_remote *remote;

    memcpy(name, blob->nonce, ORIEL_NONCE_BYTES);
    memcpy(name + ORIEL_NONCE_BYTES, blob->address, blob->address_bytes);
    *twin_out = false;
    HASH_FIND(hh, remotes->table, name, n, remote);
    if (!remote) {
        *twin_out = has_twin(remotes, blob);
        remote = calloc(1, sizeof *remote + n);
        if (!remote) return -ENOMEM;
        remote->name_bytes = n;
        memcpy(remote->name, name, n);
        HASH_ADD_KEYPTR(hh, remotes->table, remote->name, n, remote);
        if (!remote->hh.tbl) { /* out of memory */
            free(remote);
            return -ENOMEM;
        }
    } else if (!remote->refs) {
        remotes->idle--;
    }
    remote->refs++;
    *out = remote;
    return 0;
}

static void forget(struct oriel_ofi_remotes *remotes, struct oriel_ofi_remote *remote)
{
    HASH_DEL(remotes->table, remote);
    free(remote);
}

void oriel_ofi_remote_drop(struct oriel_ofi_remotes *remotes,
                           struct oriel_ofi_remote *remote, struct oriel_ofi_side *side,
                           unsigned generation)
{
    if (--remote->refs) return;
    if (++remotes->idle <= IDLE_MOST) return;
    for (remote = remotes->table; remote->refs;)
        remote = remote->hh.next;
    remotes->idle--;
    if (side->av && remote->generation == generation)
        fi_av_remove(side->av, &remote->address, 1, 0);
    forget(remotes, remote);
}

void oriel_ofi_remotes_fini(struct oriel_ofi_remotes *remotes)
{
    struct oriel_ofi_remote *remote = remotes->table, *next;

    HASH_CLEAR(hh, remotes->table); /* the entries stay linked */
    for (; remote; remote = next) {
        next = remote->hh.next;
        free(remote);
    }
}

int oriel_ofi_remote_resolve(struct oriel_ofi_remote *remote,
                             struct oriel_ofi_side *side, unsigned generation)
{
    if (remote->generation == generation) return 0;
    if (fi_av_insert(side->av, address_of(remote), 1, &remote->address, 0, NULL) != 1)
        return -ENOTCONN;
    remote->generation = generation;
    return 0;
}

bool oriel_ofi_remote_hangup(const struct oriel_ofi_remote *remote)
{
    return oriel_ofi_hangup(address_of(remote), address_bytes(remote)) > 0;
}

const char *oriel_ofi_remote_text(const struct oriel_ofi_remote *remote,
                                  struct oriel_ofi_side *side, char *out,
                                  size_t out_bytes)
{
    size_t n = out_bytes;

    snprintf(out, out_bytes, "a peer");
    if (side->av) fi_av_straddr(side->av, address_of(remote), out, &n);
    return out;
}
