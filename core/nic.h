/*
 * nic.h - which network interface a process reads through.
 *
 * By distance from the CPUs that it may use, from sysfs; where several are equally
 * near, the processes of a node are spread over them. docs/nics.md tells the user.
 */
#ifndef ORIEL_NIC_H
#define ORIEL_NIC_H

#include "core/config.h"
#include "core/cpus.h"

#include <stdbool.h>

enum { ORIEL_NIC_NAME_BYTES = 64, ORIEL_NIC_REASON_BYTES = 512 };

/* What a NIC is, the better the earlier. Only the best kind on a node is used. */
enum oriel_nic_kind {
    ORIEL_NIC_CXI,        /* HPE Slingshot */
    ORIEL_NIC_INFINIBAND, /* an RDMA device whose link is no Ethernet */
    ORIEL_NIC_ROCE,       /* an RDMA device on Ethernet */
    ORIEL_NIC_ETHERNET,   /* an interface with a device, or a bond or bridge of such */
    ORIEL_NIC_VIRTUAL,    /* lo, veth, docker0, and so on */
};

/* What the engine will use of it; the other NICs are then no candidates. */
enum oriel_nic_use {
    ORIEL_NIC_USE_ANY,
    ORIEL_NIC_USE_INTERFACE, /* addresses of the IP stack: tcp, hsn */
    ORIEL_NIC_USE_DEVICE,    /* an RDMA device: cxi, verbs */
};

/* Where a process runs. */
struct oriel_nic_place {
    struct oriel_cpus cpus; /* that it may use; none: not known */
    int cpu;                /* that it runs on now, -1 not known */
    int local_rank;         /* among the job's processes on this node, -1 not known */
    int local_size;         /* how many they are, -1 not known */
    int gpu;                /* index of the first GPU that it sees, -1 not known */
    const char *devices;    /* the step's Slingshot devices "cxi0,cxi1"; NULL: all */
    enum oriel_nic_use use;
};

struct oriel_nic_choice {
    char name[ORIEL_NIC_NAME_BYTES];      /* the interface, else the device, else "" */
    char interface[ORIEL_NIC_NAME_BYTES]; /* "hsn0", or "" */
    char device[ORIEL_NIC_NAME_BYTES];    /* "cxi0", "mlx5_0", or "" */
    char reason[ORIEL_NIC_REASON_BYTES];  /* in words */
    enum oriel_nic_kind kind;
};

/* The calling thread's place: its CPUs, and the launcher's variables. */
void oriel_nic_place_own(struct oriel_nic_place *out);

/* Choose, by config->nic, config->nic_map or config->sysfs, in that order.
 *
 *   place   NULL: the calling thread's own
 *   out     on failure only reason is set, with the cause and the cure
 * Returns 0, also where no NIC was found: name is then empty; -EINVAL nic or nic_map
 *         is not understood; -ENODEV nic names none that is here; -ENOMEM
 * Logs    the choice, once, at level info; a map that could not be used as a warning;
 *         failures are the caller's to log
 * Threads any
 * Source  docs/nics.md
 */
int oriel_nic_choose(const struct oriel_config *config,
                     const struct oriel_nic_place *place, struct oriel_nic_choice *out);

#endif
