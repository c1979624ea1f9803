/*
 * nic_hwloc.c - asks hwloc where NICs are, when sysfs does not say.
 *
 * hwloc knows the quirks of machines, and can be given a topology that was saved
 * elsewhere (HWLOC_XMLFILE). The library is opened only when it is needed: it costs
 * milliseconds, and most nodes do without.
 */
#define _GNU_SOURCE 1

#include "core/nic_node.h"

#if ORIEL_HAVE_HWLOC
#include <dlfcn.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions that are called, by the types of the headers. */
#define CALLS(CALL)                                                                    \
    CALL(topology_init)                                                                \
    CALL(topology_set_io_types_filter)                                                 \
    CALL(topology_load)                                                                \
    CALL(topology_destroy)                                                             \
    CALL(get_nbobjs_by_depth)                                                          \
    CALL(get_obj_by_depth)                                                             \
    CALL(bitmap_next)

struct calls {
    void *library;
#define CALL(name) __typeof__(hwloc_##name) *name;
    CALLS(CALL)
#undef CALL
};

/* A function pointer does not fit a void pointer in ISO C; POSIX says that it does. */
static bool find_call(void *library, const char *name, void *out)
{
    void *found = dlsym(library, name);
    memcpy(out, &found, sizeof found);
    return found != NULL;
}

static bool open_library(struct calls *out)
{
    out->library = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    bool is_good = out->library != NULL;
#define CALL(name)                                                                     \
    is_good = is_good && find_call(out->library, "hwloc_" #name, &out->name);
    CALLS(CALL)
#undef CALL
    if (!is_good && out->library) dlclose(out->library);
    return is_good;
}

static void set_locality(const struct oriel_node *node, const struct calls *calls,
                         hwloc_obj_t device, struct oriel_locality *out)
{
    hwloc_obj_t at = device;
    while (at && !at->cpuset)
        at = at->parent;
    hwloc_obj_t pci = device->parent;
    if (!out->pci[0] && pci && pci->type == HWLOC_OBJ_PCI_DEVICE && pci->attr)
        snprintf(out->pci, sizeof out->pci, "%04x:%02x:%02x.%01x",
                 pci->attr->pcidev.domain, pci->attr->pcidev.bus, pci->attr->pcidev.dev,
                 pci->attr->pcidev.func & 0xfu);
    /* The whole machine tells nothing, unless it has but one NUMA node. */
    if (!at || (at->type == HWLOC_OBJ_MACHINE && node->numa.n != 1)) return;
    memset(&out->cpus, 0, sizeof out->cpus);
    for (int cpu = calls->bitmap_next(at->cpuset, -1); cpu >= 0 && cpu < ORIEL_CPUS_MAX;
         cpu = calls->bitmap_next(at->cpuset, cpu))
        oriel_cpus_add(&out->cpus, cpu);
    if (at->nodeset) {
        int numa = calls->bitmap_next(at->nodeset, -1);
        bool is_one = numa >= 0 && calls->bitmap_next(at->nodeset, numa) < 0;
        if (is_one && numa < ORIEL_NUMA_MAX) out->numa = numa;
    }
    out->is_known = oriel_cpus_count(&out->cpus) > 0;
}

static struct oriel_nic *find_or_add(struct oriel_node *node, hwloc_obj_t device,
                                     bool may_add)
{
    const char *name = device->name;
    bool is_interface = device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK;
    for (size_t i = 0; i < node->nics_count; i++)
        if (strcmp(node->nics[i].interface, name) == 0 ||
            strcmp(node->nics[i].device, name) == 0)
            return &node->nics[i];
    struct oriel_nic *nic = may_add ? oriel_node_add_nic(node) : NULL;
    if (!nic) return NULL;
    strcpy(is_interface ? nic->interface : nic->device, name);
    bool is_cxi = strncmp(name, "hsn", 3) == 0 || strncmp(name, "cxi", 3) == 0;
    nic->kind = is_cxi         ? ORIEL_NIC_CXI
                : is_interface ? ORIEL_NIC_ETHERNET
                               : ORIEL_NIC_INFINIBAND;
    nic->is_interface_up = is_interface;
    nic->is_device_up = !is_interface;
    return nic;
}

/* An interface and an RDMA device of one PCI function are one NIC. */
static void merge(struct oriel_node *node)
{
    for (size_t i = 0; i < node->nics_count; i++) {
        struct oriel_nic *nic = &node->nics[i];
        for (size_t k = 0; nic->interface[0] && k < node->nics_count; k++) {
            struct oriel_nic *other = &node->nics[k];
            if (other->interface[0] || nic->device[0] || !nic->at.pci[0] ||
                strcmp(other->at.pci, nic->at.pci) != 0)
                continue;
            strcpy(nic->device, other->device);
            nic->kind = other->kind;
            nic->is_device_up = true;
            memmove(other, other + 1, (node->nics_count - k - 1) * sizeof *other);
            node->nics_count--;
            if (k < i) nic = &node->nics[--i];
            k--;
        }
    }
}

static void read_devices(struct oriel_node *node, const struct calls *calls,
                         hwloc_topology_t topology, bool may_add)
{
    unsigned n =
        (unsigned)calls->get_nbobjs_by_depth(topology, HWLOC_TYPE_DEPTH_OS_DEVICE);
    for (unsigned i = 0; i < n; i++) {
        hwloc_obj_t device =
            calls->get_obj_by_depth(topology, HWLOC_TYPE_DEPTH_OS_DEVICE, i);
        if (!device || !device->name || !device->attr ||
            strlen(device->name) >= ORIEL_NIC_NAME_BYTES ||
            (device->attr->osdev.type != HWLOC_OBJ_OSDEV_NETWORK &&
             device->attr->osdev.type != HWLOC_OBJ_OSDEV_OPENFABRICS))
            continue;
        struct oriel_nic *nic = find_or_add(node, device, may_add);
        if (!nic || nic->at.is_known) continue;
        set_locality(node, calls, device, &nic->at);
        if (nic->at.is_known) node->used_hwloc = true;
    }
    if (may_add) merge(node);
}

/* Where there is but one NIC it does not matter where it is. hwloc reads the real /sys:
 * with another tree only a saved topology can fit, and only that can have NICs that
 * sysfs does not show. */
static bool is_wanted(const struct oriel_node *node, const char *sysfs, bool *may_add)
{
    size_t physical = 0, missing = 0;
    const char *saved = getenv("HWLOC_XMLFILE");
    for (size_t i = 0; i < node->nics_count; i++) {
        if (node->nics[i].kind == ORIEL_NIC_VIRTUAL) continue;
        physical++;
        missing += !node->nics[i].at.is_known;
    }
    *may_add = physical == 0;
    if (saved && *saved) return missing > 0 || physical == 0;
    return missing > 0 && physical > 1 && strcmp(sysfs, "/sys") == 0;
}

int oriel_node_ask_hwloc(struct oriel_node *node, const char *sysfs)
{
    struct calls calls;
    hwloc_topology_t topology;
    bool may_add;
    memset(&calls, 0, sizeof calls);
    if (!is_wanted(node, sysfs, &may_add) || !open_library(&calls)) return 0;
    if (calls.topology_init(&topology) == 0) {
        calls.topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
        if (calls.topology_load(topology) == 0)
            read_devices(node, &calls, topology, may_add);
        calls.topology_destroy(topology);
    }
    dlclose(calls.library);
    return 0;
}
#else
int oriel_node_ask_hwloc(struct oriel_node *node, const char *sysfs)
{
    (void)node;
    (void)sysfs;
    return 0;
}
#endif
