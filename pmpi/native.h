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
#include <stdatomic.h>
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
    ORIEL_NATIVE_NONE,  /* none with PMPI_* functions: hand through what there is */
};

/* Find the library, once. found_out: what the library says it is, for
 * messages. Threads: any; the first caller does the work. */
enum oriel_native_state oriel_native_load(const char **found_out);

/* Some function; cast it to its own type before the call. */
typedef void oriel_function(void);

/* PMPI_<name>, by its whole name, in the library that was found, or NULL. */
oriel_function *oriel_native_symbol(const char *name);

/* MPI_<name>, by its whole name, in the libraries that come after us, or NULL. */
oriel_function *oriel_native_next(const char *name);

/* Address of an object that the library exports, or NULL. */
void *oriel_native_object(const char *name);

#if defined(OPEN_MPI)
#define ORIEL_PMPI_NAME "Open MPI"
#ifndef ORIEL_PMPI_DIRECT
/* Open MPI's handles, such as MPI_COMM_WORLD, are addresses of its objects. A
 * reference by name would have the loader refuse us in a process without MPI, so each
 * is looked up where it is used, at the first use. */
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                                           \
    (__extension__({                                                                   \
        static void *_Atomic at_;                                                      \
        void *now_ = atomic_load_explicit(&at_, memory_order_relaxed);                 \
        if (!now_) {                                                                   \
            now_ = oriel_native_object(#global);                                       \
            atomic_store_explicit(&at_, now_, memory_order_relaxed);                   \
        }                                                                              \
        (type) now_;                                                                   \
    }))
#endif
#else
#define ORIEL_PMPI_NAME "MPICH"
#endif

#endif
