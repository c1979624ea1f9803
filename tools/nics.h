/*
 * nics.h - what `oriel nics` shows: the NICs of this node, and who would use which.
 */
#ifndef ORIEL_NICS_H
#define ORIEL_NICS_H

#include "core/config.h"
#include "core/nic_map.h"

#include <stdbool.h>

struct oriel_nics_request {
    bool is_allocated;             /* limit to the CPUs of this process */
    const struct oriel_cpus *cpus; /* limit to these; NULL: not given */
    long ranks;                    /* 0: not given */
};

struct oriel_nics {
    const struct oriel_config *config;
    struct oriel_node *node;        /* owned */
    struct oriel_nic_place place;   /* of this process, or as asked */
    struct oriel_nic_map map;       /* by the topology, limited as asked */
    struct oriel_nic_choice choice; /* of a process there */
    int choice_rc;
    long ranks;            /* 0 not known */
    size_t *entry_of_rank; /* owned, NULL none; which entry of the map */
};

/* Returns 0; -ENOMEM. In both cases fini releases what there is. */
int oriel_nics_read(const struct oriel_nics_request *request, struct oriel_nics *out);
void oriel_nics_fini(struct oriel_nics *nics);

/* The map's entry of a NIC, or NULL when it is no candidate. */
const struct oriel_nic_entry *oriel_nics_entry(const struct oriel_nics *nics,
                                               const struct oriel_nic *nic);
/* The ranks that would use it. */
void oriel_nics_ranks(const struct oriel_nics *nics, const struct oriel_nic *nic,
                      struct oriel_cpus *out);
/* "up", "down", "enslaved", "not-granted", "not-used" */
const char *oriel_nics_state(const struct oriel_nics *nics,
                             const struct oriel_nic *nic);
/* The NIC that is nearest to a GPU, or NULL. */
const char *oriel_nics_of_gpu(const struct oriel_nics *nics, size_t gpu);

#endif
