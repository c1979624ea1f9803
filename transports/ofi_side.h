/*
 * ofi_side.h - one set of libfabric objects. The engine has two, one to serve and one
 * to read, which share no object and so no lock.
 *
 * Threads: one caller at a time, except for register and release, which may run
 * beside the queue's reader.
 */
#ifndef ORIEL_OFI_SIDE_H
#define ORIEL_OFI_SIDE_H

#include "transports/ofi_library.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stddef.h>

struct oriel_ofi_side {
    const struct oriel_ofi_library *library;
    struct fi_info *info; /* owned */
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    /* NULL while the side is not enabled. */
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    int fd;                  /* of cq, which owns it; -1: it has none */
    struct fid_cntr *served; /* remote reads, where there is no fd; NULL: uncounted */
};

/* Open fabric and domain, with a copy of info. step_out, if not NULL, names the
 * function that failed. Returns 0 or libfabric's code. */
int oriel_ofi_side_open(struct oriel_ofi_side *side,
                        const struct oriel_ofi_library *library,
                        const struct fi_info *info, const char **step_out);
/* Does nothing for a side that is all zeros. */
void oriel_ofi_side_close(struct oriel_ofi_side *side);

/* Open queue, addresses and endpoint. waits: with a descriptor to sleep on, where
 * the provider has one, else with a counter of remote reads, where it has that. */
int oriel_ofi_side_enable(struct oriel_ofi_side *side, bool waits,
                          const char **step_out);
/* On return no transfer of the endpoint is under way. */
void oriel_ofi_side_disable(struct oriel_ofi_side *side);
/* The same without closing anything, for providers that only work when they are
 * called: nobody will. */
void oriel_ofi_side_abandon(struct oriel_ofi_side *side);

/* Register memory, with a random key where the key is ours to choose. Returns 0 or
 * libfabric's code. */
int oriel_ofi_side_register(struct oriel_ofi_side *side, const void *base, size_t bytes,
                            uint64_t access, struct fid_mr **out);

#endif
