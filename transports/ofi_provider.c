#define _GNU_SOURCE

#include "transports/ofi_provider.h"

#include "core/log.h"
#include "transports/ofi_blob.h"
#include "transports/ofi_nic.h"
#include "transports/ofi_signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of libfabric's to try, best first. */
enum { NAMES_MOST = 12 };
struct wish {
    const char *names[NAMES_MOST]; /* NULL ends them */
    const char *interface;         /* what its name begins with; NULL: any */
    bool is_auto;
    char plain[ORIEL_OFI_NAME_MAX + 1]; /* of libfabric's, as it was given */
};

/* Real RDMA, then what runs over any network. tcp reads without ofi_rxm from version
 * 1.18 on, and was called net before that. ofi_rxm takes 70 MB for each endpoint. */
static const char *const rdma[] = {"cxi",  "verbs;ofi_rxm", "efa", "opx",
                                   "psm3", "psm2",          NULL};
static const char *const software[] = {"tcp", "net", "tcp;ofi_rxm", "sockets", NULL};

static void add_names(struct wish *wish, const char *const *names)
{
    size_t n = 0;

    while (wish->names[n])
        n++;
    for (; *names && n < NAMES_MOST - 1; names++)
        wish->names[n++] = *names;
}

/* Layers may be joined by '+', since ';' means something to shells. */
static void add_plain(struct wish *wish, const char *fabric)
{
    size_t n = strlen(fabric);

    if (n >= sizeof wish->plain) return;
    for (size_t i = 0; i < n; i++)
        wish->plain[i] = fabric[i] == '+' ? ';' : fabric[i];
    wish->names[0] = wish->plain;
}

static void parse_fabric(const char *fabric, struct wish *out)
{
    static const char *const tcp[] = {"tcp", "net", "tcp;ofi_rxm", NULL};
    static const char *const verbs[] = {"verbs;ofi_rxm", NULL};

    *out = (struct wish){.is_auto = strcmp(fabric, "auto") == 0};

    if (out->is_auto) {
        add_names(out, rdma);
        add_names(out, software);
    } else if (strcmp(fabric, "hsn") == 0) {
        add_names(out, tcp);
        out->interface = "hsn";
    } else if (strcmp(fabric, "tcp") == 0) {
        add_names(out, tcp);
    } else if (strcmp(fabric, "verbs") == 0) {
        add_names(out, verbs);
    } else {
        add_plain(out, fabric);
    }
}

/* For FI_PROVIDER, which MPI libraries and sites set: what libfabric may use. */
static const char *limited_to(void)
{
    const char *value = getenv("FI_PROVIDER");

    return value && *value ? value : NULL;
}

/* What libfabric has under that name and we can work with. local_mr: also where it
 * wants local memory registered. */
static struct fi_info *ask(const struct oriel_ofi_library *library, const char *name,
                           bool local_mr)
{
    struct fi_info *hints = library->dupinfo(NULL), *found = NULL;
    bool is_shm = strcmp(name, "shm") == 0;

    if (!hints) return NULL;
    hints->caps = FI_RMA | FI_READ | FI_REMOTE_READ;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->mr_mode =
        FI_MR_RAW | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    /* With virtual addresses shm reads without a look at the key. */
    if (!is_shm) hints->domain_attr->mr_mode |= FI_MR_VIRT_ADDR;
    if (local_mr) hints->domain_attr->mr_mode |= FI_MR_LOCAL;
    hints->fabric_attr->prov_name = strdup(name);
    if (hints->fabric_attr->prov_name &&
        library->getinfo(ORIEL_OFI_VERSION, NULL, NULL, 0, hints, &found) != 0)
        found = NULL;
    library->freeinfo(hints);
    return found;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

/* The NIC to use. */
static void wanted_nic(const struct oriel_config *config, const struct wish *wish,
                       const char *provider, struct oriel_ofi_want *out, char *why,
                       size_t why_bytes)
{
    *out = (struct oriel_ofi_want){.prefix = wish->interface};
    oriel_ofi_nic_want(out, config, is_one_of(provider, rdma), why, why_bytes);
}

/* The best of a list for this process; NULL: none is fit. A layered provider that was
 * not asked for does not count. */
static struct fi_info *best_of(struct fi_info *list, const char *name,
                               const struct oriel_ofi_want *want)
{
    struct fi_info *best = NULL;
    int most = -1;

    for (struct fi_info *at = list; at; at = at->next) {
        int rank;

        if (strcmp(at->fabric_attr->prov_name, name) != 0) continue;
        rank = oriel_ofi_nic_rank(at, want);
        if (rank <= most) continue;
        most = rank;
        best = at;
    }
    return best;
}

static void describe(struct oriel_ofi_provider *out, const struct fi_info *info,
                     const struct wish *wish, const struct oriel_config *config)
{
    const char *limit = limited_to(), *nic = config->nic;
    char place[128];

    oriel_ofi_nic_text(info, place, sizeof place);
    snprintf(out->text, sizeof out->text, "%s on %s (ORIEL_FABRIC=%s%s%s%s%s%s)",
             out->name, place, config->fabric,
             wish->is_auto && !is_one_of(out->name, rdma) ? ": no RDMA device" : "",
             *nic ? ", ORIEL_NIC=" : "", nic, limit ? ", FI_PROVIDER=" : "",
             limit ? limit : "");
}

/* Fills in what the provider is like. tcp, rxm and net of version 1.17 grant
 * FI_PROGRESS_AUTO and still wait for the target, so what they say is not asked.
 * verbs;ofi_rxm reads by itself but accepts a new peer only when polled. */
static void know(struct oriel_ofi_provider *out, struct fi_info *info, uint32_t version)
{
    static const char *const selves[] = {"cxi", "verbs", NULL};
    struct fi_domain_attr *domain = info->domain_attr;

    out->name = info->fabric_attr->prov_name;
    out->bounces = out->is_local = strcmp(out->name, "shm") == 0;
    out->hangs_up =
        FI_VERSION_LT(version, FI_VERSION(1, 18)) &&
        (strncmp(out->name, "tcp", 3) == 0 || strncmp(out->name, "net", 3) == 0);
    out->serves_itself = is_one_of(out->name, selves);
    /* sockets has a real thread of its own. */
    if (strcmp(out->name, "sockets") == 0)
        out->serves_itself = domain->data_progress == FI_PROGRESS_AUTO;
    if (out->serves_itself) return;
    domain->control_progress = FI_PROGRESS_MANUAL;
    domain->data_progress = FI_PROGRESS_MANUAL;
}

/* Try one name. Returns 0, or adds to why and returns -ENOTSUP. */
static int try_name(const struct oriel_ofi_library *library, const char *name,
                    const struct wish *wish, const struct oriel_config *config,
                    struct oriel_ofi_provider *out, struct oriel_ofi_side *side,
                    char *why, size_t why_bytes)
{
    struct fi_info *list = ask(library, name, false), *best;
    struct oriel_ofi_want want;
    const char *failed = "";
    int error;

    if (!list) list = ask(library, name, true);
    if (!list) return -ENOTSUP;
    wanted_nic(config, wish, name, &want, why, why_bytes);
    best = best_of(list, name, &want);
    if (!best) {
        if (!*why) oriel_ofi_nic_list(list, why, why_bytes);
        library->freeinfo(list);
        return -ENOTSUP;
    }
    know(out, best, library->version());
    error = oriel_ofi_side_open(side, library, best, &failed);
    if (error) {
        snprintf(why, why_bytes, "%s of %s fails: %s%s", failed, name,
                 library->strerror(-error),
                 strcmp(name, "cxi") == 0 && error == -FI_ENOSYS
                     ? " (a job step on one node needs "
                       "srun --network=single_node_vni,job_vni)"
                     : "");
        oriel_log(ORIEL_LOG_INFO, "ofi: %s", why);
    } else {
        out->name = side->info->fabric_attr->prov_name;
        describe(out, best, wish, config);
    }
    library->freeinfo(list);
    return error ? -ENOTSUP : 0;
}

static int try_names(const struct oriel_ofi_library *library, const struct wish *wish,
                     const struct oriel_config *config, struct oriel_ofi_provider *out,
                     struct oriel_ofi_side *side, char *why, size_t why_bytes)
{
    struct oriel_ofi_signals signals; /* providers start at the first question */
    int error = -ENOTSUP;

    oriel_ofi_signals_save(&signals);
    for (size_t i = 0; error && wish->names[i]; i++)
        error =
            try_name(library, wish->names[i], wish, config, out, side, why, why_bytes);
    oriel_ofi_signals_restore(&signals);
    return error;
}

int oriel_ofi_provider_open(const struct oriel_ofi_library *library,
                            const struct oriel_config *config,
                            struct oriel_ofi_provider *out,
                            struct oriel_ofi_side *side_out, char *why,
                            size_t why_bytes)
{
    struct wish wish;
    const char *limit = limited_to(), *nic = config->nic;
    char detail[256] = "";

    parse_fabric(config->fabric, &wish);
    if (try_names(library, &wish, config, out, side_out, detail, sizeof detail) == 0)
        return 0;
    snprintf(why, why_bytes,
             "libfabric %u.%u has no usable provider for "
             "ORIEL_FABRIC=%s%s%s%s%s%s%s%s",
             FI_MAJOR(library->version()), FI_MINOR(library->version()), config->fabric,
             *nic ? ", ORIEL_NIC=" : "", nic, *detail ? ": " : "", detail,
             limit ? "; FI_PROVIDER=" : "", limit ? limit : "",
             limit ? " in the environment hides the others" : "");
    return -ENOTSUP;
}
