/*
 * native.h - the MPI library below us: native.Get is PMPI_Get.
 *
 * The shared layer is not linked to libmpi: a shell under the preload must not
 * load an MPI library, and a program may have opened its own with RTLD_LOCAL.
 * So the functions are found at the first MPI call, in the library that the
 * program uses. The static layer (ORIEL_PMPI_DIRECT) refers to them by name.
 */
#ifndef ORIEL_PMPI_NATIVE_H
#define ORIEL_PMPI_NATIVE_H

#include <mpi.h>
#include <stdbool.h>

struct oriel_native {
#define ORIEL_WRAP(name, arguments, when) __typeof__(PMPI_##name) *name;
#define ORIEL_CALL(name) __typeof__(PMPI_##name) *name;
#include "pmpi/native.def"
#include "pmpi/wrappers.def"
#undef ORIEL_WRAP
#undef ORIEL_CALL
};

/* Filled by oriel_native_load. Members of functions that the library lacks are
 * NULL. */
extern struct oriel_native native;

enum oriel_native_state {
    ORIEL_NATIVE_MATCH, /* the MPI that this layer was built for */
    ORIEL_NATIVE_OTHER, /* another one: hand every call through, raw */
    ORIEL_NATIVE_NONE,  /* no PMPI_* function is to be found */
};

/* Find the library, once. found_out: what the library says it is, for
 * messages. Threads: any; the first caller does the work. */
enum oriel_native_state oriel_native_load(const char **found_out);

/* Some function; cast it to its own type before the call. */
typedef void oriel_function(void);

/* PMPI_<name>, by its whole name, in the library that was found, or NULL. */
oriel_function *oriel_native_symbol(const char *name);

#if defined(OPEN_MPI)
#define ORIEL_PMPI_NAME "Open MPI"
#else
#define ORIEL_PMPI_NAME "MPICH"
#endif

#endif
