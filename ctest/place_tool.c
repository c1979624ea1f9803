/*
 * place_tool.c - a PMPI tool as others write them: counts calls and passes them on.
 *
 * Functions are wrapped as machine words (MPI's arguments are integers and pointers),
 * so that one list serves both MPIs. TOOL_LIST, given by the compiler, names the
 * functions; without it all that Oriel wraps or calls are counted, so that a call of
 * Oriel's own that took the wrong door would show. At exit "name count" lines go to
 * the file $PLACE_TOOL_OUT.<pid>.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef intptr_t word;
#define WORDS                                                                          \
    word a, word b, word c, word d, word e, word f, word g, word h, word i, word j,    \
        word k, word l, word m
#define PASSED a, b, c, d, e, f, g, h, i, j, k, l, m

#ifndef TOOL_LIST
#define MPI_VERSION 3
#define ORIEL_CALL(name) TOOL(name)
#define ORIEL_WRAP(name, arguments, when) TOOL(name)
#endif

/* Once for the functions, once for the report. */
#define TOOL(name)                                                                     \
    static unsigned long count_##name;                                                 \
    word MPI_##name(WORDS);                                                            \
    word MPI_##name(WORDS)                                                             \
    {                                                                                  \
        static word (*next)(WORDS);                                                    \
        if (!next) *(void **)&next = dlsym(RTLD_DEFAULT, "PMPI_" #name);               \
        __atomic_add_fetch(&count_##name, 1, __ATOMIC_RELAXED);                        \
        return next(PASSED);                                                           \
    }
#ifdef TOOL_LIST
TOOL_LIST
#else
#include "pmpi/native.def"
#include "pmpi/wrappers.def"
#endif
#undef TOOL

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("PLACE_TOOL_OUT");
    char name[4096];
    if (!path) return;
    snprintf(name, sizeof name, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(name, "w");
    if (!file) return;
#define TOOL(name)                                                                     \
    if (count_##name) fprintf(file, #name " %lu\n", count_##name);
#ifdef TOOL_LIST
    TOOL_LIST
#else
#include "pmpi/native.def"
#include "pmpi/wrappers.def"
#endif
    fclose(file);
}
