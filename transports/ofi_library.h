/*
 * ofi_library.h - libfabric, opened when the engine is: liboriel is not linked to it.
 *
 * Its headers' inline functions go through tables in its objects and need no symbol,
 * with one exception: fi_allocinfo() calls fi_dupinfo(); use dupinfo(NULL) here.
 */
#ifndef ORIEL_OFI_LIBRARY_H
#define ORIEL_OFI_LIBRARY_H

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <stdint.h>

/* The interface that we were written against. Libraries serve all older ones, with
 * the structures of that time. */
#define ORIEL_OFI_VERSION FI_VERSION(1, 14)

struct oriel_ofi_library {
    int (*getinfo)(uint32_t version, const char *node, const char *service,
                   uint64_t flags, const struct fi_info *hints, struct fi_info **out);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context);
    uint32_t (*version)(void);
    const char *(*strerror)(int error);
};

/* The library; loaded at the first call, and never unloaded.
 * Returns 0; -ENOTSUP, and *why_out then says why, for ever. Threads: any. */
int oriel_ofi_library_load(const struct oriel_ofi_library **out, const char **why_out);

/* A code of libfabric's, positive or negative, as 0 or -errno for core: the one place
 * that translates. -EKEYREJECTED: the owner knows no such key or range;
 * -ENOTCONN: it is not there any more; -EIO: anything that is not known. */
int oriel_ofi_error(int64_t code);

#endif
