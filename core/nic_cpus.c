/*
 * nic_cpus.c - the CPUs of a node, and what they share.
 */
#define _GNU_SOURCE 1

#include "core/nic_node.h"
#include "core/sysfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_group(struct oriel_cpu_groups *groups, int id,
                     const struct oriel_cpus *cpus)
{
    struct oriel_cpu_group *more =
        realloc(groups->items, (groups->n + 1) * sizeof *groups->items);
    if (!more) return -ENOMEM;
    groups->items = more;
    more[groups->n].id = id;
    more[groups->n++].cpus = *cpus;
    return 0;
}

/* "node12" with prefix "node" is 12; -1 when it is nothing of the kind. */
static int number_behind(const char *name, const char *prefix)
{
    size_t bytes = strlen(prefix);
    if (strncmp(name, prefix, bytes) != 0) return -1;
    char *end;
    errno = 0;
    long number = strtol(name + bytes, &end, 10);
    bool is_number = name[bytes] >= '0' && name[bytes] <= '9' && *end == '\0';
    return is_number && !errno && number < ORIEL_CPUS_MAX ? (int)number : -1;
}

/* The columns are the nodes that are online, in the order of their numbers. */
static void read_distances(struct oriel_node *node, const char *sysfs)
{
    char path[64], text[4096];
    for (size_t i = 0; i < node->numa.n; i++) {
        int row = node->numa.items[i].id;
        snprintf(path, sizeof path, "devices/system/node/node%d/distance", row);
        if (oriel_sysfs_text(sysfs, path, text, sizeof text)) continue;
        char *at = text, *end;
        for (size_t k = 0; k < node->numa.n; k++, at = end) {
            long distance = strtol(at, &end, 10);
            if (end == at || distance <= 0 || distance > 255) break;
            node->distance[row][node->numa.items[k].id] = (unsigned char)distance;
        }
    }
}

static int read_numa(struct oriel_node *node, const char *sysfs)
{
    char **names = NULL;
    int rc = 0, n = oriel_sysfs_names(sysfs, "devices/system/node", &names);
    if (n < 0) return n == -ENOMEM ? n : 0;
    for (int i = 0; i < n && !rc; i++) {
        struct oriel_cpus cpus;
        char path[64];
        int id = number_behind(names[i], "node");
        if (id < 0 || id >= ORIEL_NUMA_MAX) continue;
        /* One that cannot be read still has a column in the others' distances. */
        memset(&cpus, 0, sizeof cpus);
        snprintf(path, sizeof path, "devices/system/node/node%d/cpulist", id);
        oriel_sysfs_cpus(sysfs, path, &cpus);
        rc = add_group(&node->numa, id, &cpus);
    }
    oriel_sysfs_names_free(names, n);
    if (!rc) read_distances(node, sysfs);
    return rc;
}

static int read_online(struct oriel_node *node, const char *sysfs)
{
    char **names = NULL;
    if (oriel_sysfs_cpus(sysfs, "devices/system/cpu/online", &node->cpus) == 0)
        return 0;
    int n = oriel_sysfs_names(sysfs, "devices/system/cpu", &names);
    if (n == -ENOMEM) return n;
    for (int i = 0; i < n; i++)
        oriel_cpus_add(&node->cpus, number_behind(names[i], "cpu"));
    oriel_sysfs_names_free(names, n);
    for (size_t i = 0; oriel_cpus_count(&node->cpus) == 0 && i < node->numa.n; i++)
        oriel_cpus_unite(&node->cpus, &node->numa.items[i].cpus);
    return 0;
}

/* Returns 0 and the CPUs that share a level 3 cache with this one; -ENOENT. */
static int read_l3(const char *sysfs, long cpu, struct oriel_cpus *out)
{
    enum { INDEXES = 8 };
    for (int i = INDEXES - 1; i >= 0; i--) { /* usually the last one that is there */
        char path[96];
        long level;
        snprintf(path, sizeof path, "devices/system/cpu/cpu%ld/cache/index%d/level",
                 cpu, i);
        if (oriel_sysfs_number(sysfs, path, &level) || level != 3) continue;
        snprintf(path, sizeof path,
                 "devices/system/cpu/cpu%ld/cache/index%d/shared_cpu_list", cpu, i);
        return oriel_sysfs_cpus(sysfs, path, out);
    }
    return -ENOENT;
}

static int read_package(const char *sysfs, long cpu, struct oriel_cpus *out)
{
    char path[96];
    snprintf(path, sizeof path, "devices/system/cpu/cpu%ld/topology/package_cpus_list",
             cpu);
    if (oriel_sysfs_cpus(sysfs, path, out) == 0) return 0;
    /* The name before Linux 5.3. */
    snprintf(path, sizeof path, "devices/system/cpu/cpu%ld/topology/core_siblings_list",
             cpu);
    return oriel_sysfs_cpus(sysfs, path, out);
}

/* The list of the first CPU in a group stands for all of them: a few files instead of
 * one or two for each CPU. */
static int read_groups(const struct oriel_node *node, const char *sysfs,
                       int (*read_one)(const char *, long, struct oriel_cpus *),
                       struct oriel_cpu_groups *out)
{
    struct oriel_cpus seen, cpus;
    memset(&seen, 0, sizeof seen);
    for (long cpu = oriel_cpus_next(&node->cpus, 0); cpu >= 0;
         cpu = oriel_cpus_next(&node->cpus, cpu + 1)) {
        if (oriel_cpus_has(&seen, cpu) || read_one(sysfs, cpu, &cpus) ||
            !oriel_cpus_has(&cpus, cpu))
            continue;
        int rc = add_group(out, 0, &cpus);
        if (rc) return rc;
        oriel_cpus_unite(&seen, &cpus);
    }
    return 0;
}

int oriel_node_read_cpus(struct oriel_node *node, const char *sysfs)
{
    int rc = read_numa(node, sysfs);
    if (!rc) rc = read_online(node, sysfs);
    if (!rc) rc = read_groups(node, sysfs, read_package, &node->packages);
    if (!rc) rc = read_groups(node, sysfs, read_l3, &node->l3);
    return rc;
}

static const struct oriel_cpu_group *find_group(const struct oriel_cpu_groups *groups,
                                                long cpu)
{
    for (size_t i = 0; i < groups->n; i++)
        if (oriel_cpus_has(&groups->items[i].cpus, cpu)) return &groups->items[i];
    return NULL;
}

static bool shares_group(const struct oriel_cpu_groups *groups, long cpu,
                         const struct oriel_cpus *cpus)
{
    const struct oriel_cpu_group *group = find_group(groups, cpu);
    return group && oriel_cpus_common(&group->cpus, cpus) > 0;
}

/* The kernel's distances are 10 to 255. */
enum { DISTANCE_L3 = 1, DISTANCE_NUMA = 2, DISTANCE_PACKAGE = 300, DISTANCE_ANY = 400 };

static unsigned numa_distance(const struct oriel_node *node, int a, int b)
{
    if (a < 0 || b < 0 || a >= ORIEL_NUMA_MAX || b >= ORIEL_NUMA_MAX) return 0;
    return node->distance[a][b];
}

unsigned oriel_node_distance(const struct oriel_node *node,
                             const struct oriel_locality *at, long cpu)
{
    if (!at->is_known) return DISTANCE_ANY;
    if (oriel_cpus_has(&at->cpus, cpu)) return 0;
    if (shares_group(&node->l3, cpu, &at->cpus)) return DISTANCE_L3;
    const struct oriel_cpu_group *numa = find_group(&node->numa, cpu);
    unsigned distance = numa ? numa_distance(node, numa->id, at->numa) : 0;
    if (distance > 0) return DISTANCE_NUMA + distance;
    return shares_group(&node->packages, cpu, &at->cpus) ? DISTANCE_PACKAGE
                                                         : DISTANCE_ANY;
}

unsigned oriel_node_device_distance(const struct oriel_node *node,
                                    const struct oriel_locality *a,
                                    const struct oriel_locality *b)
{
    enum { FAR = 10000, DEEPEST = 100 };
    unsigned shared = 0;
    const char *one = a->path, *two = b->path;
    for (; *one != '\0' && *one == *two; one++, two++)
        shared += *one == '/';
    bool is_one_path = a->path[0] != '\0' && *one == *two;
    /* Two slashes are those of "devices/pci0000:00/", the root that both hang on; from
     * three on they share bridges. */
    if (is_one_path) return 0;
    if (shared > 2) return shared < DEEPEST ? DEEPEST - shared : 1;
    unsigned is_other_root = shared < 2;
    if (a->numa >= 0 && a->numa == b->numa) return DEEPEST + is_other_root;
    unsigned numa = numa_distance(node, a->numa, b->numa);
    return numa > 0 ? 2 * DEEPEST + numa : FAR + is_other_root;
}
