/*
 * ofi_shim.c - a libfabric.so.1 between the engine and the real one, for what no
 * provider of this machine does. It is found by LD_LIBRARY_PATH; SHIM_LIBFABRIC names
 * the real library. What it does is in variables, read when they matter:
 *
 *   SHIM_REGISTRATIONS  so many are given, then SHIM_ERROR (an errno)
 *   SHIM_MAX            max_msg_size of all offers
 *   SHIM_REFUSE_ABOVE   longer reads fail, whatever the offers say
 *   SHIM_LOSE_AFTER     after so many reads, further ones never end
 *   SHIM_LOCAL          local memory must be registered; reads elsewhere fail
 *   SHIM_REMOTE_ONLY    local memory must not be registered
 *   SHIM_RAW            keys are raw, of 32 bytes
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, RAW_BYTES = 32, RAW_AT = 12, ADDED = FI_MR_LOCAL | FI_MR_RAW };

/* The real tables; the providers' are copied and changed at one place each. */
static struct fi_ops_fabric fabric_ops;
static struct fi_ops_domain domain_ops;
static struct fi_ops domain_fid_ops, mr_fid_ops;
static struct fi_ops_mr mr_ops;
static struct fi_ops_rma rma_ops;
static const struct fi_ops_fabric *real_fabric;
static const struct fi_ops_domain *real_domain;
static const struct fi_ops *real_domain_fid, *real_mr_fid;
static const struct fi_ops_mr *real_mr;
static const struct fi_ops_rma *real_rma;

static struct {
    struct fid_mr *mr;
    const char *base;
    size_t bytes;
    uint64_t key;
} registered[MOST];
static size_t count; /* of those; given: ever */
static long given;

static long number(const char *name)
{
    const char *value = getenv(name);

    return value ? atol(value) : 0;
}

static void *real(const char *name)
{
    static void *library;
    const char *path = getenv("SHIM_LIBFABRIC");

    if (!library && path) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) abort();
    return dlsym(library, name);
}

#define REAL(name) ((__typeof__(&(name)))(uintptr_t)real(#name))

uint32_t fi_version(void)
{
    return REAL(fi_version)();
}

const char *fi_strerror(int error)
{
    return REAL(fi_strerror)(error);
}

void fi_freeinfo(struct fi_info *info)
{
    REAL(fi_freeinfo)(info);
}

struct fi_info *fi_dupinfo(const struct fi_info *info)
{
    return REAL(fi_dupinfo)(info);
}

static int added_mode(void)
{
    return (getenv("SHIM_LOCAL") ? FI_MR_LOCAL : 0) |
           (getenv("SHIM_RAW") ? FI_MR_RAW : 0);
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **out)
{
    int error, added = added_mode();

    if (hints && added & ~hints->domain_attr->mr_mode) return -FI_ENODATA;
    error = REAL(fi_getinfo)(version, node, service, flags, hints, out);
    for (struct fi_info *at = error ? NULL : *out; at; at = at->next) {
        if (number("SHIM_MAX")) at->ep_attr->max_msg_size = number("SHIM_MAX");
        at->domain_attr->mr_mode |= added;
        if (added & FI_MR_RAW) at->domain_attr->mr_key_size = RAW_BYTES;
    }
    return error;
}

/* In the raw key the real one lies where nobody would look for it. */
static int mr_control(struct fid *fid, int command, void *argument)
{
    struct fi_mr_raw_attr *attr = argument;

    if (command != FI_GET_RAW_MR) return real_mr_fid->control(fid, command, argument);
    if (*attr->key_size < RAW_BYTES) return -FI_ETOOSMALL;
    *attr->key_size = RAW_BYTES;
    *attr->base_addr = 0x1234;
    memset(attr->raw_key, 0x77, RAW_BYTES);
    for (size_t i = 0; i < count; i++)
        if (&registered[i].mr->fid == fid)
            memcpy(attr->raw_key + RAW_AT, &registered[i].key, 8);
    return 0;
}

static int mr_close(struct fid *fid)
{
    for (size_t i = 0; i < count; i++)
        if (&registered[i].mr->fid == fid) registered[i] = registered[--count];
    return real_mr_fid->close(fid);
}

static int domain_control(struct fid *fid, int command, void *argument)
{
    struct fi_mr_map_raw *map = argument;

    if (command == FI_UNMAP_KEY) return 0;
    if (command != FI_MAP_RAW_MR)
        return real_domain_fid->control(fid, command, argument);
    if (map->key_size != RAW_BYTES || map->base_addr != 0x1234) return -FI_EINVAL;
    memcpy(map->key, map->raw_key + RAW_AT, 8);
    return 0;
}

static int mr_reg(struct fid *fid, const void *base, size_t bytes, uint64_t access,
                  uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **out,
                  void *context)
{
    int error;

    if (getenv("SHIM_REMOTE_ONLY") && access != FI_REMOTE_READ) return -FI_EINVAL;
    if (count == MOST ||
        (getenv("SHIM_REGISTRATIONS") && given >= number("SHIM_REGISTRATIONS")))
        return -(int)number("SHIM_ERROR");
    error = real_mr->reg(fid, base, bytes, access, offset, key, flags, out, context);
    if (error) return error;
    given++;
    registered[count].mr = *out;
    registered[count].base = base;
    registered[count].bytes = bytes;
    registered[count++].key = (*out)->key;
    if (!real_mr_fid) {
        real_mr_fid = (*out)->fid.ops;
        mr_fid_ops = *real_mr_fid;
        mr_fid_ops.close = mr_close;
        mr_fid_ops.control = mr_control;
    }
    (*out)->fid.ops = &mr_fid_ops;
    if (getenv("SHIM_RAW")) (*out)->key = FI_KEY_NOTAVAIL;
    return 0;
}

static bool is_registered(const char *at, size_t bytes, const void *desc)
{
    for (size_t i = 0; i < count; i++)
        if (desc && registered[i].mr->mem_desc == desc && at >= registered[i].base &&
            at + bytes <= registered[i].base + registered[i].bytes)
            return true;
    return false;
}

static ssize_t rma_read(struct fid_ep *ep, void *to, size_t bytes, void *desc,
                        fi_addr_t from, uint64_t address, uint64_t key, void *context)
{
    long most = number("SHIM_MAX") ? number("SHIM_MAX") : number("SHIM_REFUSE_ABOVE");

    static atomic_long reads;

    if (most && bytes > (size_t)most) return -FI_EMSGSIZE;
    if (getenv("SHIM_LOSE_AFTER") && ++reads > number("SHIM_LOSE_AFTER")) return 0;
    if (getenv("SHIM_LOCAL") && !is_registered(to, bytes, desc)) return -FI_EINVAL;
    return real_rma->read(ep, to, bytes, desc, from, address, key, context);
}

static int endpoint(struct fid_domain *domain, struct fi_info *info,
                    struct fid_ep **out, void *context)
{
    int mode = info->domain_attr->mr_mode, error;

    info->domain_attr->mr_mode &= ~ADDED;
    error = real_domain->endpoint(domain, info, out, context);
    info->domain_attr->mr_mode = mode;
    /* Providers open their connections through this table, too. */
    if (error || info->ep_attr->type != FI_EP_RDM) return error;
    real_rma = (*out)->rma == &rma_ops ? real_rma : (*out)->rma;
    rma_ops = *real_rma;
    rma_ops.read = rma_read;
    (*out)->rma = &rma_ops;
    return 0;
}

static int open_domain(struct fid_fabric *fabric, struct fi_info *info,
                       struct fid_domain **out, void *context)
{
    int mode = info->domain_attr->mr_mode, error;

    info->domain_attr->mr_mode &= ~ADDED;
    error = real_fabric->domain(fabric, info, out, context);
    info->domain_attr->mr_mode = mode;
    if (error) return error;
    real_domain = (*out)->ops;
    domain_ops = *real_domain;
    domain_ops.endpoint = endpoint;
    (*out)->ops = &domain_ops;
    real_mr = (*out)->mr;
    mr_ops = *real_mr;
    mr_ops.reg = mr_reg;
    (*out)->mr = &mr_ops;
    real_domain_fid = (*out)->fid.ops;
    domain_fid_ops = *real_domain_fid;
    domain_fid_ops.control = domain_control;
    (*out)->fid.ops = &domain_fid_ops;
    return 0;
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
    int error = REAL(fi_fabric)(attr, out, context);

    if (error) return error;
    if ((*out)->ops == &fabric_ops) return 0;
    real_fabric = (*out)->ops;
    fabric_ops = *real_fabric;
    fabric_ops.domain = open_domain;
    (*out)->ops = &fabric_ops;
    return 0;
}
