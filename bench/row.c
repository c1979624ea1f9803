/*
 * row.c - the table and the JSON lines.
 */
#include "bench/row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_escaped(const char *text)
{
    putchar('"');
    for (; *text && *text != '\n'; ++text) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", (unsigned)c);
        else
            putchar(c);
    }
    putchar('"');
}

void bench_note_print(bool json, const char *name, const char *value)
{
    if (json) {
        printf("{\"%s\": ", name);
        print_escaped(value);
        printf("}\n");
    } else {
        printf("# %s: %.*s\n", name, (int)strcspn(value, "\n"), value);
    }
    fflush(stdout);
}

void bench_count_print(bool json, const char *name, uint64_t value)
{
    printf(json ? "{\"%s\": %" PRIu64 "}\n" : "# %s: %" PRIu64 "\n", name, value);
    fflush(stdout);
}

void bench_row_heads(bool json, const struct bench_way *ways, unsigned n)
{
    if (json) return;
    printf("%-10s", "# bytes");
    for (unsigned i = 0; i < n; ++i)
        printf(" %10.10s us", ways[i].name);
    for (unsigned i = 1; i < n; ++i)
        printf("  %s/%s", ways[0].name, ways[i].name);
    printf("\n");
}

static void print_json(const struct bench_row *row)
{
    const struct bench_series *series = row->series;
    printf("{\"test\": ");
    print_escaped(row->test);
    printf(", \"bytes\": %zu, \"rounds\": %u, \"ways\": {", row->bytes, series->rounds);
    for (unsigned i = 0; i < series->n; ++i) {
        const struct bench_summary *way = &series->ways[i];
        printf("%s\"%s\": {\"median_ns\": %.2f, \"min_ns\": %.2f, \"p05_ns\": %.2f, "
               "\"p95_ns\": %.2f, \"max_ns\": %.2f, \"batch_calls\": %" PRIu64 "}",
               i ? ", " : "", row->ways[i].name, way->median_ns, way->min_ns,
               way->p05_ns, way->p95_ns, way->max_ns, series->calls[i]);
    }
    printf("}, \"ratios\": {");
    for (unsigned i = 1; i < series->n; ++i) {
        const struct bench_ratio *ratio = &series->ratios[i];
        printf("%s\"%s/%s\": {\"of_medians\": %.4f, \"paired\": %.4f, \"low\": %.4f, "
               "\"high\": %.4f}",
               i > 1 ? ", " : "", row->ways[0].name, row->ways[i].name,
               ratio->of_medians, ratio->paired, ratio->low, ratio->high);
    }
    printf("}}\n");
}

void bench_row_print(bool json, const struct bench_row *row)
{
    const struct bench_series *series = row->series;
    if (json) {
        print_json(row);
    } else {
        printf("%-10zu", row->bytes);
        for (unsigned i = 0; i < series->n; ++i)
            printf(" %13.3f", series->ways[i].median_ns / 1e3);
        for (unsigned i = 1; i < series->n; ++i)
            printf(" %*.3f",
                   (int)(strlen(row->ways[0].name) + strlen(row->ways[i].name) + 2),
                   series->ratios[i].paired);
        printf("\n");
    }
    fflush(stdout);
}
