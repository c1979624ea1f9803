/*
 * ofi_nic.h - the interface behind one of libfabric's offers: how good it is, and
 * what people call it.
 */
#ifndef ORIEL_OFI_NIC_H
#define ORIEL_OFI_NIC_H

#include "core/nic.h"

#include <rdma/fabric.h>

/* What an offer should have. */
struct oriel_ofi_want {
    const char *name;   /* ORIEL_NIC; "": none is named */
    const char *prefix; /* what the interface's name must begin with; NULL: anything */
    const char *sysfs;  /* where class/net is */
    struct oriel_nic_choice near; /* by core/nic.h; empty names: nothing is known */
};

/* Ask core/nic.h. is_device: an RDMA device is wanted, else an interface of the IP
 * stack. why is set where the name is not there. */
void oriel_ofi_nic_want(struct oriel_ofi_want *out, const struct oriel_config *config,
                        bool is_device, char *why, size_t why_bytes);

/* How well an offer fits, larger is better; negative: not at all. A NIC that is named
 * must be it, by the name of its domain, device or interface, or by its address. Else
 * the nearest is the best; then one that is up; and loopback, which other nodes cannot
 * reach, is the last resort. IPv4 comes before IPv6. */
int oriel_ofi_nic_rank(const struct fi_info *info, const struct oriel_ofi_want *want);

/* "eth0, 10.0.0.1", cut to fit. */
void oriel_ofi_nic_text(const struct fi_info *info, char *out, size_t out_bytes);

/* "there are eth0, lo", cut to fit. */
void oriel_ofi_nic_list(const struct fi_info *list, char *out, size_t out_bytes);

#endif
