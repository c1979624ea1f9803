/*
 * cpus.c - sets of CPU numbers.
 */
#define _GNU_SOURCE 1

#include "core/cpus.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = ORIEL_CPUS_MAX / 64 };

static bool is_cpu(long cpu)
{
    return cpu >= 0 && cpu < ORIEL_CPUS_MAX;
}

void oriel_cpus_add(struct oriel_cpus *set, long cpu)
{
    if (is_cpu(cpu)) set->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

bool oriel_cpus_has(const struct oriel_cpus *set, long cpu)
{
    return is_cpu(cpu) && (set->words[cpu / 64] >> cpu % 64 & 1);
}

void oriel_cpus_unite(struct oriel_cpus *set, const struct oriel_cpus *other)
{
    for (size_t i = 0; i < WORDS; i++)
        set->words[i] |= other->words[i];
}

void oriel_cpus_limit(struct oriel_cpus *set, const struct oriel_cpus *other)
{
    for (size_t i = 0; i < WORDS; i++)
        set->words[i] &= other->words[i];
}

size_t oriel_cpus_common(const struct oriel_cpus *a, const struct oriel_cpus *b)
{
    size_t count = 0;
    for (size_t i = 0; i < WORDS; i++)
        count += (size_t)__builtin_popcountll(a->words[i] & b->words[i]);
    return count;
}

size_t oriel_cpus_count(const struct oriel_cpus *set)
{
    return oriel_cpus_common(set, set);
}

bool oriel_cpus_equal(const struct oriel_cpus *a, const struct oriel_cpus *b)
{
    return memcmp(a->words, b->words, sizeof a->words) == 0;
}

long oriel_cpus_next(const struct oriel_cpus *set, long from)
{
    for (long cpu = from < 0 ? 0 : from; cpu < ORIEL_CPUS_MAX; cpu++) {
        if (set->words[cpu / 64] >> cpu % 64 == 0)
            cpu |= 63; /* nothing more in this word */
        else if (oriel_cpus_has(set, cpu))
            return cpu;
    }
    return -1;
}

/* Read digits at *at and move past them. Returns 0; -EINVAL; -ERANGE. */
static int parse_number(const char **at, const char *end, long *out)
{
    const char *start = *at;
    long number = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++)
        if (number < ORIEL_CPUS_MAX) number = 10 * number + (**at - '0');
    if (*at == start) return -EINVAL;
    if (number >= ORIEL_CPUS_MAX) {
        *at = start;
        return -ERANGE;
    }
    *out = number;
    return 0;
}

/* One number or range at *at. */
static int parse_range(const char **at, const char *end, struct oriel_cpus *set)
{
    long first, last;
    int rc = parse_number(at, end, &first);
    if (rc) return rc;
    last = first;
    if (*at < end && **at == '-') {
        (*at)++;
        const char *second = *at;
        rc = parse_number(at, end, &last);
        if (rc) return rc;
        if (last < first) {
            *at = second;
            return -EINVAL;
        }
    }
    for (long cpu = first; cpu <= last; cpu++)
        oriel_cpus_add(set, cpu);
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

int oriel_cpus_parse(const char *text, size_t bytes, struct oriel_cpus *out,
                     size_t *bad_out)
{
    const char *at = text, *end = text + bytes;
    struct oriel_cpus set;
    int rc = 0;
    memset(&set, 0, sizeof set);
    while (at < end && is_blank(*at))
        at++;
    while (end > at && is_blank(end[-1]))
        end--;
    while (at < end) {
        rc = parse_range(&at, end, &set);
        if (rc || at == end) break;
        if (*at != ',' || at + 1 == end) {
            rc = -EINVAL;
            break;
        }
        at++;
    }
    if (rc) {
        if (bad_out) *bad_out = (size_t)(at - text);
        return rc;
    }
    *out = set;
    return 0;
}

size_t oriel_cpus_format(const struct oriel_cpus *set, char *out, size_t out_bytes)
{
    size_t used = 0;
    if (out_bytes > 0) out[0] = '\0';
    for (long first = oriel_cpus_next(set, 0); first >= 0;) {
        char range[32];
        long last = first;
        while (oriel_cpus_has(set, last + 1))
            last++;
        const char *comma = used ? "," : "";
        int n = last > first
                    ? snprintf(range, sizeof range, "%s%ld-%ld", comma, first, last)
                    : snprintf(range, sizeof range, "%s%ld", comma, first);
        if (used < out_bytes) snprintf(out + used, out_bytes - used, "%s", range);
        used += (size_t)n;
        first = oriel_cpus_next(set, last + 1);
    }
    return used;
}

int oriel_cpus_allowed(struct oriel_cpus *out)
{
    cpu_set_t *mask = CPU_ALLOC(ORIEL_CPUS_MAX);
    size_t bytes = CPU_ALLOC_SIZE(ORIEL_CPUS_MAX);
    if (!mask) return -ENOMEM;
    if (sched_getaffinity(0, bytes, mask)) {
        int error = errno;
        CPU_FREE(mask);
        return -error;
    }
    memset(out, 0, sizeof *out);
    for (long cpu = 0; cpu < ORIEL_CPUS_MAX; cpu++)
        if (CPU_ISSET_S((size_t)cpu, bytes, mask)) oriel_cpus_add(out, cpu);
    CPU_FREE(mask);
    return 0;
}
