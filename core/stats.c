/*
 * stats.c - counters of one window, and latency histograms.
 */
#include "core/stats.h"

const char *const oriel_path_names[ORIEL_PATH_COUNT] = {
#define ORIEL_PATH(id, name, meaning) [ORIEL_PATH_##id] = name,
#define ORIEL_NATIVE(id, name, meaning)
#include "core/stats.def"
#undef ORIEL_PATH
#undef ORIEL_NATIVE
};

const char *const oriel_path_meanings[ORIEL_PATH_COUNT] = {
#define ORIEL_PATH(id, name, meaning) [ORIEL_PATH_##id] = meaning,
#define ORIEL_NATIVE(id, name, meaning)
#include "core/stats.def"
#undef ORIEL_PATH
#undef ORIEL_NATIVE
};

const char *const oriel_reason_names[ORIEL_REASON_COUNT] = {
    [ORIEL_SERVED] = "served",
#define ORIEL_PATH(id, name, meaning)
#define ORIEL_NATIVE(id, name, meaning) [ORIEL_NATIVE_##id] = name,
#include "core/stats.def"
#undef ORIEL_PATH
#undef ORIEL_NATIVE
};

const char *const oriel_reason_meanings[ORIEL_REASON_COUNT] = {
    [ORIEL_SERVED] = "read by Oriel",
#define ORIEL_PATH(id, name, meaning)
#define ORIEL_NATIVE(id, name, meaning) [ORIEL_NATIVE_##id] = meaning,
#include "core/stats.def"
#undef ORIEL_PATH
#undef ORIEL_NATIVE
};

_Static_assert(sizeof(struct oriel_stats) ==
                   8 * (1 + ORIEL_PATH_COUNT + ORIEL_REASON_COUNT + ORIEL_HIST_BUCKETS),
               "a job's sum is one reduction over words");

enum { SUB_BITS = 3 };
_Static_assert(1 << SUB_BITS == ORIEL_HIST_SUB,
               "the buckets of an octave are a power of 2");

/* Below ORIEL_HIST_SUB a bucket holds one value; above, the leading SUB_BITS + 1 bits
 * of the value choose it. */
static unsigned bucket_of(uint64_t ns)
{
    if (ns < ORIEL_HIST_SUB) return (unsigned)ns;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns) - SUB_BITS;
    unsigned bucket =
        (octave + 1) * ORIEL_HIST_SUB + (unsigned)(ns >> octave) % ORIEL_HIST_SUB;
    return bucket < ORIEL_HIST_BUCKETS ? bucket : ORIEL_HIST_BUCKETS - 1;
}

static uint64_t upper_edge(unsigned bucket)
{
    if (bucket < ORIEL_HIST_SUB) return bucket;
    unsigned octave = bucket / ORIEL_HIST_SUB - 1;
    uint64_t lead = ORIEL_HIST_SUB + bucket % ORIEL_HIST_SUB;
    return ((lead + 1) << octave) - 1;
}

void oriel_hist_add(struct oriel_hist *hist, uint64_t ns)
{
    __atomic_fetch_add(&hist->bucket[bucket_of(ns)], 1, __ATOMIC_RELAXED);
}

uint64_t oriel_hist_count(const struct oriel_hist *hist)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < ORIEL_HIST_BUCKETS; i++)
        count += hist->bucket[i];
    return count;
}

uint64_t oriel_hist_quantile(const struct oriel_hist *hist, double q)
{
    uint64_t count = oriel_hist_count(hist);
    if (count == 0) return 0;
    double exact = q * (double)count;
    uint64_t rank = exact < 1 ? 1 : (uint64_t)exact;
    if ((double)rank < exact) rank++;
    if (rank > count) rank = count;
    unsigned i = 0;
    for (uint64_t seen = hist->bucket[0]; seen < rank; seen += hist->bucket[i])
        i++;
    return upper_edge(i);
}

uint64_t oriel_stats_redirected(const struct oriel_stats *stats)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < ORIEL_PATH_COUNT; i++)
        n += stats->path[i];
    return n;
}

uint64_t oriel_stats_native(const struct oriel_stats *stats)
{
    uint64_t n = 0;
    for (unsigned i = 1; i < ORIEL_REASON_COUNT; i++)
        n += stats->native[i];
    return n;
}

void oriel_stats_sum(struct oriel_stats *into, const struct oriel_stats *add)
{
    uint64_t *to = (uint64_t *)into;
    const uint64_t *from = (const uint64_t *)add;
    for (unsigned i = 0; i < sizeof *into / sizeof *to; i++)
        to[i] += from[i];
}
