/*
 * ofi_peer.h - one connected region, inside the reading side.
 */
#ifndef ORIEL_OFI_PEER_H
#define ORIEL_OFI_PEER_H

#include "transports/ofi_reader.h"

struct oriel_peer {
    struct oriel_ofi_reader *reader;
    struct oriel_ofi_remote *remote;
    uint64_t base, bytes, key; /* base: 0 where offsets are the addresses */
    bool is_mapped;            /* key came from fi_mr_map_raw */
    unsigned in_flight;
    /* The rest of an accepted span; bytes 0: none. It counts once in track->pending. */
    struct {
        struct oriel_track *track;
        uint64_t offset;
        char *at;
        size_t bytes;
        struct oriel_peer *next; /* reader->rests */
    } rest;
};

/* As in transports/transport.h. */
int oriel_ofi_peer_connect(struct oriel_ofi_reader *reader,
                           const struct oriel_blob *blob, struct oriel_peer **out);
void oriel_ofi_peer_disconnect(struct oriel_peer *peer);

#endif
