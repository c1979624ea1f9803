/*
 * nics.c - reads the node for `oriel nics`, and deals out the ranks of a job.
 */
#define _GNU_SOURCE 1

#include "tools/nics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The CPUs in the order in which ranks are bound: those of one L3 cache together, and
 * so both hardware threads of a core. Returns how many. */
static size_t order_cpus(const struct oriel_nics *nics, const struct oriel_cpus *cpus,
                         long *out)
{
    const struct oriel_cpu_groups *l3 = &nics->node->l3;
    struct oriel_cpus rest = *cpus;
    size_t n = 0;
    for (size_t g = 0; g <= l3->n; g++) {
        for (long cpu = oriel_cpus_next(&rest, 0); cpu >= 0;
             cpu = oriel_cpus_next(&rest, cpu + 1)) {
            if (g < l3->n && !oriel_cpus_has(&l3->items[g].cpus, cpu)) continue;
            rest.words[cpu / 64] &= ~(UINT64_C(1) << cpu % 64);
            out[n++] = cpu;
        }
    }
    return n;
}

static void collect_cpus(const struct oriel_nic_map *map, struct oriel_cpus *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < map->n; i++)
        oriel_cpus_unite(out, &map->items[i].cpus);
}

/* What each of the ranks would choose. */
static int deal_ranks(struct oriel_nics *nics)
{
    char reason[ORIEL_NIC_REASON_BYTES];
    struct oriel_cpus cpus;
    collect_cpus(&nics->map, &cpus);
    if (nics->ranks == 0 || nics->map.n == 0) return 0;
    long *order = calloc(ORIEL_CPUS_MAX, sizeof *order);
    nics->entry_of_rank = calloc((size_t)nics->ranks, sizeof(size_t));
    if (!order || !nics->entry_of_rank) {
        free(order);
        return -ENOMEM;
    }
    size_t n = order_cpus(nics, &cpus, order), ranks = (size_t)nics->ranks;
    for (size_t rank = 0; rank < ranks; rank++) {
        struct oriel_nic_place place = nics->place;
        place.local_rank = (int)rank;
        place.cpus = cpus;
        if (n >= ranks) memset(&place.cpus, 0, sizeof place.cpus);
        for (size_t i = rank * n / ranks; n >= ranks && i < (rank + 1) * n / ranks; i++)
            oriel_cpus_add(&place.cpus, order[i]);
        nics->entry_of_rank[rank] =
            oriel_nic_map_pick(&nics->map, &place, reason, sizeof reason);
    }
    free(order);
    return 0;
}

static long number_of_ranks(const struct oriel_nics_request *request,
                            const struct oriel_nic_place *place)
{
    if (request->ranks > 0) return request->ranks;
    if (place->local_size > 0) return place->local_size;
    const char *tasks = getenv("SLURM_NTASKS_PER_NODE");
    long n = tasks ? strtol(tasks, NULL, 10) : 0;
    return n > 0 && n <= ORIEL_CPUS_MAX ? n : 0;
}

int oriel_nics_read(const struct oriel_nics_request *request, struct oriel_nics *out)
{
    bool is_limited = request->is_allocated || request->cpus;
    memset(out, 0, sizeof *out);
    out->config = oriel_config_get();
    oriel_nic_place_own(&out->place);
    if (request->cpus) out->place.cpus = *request->cpus;
    int rc = oriel_node_read(out->config->sysfs, &out->node);
    struct oriel_nic_place anywhere = out->place;
    if (!rc && oriel_cpus_count(&out->node->cpus) > 0)
        memset(&anywhere.cpus, 0, sizeof anywhere.cpus);
    if (!rc) rc = oriel_nic_map_of(out->node, &anywhere, &out->map);
    if (rc) return rc;
    for (size_t i = 0; is_limited && i < out->map.n; i++)
        oriel_cpus_limit(&out->map.items[i].cpus, &out->place.cpus);
    out->choice_rc =
        oriel_nic_choose_on(out->node, out->config, &out->place, &out->choice);
    out->ranks = number_of_ranks(request, &out->place);
    return deal_ranks(out);
}

void oriel_nics_fini(struct oriel_nics *nics)
{
    oriel_node_destroy(nics->node);
    oriel_nic_map_fini(&nics->map);
    free(nics->entry_of_rank);
}

const struct oriel_nic_entry *oriel_nics_entry(const struct oriel_nics *nics,
                                               const struct oriel_nic *nic)
{
    for (size_t i = 0; i < nics->map.n; i++)
        if (strcmp(nics->map.items[i].name, oriel_nic_name(nic)) == 0)
            return &nics->map.items[i];
    return NULL;
}

const char *oriel_nics_state(const struct oriel_nics *nics, const struct oriel_nic *nic)
{
    if (nic->is_enslaved && !nic->device[0]) return "enslaved";
    if (!nic->is_interface_up && !nic->is_device_up) return "down";
    if (!oriel_nic_is_usable(nic, &nics->place)) return "not-granted";
    return oriel_nics_entry(nics, nic) ? "up" : "not-used";
}

void oriel_nics_ranks(const struct oriel_nics *nics, const struct oriel_nic *nic,
                      struct oriel_cpus *out)
{
    const struct oriel_nic_entry *entry = oriel_nics_entry(nics, nic);
    memset(out, 0, sizeof *out);
    for (long rank = 0; entry && nics->entry_of_rank && rank < nics->ranks; rank++)
        if (&nics->map.items[nics->entry_of_rank[rank]] == entry)
            oriel_cpus_add(out, rank);
}

const char *oriel_nics_of_gpu(const struct oriel_nics *nics, size_t gpu)
{
    if (nics->map.n == 0) return NULL;
    return nics->map.items[oriel_nic_map_nearest(&nics->map, nics->node, gpu)].name;
}
