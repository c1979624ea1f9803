/*
 * nic_node.c - the devices of a node: where they are, and which are GPUs.
 */
#define _GNU_SOURCE 1

#include "core/nic_node.h"
#include "core/sysfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* "0000:c1:00.0"; a domain may have more digits. */
static bool is_pci_address(const char *text, size_t bytes)
{
    static const char shape[] = "h:hh:hh.h"; /* from the last digit of the domain on */
    size_t tail = sizeof shape - 1;
    if (bytes < tail + 3 || bytes >= ORIEL_PCI_BYTES) return false;
    for (size_t i = 0; i < bytes; i++) {
        char want = i < bytes - tail ? 'h' : shape[i - (bytes - tail)];
        if (want == 'h' ? !is_hex(text[i]) : text[i] != want) return false;
    }
    return true;
}

/* The CPUs of a NUMA node; false when it has none or is not there. */
static bool numa_cpus(const struct oriel_node *node, int numa, struct oriel_cpus *out)
{
    for (size_t i = 0; i < node->numa.n; i++) {
        if (node->numa.items[i].id != numa) continue;
        *out = node->numa.items[i].cpus;
        return oriel_cpus_count(out) > 0;
    }
    return false;
}

/* With no NUMA node the kernel calls all CPUs local, which tells nothing. */
static void read_locality(const struct oriel_node *node, const char *sysfs,
                          const char *path, struct oriel_locality *out)
{
    char file[ORIEL_DEVICE_PATH_BYTES + 16];
    long numa;
    snprintf(file, sizeof file, "%s/numa_node", path);
    if (oriel_sysfs_number(sysfs, file, &numa) == 0 && numa >= 0 &&
        numa < ORIEL_NUMA_MAX)
        out->numa = (int)numa;
    snprintf(file, sizeof file, "%s/local_cpulist", path);
    struct oriel_cpus cpus;
    bool has_list =
        oriel_sysfs_cpus(sysfs, file, &cpus) == 0 && oriel_cpus_count(&cpus) > 0;
    size_t all = oriel_cpus_count(&node->cpus);
    if (has_list && out->numa < 0 && all > 0 &&
        oriel_cpus_common(&cpus, &node->cpus) == all)
        has_list = false;
    if (has_list || numa_cpus(node, out->numa, &cpus)) {
        out->cpus = cpus;
        out->is_known = true;
    }
}

void oriel_node_locate(const struct oriel_node *node, const char *sysfs,
                       const char *device, struct oriel_locality *out)
{
    memset(out, 0, sizeof *out);
    out->numa = -1;
    if (oriel_sysfs_resolve(sysfs, device, out->path, sizeof out->path)) return;
    /* The device may hang below the PCI function: a virtio or a platform one. */
    char path[ORIEL_DEVICE_PATH_BYTES];
    strcpy(path, out->path);
    for (char *slash = path + strlen(path); slash;) {
        *slash = '\0';
        slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        if (!is_pci_address(name, strlen(name))) continue;
        strcpy(out->path, path);
        strcpy(out->pci, name);
        break;
    }
    read_locality(node, sysfs, out->path, out);
}

/* Graphics of the board's controller are no GPU: only these makers' are. */
static bool is_gpu(const char *sysfs, const char *name)
{
    enum { NVIDIA = 0x10de, AMD = 0x1002, INTEL = 0x8086 };
    char path[256], text[32];
    unsigned long class, vendor;
    snprintf(path, sizeof path, "bus/pci/devices/%s/class", name);
    if (oriel_sysfs_text(sysfs, path, text, sizeof text)) return false;
    class = strtoul(text, NULL, 16) >> 8;
    snprintf(path, sizeof path, "bus/pci/devices/%s/vendor", name);
    if (oriel_sysfs_text(sysfs, path, text, sizeof text)) return false;
    vendor = strtoul(text, NULL, 16);
    /* VGA, 3D, another display, an accelerator */
    return (class == 0x300 || class == 0x302 || class == 0x380 || class == 0x1200) &&
           (vendor == NVIDIA || vendor == AMD || vendor == INTEL);
}

int oriel_node_read_gpus(struct oriel_node *node, const char *sysfs)
{
    char **names = NULL;
    int rc = 0, n = oriel_sysfs_names(sysfs, "bus/pci/devices", &names);
    if (n < 0) return n == -ENOMEM ? n : 0;
    for (int i = 0; i < n && !rc; i++) {
        if (!is_pci_address(names[i], strlen(names[i])) || !is_gpu(sysfs, names[i]))
            continue;
        struct oriel_gpu *more =
            realloc(node->gpus, (node->gpus_count + 1) * sizeof *more);
        if (!more) {
            rc = -ENOMEM;
            break;
        }
        node->gpus = more;
        struct oriel_locality *at = &more[node->gpus_count++].at;
        char path[256];
        snprintf(path, sizeof path, "bus/pci/devices/%s", names[i]);
        oriel_node_locate(node, sysfs, path, at);
        strcpy(at->pci, names[i]);
    }
    oriel_sysfs_names_free(names, n);
    return rc;
}

struct oriel_nic *oriel_node_add_nic(struct oriel_node *node)
{
    struct oriel_nic *more = realloc(node->nics, (node->nics_count + 1) * sizeof *more);
    if (!more) return NULL;
    node->nics = more;
    struct oriel_nic *nic = &more[node->nics_count++];
    memset(nic, 0, sizeof *nic);
    nic->at.numa = -1;
    return nic;
}

int oriel_node_read(const char *sysfs, struct oriel_node **out)
{
    struct oriel_node *node = calloc(1, sizeof *node);
    if (!node) return -ENOMEM;
    node->distance = calloc(ORIEL_NUMA_MAX, sizeof *node->distance);
    int rc = node->distance ? oriel_node_read_cpus(node, sysfs) : -ENOMEM;
    if (!rc) rc = oriel_node_read_nics(node, sysfs);
    if (!rc) rc = oriel_node_read_gpus(node, sysfs);
    if (!rc) rc = oriel_node_ask_hwloc(node, sysfs);
    if (rc) {
        oriel_node_destroy(node);
        return rc;
    }
    *out = node;
    return 0;
}

void oriel_node_destroy(struct oriel_node *node)
{
    if (!node) return;
    free(node->numa.items);
    free(node->packages.items);
    free(node->l3.items);
    free(node->distance);
    free(node->nics);
    free(node->gpus);
    free(node);
}

const char *oriel_nic_name(const struct oriel_nic *nic)
{
    return nic->interface[0] ? nic->interface : nic->device;
}

const char *oriel_nic_kind_name(enum oriel_nic_kind kind)
{
    switch (kind) {
    case ORIEL_NIC_CXI:
        return "cxi";
    case ORIEL_NIC_INFINIBAND:
        return "infiniband";
    case ORIEL_NIC_ROCE:
        return "roce";
    case ORIEL_NIC_ETHERNET:
        return "ethernet";
    case ORIEL_NIC_VIRTUAL:
        return "virtual";
    }
    return "unknown";
}

const struct oriel_nic *oriel_node_find_nic(const struct oriel_node *node,
                                            const char *name)
{
    for (size_t i = 0; i < node->nics_count && name[0] != '\0'; i++)
        if (strcmp(node->nics[i].interface, name) == 0 ||
            strcmp(node->nics[i].device, name) == 0)
            return &node->nics[i];
    return NULL;
}
