/*
 * row.h - prints what was measured: a table for people, or one JSON object a line.
 */
#ifndef BENCH_ROW_H
#define BENCH_ROW_H

#include "bench/series.h"

#include <stdbool.h>
#include <stddef.h>

struct bench_row {
    const char *test;
    size_t bytes;
    const struct bench_way *ways; /* series->n of them */
    const struct bench_series *series;
};

/* A note: "# name: value" in the table, {"name": "value"} in JSON. Ends at the
 * first line end of the value. */
void bench_note_print(bool json, const char *name, const char *value);
/* As bench_note_print, for a number. */
void bench_count_print(bool json, const char *name, uint64_t value);

/* Column heads; nothing in JSON. */
void bench_row_heads(bool json, const struct bench_way *ways, unsigned n);
void bench_row_print(bool json, const struct bench_row *row);

#endif
