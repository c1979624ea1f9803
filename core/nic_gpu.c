/*
 * nic_gpu.c - the NIC that is nearest to a GPU: ORIEL_NIC=gpu.
 */
#include "core/nic_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char word_gpu[] = "gpu";
enum { WORD_BYTES = sizeof word_gpu - 1 };

bool oriel_nic_names_gpu(const char *word)
{
    return strncmp(word, word_gpu, WORD_BYTES) == 0 &&
           (word[WORD_BYTES] == '\0' || word[WORD_BYTES] == ':');
}

/* "0000:c6:00.0", or without the domain. Returns the index, or -1. */
static long find_address(const struct oriel_node *node, const char *address)
{
    for (size_t i = 0; i < node->gpus_count; i++) {
        const char *pci = node->gpus[i].at.pci;
        const char *colon = strchr(pci, ':');
        if (strcasecmp(pci, address) == 0 ||
            (colon && strcasecmp(colon + 1, address) == 0))
            return (long)i;
    }
    return -1;
}

/* Returns 0 and the index, -1 for a GPU that is not there; -EINVAL. */
static int parse_gpu(const struct oriel_node *node, const char *word,
                     const struct oriel_nic_place *place, long *out)
{
    long count = (long)node->gpus_count;
    if (word[WORD_BYTES] == '\0') {
        *out = place->gpu >= 0                       ? place->gpu
               : place->local_rank >= 0 && count > 0 ? place->local_rank % count
                                                     : 0;
        return 0;
    }
    const char *which = word + WORD_BYTES + 1;
    if (strchr(which, ':')) {
        *out = find_address(node, which);
        return 0;
    }
    char *end;
    errno = 0;
    *out = strtol(which, &end, 10);
    return errno || *which < '0' || *which > '9' || *end != '\0' ? -EINVAL : 0;
}

size_t oriel_nic_map_nearest(const struct oriel_nic_map *map,
                             const struct oriel_node *node, size_t gpu)
{
    unsigned least = (unsigned)-1;
    size_t ties = 0;
    for (int round = 0; round < 2; round++) {
        size_t skip = round && ties ? gpu % ties : 0;
        for (size_t i = 0; i < map->n; i++) {
            const struct oriel_nic *nic = oriel_node_find_nic(node, map->items[i].name);
            if (!nic) continue;
            unsigned distance =
                oriel_node_device_distance(node, &nic->at, &node->gpus[gpu].at);
            if (round && distance == least && skip-- == 0) return i;
            if (round) continue;
            ties = distance < least ? 1 : ties + (distance == least);
            if (distance < least) least = distance;
        }
    }
    return 0;
}

int oriel_nic_choose_by_gpu(const struct oriel_node *node, const char *word,
                            const struct oriel_nic_place *place,
                            struct oriel_nic_choice *out)
{
    long gpu = -1;
    if (parse_gpu(node, word, place, &gpu)) {
        snprintf(out->reason, sizeof out->reason,
                 "ORIEL_NIC=%.64s is not understood: it takes gpu, gpu:1 or "
                 "gpu:0000:c6:00.0",
                 word);
        return -EINVAL;
    }
    if (gpu < 0 || (size_t)gpu >= node->gpus_count) {
        snprintf(out->reason, sizeof out->reason,
                 "ORIEL_NIC=%.64s: there is no such GPU here, sysfs shows %zu; "
                 "'oriel nics --gpu' lists them",
                 word, node->gpus_count);
        return -ENODEV;
    }
    struct oriel_nic_map map;
    int rc = oriel_nic_map_of(node, place, &map);
    if (rc) return rc;
    if (map.n > 0) {
        size_t i = oriel_nic_map_nearest(&map, node, (size_t)gpu);
        const struct oriel_nic *nic = oriel_node_find_nic(node, map.items[i].name);
        oriel_nic_choice_set(out, nic);
        snprintf(out->reason, sizeof out->reason, "the nearest to GPU %ld at %s", gpu,
                 node->gpus[gpu].at.pci);
    }
    rc = map.n > 0 ? 0 : -ENOENT;
    oriel_nic_map_fini(&map);
    return rc;
}
