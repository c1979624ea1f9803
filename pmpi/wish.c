#define _GNU_SOURCE
#include "core/log.h"
#include "pmpi/create.h"

#include <string.h>

static bool info_value(MPI_Info info, const char *key, char *value, int bytes)
{
    int found = 0;
    if (info == MPI_INFO_NULL) return false;
    return native.Info_get(info, key, bytes - 1, value, &found) == MPI_SUCCESS && found;
}

bool oriel_info_true(MPI_Info info, const char *key)
{
    char value[8] = "";
    return info_value(info, key, value, sizeof value) && strcmp(value, "true") == 0;
}

struct oriel_wish oriel_wish_find(MPI_Info info, uint64_t index, uint64_t bytes)
{
    struct oriel_wish wish = {0};
    char values[ORIEL_KEY_COUNT][128], message[256];
    bool found[ORIEL_KEY_COUNT], annotated = false;
    if (!oriel_layer.rules || oriel_rules_none(oriel_layer.rules)) return wish;
    for (int i = 0; i < ORIEL_KEY_COUNT; i++) {
        found[i] = info_value(info, oriel_key_names[i], values[i], sizeof values[i]);
        annotated |= found[i];
    }
    oriel_rules_apply(oriel_layer.rules, annotated, index, bytes, &wish);
    for (int i = 0; i < ORIEL_KEY_COUNT; i++) {
        if (!found[i] || oriel_wish_set(&wish, oriel_key_names[i] + strlen("oriel_"),
                                        values[i], message, sizeof message) == 0)
            continue;
        oriel_log(ORIEL_LOG_WARN, "window %llu stays native: info key oriel_%s",
                  (unsigned long long)index, message);
        return (struct oriel_wish){0};
    }
    return wish;
}

/* MPICH's alloc_shm is none of them: it asks for shared memory, which ours is
 * (ARMCI-MPI sets it). */
bool oriel_info_native_memory(MPI_Info info)
{
    static const char *const keys[] = {"alloc_shared_noncontig",
                                       "mpi_minimum_memory_alignment",
                                       "mpi_memory_alloc_kinds"};
    char value[128];
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (info_value(info, keys[i], value, sizeof value)) return true;
    return false;
}
