/*
 * fabric_ofi.c - reads by fi_read.
 */
#define _GNU_SOURCE
#include "bench/bare.h"
#include "bench/fabric.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

enum { QUEUE = 1024, BATCH = 64, KEY = 0x0b1e };

struct side { /* one endpoint and what it takes */
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    int fd;             /* of cq, serving */
    struct fid_mr *mr;  /* serving */
    fi_addr_t peer;     /* reading, as all below */
    uint64_t base, key; /* of the peer's memory */
    size_t started, landed;
    struct fi_context2 contexts[QUEUE];
};

static void must(const char *step, long code)
{
    if (code) bench_die("%s: %s", step, fi_strerror((int)(code < 0 ? -code : code)));
}

/* With what an engine asks for, so that locks are the same. */
static struct fi_info *ask(const char *provider)
{
    struct fi_info *hints = fi_allocinfo(), *found = NULL;
    if (!hints) bench_die("out of memory");
    hints->caps = FI_RMA | FI_READ | FI_REMOTE_READ;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->mr_mode = FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
    hints->fabric_attr->prov_name = strdup(provider);
    if (fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &found)) found = NULL;
    fi_freeinfo(hints);
    if (!found) return NULL;
    found->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    found->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    return found;
}

/* "tcp" is what ORIEL_FABRIC=tcp takes it for. */
static struct fi_info *choose(const char *provider)
{
    static const char *const tcp[] = {"tcp", "net", "tcp;ofi_rxm"};
    struct fi_info *info = NULL;
    if (strcmp(provider, "tcp") != 0) info = ask(provider);
    for (size_t i = 0; !info && i < 3 && strcmp(provider, "tcp") == 0; ++i)
        info = ask(tcp[i]);
    if (!info) bench_die("libfabric has no provider '%s' that reads", provider);
    return info;
}

static struct side *open_side(const char *provider, bool waits)
{
    struct side *side = calloc(1, sizeof *side);
    if (!side) bench_die("out of memory");
    side->info = choose(provider);
    struct fi_info *info = side->info;
    struct fi_av_attr av = {.type = info->domain_attr->av_type};
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT,
                            .size = QUEUE,
                            .wait_obj = waits ? FI_WAIT_FD : FI_WAIT_NONE};
    must("fi_fabric", fi_fabric(info->fabric_attr, &side->fabric, NULL));
    must("fi_domain", fi_domain(side->fabric, info, &side->domain, NULL));
    must("fi_cq_open", fi_cq_open(side->domain, &cq, &side->cq, NULL));
    if (waits) must("FI_GETWAIT", fi_control(&side->cq->fid, FI_GETWAIT, &side->fd));
    must("fi_av_open", fi_av_open(side->domain, &av, &side->av, NULL));
    must("fi_endpoint", fi_endpoint(side->domain, info, &side->ep, NULL));
    must("fi_ep_bind", fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
    must("fi_ep_bind", fi_ep_bind(side->ep, &side->av->fid, 0));
    must("fi_enable", fi_enable(side->ep));
    return side;
}

static void close_side(void *argument)
{
    struct side *side = argument;
    if (side->mr) fi_close(&side->mr->fid);
    fi_close(&side->ep->fid);
    fi_close(&side->av->fid);
    fi_close(&side->cq->fid);
    fi_close(&side->domain->fid);
    fi_close(&side->fabric->fid);
    fi_freeinfo(side->info);
    free(side);
}

static void *ofi_expose(const char *provider, void *memory, size_t bytes,
                        struct bench_card *card_out)
{
    struct side *side = open_side(provider, true);
    must("fi_mr_reg", fi_mr_reg(side->domain, memory, bytes, FI_REMOTE_READ, 0, KEY, 0,
                                &side->mr, NULL));
    card_out->address_bytes = sizeof card_out->address;
    must("fi_getname",
         fi_getname(&side->ep->fid, card_out->address, &card_out->address_bytes));
    card_out->key = fi_mr_key(side->mr);
    if (side->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
        card_out->base = (uintptr_t)memory;
    const char *name = side->info->fabric_attr->prov_name;
    if (strlen(name) >= sizeof card_out->provider) bench_die("provider '%s'", name);
    strcpy(card_out->provider, name);
    return side;
}

/* Reading the queue makes the provider work; only its descriptor tells that there is
 * work, and it does until fi_trywait. */
static bool ofi_serve(void *argument)
{
    struct side *side = argument;
    struct pollfd queue = {.fd = side->fd, .events = POLLIN};
    struct fi_cq_entry entries[16];
    struct fid *fid = &side->cq->fid;
    if (poll(&queue, 1, 0) <= 0) return false;
    ssize_t n = fi_cq_read(side->cq, entries, 16);
    if (n < 0 && n != -FI_EAGAIN) must("serving, fi_cq_read", n);
    fi_trywait(side->fabric, &fid, 1);
    return true;
}

static int ofi_rest(void *argument)
{
    struct side *side = argument;
    struct fid *fid = &side->cq->fid;
    struct fi_cq_entry entries[16];
    if (fi_trywait(side->fabric, &fid, 1) == 0) return side->fd;
    ssize_t n = fi_cq_read(side->cq, entries, 16);
    if (n < 0 && n != -FI_EAGAIN) must("serving, fi_cq_read", n);
    return -1;
}

static void *ofi_connect(const struct bench_card *card)
{
    struct side *side = open_side(card->provider, false);
    if (fi_av_insert(side->av, card->address, 1, &side->peer, 0, NULL) != 1)
        bench_die("fi_av_insert fails");
    side->base = card->base;
    side->key = card->key;
    return side;
}

static void progress(struct side *side)
{
    struct fi_cq_entry entries[BATCH];
    ssize_t n = fi_cq_read(side->cq, entries, BATCH);
    if (n > 0) side->landed += (size_t)n;
    if (n < 0 && n != -FI_EAGAIN) must("fi_cq_read", n);
}

static void ofi_start(void *argument, uint64_t offset, void *local, size_t bytes)
{
    struct side *side = argument;
    for (;;) {
        ssize_t code = -FI_EAGAIN;
        if (side->started - side->landed < QUEUE)
            code =
                fi_read(side->ep, local, bytes, NULL, side->peer, side->base + offset,
                        side->key, &side->contexts[side->started % QUEUE]);
        if (code == 0) break;
        if (code != -FI_EAGAIN) must("fi_read", code);
        progress(side);
    }
    side->started++;
}

static void ofi_finish(void *argument)
{
    struct side *side = argument;
    while (side->landed != side->started)
        progress(side);
}

const struct bench_fabric bench_fabric_ofi = {
    .name = "ofi",
    .expose = ofi_expose,
    .serve = ofi_serve,
    .rest = ofi_rest,
    .withdraw = close_side,
    .connect = ofi_connect,
    .start = ofi_start,
    .finish = ofi_finish,
    .disconnect = close_side,
};
