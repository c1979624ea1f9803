/*
 * cpus.h - sets of CPU numbers, and the kernel's way to write them: "0-7,64-71".
 */
#ifndef ORIEL_CPUS_H
#define ORIEL_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORIEL_CPUS_MAX = 8192 }; /* the largest that Linux can be built for */

struct oriel_cpus {
    uint64_t words[ORIEL_CPUS_MAX / 64];
};

/* Numbers out of range are not in any set. */
void oriel_cpus_add(struct oriel_cpus *set, long cpu);
bool oriel_cpus_has(const struct oriel_cpus *set, long cpu);
void oriel_cpus_unite(struct oriel_cpus *set, const struct oriel_cpus *other);
void oriel_cpus_limit(struct oriel_cpus *set, const struct oriel_cpus *other);

size_t oriel_cpus_count(const struct oriel_cpus *set);
size_t oriel_cpus_common(const struct oriel_cpus *a, const struct oriel_cpus *b);
bool oriel_cpus_equal(const struct oriel_cpus *a, const struct oriel_cpus *b);

/* The least CPU in the set from this one on, or -1. */
long oriel_cpus_next(const struct oriel_cpus *set, long from);

/* Parse numbers and ranges, separated by commas; blanks at the ends do not count, and
 * no numbers at all are the empty set.
 *
 *   bytes   of the text that are read
 *   bad_out where the text is not understood, from its start; NULL: not asked
 * Returns 0; -EINVAL not a list; -ERANGE a CPU number of ORIEL_CPUS_MAX or more
 */
int oriel_cpus_parse(const char *text, size_t bytes, struct oriel_cpus *out,
                     size_t *bad_out);

/* Write the list, cut to fit as snprintf does; returns its whole length. */
size_t oriel_cpus_format(const struct oriel_cpus *set, char *out, size_t out_bytes);

/* The CPUs that the calling thread may run on. Returns 0; -errno. */
int oriel_cpus_allowed(struct oriel_cpus *out);

#endif
