/*
 * choose.h - which layer fits a command line.
 */
#ifndef ORIEL_CHOOSE_H
#define ORIEL_CHOOSE_H

#include "tools/launcher.h"

#include <stdbool.h>
#include <stddef.h>

struct oriel_choice_request {
    const char *command; /* for messages */
    const char *layer;   /* wanted by path, or NULL */
    enum oriel_mpi mpi;  /* wanted by name, or unknown */
    bool is_verbose;     /* say how it was chosen */
};

/* What the user names; else what the programs load; else what the launcher starts;
 * else the MPI whose launcher has started this process; else the only one that has a
 * layer. Warns where a preload cannot work. Returns 0; an exit code after a message. */
int oriel_choice_make(const struct oriel_choice_request *request,
                      const struct oriel_launcher *launcher, char *const argv[],
                      char *layer_out, size_t layer_bytes);

#endif
