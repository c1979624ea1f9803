/*
 * config.h - the ORIEL_* variables, read once.
 */
#ifndef ORIEL_CONFIG_H
#define ORIEL_CONFIG_H

#include "core/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef const char *oriel_conf_text;   /* never NULL; owned by the config */
typedef const char *oriel_conf_choice; /* never NULL; one of the listed words */
typedef bool oriel_conf_flag;
typedef double oriel_conf_seconds;
typedef uint64_t oriel_conf_count;
typedef uint64_t oriel_conf_size;
typedef enum oriel_log_level oriel_conf_level;

struct oriel_config {
#define ORIEL_CONF(field, type, value, unit, meaning) oriel_conf_##type field;
#include "core/config.def"
#undef ORIEL_CONF
    bool broken; /* a bad value was found and named: redirect nothing */
};

/* Read the environment. An empty value is as good as none. Bad values are named on
 * stderr, set broken and leave that field at its default; unknown ORIEL_* variables
 * are named in one warning, by the first rank where a launcher numbers them, with the
 * nearest known name when it is close.
 * Returns 0; -ENOMEM. Threads: none else may change the environment meanwhile. */
int oriel_config_init(struct oriel_config *out);
void oriel_config_fini(struct oriel_config *config);

/* The warning of unknown variables alone. */
void oriel_config_warn_unknown(void);

/* The process's configuration, read at the first call, which also sets the level of
 * the log; never NULL. All defaults, and broken, if memory ran out. Threads: any. */
const struct oriel_config *oriel_config_get(void);

/* One variable, for listings. */
struct oriel_config_row {
    const char *variable; /* "ORIEL_TIMEOUT_S" */
    const char *type, *value_default, *unit, *meaning;
};
size_t oriel_config_count(void);
const struct oriel_config_row *oriel_config_row(size_t i);
/* 0 when the variable takes this value, else -EINVAL or -ERANGE; and what it takes,
 * in words, cut to fit. */
int oriel_config_check(size_t i, const char *value);
void oriel_config_expected(size_t i, char *out, size_t out_bytes);

/* Parse one size such as "1M" or "4096": digits, then K, M, G or T for powers of
 * 1024 or nothing. Returns 0; -EINVAL; -ERANGE. */
int oriel_size_parse(const char *text, uint64_t *out);

#endif
