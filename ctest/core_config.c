/* core.config: how the ORIEL_* variables are read, and what is said of bad ones. */
#define _GNU_SOURCE 1

#include "core/config.h"
#include "core/nearest.h"

#include "check.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static char seen[1 << 16];

/* Send stderr to a file, and back; seen then has what was printed. */
static int sink, stderr_saved;

static void capture_begin(void)
{
    char name[] = "/tmp/oriel-config-XXXXXX";
    sink = mkstemp(name);
    if (sink < 0) check_skip("no temporary file in /tmp");
    unlink(name);
    stderr_saved = dup(STDERR_FILENO);
    dup2(sink, STDERR_FILENO);
}

static void capture_end(void)
{
    dup2(stderr_saved, STDERR_FILENO);
    close(stderr_saved);
    ssize_t got = pread(sink, seen, sizeof seen - 1, 0);
    seen[got < 0 ? 0 : got] = '\0';
    close(sink);
}

/* Read the configuration with these variables (name, value pairs, NULL at the end) and
 * keep what was printed in seen. */
static struct oriel_config read_with(const char *const *pairs)
{
    clearenv();
    for (; pairs[0]; pairs += 2)
        setenv(pairs[0], pairs[1], 1);
    struct oriel_config config;
    capture_begin();
    int rc = oriel_config_init(&config);
    capture_end();
    REQUIRE(rc == 0, "the environment is read (%d)", rc);
    return config;
}
#define READ(...) read_with((const char *const[]){__VA_ARGS__, NULL, NULL})

static int lines_seen(void)
{
    int n = 0;
    for (const char *at = seen; *at; at++)
        n += *at == '\n';
    return n;
}

/* Before anything else has looked at the variables. */
static void test_warn_first(void)
{
    clearenv();
    setenv("ORIEL_LOG", "info", 1);
    setenv("ORIEL_LOGS", "info", 1);
    capture_begin();
    oriel_config_warn_unknown();
    capture_end();
    CHECK(strstr(seen, "variable ORIEL_LOGS (did you mean ORIEL_LOG?);"),
          "only what is unknown is named, in capitals: %s", seen);
}

static void test_defaults(void)
{
    struct oriel_config config = READ("HOME", "/");
    CHECK(seen[0] == '\0', "an empty environment says nothing: %s", seen);
    CHECK(!config.broken, "the defaults are not broken");
    CHECK(strcmp(config.windows, "annotated") == 0, "windows is %s", config.windows);
    CHECK(config.timeout_s == 60 && config.log == ORIEL_LOG_WARN && config.arena &&
              !config.strict && config.arena_segment == (uint64_t)1 << 30 &&
              config.stats_sample == 16 && config.stats[0] == '\0',
          "the defaults are as in config.def");
    oriel_config_fini(&config);
}

static void test_values(void)
{
    struct oriel_config config =
        READ("ORIEL_WINDOWS", "all:access=fenced", "ORIEL_TIMEOUT_S", "2.5",
             "ORIEL_LOG", "Debug", "ORIEL_ARENA", "OFF", "ORIEL_STRICT", "yes",
             "ORIEL_ARENA_SEGMENT", "64k", "ORIEL_STATS_SAMPLE", "0", "ORIEL_STATS",
             "json:/x/y", "ORIEL_ENGINES", "", "ORIEL_TAKEOVER", "never");
    CHECK(seen[0] == '\0' && !config.broken, "good values say nothing: %s", seen);
    setenv("ORIEL_WINDOWS", "none", 1);
    CHECK(strcmp(config.windows, "all:access=fenced") == 0,
          "a value is kept when the environment changes: %s", config.windows);
    CHECK(config.timeout_s == 2.5 && config.log == ORIEL_LOG_DEBUG && !config.arena &&
              config.strict && config.arena_segment == 65536 &&
              config.stats_sample == 0,
          "each type is read");
    CHECK(strcmp(config.stats, "json:/x/y") == 0 &&
              strcmp(config.takeover, "never") == 0,
          "choices are read");
    CHECK(config.engines[0] == '\0', "an empty value is as good as none");
    oriel_config_fini(&config);
    oriel_config_fini(&config);
}

static void test_bad_values(void)
{
    static const char *const bad[][3] = {
        {"ORIEL_TIMEOUT_S", "12x", "number of seconds"},
        {"ORIEL_TIMEOUT_S", "-1", "number of seconds"},
        {"ORIEL_TIMEOUT_S", "inf", "number of seconds"},
        {"ORIEL_TIMEOUT_S", ".", "number of seconds"},
        {"ORIEL_TIMEOUT_S", "1.2.3", "number of seconds"},
        {"ORIEL_ARENA_SEGMENT", "64KB", "64K"},
        {"ORIEL_ARENA_SEGMENT", "K", "64K"},
        {"ORIEL_ARENA_SEGMENT", " 64", "64K"},
        {"ORIEL_ARENA_SEGMENT", "99999999999G", "out of range"},
        {"ORIEL_STATS_SAMPLE", "18446744073709551616", "out of range"},
        {"ORIEL_STATS_SAMPLE", "+1", "whole number"},
        {"ORIEL_STATS_SAMPLE", "1K", "whole number"},
        {"ORIEL_ARENA", "2", "on or off"},
        {"ORIEL_LOG", "verbose", "error|warn|info|debug"},
        {"ORIEL_STATS", "xml", "text|json|text:PATH|json:PATH"},
        {"ORIEL_STATS", "json:", "text|json|text:PATH|json:PATH"},
        {"ORIEL_STATS", "jsonx", "text|json|text:PATH|json:PATH"},
        {"ORIEL_TAKEOVER", "au", "auto|always|never"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct oriel_config config = READ(bad[i][0], bad[i][1]);
        CHECK(config.broken, "%s=%s is bad", bad[i][0], bad[i][1]);
        CHECK(strstr(seen, bad[i][0]) && strstr(seen, bad[i][1]) &&
                  strstr(seen, bad[i][2]) && strstr(seen, "nothing is redirected") &&
                  lines_seen() == 1,
              "one line names variable, value, what is accepted, and what follows: %s",
              seen);
        CHECK(config.timeout_s == 60 && config.arena && config.stats[0] == '\0',
              "a bad value leaves the default");
        oriel_config_fini(&config);
    }
    struct oriel_config config = READ("ORIEL_ARENA", "maybe", "ORIEL_LOG", "loud");
    CHECK(lines_seen() == 2, "each bad value has its line:\n%s", seen);
    oriel_config_fini(&config);
}

static void test_unknown(void)
{
    struct oriel_config config =
        READ("ORIEL_TYPO", "1", "ORIEL_WINDOW", "all", "ORIELX", "1", "ORIEL_TEST_MPIS",
             "mpich", "ORIEL_TIMEOUT", "3", "ORIEL_stats", "text", "ORIEL_Q", "");
    CHECK(!config.broken, "an unknown variable is only a warning");
    CHECK(lines_seen() == 1, "one warning for all:\n%s", seen);
    CHECK(strstr(seen, "ORIEL_TYPO,") && strstr(seen, "ORIEL_Q") &&
              !strstr(seen, "ORIELX") && !strstr(seen, "ORIEL_TEST_MPIS"),
          "every unknown variable is named: %s", seen);
    CHECK(strstr(seen, "ORIEL_WINDOW (did you mean ORIEL_WINDOWS?)") &&
              strstr(seen, "ORIEL_TIMEOUT (did you mean ORIEL_TIMEOUT_S?)") &&
              strstr(seen, "ORIEL_stats (did you mean ORIEL_STATS?)"),
          "close names are suggested: %s", seen);
    oriel_config_fini(&config);

    config = READ("ORIEL_TYPO", "1", "PMI_RANK", "1");
    CHECK(seen[0] == '\0', "only the first rank warns of unknown variables: %s", seen);
    oriel_config_fini(&config);
    config = READ("ORIEL_TYPO", "1", "PMI_RANK", "0");
    CHECK(lines_seen() == 1, "the first rank does warn: %s", seen);
    oriel_config_fini(&config);
    config = READ("ORIEL_ARENA", "maybe", "PMI_RANK", "1");
    CHECK(lines_seen() == 1, "a bad value is named by every rank: %s", seen);
    oriel_config_fini(&config);

    clearenv();
    for (int i = 0; i < 500; i++) {
        char name[64];
        snprintf(name, sizeof name, "ORIEL_%s_%d", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                 i);
        setenv(name, "1", 1);
    }
    REQUIRE(oriel_config_init(&config) == 0, "500 unknown variables are survived");
    oriel_config_fini(&config);
}

static void test_rows(void)
{
    clearenv();
    for (size_t i = 0; i < oriel_config_count(); i++) {
        const struct oriel_config_row *row = oriel_config_row(i);
        REQUIRE(row, "variable %zu has a row", i);
        CHECK(strncmp(row->variable, "ORIEL_", 6) == 0 &&
                  strspn(row->variable, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") ==
                      strlen(row->variable),
              "%s is a name of a variable", row->variable);
        CHECK(row->meaning[0] != '\0', "%s has a meaning", row->variable);
        CHECK(oriel_config_check(i, row->value_default) == 0,
              "the default of %s is good: %s", row->variable, row->value_default);
        char expected[200];
        oriel_config_expected(i, expected, sizeof expected);
        CHECK(expected[0] != '\0', "%s says what it takes", row->variable);
    }
    CHECK(!oriel_config_row(oriel_config_count()), "there is no row behind the last");
    CHECK(oriel_config_check(oriel_config_count(), "1") == -EINVAL, "nor a check");
}

static void test_sizes(void)
{
    uint64_t bytes = 7;
    CHECK(oriel_size_parse("0", &bytes) == 0 && bytes == 0, "0 is a size");
    CHECK(oriel_size_parse("16M", &bytes) == 0 && bytes == 16 << 20, "16M is a size");
    CHECK(oriel_size_parse("16777215T", &bytes) == 0, "nearly 2^64 is a size");
    bytes = 7;
    CHECK(oriel_size_parse("16777216T", &bytes) == -ERANGE, "2^64 is out of range");
    CHECK(oriel_size_parse("", &bytes) == -EINVAL, "nothing is no size");
    CHECK(oriel_size_parse("1e3", &bytes) == -EINVAL && bytes == 7,
          "a failure leaves the output alone");
}

static void test_nearest(void)
{
    static const char *const words[] = {"run", "exec", NULL, "config", "info", "help"};
    CHECK(oriel_nearest("rum", words, 6) == 0, "rum is run");
    CHECK(oriel_nearest("cofnig", words, 6) == 3, "cofnig is config");
    CHECK(oriel_nearest("INFO", words, 6) == 4, "capitals do not matter");
    CHECK(oriel_nearest("conf", words, 6) == 3, "conf is config");
    CHECK(oriel_nearest("zebra", words, 6) == 6, "zebra is nothing");
    CHECK(oriel_nearest("", words, 6) == 6, "an empty word is nothing");
    char big[200];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    CHECK(oriel_nearest(big, words, 6) == 6, "a very long word is nothing");
}

static void *get_config(void *out)
{
    *(const struct oriel_config **)out = oriel_config_get();
    return NULL;
}

static void test_process(void)
{
    clearenv();
    setenv("ORIEL_LOG", "error", 1);
    setenv("ORIEL_POKE_US", "9", 1);
    pthread_t threads[8];
    const struct oriel_config *got[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, get_config, &got[i]);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 8; i++)
        CHECK(got[i] == got[0] && got[i]->poke_us == 9, "all threads see one reading");
    setenv("ORIEL_POKE_US", "10", 1);
    CHECK(oriel_config_get()->poke_us == 9, "the environment is read once");
}

int main(void)
{
    test_warn_first();
    test_defaults();
    test_values();
    setlocale(LC_ALL, "");
    test_bad_values();
    test_unknown();
    test_rows();
    test_sizes();
    test_nearest();
    test_process();
    return check_done();
}
