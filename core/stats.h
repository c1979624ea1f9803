/*
 * stats.h - counters of one window, and latency histograms.
 */
#ifndef ORIEL_STATS_H
#define ORIEL_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum oriel_path {
#define ORIEL_PATH(id, name, meaning) ORIEL_PATH_##id,
#define ORIEL_NATIVE(id, name, meaning)
#include "core/stats.def"
#undef ORIEL_PATH
#undef ORIEL_NATIVE
    ORIEL_PATH_COUNT
};

/* Why a read is native; ORIEL_SERVED says that it is not. */
enum oriel_reason {
    ORIEL_SERVED,
#define ORIEL_PATH(id, name, meaning)
#define ORIEL_NATIVE(id, name, meaning) ORIEL_NATIVE_##id,
#include "core/stats.def"
#undef ORIEL_PATH
#undef ORIEL_NATIVE
    ORIEL_REASON_COUNT
};

extern const char *const oriel_path_names[ORIEL_PATH_COUNT];
extern const char *const oriel_path_meanings[ORIEL_PATH_COUNT];
/* Index 0 is ORIEL_SERVED: "served". */
extern const char *const oriel_reason_names[ORIEL_REASON_COUNT];
extern const char *const oriel_reason_meanings[ORIEL_REASON_COUNT];

/* Log-linear histogram of nanoseconds: 8 buckets an octave, so a percentile is
 * right within 12.5 %. 0 ns to 2^42 ns (73 min), the last bucket takes the rest. */
enum { ORIEL_HIST_SUB = 8, ORIEL_HIST_BUCKETS = 40 * ORIEL_HIST_SUB };
struct oriel_hist {
    uint64_t bucket[ORIEL_HIST_BUCKETS];
};

/* All counters are uint64_t, so that a job's sum is one reduction over
 * sizeof(struct oriel_stats) / 8 words. */
struct oriel_stats {
    uint64_t bytes;                      /* data bytes of served reads */
    uint64_t path[ORIEL_PATH_COUNT];     /* served reads by path */
    uint64_t native[ORIEL_REASON_COUNT]; /* native reads by reason; [0] unused */
    struct oriel_hist latency;           /* sampled, of served reads */
};

/* Threads any, also at once on one histogram. */
void oriel_hist_add(struct oriel_hist *hist, uint64_t ns);
/* The largest ns of the bucket that holds the q-quantile, 0 <= q <= 1; 0 for an
 * empty histogram. */
uint64_t oriel_hist_quantile(const struct oriel_hist *hist, double q);
uint64_t oriel_hist_count(const struct oriel_hist *hist);

uint64_t oriel_stats_redirected(const struct oriel_stats *stats);
uint64_t oriel_stats_native(const struct oriel_stats *stats);
void oriel_stats_sum(struct oriel_stats *into, const struct oriel_stats *add);

/* One window of a job's report. */
struct oriel_report_row {
    uint64_t index;  /* in order of creation */
    uint64_t ranks;  /* of the window's group */
    uint64_t bytes;  /* exposed, over all ranks */
    char kind[16];   /* "create", "allocate" */
    char access[16]; /* "general", "fenced", "immutable" */
    struct oriel_stats stats;
};
struct oriel_report {
    const char *mpi; /* first line of the library's version */
    uint64_t ranks;  /* of the job, or 1 */
    int whole_job;   /* 0: counters of this process only */
    size_t n;
    const struct oriel_report_row *rows;
};
/* Write a report; the file is flushed. Returns 0; -EIO. */
int oriel_report_text(FILE *file, const struct oriel_report *report);
int oriel_report_json(FILE *file, const struct oriel_report *report);
/* As ORIEL_STATS asks for: "text" and "json" on stderr, "text:path" and "json:path" to
 * a file that is replaced as a whole. Says on stderr what failed.
 * Returns 0; -EINVAL; -errno of the file. */
int oriel_report_emit(const char *where, const struct oriel_report *report);

#endif
