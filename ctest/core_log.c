/* core.log: what is printed, how, and how often. */
#define _GNU_SOURCE 1

#include "core/log.h"

#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char seen[1 << 20];
static int sink, stderr_saved;

static void capture_begin(void)
{
    char name[] = "/tmp/oriel-log-XXXXXX";
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

static void test_levels(void)
{
    capture_begin();
    oriel_log(ORIEL_LOG_ERROR, "an error");
    oriel_log(ORIEL_LOG_WARN, "a warning of %d", 7);
    oriel_log(ORIEL_LOG_INFO, "hidden");
    oriel_log_set_level(ORIEL_LOG_INFO);
    oriel_log(ORIEL_LOG_INFO, "shown");
    oriel_log(ORIEL_LOG_DEBUG, "hidden");
    oriel_log_set_level(ORIEL_LOG_ERROR);
    oriel_log(ORIEL_LOG_WARN, "hidden");
    oriel_log_set_level(ORIEL_LOG_WARN);
    oriel_log_set_rank(3);
    oriel_log(ORIEL_LOG_WARN, "from a rank");
    oriel_log_set_rank(-1);
    capture_end();
    CHECK(strcmp(seen, "oriel: an error\noriel: a warning of 7\noriel: shown\n"
                       "oriel[3]: from a rank\n") == 0,
          "levels and rank decide the lines:\n%s", seen);
}

static void test_once(void)
{
    static int here;
    capture_begin();
    oriel_log_once(&here, ORIEL_LOG_INFO, "hidden");
    for (int i = 0; i < 5; i++)
        oriel_log_once(&here, ORIEL_LOG_WARN, "once %d", i);
    capture_end();
    CHECK(strcmp(seen, "oriel: once 0\n") == 0,
          "a line is said once, and a hidden one does not use it up:\n%s", seen);
}

static void test_long_line(void)
{
    static char text[10000];
    memset(text, 'x', sizeof text - 1);
    capture_begin();
    oriel_log(ORIEL_LOG_WARN, "%s", text);
    oriel_log(ORIEL_LOG_WARN, "next");
    capture_end();
    char *end = strchr(seen, '\n');
    REQUIRE(end, "a long line ends");
    CHECK(strcmp(end, "\noriel: next\n") == 0, "a long line stays one line");
    CHECK(end - seen > 1000 && strncmp(end - 3, "...", 3) == 0,
          "a long line is cut and says so");
}

static void *chatter(void *argument)
{
    for (int i = 0; i < 200; i++)
        oriel_log(ORIEL_LOG_WARN, "%s-%s", (char *)argument, (char *)argument);
    return NULL;
}

static void test_threads(void)
{
    char *words[] = {"aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb", "c", "dddd"};
    pthread_t threads[4];
    capture_begin();
    /* One offset for all writers, as with a pipe: a file needs no append mode. */
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, chatter, words[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    capture_end();
    int good = 0, bad = 0;
    for (char *line = strtok(seen, "\n"); line; line = strtok(NULL, "\n")) {
        int known = 0;
        for (int i = 0; i < 4; i++) {
            char want[80];
            snprintf(want, sizeof want, "oriel: %s-%s", words[i], words[i]);
            known |= strcmp(line, want) == 0;
        }
        good += known;
        bad += !known;
    }
    CHECK(good == 800 && bad == 0, "lines of threads do not mix (%d, %d)", good, bad);
}

static void test_errno(void)
{
    capture_begin();
    int keep = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    errno = EDOM;
    oriel_log(ORIEL_LOG_WARN, "nowhere to go");
    int after = errno;
    dup2(keep, STDERR_FILENO);
    close(keep);
    capture_end();
    CHECK(after == EDOM, "errno is left alone, stderr closed or not (%d)", after);
}

int main(void)
{
    test_levels();
    test_once();
    test_long_line();
    test_threads();
    test_errno();
    return check_done();
}
