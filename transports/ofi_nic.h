/*
 * ofi_nic.h - the interface behind one of libfabric's offers: how good it is, and
 * what people call it.
 */
#ifndef ORIEL_OFI_NIC_H
#define ORIEL_OFI_NIC_H

#include <rdma/fabric.h>

/* How well an offer fits, larger is better; negative: not at all.
 *   nic     the name of a domain, device or interface, or an address, that it must
 *           have; "": any
 *   prefix  what the interface's name must begin with; NULL: anything
 *   sysfs   where class/net is
 * An interface that is up is better than one that is not, and loopback, which other
 * nodes cannot reach, is the last resort; IPv4 comes before IPv6. */
int oriel_ofi_nic_rank(const struct fi_info *info, const char *nic, const char *prefix,
                       const char *sysfs);

/* "eth0, 10.0.0.1", cut to fit. */
void oriel_ofi_nic_text(const struct fi_info *info, char *out, size_t out_bytes);

/* "there are eth0, lo", cut to fit. */
void oriel_ofi_nic_list(const struct fi_info *list, char *out, size_t out_bytes);

#endif
