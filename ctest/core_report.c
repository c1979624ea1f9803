/* core.report: both forms of a report say what the counters say. */
#define _GNU_SOURCE 1

#include "core/json.h"
#include "core/stats.h"

#include "check.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOWS = 30 };

static struct oriel_report_row rows[WINDOWS];
static char directory[] = "/tmp/oriel-report-XXXXXX";

static struct oriel_report make_report(size_t n)
{
    memset(rows, 0, sizeof rows);
    for (size_t i = 0; i < n; i++) {
        struct oriel_report_row *row = &rows[i];
        row->index = i;
        row->ranks = 4;
        row->bytes = 1 << 20;
        strcpy(row->kind, i % 2 ? "create" : "allocate");
        strcpy(row->access, "general");
        row->stats.path[ORIEL_PATH_mapped] = 1000 * i;
        row->stats.path[ORIEL_PATH_cma] = i;
        row->stats.native[ORIEL_NATIVE_dirty] = 2 * i;
        row->stats.bytes = 8 * 1001 * i;
        for (size_t k = 0; k < i; k++)
            oriel_hist_add(&row->stats.latency, 40 + k);
    }
    return (struct oriel_report){.mpi = "MPICH Version:\t\"4.0.2\" \\ \x01 \xff",
                                 .ranks = 4,
                                 .whole_job = 1,
                                 .n = n,
                                 .rows = rows};
}

static char *text_of(int (*write_report)(FILE *, const struct oriel_report *),
                     const struct oriel_report *report)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    REQUIRE(file, "there is memory");
    CHECK(write_report(file, report) == 0, "a report is written");
    fclose(file);
    return text;
}

/* Count in totals of the text form: "  name   1,234". */
static long long counted(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    long long value = 0;
    if (!at) return -1;
    at += strlen(name);
    at += strspn(at, " ");
    for (; (*at >= '0' && *at <= '9') || *at == ','; at++)
        if (*at != ',') value = 10 * value + (*at - '0');
    return value;
}

static void test_text(void)
{
    struct oriel_report report = make_report(3);
    char *text = text_of(oriel_report_text, &report);
    CHECK(counted(text, "\n  gets") == 3 * 1003 &&
              counted(text, "\n  redirected") == 3 * 1001 &&
              counted(text, "\n    mapped") == 3000 &&
              counted(text, "\n    cma") == 3 && counted(text, "\n  native") == 6 &&
              counted(text, "\n    dirty") == 6,
          "the sums of all windows come first:\n%s", text);
    CHECK(strstr(text, "window 1: create, general, 4 ranks, 1.0 MiB exposed") &&
              strstr(text, "window 2: allocate") && !strstr(text, "window 0:"),
          "a window with gets is shown:\n%s", text);
    CHECK(strstr(text, "1 window without gets"), "one without is counted:\n%s", text);
    CHECK(strstr(text, "not flushed yet") && strstr(text, "half within"),
          "reasons have their meaning, and latencies are told:\n%s", text);
    free(text);

    report = make_report(1);
    report.whole_job = 0;
    text = text_of(oriel_report_text, &report);
    CHECK(strstr(text, "this process only"), "a partial report says so:\n%s", text);
    free(text);

    report = make_report(0);
    text = text_of(oriel_report_text, &report);
    CHECK(strstr(text, "no window was to be served") && strstr(text, "ORIEL_WINDOWS"),
          "nothing served is explained:\n%s", text);
    free(text);

    report = make_report(WINDOWS);
    text = text_of(oriel_report_text, &report);
    CHECK(!strstr(text, "\nwindow 9:") && strstr(text, "\nwindow 10:") &&
              strstr(text, "\nwindow 29:") &&
              strstr(text, "9 more windows: 45,135 gets"),
          "of many windows the busiest are shown:\n%s", text);
    free(text);
}

static void test_shares(void)
{
    struct oriel_report report = make_report(1);
    rows[0].stats.path[ORIEL_PATH_cma] = 99999999;
    rows[0].stats.native[ORIEL_NATIVE_range] = 1;
    char *text = text_of(oriel_report_text, &report);
    CHECK(strstr(text, ">99.9 %") && strstr(text, "<0.1 %") && !strstr(text, "100 %"),
          "one native read in a hundred million is not rounded away:\n%s", text);
    CHECK(strstr(text, "99,999,999") && !strstr(text, "latency"),
          "numbers are grouped, latencies left out when none was taken:\n%s", text);
    free(text);
}

static char file_text[1 << 20];

static const char *slurp(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t got = file ? fread(file_text, 1, sizeof file_text - 1, file) : 0;
    file_text[got] = '\0';
    if (file) fclose(file);
    return file_text;
}

/* python3 is the judge of the JSON; without it only the writing is tested. */
static void check_json(const char *path, const char *sentences)
{
    char command[4096];
    if (system("python3 -c 'import json' 2>/dev/null") != 0) return;
    snprintf(command, sizeof command,
             "python3 -c 'import json,sys\n"
             "d = json.load(open(sys.argv[1])); t = d[\"totals\"]; w = d[\"windows\"]\n"
             "%s' %s",
             sentences, path);
    CHECK(system(command) == 0, "the JSON says what was counted:\n%s", slurp(path));
}

static void test_json(void)
{
    char where[200], path[100];
    snprintf(path, sizeof path, "%s/stats.json", directory);
    snprintf(where, sizeof where, "json:%s", path);
    struct oriel_report report = make_report(WINDOWS);
    CHECK(oriel_report_emit(where, &report) == 0, "JSON is written to a file");
    check_json(path,
               "assert t[\"gets\"] == t[\"redirected\"] + t[\"native\"] == 435 * 1003\n"
               "assert t[\"bytes\"] == 435 * 8008 and len(w) == 30\n"
               "for x in w:\n"
               "    assert x[\"redirected\"] == sum(x[\"engines\"].values())\n"
               "    assert x[\"gets\"] - x[\"redirected\"] == "
               "sum(x[\"native\"].values())\n"
               "assert w[7][\"engines\"] == {\"mapped\": 7000, \"cma\": 7}\n"
               "assert w[7][\"native\"] == {\"dirty\": 14} and w[7][\"index\"] == 7\n"
               "late = w[9][\"latency_ns\"]\n"
               "assert late[\"samples\"] == 9 and 40 <= late[\"p50\"] <= 55\n"
               "assert w[0][\"latency_ns\"][\"p999\"] is None\n"
               "assert d[\"ranks\"] == 4 and d[\"whole_job\"] and d[\"version\"]\n"
               "start = \"MPICH Version:\\t\\\"4.0.2\\\" \\\\\"\n"
               "assert d[\"mpi\"].startswith(start)\n");

    report = make_report(0);
    report.mpi = NULL;
    CHECK(oriel_report_emit(where, &report) == 0, "an empty report is written");
    check_json(path, "assert t[\"gets\"] == 0 and w == [] and d[\"mpi\"] is None\n");
    unlink(path);
}

static void test_emit(void)
{
    struct oriel_report report = make_report(2);
    char where[200], path[100];
    snprintf(path, sizeof path, "%s/stats.txt", directory);
    snprintf(where, sizeof where, "text:%s", path);
    CHECK(oriel_report_emit(where, &report) == 0 && strstr(slurp(path), "window 1:"),
          "text is written to a file");
    CHECK(oriel_report_emit(where, &report) == 0 &&
              strstr(slurp(path), "oriel ") == file_text,
          "and replaces what was there");
    unlink(path);
    CHECK(oriel_report_emit("xml", &report) == -EINVAL, "xml is no form");
    CHECK(oriel_report_emit("json:", &report) == -EINVAL, "a file needs a name");
    snprintf(where, sizeof where, "json:%s/no/such", directory);
    CHECK(oriel_report_emit(where, &report) == -ENOENT, "a bad path is an error");
    CHECK(oriel_report_emit("json:/dev/full", &report) == -ENOSPC, "so is a full disk");
}

static void test_json_writer(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    REQUIRE(file, "there is memory");
    struct oriel_json json;
    oriel_json_begin(&json, file);
    oriel_json_array(&json, NULL);
    oriel_json_text(&json, NULL, "caf\xc3\xa9 \xed\xa0\x80\xc0\xaf \x7f\n");
    oriel_json_object(&json, NULL);
    oriel_json_end(&json);
    oriel_json_flag(&json, NULL, false);
    oriel_json_end(&json);
    fclose(file);
    CHECK(strcmp(text, "[\n  \"caf\xc3\xa9 \\ufffd\\ufffd\\ufffd\\ufffd\\ufffd "
                       "\\u007f\\u000a\",\n  {},\n  false\n]\n") == 0,
          "what is no UTF-8 is replaced, controls are escaped:\n%s", text);
    free(text);
}

int main(void)
{
    REQUIRE(mkdtemp(directory), "there is a directory for the files");
    test_text();
    test_shares();
    test_json();
    test_emit();
    test_json_writer();
    rmdir(directory);
    return check_done();
}
