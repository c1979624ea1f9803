#define _GNU_SOURCE

#include "transports/ofi_side.h"

#include "core/log.h"
#include "transports/ofi_signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { KEY_TRIES = 16, QUEUE_LEAST = 128 };

static int step(const char *name, int error, const char **step_out)
{
    if (error && step_out) *step_out = name;
    return error;
}

static void close_object(struct fid *fid, const char *what)
{
    int error = fid ? fi_close(fid) : 0;

    if (error)
        oriel_log(ORIEL_LOG_INFO, "ofi: %s does not close: code %d", what, error);
}

static void fill_random(void *out, size_t bytes)
{
    if (getrandom(out, bytes, 0) != (ssize_t)bytes) memset(out, 0, bytes);
}

/* An endpoint of shm is called after its pid, and so would be one of the program that
 * this process becomes by exec, whose predecessor's is still there. */
static int name_endpoint(struct fi_info *info)
{
    unsigned tag;
    char *name;

    if (strcmp(info->fabric_attr->prov_name, "shm") != 0) return 0;
    fill_random(&tag, sizeof tag);
    if (asprintf(&name, "fi_shm://oriel-%d-%08x", (int)getpid(), tag) < 0)
        return -FI_ENOMEM;
    free(info->src_addr);
    info->src_addr = name;
    info->src_addrlen = strlen(name) + 1;
    return 0;
}

int oriel_ofi_side_open(struct oriel_ofi_side *side,
                        const struct oriel_ofi_library *library,
                        const struct fi_info *info, const char **step_out)
{
    int error;

    *side = (struct oriel_ofi_side){.library = library, .fd = -1};
    side->info = library->dupinfo(info);
    if (!side->info) return step("fi_dupinfo", -FI_ENOMEM, step_out);
    error = step("strdup", name_endpoint(side->info), step_out);
    if (!error)
        error = step("fi_fabric",
                     library->fabric(side->info->fabric_attr, &side->fabric, NULL),
                     step_out);
    if (!error)
        error =
            step("fi_domain", fi_domain(side->fabric, side->info, &side->domain, NULL),
                 step_out);
    if (error) oriel_ofi_side_close(side);
    return error;
}

void oriel_ofi_side_close(struct oriel_ofi_side *side)
{
    oriel_ofi_side_disable(side);
    if (side->domain) close_object(&side->domain->fid, "domain");
    if (side->fabric) close_object(&side->fabric->fid, "fabric");
    if (side->info) side->library->freeinfo(side->info);
    *side = (struct oriel_ofi_side){.fd = -1};
}

/* A queue with a descriptor if one is wanted and can be had. */
static int open_queue(struct oriel_ofi_side *side, bool waits)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_CONTEXT,
                              .size = side->info->tx_attr->size,
                              .wait_obj = waits ? FI_WAIT_FD : FI_WAIT_NONE};
    int error;

    if (attr.size < QUEUE_LEAST) attr.size = QUEUE_LEAST;
    error = fi_cq_open(side->domain, &attr, &side->cq, NULL);
    if (error && waits) {
        attr.wait_obj = FI_WAIT_NONE;
        waits = false;
        error = fi_cq_open(side->domain, &attr, &side->cq, NULL);
    }
    if (!error && waits && fi_control(&side->cq->fid, FI_GETWAIT, &side->fd) != 0)
        side->fd = -1;
    return error;
}

/* Where nothing wakes a sleeper, a count shows at least that there was traffic. */
static void open_counter(struct oriel_ofi_side *side)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP,
                                .wait_obj = FI_WAIT_NONE};

    if (fi_cntr_open(side->domain, &attr, &side->served, NULL) != 0) {
        side->served = NULL;
    } else if (fi_ep_bind(side->ep, &side->served->fid, FI_REMOTE_READ) != 0) {
        close_object(&side->served->fid, "counter");
        side->served = NULL;
    }
}

static int enable(struct oriel_ofi_side *side, bool waits, const char **step_out)
{
    struct fi_av_attr av = {.type = side->info->domain_attr->av_type};
    int error = step("fi_cq_open", open_queue(side, waits), step_out);

    if (!error)
        error = step("fi_av_open", fi_av_open(side->domain, &av, &side->av, NULL),
                     step_out);
    if (!error)
        error = step("fi_endpoint",
                     fi_endpoint(side->domain, side->info, &side->ep, NULL), step_out);
    if (!error)
        error =
            step("fi_ep_bind",
                 fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV), step_out);
    if (!error)
        error = step("fi_ep_bind", fi_ep_bind(side->ep, &side->av->fid, 0), step_out);
    if (!error && waits && side->fd < 0) open_counter(side);
    if (!error) error = step("fi_enable", fi_enable(side->ep), step_out);
    return error;
}

int oriel_ofi_side_enable(struct oriel_ofi_side *side, bool waits,
                          const char **step_out)
{
    struct oriel_ofi_signals signals;
    int error;

    oriel_ofi_signals_save(&signals);
    error = enable(side, waits, step_out);
    oriel_ofi_signals_restore(&signals);
    if (error) oriel_ofi_side_disable(side);
    return error;
}

void oriel_ofi_side_disable(struct oriel_ofi_side *side)
{
    if (side->ep) close_object(&side->ep->fid, "endpoint");
    if (side->av) close_object(&side->av->fid, "address vector");
    if (side->cq) close_object(&side->cq->fid, "completion queue");
    if (side->served) close_object(&side->served->fid, "counter");
    oriel_ofi_side_abandon(side);
}

void oriel_ofi_side_abandon(struct oriel_ofi_side *side)
{
    side->ep = NULL;
    side->av = NULL;
    side->cq = NULL;
    side->served = NULL;
    side->fd = -1;
}

/* Peers cannot guess it: a key is what lets them read. */
static uint64_t random_key(size_t key_bytes)
{
    uint64_t key = 0;

    fill_random(&key, sizeof key);
    if (key_bytes && key_bytes < sizeof key) key &= ((uint64_t)1 << 8 * key_bytes) - 1;
    /* Never what libfabric says for "no key". */
    return key == FI_KEY_NOTAVAIL ? key - 1 : key;
}

int oriel_ofi_side_register(struct oriel_ofi_side *side, const void *base, size_t bytes,
                            uint64_t access, struct fid_mr **out)
{
    int mode = side->info->domain_attr->mr_mode;
    struct fid_mr *mr = NULL;
    int error = -FI_ENOKEY;

    for (int i = 0; i < KEY_TRIES && error == -FI_ENOKEY; i++) {
        uint64_t key = mode & FI_MR_PROV_KEY
                           ? 0
                           : random_key(side->info->domain_attr->mr_key_size);

        error = fi_mr_reg(side->domain, base, bytes, access, 0, key, 0, &mr, NULL);
    }
    if (error) return error;
    if (mode & FI_MR_ENDPOINT) {
        error = fi_mr_bind(mr, &side->ep->fid, 0);
        if (!error) error = fi_mr_enable(mr);
        if (error) {
            fi_close(&mr->fid);
            return error;
        }
    }
    *out = mr;
    return 0;
}
