/*
 * report_text.c - a report for people.
 */
#include "core/stats.h"
#include "core/version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Windows with reads that are shown one by one; a program that makes hundreds gets
 * the busiest of them, and the rest as a sum. */
enum { SHOWN_MAX = 20 };

enum { WORD_BYTES = 32 };

/* 1234567 as "1,234,567". */
static const char *grouped(uint64_t value, char out[WORD_BYTES])
{
    char digits[WORD_BYTES];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *to = out;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

static const char *size_of(uint64_t bytes, char out[WORD_BYTES])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1023.95 && unit < 6) {
        value /= 1024;
        unit++;
    }
    snprintf(out, WORD_BYTES, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return out;
}

static const char *time_of(uint64_t ns, char out[WORD_BYTES])
{
    if (ns < 1000)
        snprintf(out, WORD_BYTES, "%" PRIu64 " ns", ns);
    else if (ns < 1000000)
        snprintf(out, WORD_BYTES, "%.1f us", (double)ns / 1e3);
    else if (ns < 1000000000)
        snprintf(out, WORD_BYTES, "%.1f ms", (double)ns / 1e6);
    else
        snprintf(out, WORD_BYTES, "%.1f s", (double)ns / 1e9);
    return out;
}

/* 100 only when it is all, and 0 only when it is none. */
static const char *share_of(uint64_t part, uint64_t whole, char out[WORD_BYTES])
{
    double percent = whole ? 100.0 * (double)part / (double)whole : 0;
    if (part == 0)
        snprintf(out, WORD_BYTES, "0 %%");
    else if (part == whole)
        snprintf(out, WORD_BYTES, "100 %%");
    else if (percent >= 99.95)
        snprintf(out, WORD_BYTES, ">99.9 %%");
    else if (percent < 0.05)
        snprintf(out, WORD_BYTES, "<0.1 %%");
    else
        snprintf(out, WORD_BYTES, "%.1f %%", percent);
    return out;
}

static void put_line(FILE *file, int indent, const char *name, uint64_t value,
                     const char *note)
{
    char number[WORD_BYTES];
    fprintf(file, "  %*s%-*s %14s%s%s\n", indent, "", 16 - indent, name,
            grouped(value, number), *note ? "  " : "", note);
}

static void put_latency(FILE *file, const struct oriel_hist *hist)
{
    char p50[WORD_BYTES], p90[WORD_BYTES], p99[WORD_BYTES], p999[WORD_BYTES],
        count[WORD_BYTES];
    uint64_t samples = oriel_hist_count(hist);
    if (samples == 0) return;
    fprintf(file,
            "  latency          half within %s, 90 %% %s, 99 %% %s, 99.9 %% %s"
            " (%s timed)\n",
            time_of(oriel_hist_quantile(hist, 0.5), p50),
            time_of(oriel_hist_quantile(hist, 0.9), p90),
            time_of(oriel_hist_quantile(hist, 0.99), p99),
            time_of(oriel_hist_quantile(hist, 0.999), p999), grouped(samples, count));
}

static void put_stats(FILE *file, const struct oriel_stats *stats)
{
    char note[3 * WORD_BYTES], share[WORD_BYTES], size[WORD_BYTES];
    uint64_t redirected = oriel_stats_redirected(stats);
    uint64_t native = oriel_stats_native(stats);
    put_line(file, 0, "gets", redirected + native, "");
    snprintf(note, sizeof note, "%s, %s",
             share_of(redirected, redirected + native, share),
             size_of(stats->bytes, size));
    put_line(file, 0, "redirected", redirected, note);
    for (int i = 0; i < ORIEL_PATH_COUNT; i++)
        if (stats->path[i] > 0)
            put_line(file, 2, oriel_path_names[i], stats->path[i],
                     oriel_path_meanings[i]);
    put_line(file, 0, "native", native, share_of(native, redirected + native, share));
    for (int i = 1; i < ORIEL_REASON_COUNT; i++)
        if (stats->native[i] > 0)
            put_line(file, 2, oriel_reason_names[i], stats->native[i],
                     oriel_reason_meanings[i]);
    put_latency(file, &stats->latency);
}

static uint64_t gets_of(const struct oriel_report_row *row)
{
    return oriel_stats_redirected(&row->stats) + oriel_stats_native(&row->stats);
}

static void put_window(FILE *file, const struct oriel_report_row *row)
{
    char size[WORD_BYTES];
    fprintf(file, "\nwindow %" PRIu64 ": %s, %s, %" PRIu64 " rank%s, %s exposed\n",
            row->index, row->kind, row->access, row->ranks, row->ranks == 1 ? "" : "s",
            size_of(row->bytes, size));
    put_stats(file, &row->stats);
}

static int compare_counts(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The fewest gets that a window needs to be shown; 1 when memory runs out, which
 * shows more rather than less. */
static uint64_t least_shown(const struct oriel_report *report)
{
    uint64_t least = 1;
    uint64_t *gets = report->n > SHOWN_MAX ? calloc(report->n, sizeof *gets) : NULL;
    if (!gets) return least;
    for (size_t i = 0; i < report->n; i++)
        gets[i] = gets_of(&report->rows[i]);
    qsort(gets, report->n, sizeof *gets, compare_counts);
    if (gets[SHOWN_MAX - 1] > least) least = gets[SHOWN_MAX - 1];
    free(gets);
    return least;
}

static void put_windows(FILE *file, const struct oriel_report *report)
{
    uint64_t least = least_shown(report), rest_gets = 0;
    size_t shown = 0, idle = 0, rest = 0;
    char number[WORD_BYTES];
    for (size_t i = 0; i < report->n; i++) {
        uint64_t gets = gets_of(&report->rows[i]);
        if (gets == 0) {
            idle++;
        } else if (gets >= least && shown < SHOWN_MAX) {
            put_window(file, &report->rows[i]);
            shown++;
        } else {
            rest++;
            rest_gets += gets;
        }
    }
    if (rest > 0)
        fprintf(file, "\n%zu more window%s: %s gets; ORIEL_STATS=json shows each\n",
                rest, rest == 1 ? "" : "s", grouped(rest_gets, number));
    if (idle > 0)
        fprintf(file, "\n%zu window%s without gets\n", idle, idle == 1 ? "" : "s");
}

int oriel_report_text(FILE *file, const struct oriel_report *report)
{
    fprintf(file, "oriel %s: MPI_Get and MPI_Rget of ", ORIEL_VERSION);
    if (report->whole_job)
        fprintf(file, "%" PRIu64 " rank%s", report->ranks,
                report->ranks == 1 ? "" : "s");
    else
        fprintf(file, "this process only");
    /* Open MPI goes on with its package and dates. */
    if (report->mpi)
        fprintf(file, ", %.*s", (int)strcspn(report->mpi, ",\n"), report->mpi);
    fputc('\n', file);
    if (report->n == 0) {
        fprintf(file, "  no window was to be served: none was annotated, and "
                      "ORIEL_WINDOWS picked none ('all' takes every window)\n");
    } else if (report->n > 1) {
        struct oriel_stats sum;
        memset(&sum, 0, sizeof sum);
        for (size_t i = 0; i < report->n; i++)
            oriel_stats_sum(&sum, &report->rows[i].stats);
        fprintf(file, "\nall %zu windows\n", report->n);
        put_stats(file, &sum);
    }
    put_windows(file, report);
    return fflush(file) || ferror(file) ? -EIO : 0;
}
