/*
 * value.h - the types of ORIEL_* variables, and their syntax.
 */
#ifndef ORIEL_VALUE_H
#define ORIEL_VALUE_H

#include <stddef.h>

/* As the types in config.def. */
enum oriel_value_type {
    ORIEL_VALUE_text,
    ORIEL_VALUE_choice,
    ORIEL_VALUE_flag,
    ORIEL_VALUE_seconds,
    ORIEL_VALUE_count,
    ORIEL_VALUE_size,
    ORIEL_VALUE_level,
};

/* Parse a text that is not empty.
 *
 *   unit    of the variable; for a choice, the words that may be chosen
 *   out     an oriel_conf_<type>; a text or choice points into the text
 * Returns 0; -EINVAL; -ERANGE
 * Threads any; takes no notice of the locale
 */
int oriel_value_parse(enum oriel_value_type type, const char *text, const char *unit,
                      void *out);

/* What a variable of that type takes, in words, cut to fit. */
void oriel_value_expected(enum oriel_value_type type, const char *unit, char *out,
                          size_t out_bytes);

#endif
