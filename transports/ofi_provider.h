/*
 * ofi_provider.h - which provider and which interface: ORIEL_FABRIC and ORIEL_NIC.
 */
#ifndef ORIEL_OFI_PROVIDER_H
#define ORIEL_OFI_PROVIDER_H

#include "core/config.h"
#include "transports/ofi_side.h"

struct oriel_ofi_provider {
    const char *name;   /* "tcp;ofi_rxm"; lives as long as the side */
    bool serves_itself; /* no thread has to poll at the target */
    /* The target writes into the reader's memory whenever it gets to it, even after
     * the reader closed its endpoint: read into memory of our own, then copy. */
    bool bounces;
    /* To close its endpoint while a read is half received is unsafe: tcp and net up to
     * 1.17 free that read twice. */
    bool hangs_up;
    bool is_local;  /* its addresses mean something on one node only */
    char text[256]; /* what was taken and why */
};

/* Choose, and open a side with what was chosen, as far as the domain: only that
 * shows that the provider works. Returns 0; -ENOTSUP, and why then says why. */
int oriel_ofi_provider_open(const struct oriel_ofi_library *library,
                            const struct oriel_config *config,
                            struct oriel_ofi_provider *out,
                            struct oriel_ofi_side *side_out, char *why,
                            size_t why_bytes);

#endif
