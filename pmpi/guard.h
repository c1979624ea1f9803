/*
 * guard.h - calls that the MPI library makes of its own functions are not the
 * program's: inside a guarded native call, wrappers hand through.
 */
#ifndef ORIEL_PMPI_GUARD_H
#define ORIEL_PMPI_GUARD_H

#include <stdbool.h>

extern _Thread_local int oriel_guard_depth __attribute__((tls_model("initial-exec")));

static inline bool oriel_guarded(void)
{
    return oriel_guard_depth > 0;
}

static inline void oriel_guard_enter(void)
{
    oriel_guard_depth++;
}

static inline void oriel_guard_leave(void)
{
    oriel_guard_depth--;
}

#endif
