/*
 * layers.h - where the libraries that are preloaded lie.
 */
#ifndef ORIEL_LAYERS_H
#define ORIEL_LAYERS_H

#include "tools/program.h"

#include <stdbool.h>
#include <stddef.h>

/* The layer for one MPI. Looks beside this command, then where Oriel was to be
 * installed. Returns false when there is none. */
bool oriel_layers_find(enum oriel_mpi mpi, char *out, size_t out_bytes);

/* The only MPI that has a layer here, or unknown. */
enum oriel_mpi oriel_layers_only(void);

/* The folders that are looked through, best first; NULL after the last. */
const char *oriel_layers_folder(size_t i);

/* "a:b" with the layer put first, but behind sanitizers' runtimes, which insist on
 * being first. old may be NULL. Once is enough: a layer that is there stays where it
 * is. The caller frees it. */
char *oriel_layers_preload(const char *layer, const char *old);

#endif
