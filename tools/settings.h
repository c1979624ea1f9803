/*
 * settings.h - ORIEL_ variables that a command gives to the ranks, as NAME=value.
 * What cannot be read is refused here, once, rather than by each rank.
 */
#ifndef ORIEL_SETTINGS_H
#define ORIEL_SETTINGS_H

#include "tools/words.h"

#include <stdbool.h>

/* Check one variable and add it; a later one replaces an earlier. Returns 0; an exit
 * code after a message. */
int oriel_settings_add(struct oriel_words *chosen, const char *command,
                       const char *variable, const char *value);
/* "NAME=VALUE", with or without "ORIEL_", in any case. Returns as add. */
int oriel_settings_add_pair(struct oriel_words *chosen, const char *command,
                            const char *pair);
/* ORIEL_STATS; a path is made absolute, since ranks may run elsewhere. */
int oriel_settings_add_stats(struct oriel_words *chosen, const char *command,
                             const char *value);
bool oriel_settings_is_stats(const char *word);

/* Add the defaults of a run: ORIEL_WINDOWS=all, and ORIEL_LOG=info when it is verbose,
 * where neither an option nor the environment says otherwise. Refuses a bad value in
 * the environment, and warns of unknown variables. Returns as add. */
int oriel_settings_complete(struct oriel_words *chosen, bool is_verbose);

/* The ORIEL_ variables of the environment that were not chosen anew. */
void oriel_settings_inherited(struct oriel_words *out,
                              const struct oriel_words *chosen);

/* What is wrong with the value of the i-th variable, in words; NULL when nothing is.
 * The caller frees it. */
char *oriel_settings_fault(size_t i, const char *value);

#endif
