/*
 * nic.c - chooses the NIC of a process: forced, by a map, by a GPU, or by distance.
 */
#include "core/nic.h"

#include "core/log.h"
#include "core/nearest.h"
#include "core/nic_map.h"
#include "core/nic_node.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void explain(struct oriel_nic_choice *out,
                                                          const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out->reason, sizeof out->reason, format, arguments);
    va_end(arguments);
}

void oriel_nic_choice_set(struct oriel_nic_choice *out, const struct oriel_nic *nic)
{
    strcpy(out->name, oriel_nic_name(nic));
    strcpy(out->interface, nic->interface);
    strcpy(out->device, nic->device);
    out->kind = nic->kind;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Take a name on trust where sysfs shows no NIC to compare it with. RDMA devices are
 * told by their drivers' names; hsn0 is the interface of cxi0, as HPE numbers them. */
static void take_unseen(const char *name, struct oriel_nic_choice *out)
{
    static const char *const drivers[] = {"mlx",  "hfi", "bnxt_re", "irdma",
                                          "qedr", "efa", "rxe",     "siw"};
    bool is_device = starts_with(name, "cxi");
    snprintf(out->name, sizeof out->name, "%s", name);
    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++)
        is_device = is_device || starts_with(name, drivers[i]);
    out->kind = starts_with(name, "hsn") || starts_with(name, "cxi") ? ORIEL_NIC_CXI
                : is_device ? ORIEL_NIC_INFINIBAND
                            : ORIEL_NIC_ETHERNET;
    if (is_device)
        strcpy(out->device, out->name);
    else
        strcpy(out->interface, out->name);
    if (starts_with(name, "hsn") && strlen(name) < ORIEL_NIC_NAME_BYTES)
        snprintf(out->device, sizeof out->device, "cxi%s", name + strlen("hsn"));
}

/* Does sysfs show NICs at all? A container may see its own interfaces only. */
static bool is_seen(const struct oriel_node *node)
{
    for (size_t i = 0; i < node->nics_count; i++)
        if (node->nics[i].kind != ORIEL_NIC_VIRTUAL) return true;
    return false;
}

/* "hsn0, hsn1 (also cxi1)", cut to fit. */
static void list_nics(const struct oriel_node *node, char *out, size_t out_bytes)
{
    size_t used = 0;
    snprintf(out, out_bytes, "none");
    for (size_t i = 0; i < node->nics_count && used < out_bytes; i++) {
        const struct oriel_nic *nic = &node->nics[i];
        bool has_both = nic->interface[0] && nic->device[0];
        int n = snprintf(out + used, out_bytes - used, "%s%s%s%s", used ? ", " : "",
                         oriel_nic_name(nic), has_both ? " or " : "",
                         has_both ? nic->device : "");
        used += (size_t)n;
    }
}

static int not_here(const struct oriel_node *node, const char *name,
                    struct oriel_nic_choice *out)
{
    char list[256];
    const char **names = calloc(2 * node->nics_count + 1, sizeof *names);
    size_t n = 0;
    for (size_t i = 0; names && i < node->nics_count; i++) {
        if (node->nics[i].interface[0]) names[n++] = node->nics[i].interface;
        if (node->nics[i].device[0]) names[n++] = node->nics[i].device;
    }
    size_t nearest = names ? oriel_nearest(name, names, n) : 0;
    list_nics(node, list, sizeof list);
    explain(out, "ORIEL_NIC=%.64s: there is no such NIC here%s%s%s; there are: %s",
            name, nearest < n ? " (did you mean " : "",
            nearest < n ? names[nearest] : "", nearest < n ? "?)" : "", list);
    free(names);
    return -ENODEV;
}

static int take_forced(const struct oriel_node *node, const char *name,
                       const struct oriel_nic_place *place,
                       struct oriel_nic_choice *out)
{
    const struct oriel_nic *nic = oriel_node_find_nic(node, name);
    if (!nic && is_seen(node)) return not_here(node, name, out);
    if (nic)
        oriel_nic_choice_set(out, nic);
    else
        take_unseen(name, out);
    explain(out, "ORIEL_NIC names it%s",
            !nic                              ? "; it cannot be seen in sysfs"
            : oriel_nic_is_usable(nic, place) ? ""
                                              : "; it looks as if it were down");
    return 0;
}

/* Without the entries that sysfs shows to be of no use here: a map may come from a node
 * with more NICs. What sysfs does not show at all is believed. */
static void prune(const struct oriel_node *node, const struct oriel_nic_place *place,
                  struct oriel_nic_map *map)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->n; i++) {
        const struct oriel_nic *nic = oriel_node_find_nic(node, map->items[i].name);
        if (nic ? oriel_nic_is_usable(nic, place) : !is_seen(node))
            map->items[kept++] = map->items[i];
    }
    map->n = kept;
}

static void take_entry(const struct oriel_node *node, const struct oriel_nic_map *map,
                       size_t i, struct oriel_nic_choice *out)
{
    const struct oriel_nic *nic = oriel_node_find_nic(node, map->items[i].name);
    if (nic)
        oriel_nic_choice_set(out, nic);
    else
        take_unseen(map->items[i].name, out);
}

/* Returns 0; -EINVAL; -ENOENT the map says nothing that helps here; -ENOMEM. */
static int take_mapped(const struct oriel_node *node, const char *text,
                       const struct oriel_nic_place *place,
                       struct oriel_nic_choice *out)
{
    static int once;
    struct oriel_nic_map map;
    char why[ORIEL_NIC_REASON_BYTES / 2];
    int rc = oriel_nic_map_parse(text, &map, why, sizeof why);
    if (rc) {
        explain(out, "ORIEL_NIC_MAP is not understood %s", why);
        return rc;
    }
    prune(node, place, &map);
    bool has_cpus = oriel_cpus_count(&place->cpus) > 0;
    if (map.n == 0 || (has_cpus && !oriel_nic_map_covers(&map, &place->cpus))) {
        oriel_log_once(&once, ORIEL_LOG_WARN,
                       "ORIEL_NIC_MAP is of no use here: %s; the NIC is chosen without "
                       "it ('oriel nics --env' makes a map on each kind of node)",
                       map.n == 0 ? "this node has none of its NICs up"
                                  : "it has none of the CPUs of this process");
        rc = -ENOENT;
    } else {
        char how[ORIEL_NIC_REASON_BYTES / 2];
        take_entry(node, &map, oriel_nic_map_pick(&map, place, how, sizeof how), out);
        explain(out, "by ORIEL_NIC_MAP: %s", how);
    }
    oriel_nic_map_fini(&map);
    return rc;
}

static int take_nearest(const struct oriel_node *node,
                        const struct oriel_nic_place *place,
                        struct oriel_nic_choice *out)
{
    struct oriel_nic_map map;
    int rc = oriel_nic_map_of(node, place, &map);
    if (rc) return rc;
    if (map.n == 0) {
        explain(out,
                "no network interface with a device that is up; the fabric library "
                "chooses");
    } else {
        char how[ORIEL_NIC_REASON_BYTES / 2];
        take_entry(node, &map, oriel_nic_map_pick(&map, place, how, sizeof how), out);
        explain(out, "%s%s", how, node->used_hwloc ? "; places by hwloc" : "");
    }
    oriel_nic_map_fini(&map);
    return 0;
}

int oriel_nic_choose_on(const struct oriel_node *node,
                        const struct oriel_config *config,
                        const struct oriel_nic_place *place,
                        struct oriel_nic_choice *out)
{
    struct oriel_nic_choice choice;
    memset(&choice, 0, sizeof choice);
    choice.kind = ORIEL_NIC_VIRTUAL;
    int rc = -ENOENT;
    if (oriel_nic_names_gpu(config->nic))
        rc = oriel_nic_choose_by_gpu(node, config->nic, place, &choice);
    else if (config->nic[0])
        rc = take_forced(node, config->nic, place, &choice);
    else if (config->nic_map[0])
        rc = take_mapped(node, config->nic_map, place, &choice);
    if (rc == -ENOENT) rc = take_nearest(node, place, &choice);
    if (rc == 0)
        *out = choice;
    else
        strcpy(out->reason, choice.reason);
    return rc;
}

int oriel_nic_choose(const struct oriel_config *config,
                     const struct oriel_nic_place *place, struct oriel_nic_choice *out)
{
    static int once;
    struct oriel_nic_place own;
    struct oriel_node *node;
    if (!place) {
        oriel_nic_place_own(&own);
        place = &own;
    }
    int rc = oriel_node_read(config->sysfs, &node);
    if (rc) {
        explain(out, "no memory for the topology");
        return rc;
    }
    rc = oriel_nic_choose_on(node, config, place, out);
    if (rc == 0)
        oriel_log_once(&once, ORIEL_LOG_INFO, "NIC %s: %s",
                       out->name[0] ? out->name : "not chosen", out->reason);
    oriel_node_destroy(node);
    return rc;
}
