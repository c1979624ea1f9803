/*
 * nic_node.h - the NICs, GPUs and CPUs of a node, as sysfs shows them, and how far they
 * are from each other.
 */
#ifndef ORIEL_NIC_NODE_H
#define ORIEL_NIC_NODE_H

#include "core/cpus.h"
#include "core/nic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORIEL_PCI_BYTES = 16, ORIEL_DEVICE_PATH_BYTES = 512, ORIEL_NUMA_MAX = 256 };

/* Where a device sits. */
struct oriel_locality {
    char path[ORIEL_DEVICE_PATH_BYTES]; /* in sysfs: "devices/pci0000:00/..."; or "" */
    char pci[ORIEL_PCI_BYTES];          /* "0000:c1:00.0", or "" */
    int numa;                           /* -1 not known */
    bool is_known;                      /* cpus tell the near ones from the others */
    struct oriel_cpus cpus;             /* that are local to it */
};

struct oriel_nic {
    char interface[ORIEL_NIC_NAME_BYTES]; /* "" none */
    char device[ORIEL_NIC_NAME_BYTES];    /* "" none */
    enum oriel_nic_kind kind;
    uint64_t speed_mbps; /* 0 not known */
    bool is_interface_up, is_device_up;
    bool is_enslaved; /* part of a bond or bridge: the IP stack has that instead */
    struct oriel_locality at;
};

struct oriel_gpu {
    struct oriel_locality at; /* in the order of their PCI addresses */
};

/* CPUs that share something. */
struct oriel_cpu_group {
    int id; /* of a NUMA node */
    struct oriel_cpus cpus;
};
struct oriel_cpu_groups {
    struct oriel_cpu_group *items; /* owned */
    size_t n;
};

struct oriel_node {
    struct oriel_cpus cpus; /* online; empty: not known */
    struct oriel_cpu_groups numa, packages, l3;
    unsigned char (*distance)[ORIEL_NUMA_MAX]; /* owned, by NUMA ids; 0 not known */
    struct oriel_nic *nics;                    /* owned */
    size_t nics_count;
    struct oriel_gpu *gpus; /* owned */
    size_t gpus_count;
    bool used_hwloc; /* for localities that sysfs lacks */
};

/* Read the tree under sysfs. What is missing or broken there is not known, no error.
 * Returns 0; -ENOMEM. */
int oriel_node_read(const char *sysfs, struct oriel_node **out);
void oriel_node_destroy(struct oriel_node *node);

/* The interface's name, or else the device's. */
const char *oriel_nic_name(const struct oriel_nic *nic);
const char *oriel_nic_kind_name(enum oriel_nic_kind kind);
/* The NIC whose interface or device has this name, or NULL. */
const struct oriel_nic *oriel_node_find_nic(const struct oriel_node *node,
                                            const char *name);

/* Smaller is nearer: 0 local; a common L3; by the distance of NUMA nodes; the same
 * package; anything. All are equal for a device whose locality is not known. */
unsigned oriel_node_distance(const struct oriel_node *node,
                             const struct oriel_locality *at, long cpu);

/* Between two devices: by the bridges that they share, then by NUMA nodes. */
unsigned oriel_node_device_distance(const struct oriel_node *node,
                                    const struct oriel_locality *a,
                                    const struct oriel_locality *b);

/* The parts of read, each in its file; they return 0 or -ENOMEM. */
int oriel_node_read_cpus(struct oriel_node *node, const char *sysfs);
int oriel_node_read_nics(struct oriel_node *node, const char *sysfs);
int oriel_node_read_gpus(struct oriel_node *node, const char *sysfs);
void oriel_node_locate(const struct oriel_node *node, const char *sysfs,
                       const char *device, struct oriel_locality *out);
/* Ask hwloc for what is not known of localities, and for NICs where there are none.
 * Does nothing where the library is not there. */
int oriel_node_ask_hwloc(struct oriel_node *node, const char *sysfs);

/* One more element, zeroed; NULL without memory. */
struct oriel_nic *oriel_node_add_nic(struct oriel_node *node);

#endif
