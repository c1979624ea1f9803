/*
 * forward.h - the command line that gives its variables to the ranks, and to them only
 * where the launcher has a way to do that.
 */
#ifndef ORIEL_FORWARD_H
#define ORIEL_FORWARD_H

#include "tools/launcher.h"
#include "tools/words.h"

#include <stddef.h>

struct oriel_forward {
    struct oriel_words command;     /* to execute */
    struct oriel_words environment; /* NAME=value, to be set for it */
};

/* What to give: NAME=value texts. */
struct oriel_forward_what {
    const char *layer;                   /* goes into LD_PRELOAD */
    const struct oriel_words *chosen;    /* not in the environment yet */
    const struct oriel_words *inherited; /* there already */
};

/* Returns 0; -ENOTSUP, and *why_out then says why the launcher cannot be told. */
int oriel_forward_build(const struct oriel_launcher *launcher, char *const argv[],
                        size_t argc, const struct oriel_forward_what *what,
                        struct oriel_forward *out, const char **why_out);
void oriel_forward_fini(struct oriel_forward *forward);

#endif
