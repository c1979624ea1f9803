/*
 * json.h - writes JSON that every parser takes: commas, indents and escapes.
 *
 * The key is NULL inside an array and at the top.
 */
#ifndef ORIEL_JSON_H
#define ORIEL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct oriel_json {
    FILE *file;      /* the caller's */
    unsigned depth;  /* open objects and arrays, at most 64 */
    uint64_t arrays; /* bit d: what is open at depth d is an array */
    bool comma;      /* something stands before the next value */
};

void oriel_json_begin(struct oriel_json *json, FILE *file);
void oriel_json_object(struct oriel_json *json, const char *key);
void oriel_json_array(struct oriel_json *json, const char *key);
/* Closes what was opened last; after the last one a newline follows. */
void oriel_json_end(struct oriel_json *json);

/* NULL is null; bytes that are no UTF-8 become U+FFFD. */
void oriel_json_text(struct oriel_json *json, const char *key, const char *value);
void oriel_json_count(struct oriel_json *json, const char *key, uint64_t value);
void oriel_json_flag(struct oriel_json *json, const char *key, bool value);
void oriel_json_null(struct oriel_json *json, const char *key);

#endif
