/*
 * nic_map.c - the text form of a map of NICs.
 */
#include "core/nic_map.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Where the parser is, and where it puts what is wrong. */
struct parser {
    const char *text;
    char *why;
    size_t why_bytes;
};

__attribute__((format(printf, 3, 4))) static int
refuse(const struct parser *parser, const char *at, const char *format, ...)
{
    enum { SHOWN = 24 };
    char what[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    size_t rest = strcspn(at, ";");
    snprintf(parser->why, parser->why_bytes,
             "at character %zu%s%.*s%s: %s; it takes "
             "\"0-7,64-71=hsn0;8-15=hsn1\"",
             (size_t)(at - parser->text) + 1, rest ? ", '" : "",
             rest > SHOWN ? SHOWN : (int)rest, at, rest ? "'" : "", what);
    return -EINVAL;
}

static int add(struct oriel_nic_map *map, const char *name, size_t bytes,
               const struct oriel_cpus *cpus)
{
    for (size_t i = 0; i < map->n; i++) {
        if (strncmp(map->items[i].name, name, bytes) != 0 || map->items[i].name[bytes])
            continue;
        oriel_cpus_unite(&map->items[i].cpus, cpus);
        return 0;
    }
    struct oriel_nic_entry *more = realloc(map->items, (map->n + 1) * sizeof *more);
    if (!more) return -ENOMEM;
    map->items = more;
    memset(&more[map->n], 0, sizeof *more);
    memcpy(more[map->n].name, name, bytes);
    more[map->n++].cpus = *cpus;
    return 0;
}

/* Names may have dots, dashes and colons, and no character that means something here.
 */
static size_t name_bytes(const char *text, const char *end)
{
    size_t n = 0;
    while (text + n < end && text[n] > ' ' && text[n] < 0x7f &&
           !strchr("+=,;|/'\"", text[n]))
        n++;
    return n;
}

static int add_names(const struct parser *parser, struct oriel_nic_map *map,
                     const char *at, const char *end, const struct oriel_cpus *cpus)
{
    for (;; at++) {
        size_t bytes = name_bytes(at, end);
        if (bytes == 0) return refuse(parser, at, "the name of a NIC is missing");
        if (bytes >= ORIEL_NIC_NAME_BYTES)
            return refuse(parser, at, "no NIC has a name of %zu characters", bytes);
        if (at + bytes < end && at[bytes] != '+')
            return refuse(parser, at + bytes, "a NIC has no such name");
        int rc = add(map, at, bytes, cpus);
        if (rc) return rc;
        at += bytes;
        if (at == end) return 0;
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int parse_entry(const struct parser *parser, struct oriel_nic_map *map,
                       const char *at, const char *end)
{
    const char *equals = memchr(at, '=', (size_t)(end - at));
    if (!equals) return refuse(parser, at, "there is no '='");
    const char *list = at, *list_end = equals;
    const char *names = equals + 1, *names_end = end;
    if (!is_digit(*at) && names < end && is_digit(*names)) {
        list = names, list_end = names_end;
        names = at, names_end = equals;
    }
    if (list == list_end) return refuse(parser, at, "the CPUs are missing");
    struct oriel_cpus cpus;
    size_t bad = 0;
    int rc = oriel_cpus_parse(list, (size_t)(list_end - list), &cpus, &bad);
    if (rc == -ERANGE)
        return refuse(parser, list + bad, "no CPU has a number above %d",
                      ORIEL_CPUS_MAX - 1);
    if (rc) return refuse(parser, list + bad, "this is no list of CPUs");
    return add_names(parser, map, names, names_end, &cpus);
}

int oriel_nic_map_parse(const char *text, struct oriel_nic_map *out, char *why,
                        size_t why_bytes)
{
    const struct parser parser = {text, why, why_bytes};
    struct oriel_nic_map map = {.is_local = true};
    int rc = 0;
    for (const char *at = text; *at != '\0' && !rc;) {
        size_t bytes = strcspn(at, ";");
        const char *start = at, *end = at + bytes;
        while (start < end && *start == ' ')
            start++;
        while (end > start && end[-1] == ' ')
            end--;
        if (start < end) rc = parse_entry(&parser, &map, start, end);
        at += bytes + (at[bytes] == ';');
    }
    if (!rc && map.n == 0) rc = refuse(&parser, text, "the map is empty");
    if (rc) {
        oriel_nic_map_fini(&map);
        return rc;
    }
    *out = map;
    return 0;
}

void oriel_nic_map_fini(struct oriel_nic_map *map)
{
    free(map->items);
    map->items = NULL;
    map->n = 0;
}

static void print_cpus(const struct oriel_cpus *cpus, FILE *file)
{
    size_t bytes = oriel_cpus_format(cpus, NULL, 0) + 1;
    char *text = malloc(bytes);
    if (!text) return;
    oriel_cpus_format(cpus, text, bytes);
    fputs(text, file);
    free(text);
}

/* Has an entry before this one the same CPUs? Then it is printed there. */
static bool is_printed(const struct oriel_nic_map *map, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (oriel_cpus_equal(&map->items[k].cpus, &map->items[i].cpus)) return true;
    return false;
}

void oriel_nic_map_print(const struct oriel_nic_map *map, FILE *file)
{
    bool is_first = true;
    for (size_t i = 0; i < map->n; i++) {
        const struct oriel_cpus *cpus = &map->items[i].cpus;
        if (oriel_cpus_count(cpus) == 0 || is_printed(map, i)) continue;
        if (!is_first) fputc(';', file);
        is_first = false;
        print_cpus(cpus, file);
        fprintf(file, "=%s", map->items[i].name);
        for (size_t k = i + 1; k < map->n; k++)
            if (oriel_cpus_equal(&map->items[k].cpus, cpus))
                fprintf(file, "+%s", map->items[k].name);
    }
}
