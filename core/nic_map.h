/*
 * nic_map.h - which CPUs use which NIC: read from the topology, or from ORIEL_NIC_MAP.
 *
 * Written "0-7,64-71=hsn0;8-15,72-79=hsn1+hsn2": CPUs, then the NICs that are equally
 * good for them. "hsn0=0-7,64-71" is understood as well. CPUs that are named twice have
 * all the NICs that they are named with.
 */
#ifndef ORIEL_NIC_MAP_H
#define ORIEL_NIC_MAP_H

#include "core/nic_node.h"

#include <stdio.h>

struct oriel_nic_entry {
    char name[ORIEL_NIC_NAME_BYTES];
    struct oriel_cpus cpus; /* for which it is the nearest, or one of them */
};

struct oriel_nic_map {
    struct oriel_nic_entry *items; /* owned */
    size_t n;
    bool is_local; /* the CPUs tell the NICs apart */
};

/* Returns 0; -EINVAL, and why names the place and what is wrong; -ENOMEM. The caller
 * gives out to fini. */
int oriel_nic_map_parse(const char *text, struct oriel_nic_map *out, char *why,
                        size_t why_bytes);
void oriel_nic_map_fini(struct oriel_nic_map *map);

/* For each CPU of the node, and of the place, the nearest of the candidates: the usable
 * NICs of the best kind, without slow ones. No entries when there is none.
 * Returns 0; -ENOMEM. */
int oriel_nic_map_of(const struct oriel_node *node, const struct oriel_nic_place *place,
                     struct oriel_nic_map *out);

/* Print it as ORIEL_NIC_MAP takes it; nothing when it is empty. */
void oriel_nic_map_print(const struct oriel_nic_map *map, FILE *file);

/* Can the place use the NIC, as far as can be seen: it is up, it has what the engine
 * needs, and Slingshot's launcher gave it to the step? */
bool oriel_nic_is_usable(const struct oriel_nic *nic,
                         const struct oriel_nic_place *place);

/* Is one of the CPUs in it? */
bool oriel_nic_map_covers(const struct oriel_nic_map *map,
                          const struct oriel_cpus *cpus);

/* Choose an entry, and say why; the map has at least one. */
size_t oriel_nic_map_pick(const struct oriel_nic_map *map,
                          const struct oriel_nic_place *place, char *reason,
                          size_t reason_bytes);

/* As oriel_nic_choose, on a node that was read, and without a line in the log for the
 * choice. */
int oriel_nic_choose_on(const struct oriel_node *node,
                        const struct oriel_config *config,
                        const struct oriel_nic_place *place,
                        struct oriel_nic_choice *out);

/* Set its names and kind. */
void oriel_nic_choice_set(struct oriel_nic_choice *out, const struct oriel_nic *nic);

/* ORIEL_NIC=gpu, gpu:1, gpu:0000:c6:00.0: the NIC that is nearest to a GPU, by the
 * bridges that they share. Returns 0; -EINVAL; -ENODEV no such GPU; -ENOENT no NIC;
 * -ENOMEM. */
bool oriel_nic_names_gpu(const char *word);
int oriel_nic_choose_by_gpu(const struct oriel_node *node, const char *word,
                            const struct oriel_nic_place *place,
                            struct oriel_nic_choice *out);
/* Of the map's NICs, the one nearest to the GPU. The map has at least one. */
size_t oriel_nic_map_nearest(const struct oriel_nic_map *map,
                             const struct oriel_node *node, size_t gpu);

#endif
