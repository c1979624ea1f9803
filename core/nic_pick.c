/*
 * nic_pick.c - from a node's NICs to a map, and from a map to the NIC of a process.
 */
#include "core/nic_map.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Is the word in the list that commas separate? */
static bool is_listed(const char *list, const char *word)
{
    size_t bytes = strlen(word);
    for (const char *at = list; *at != '\0';) {
        size_t n = strcspn(at, ",");
        if (n == bytes && memcmp(at, word, n) == 0) return true;
        at += n + (at[n] == ',');
    }
    return false;
}

bool oriel_nic_is_usable(const struct oriel_nic *nic,
                         const struct oriel_nic_place *place)
{
    bool has_interface = nic->interface[0] && nic->is_interface_up && !nic->is_enslaved;
    bool has_device = nic->device[0] && nic->is_device_up;
    if (nic->kind == ORIEL_NIC_CXI && nic->device[0] && place->devices &&
        !is_listed(place->devices, nic->device))
        return false;
    switch (place->use) {
    case ORIEL_NIC_USE_INTERFACE:
        return has_interface;
    case ORIEL_NIC_USE_DEVICE:
        return has_device;
    case ORIEL_NIC_USE_ANY:
        break;
    }
    return has_interface || has_device;
}

/* The usable NICs of the best kind, without those slower than half of the fastest: a
 * management port is no place to read through beside a fast one. Virtual ones only
 * where there is nothing else, and then the first: they may well lead nowhere. */
static size_t find_candidates(const struct oriel_node *node,
                              const struct oriel_nic_place *place,
                              const struct oriel_nic **out)
{
    size_t n = 0;
    uint64_t fastest = 0;
    enum oriel_nic_kind best = ORIEL_NIC_VIRTUAL;
    for (size_t i = 0; i < node->nics_count; i++) {
        const struct oriel_nic *nic = &node->nics[i];
        if (!oriel_nic_is_usable(nic, place) || nic->kind > best) continue;
        if (nic->kind < best) fastest = 0;
        best = nic->kind;
        if (nic->speed_mbps > fastest) fastest = nic->speed_mbps;
    }
    for (size_t i = 0; i < node->nics_count; i++) {
        const struct oriel_nic *nic = &node->nics[i];
        bool is_slow = nic->speed_mbps > 0 && nic->speed_mbps < fastest / 2;
        if (!oriel_nic_is_usable(nic, place) || nic->kind != best) continue;
        if (best == ORIEL_NIC_VIRTUAL && (n > 0 || strcmp(nic->interface, "lo") == 0))
            continue;
        if (!is_slow || best == ORIEL_NIC_VIRTUAL) out[n++] = nic;
    }
    return n;
}

/* All CPUs that somebody speaks of: those of the process may be missing from a list of
 * those online that is not right. */
static void collect_cpus(const struct oriel_node *node,
                         const struct oriel_nic_place *place,
                         const struct oriel_nic *const *nics, size_t n,
                         struct oriel_cpus *out)
{
    *out = node->cpus;
    oriel_cpus_unite(out, &place->cpus);
    if (oriel_cpus_count(&node->cpus) > 0) return;
    for (size_t i = 0; i < n; i++)
        oriel_cpus_unite(out, &nics[i]->at.cpus);
}

/* Give each CPU to the nearest NICs. */
static void share_out(const struct oriel_node *node, const struct oriel_cpus *cpus,
                      const struct oriel_nic *const *nics, struct oriel_nic_map *map)
{
    for (long cpu = oriel_cpus_next(cpus, 0); cpu >= 0;
         cpu = oriel_cpus_next(cpus, cpu + 1)) {
        unsigned least = (unsigned)-1;
        for (size_t i = 0; i < map->n; i++) {
            unsigned distance = oriel_node_distance(node, &nics[i]->at, cpu);
            if (distance < least) least = distance;
        }
        for (size_t i = 0; i < map->n; i++)
            if (oriel_node_distance(node, &nics[i]->at, cpu) == least)
                oriel_cpus_add(&map->items[i].cpus, cpu);
    }
}

int oriel_nic_map_of(const struct oriel_node *node, const struct oriel_nic_place *place,
                     struct oriel_nic_map *out)
{
    struct oriel_nic_map map = {.is_local = false};
    const struct oriel_nic **nics = calloc(node->nics_count + 1, sizeof(void *));
    if (!nics) return -ENOMEM;
    map.n = find_candidates(node, place, nics);
    map.items = calloc(map.n + 1, sizeof *map.items);
    if (!map.items) {
        free(nics);
        return -ENOMEM;
    }
    struct oriel_cpus cpus;
    collect_cpus(node, place, nics, map.n, &cpus);
    for (size_t i = 0; i < map.n; i++) {
        strcpy(map.items[i].name, oriel_nic_name(nics[i]));
        map.is_local = map.is_local || nics[i]->at.is_known;
    }
    share_out(node, &cpus, nics, &map);
    free(nics);
    *out = map;
    return 0;
}

static size_t common_divisor(size_t a, size_t b)
{
    while (b > 0) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Which of `near` equal NICs a local rank takes, on a node with `all` of them. So the
 * node has all/near groups of CPUs, and a launcher deals ranks out to them in turn or
 * in blocks; the rank does not know which. By rank modulo near, dealing in turn would
 * leave NICs unused: of two groups with two NICs each, ranks 0, 2, 4, 6 are in the
 * first, all even. Moving on by one after each round of both makes either way even. */
static size_t spread(size_t rank, size_t near, size_t all)
{
    size_t groups = (all + near - 1) / near;
    if (groups == 1) return rank % near;
    size_t round = groups / common_divisor(groups, near) * near;
    return (rank + rank / round) % near;
}

/* The most CPUs that an entry has in common with these. */
static size_t most_common(const struct oriel_nic_map *map,
                          const struct oriel_cpus *cpus)
{
    size_t most = 0;
    for (size_t i = 0; i < map->n; i++) {
        size_t common = oriel_cpus_common(&map->items[i].cpus, cpus);
        if (common > most) most = common;
    }
    return most;
}

bool oriel_nic_map_covers(const struct oriel_nic_map *map,
                          const struct oriel_cpus *cpus)
{
    return most_common(map, cpus) > 0;
}

/* With at least half as many of the CPUs as the one that has the most: a process that
 * was given one CPU of a neighbour is not bound across two NICs. */
static bool is_near(const struct oriel_nic_map *map, size_t i,
                    const struct oriel_cpus *cpus)
{
    return 2 * oriel_cpus_common(&map->items[i].cpus, cpus) >= most_common(map, cpus);
}

static size_t count_near(const struct oriel_nic_map *map, const struct oriel_cpus *cpus)
{
    size_t n = 0;
    for (size_t i = 0; i < map->n; i++)
        n += is_near(map, i, cpus);
    return n > 0 ? n : 1; /* one has the most, so 0 is for empty maps */
}

static size_t nth_near(const struct oriel_nic_map *map, const struct oriel_cpus *cpus,
                       size_t n)
{
    for (size_t i = 0; i < map->n; i++)
        if (is_near(map, i, cpus) && n-- == 0) return i;
    return 0;
}

__attribute__((format(printf, 4, 5))) static void
say(char *reason, size_t bytes, const struct oriel_cpus *cpus, const char *format, ...)
{
    char list[96];
    va_list arguments;
    size_t length = oriel_cpus_format(cpus, list, sizeof list);
    if (length >= sizeof list) strcpy(list + sizeof list - 4, "...");
    int n =
        snprintf(reason, bytes, "%s%s: ", length ? "CPUs " : "CPUs not known", list);
    va_start(arguments, format);
    if (n > 0 && (size_t)n < bytes)
        vsnprintf(reason + n, bytes - (size_t)n, format, arguments);
    va_end(arguments);
}

/* Without a local rank: the process stays near the CPU that it happens to be on, and
 * takes the NICs there by that CPU's number, since the kernel spreads processes too. */
static size_t pick_by_cpu(const struct oriel_nic_map *map,
                          const struct oriel_cpus *cpus, long cpu)
{
    struct oriel_cpus here;
    memset(&here, 0, sizeof here);
    oriel_cpus_add(&here, cpu);
    if (!map->is_local || cpu < 0) return nth_near(map, cpus, 0);
    if (!oriel_nic_map_covers(map, &here))
        return nth_near(map, cpus, (size_t)cpu % count_near(map, cpus));
    return nth_near(map, &here, (size_t)cpu % count_near(map, &here));
}

size_t oriel_nic_map_pick(const struct oriel_nic_map *map,
                          const struct oriel_nic_place *place, char *reason,
                          size_t reason_bytes)
{
    const struct oriel_cpus *cpus = &place->cpus;
    size_t near = count_near(map, cpus);
    const char *what = map->is_local ? "equally near" : "in unknown places";
    if (map->n == 1) {
        say(reason, reason_bytes, cpus, "the only one that can be used");
        return 0;
    }
    if (near == 1) {
        say(reason, reason_bytes, cpus, "the nearest");
        return nth_near(map, cpus, 0);
    }
    if (place->local_rank >= 0) {
        size_t rank = (size_t)place->local_rank;
        say(reason, reason_bytes, cpus, "one of %zu %s, by local rank %zu", near, what,
            rank);
        return nth_near(map, cpus, spread(rank, near, map->n));
    }
    size_t i = pick_by_cpu(map, cpus, place->cpu);
    if (map->is_local && place->cpu >= 0)
        say(reason, reason_bytes, cpus,
            "one of %zu %s, by the CPU that it is on, %d, as its local rank is not "
            "known",
            near, what, place->cpu);
    else
        say(reason, reason_bytes, cpus,
            "the first of %zu %s, as the local rank is not known", near, what);
    return i;
}
