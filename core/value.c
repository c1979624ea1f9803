/*
 * value.c - one parser for each type of variable.
 */
#include "core/value.h"

#include "core/config.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Digits only: no sign, no blanks, which strtoull would take. *end_out is the rest. */
static int parse_digits(const char *text, uint64_t *out, const char **end_out)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return -ERANGE;
    if (at == text) return -EINVAL;
    *out = value;
    *end_out = at;
    return 0;
}

static int parse_count(const char *text, uint64_t *out)
{
    uint64_t value;
    const char *end;
    int rc = parse_digits(text, &value, &end);
    if (rc) return rc;
    if (*end != '\0') return -EINVAL;
    *out = value;
    return 0;
}

int oriel_size_parse(const char *text, uint64_t *out)
{
    static const char suffixes[] = "KMGT";
    uint64_t value;
    const char *end;
    int rc = parse_digits(text, &value, &end);
    if (rc) return rc;
    if (*end != '\0') {
        int upper = *end >= 'a' && *end <= 'z' ? *end - 'a' + 'A' : *end;
        const char *suffix = strchr(suffixes, upper);
        if (!suffix || end[1] != '\0') return -EINVAL;
        unsigned shift = 10 * (unsigned)(suffix - suffixes + 1);
        if (value > UINT64_MAX >> shift) return -ERANGE;
        value <<= shift;
    }
    *out = value;
    return 0;
}

/* Digits and at most one point. strtod would follow the program's locale, and would
 * take "inf" and "0x1p3". */
static int parse_seconds(const char *text, double *out)
{
    double value = 0, scale = 1;
    bool digits = false, point = false;
    for (; *text; text++) {
        if (*text == '.' && !point) {
            point = true;
        } else if (*text >= '0' && *text <= '9') {
            digits = true;
            value = value * 10 + (*text - '0');
            scale *= point ? 10 : 1;
        } else {
            return -EINVAL;
        }
    }
    if (!digits) return -EINVAL;
    value /= scale;
    if (!isfinite(value) || value > 1e9) return -ERANGE;
    *out = value;
    return 0;
}

/* "json:PATH" in the list stands for "json:" and at least one more character. */
static bool choice_fits(const char *word, size_t word_bytes, const char *text)
{
    static const char path[] = ":PATH";
    size_t path_bytes = sizeof path - 1;
    if (word_bytes > path_bytes &&
        strncmp(word + word_bytes - path_bytes, path, path_bytes) == 0) {
        size_t head = word_bytes - path_bytes + 1;
        return strncmp(text, word, head) == 0 && text[head] != '\0';
    }
    return strlen(text) == word_bytes && strncmp(text, word, word_bytes) == 0;
}

static int parse_choice(const char *text, const char *unit, const char **out)
{
    for (const char *word = unit; *word != '\0';) {
        size_t bytes = strcspn(word, "|");
        if (choice_fits(word, bytes, text)) {
            *out = text;
            return 0;
        }
        word += bytes + (word[bytes] == '|');
    }
    return -EINVAL;
}

static int parse_flag(const char *text, bool *out)
{
    static const char *const words[] = {"0",     "1",    "off", "on",
                                        "false", "true", "no",  "yes"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *out = i % 2 == 1;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_level(const char *text, enum oriel_log_level *out)
{
    static const char *const words[] = {"error", "warn", "info", "debug"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *out = (enum oriel_log_level)i;
            return 0;
        }
    }
    return -EINVAL;
}

int oriel_value_parse(enum oriel_value_type type, const char *text, const char *unit,
                      void *out)
{
    switch (type) {
    case ORIEL_VALUE_text:
        *(const char **)out = text;
        return 0;
    case ORIEL_VALUE_choice:
        return parse_choice(text, unit, out);
    case ORIEL_VALUE_flag:
        return parse_flag(text, out);
    case ORIEL_VALUE_seconds:
        return parse_seconds(text, out);
    case ORIEL_VALUE_count:
        return parse_count(text, out);
    case ORIEL_VALUE_size:
        return oriel_size_parse(text, out);
    case ORIEL_VALUE_level:
        return parse_level(text, out);
    }
    return -EINVAL;
}

void oriel_value_expected(enum oriel_value_type type, const char *unit, char *out,
                          size_t out_bytes)
{
    switch (type) {
    case ORIEL_VALUE_text:
        snprintf(out, out_bytes, "a text: %s", unit);
        return;
    case ORIEL_VALUE_choice:
        snprintf(out, out_bytes, "one of %s", unit);
        return;
    case ORIEL_VALUE_flag:
        snprintf(out, out_bytes, "on or off (also 1/0, true/false, yes/no)");
        return;
    case ORIEL_VALUE_seconds:
        snprintf(out, out_bytes, "a number of seconds such as 60 or 0.5");
        return;
    case ORIEL_VALUE_count:
        snprintf(out, out_bytes, "a whole number%s%s, 0 or more", *unit ? " of " : "",
                 unit);
        return;
    case ORIEL_VALUE_size:
        snprintf(out, out_bytes, "a size such as 4096, 64K, 16M or 1G");
        return;
    case ORIEL_VALUE_level:
        snprintf(out, out_bytes, "one of error|warn|info|debug");
        return;
    }
}
