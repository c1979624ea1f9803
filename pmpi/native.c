#define _GNU_SOURCE
#include "pmpi/native.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct oriel_native native;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum oriel_native_state state = ORIEL_NATIVE_NONE;
static char library[160]; /* first line of what the library says it is */

#ifdef ORIEL_PMPI_DIRECT

oriel_function *oriel_native_symbol(const char *name)
{
#define ORIEL_WRAP(function, arguments, when)                                          \
    if (strcmp(name, "PMPI_" #function) == 0) return (oriel_function *)PMPI_##function;
#define ORIEL_CALL(function)                                                           \
    if (strcmp(name, "PMPI_" #function) == 0) return (oriel_function *)PMPI_##function;
#include "pmpi/native.def"
#include "pmpi/wrappers.def"
#undef ORIEL_WRAP
#undef ORIEL_CALL
    return NULL;
}

oriel_function *oriel_native_next(const char *name)
{
    (void)name;
    return NULL;
}

static bool find_library(void)
{
    return true;
}

#else

oriel_function *oriel_native_next(const char *name)
{
    oriel_function *function;
    *(void **)&function = dlsym(RTLD_NEXT, name);
    return function;
}

static bool found;
static void *handle; /* of the library that provides PMPI_*; never closed */

/* A loaded object that defines PMPI_Init itself: libmpi opened with RTLD_LOCAL. */
static int visit(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    if (!info->dlpi_name || !info->dlpi_name[0]) return 0;
    void *object = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!object) return 0;
    if (dlsym(object, "PMPI_Init")) {
        *(void **)out = object;
        return 1;
    }
    dlclose(object);
    return 0;
}

static bool find_library(void)
{
    if (dlsym(RTLD_DEFAULT, "PMPI_Init")) {
        handle = RTLD_DEFAULT;
        return found = true;
    }
    dl_iterate_phdr(visit, &handle);
    return found = handle != NULL;
}

oriel_function *oriel_native_symbol(const char *name)
{
    /* POSIX says that a function's address fits; ISO C has no cast for it. */
    oriel_function *function = NULL;
    if (found) *(void **)&function = dlsym(handle, name);
    return function;
}

void *oriel_native_object(const char *name)
{
    return dlsym(handle, name);
}

#endif

static bool matches(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING > 8192 ? MPI_MAX_LIBRARY_VERSION_STRING
                                                       : 8192] = "";
    int length = 0;
    /* The one call whose prototype is the same in every MPI. */
    int (*ask)(char *, int *) =
        (int (*)(char *, int *))oriel_native_symbol("PMPI_Get_library_version");
    if (!ask || ask(version, &length) != 0) return false;
    snprintf(library, sizeof library, "%.*s", (int)strcspn(version, "\n,"), version);
    for (char *p = library; *p; p++)
        if (*p == '\t') *p = ' ';
    return strncmp(version, ORIEL_PMPI_NAME, strlen(ORIEL_PMPI_NAME)) == 0;
}

static void load(void)
{
    if (!find_library()) return;
    if (!matches()) {
        state = ORIEL_NATIVE_OTHER;
        return;
    }
#define ORIEL_WRAP(name, arguments, when)                                              \
    native.name = (__typeof__(native.name))oriel_native_symbol("PMPI_" #name);
#define ORIEL_CALL(name)                                                               \
    native.name = (__typeof__(native.name))oriel_native_symbol("PMPI_" #name);
#include "pmpi/native.def"
#include "pmpi/wrappers.def"
#undef ORIEL_WRAP
#undef ORIEL_CALL
    state = ORIEL_NATIVE_MATCH;
}

enum oriel_native_state oriel_native_load(const char **found_out)
{
    pthread_once(&once, load);
    *found_out = library;
    return state;
}
