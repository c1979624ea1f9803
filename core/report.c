/*
 * report.c - where a report goes, and its JSON form; the text form is in
 * report_text.c.
 */
#define _GNU_SOURCE 1

#include "core/json.h"
#include "core/log.h"
#include "core/stats.h"
#include "core/version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_paths(struct oriel_json *json, const struct oriel_stats *stats)
{
    oriel_json_object(json, "engines");
    for (int i = 0; i < ORIEL_PATH_COUNT; i++)
        if (stats->path[i] > 0)
            oriel_json_count(json, oriel_path_names[i], stats->path[i]);
    oriel_json_end(json);
}

static void put_reasons(struct oriel_json *json, const char *key,
                        const struct oriel_stats *stats)
{
    oriel_json_object(json, key);
    for (int i = 1; i < ORIEL_REASON_COUNT; i++)
        if (stats->native[i] > 0)
            oriel_json_count(json, oriel_reason_names[i], stats->native[i]);
    oriel_json_end(json);
}

static void put_latency(struct oriel_json *json, const struct oriel_hist *hist)
{
    static const struct {
        const char *name;
        double q;
    } points[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}};
    uint64_t samples = oriel_hist_count(hist);
    oriel_json_object(json, "latency_ns");
    oriel_json_count(json, "samples", samples);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        if (samples > 0)
            oriel_json_count(json, points[i].name,
                             oriel_hist_quantile(hist, points[i].q));
        else
            oriel_json_null(json, points[i].name);
    }
    oriel_json_end(json);
}

static void put_gets(struct oriel_json *json, const struct oriel_stats *stats)
{
    uint64_t redirected = oriel_stats_redirected(stats);
    oriel_json_count(json, "gets", redirected + oriel_stats_native(stats));
    oriel_json_count(json, "redirected", redirected);
}

static void put_totals(struct oriel_json *json, const struct oriel_report *report)
{
    struct oriel_stats sum;
    memset(&sum, 0, sizeof sum);
    for (size_t i = 0; i < report->n; i++)
        oriel_stats_sum(&sum, &report->rows[i].stats);
    oriel_json_object(json, "totals");
    put_gets(json, &sum);
    oriel_json_count(json, "native", oriel_stats_native(&sum));
    oriel_json_count(json, "bytes", sum.bytes);
    put_paths(json, &sum);
    put_reasons(json, "native_by_reason", &sum);
    put_latency(json, &sum.latency);
    oriel_json_end(json);
}

static void put_window(struct oriel_json *json, const struct oriel_report_row *row)
{
    oriel_json_object(json, NULL);
    oriel_json_count(json, "index", row->index);
    oriel_json_text(json, "kind", row->kind);
    oriel_json_text(json, "access", row->access);
    oriel_json_count(json, "ranks", row->ranks);
    oriel_json_count(json, "exposed_bytes", row->bytes);
    put_gets(json, &row->stats);
    oriel_json_count(json, "bytes", row->stats.bytes);
    put_paths(json, &row->stats);
    put_reasons(json, "native", &row->stats);
    put_latency(json, &row->stats.latency);
    oriel_json_end(json);
}

int oriel_report_json(FILE *file, const struct oriel_report *report)
{
    struct oriel_json json;
    oriel_json_begin(&json, file);
    oriel_json_object(&json, NULL);
    oriel_json_text(&json, "version", ORIEL_VERSION);
    oriel_json_text(&json, "mpi", report->mpi);
    oriel_json_count(&json, "ranks", report->ranks);
    oriel_json_flag(&json, "whole_job", report->whole_job);
    put_totals(&json, report);
    oriel_json_array(&json, "windows");
    for (size_t i = 0; i < report->n; i++)
        put_window(&json, &report->rows[i]);
    oriel_json_end(&json);
    oriel_json_end(&json);
    return fflush(file) || ferror(file) ? -EIO : 0;
}

static int write_all(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t put = write(fd, data, bytes);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return -errno;
        if (put == 0) return -EIO;
        data += put;
        bytes -= (size_t)put;
    }
    return 0;
}

static int write_to(const char *path, const char *data, size_t bytes)
{
    if (!path) return write_all(STDERR_FILENO, data, bytes);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return -errno;
    int rc = write_all(fd, data, bytes);
    if (close(fd) && !rc) rc = -errno;
    return rc;
}

/* The whole report in memory first: on stderr it must not mix with the lines of
 * others, and a file gets it in one go. */
int oriel_report_emit(const char *where, const struct oriel_report *report)
{
    bool is_json = strncmp(where, "json", 4) == 0;
    if (!is_json && strncmp(where, "text", 4) != 0) return -EINVAL;
    if (where[4] != '\0' && (where[4] != ':' || where[5] == '\0')) return -EINVAL;
    const char *path = where[4] == ':' ? where + 5 : NULL;
    char *data = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&data, &bytes);
    int rc = memory ? 0 : -errno;
    if (memory) {
        rc = is_json ? oriel_report_json(memory, report)
                     : oriel_report_text(memory, report);
        if (fclose(memory) && !rc) rc = -ENOMEM;
    }
    if (!rc) rc = write_to(path, data, bytes);
    free(data);
    if (rc)
        oriel_log(ORIEL_LOG_ERROR, "ORIEL_STATS=%s: the counters were not written: %s",
                  where, strerror(-rc));
    return rc;
}
