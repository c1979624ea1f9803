#define _GNU_SOURCE
#include "core/arena.h"
#include "core/config.h"
#include "core/err.h"
#include "core/log.h"
#include "pmpi/create.h"
#include "pmpi/guard.h"

#include <string.h>

/* Could a window on this memory be served? No window exists yet, so a rule that may
 * select any window counts. */
static bool wanted(MPI_Info info, MPI_Aint bytes)
{
    static const char *const native_keys[] = {"mpi_minimum_memory_alignment",
                                              "mpi_memory_alloc_kinds"};
    char value[8];
    int found;
    oriel_layer_prepare();
    if (!oriel_layer.rules || oriel_rules_none(oriel_layer.rules)) return false;
    for (size_t i = 0; info != MPI_INFO_NULL && i < 2; i++)
        if (native.Info_get(info, native_keys[i], sizeof value - 1, value, &found) ==
                MPI_SUCCESS &&
            found)
            return false;
    if (info != MPI_INFO_NULL &&
        native.Info_get(info, oriel_key_names[0], sizeof value - 1, value, &found) ==
            MPI_SUCCESS &&
        found)
        return strcmp(value, "false") != 0;
    return bytes > 0 && oriel_rules_reach_all(oriel_layer.rules);
}

int wrap_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    int initialized = 0;
    if (size <= 0 || !baseptr || oriel_guarded() || !oriel_config_get()->arena ||
        native.Initialized(&initialized) || !initialized || !wanted(info, size))
        return native.Alloc_mem(size, info, baseptr);
    int error = oriel_arena_alloc((size_t)size, (void **)baseptr);
    if (!error) return MPI_SUCCESS;
    static int said;
    oriel_log_once(
        &said, ORIEL_LOG_WARN,
        "no shared memory of %lld bytes for MPI_Alloc_mem: %s; it comes from "
        "the MPI library",
        (long long)size, oriel_strerror(error));
    return native.Alloc_mem(size, info, baseptr);
}

/* A window that still exposes the memory keeps it until MPI_Win_free. */
int wrap_Free_mem(void *base)
{
    if (base && oriel_arena_free(base) == 0) return MPI_SUCCESS;
    return native.Free_mem(base);
}
