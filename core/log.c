/*
 * log.c - lines on stderr.
 */
#define _GNU_SOURCE 1

#include "core/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Under PIPE_BUF, so that a line through a launcher's pipe stays in one piece. */
enum { LINE_BYTES = 2048 };

static atomic_int level_max = ORIEL_LOG_WARN;
static atomic_int job_rank = -1;

void oriel_log_set_level(enum oriel_log_level level)
{
    atomic_store_explicit(&level_max, (int)level, memory_order_relaxed);
}

void oriel_log_set_rank(int rank)
{
    atomic_store_explicit(&job_rank, rank, memory_order_relaxed);
}

static bool is_printed(enum oriel_log_level level)
{
    return (int)level <= atomic_load_explicit(&level_max, memory_order_relaxed);
}

/* stdio is avoided: its lock may be held by the thread that a signal or a fork
 * interrupted, and the program may have closed or replaced stderr. */
static void put_line(const char *line, size_t bytes)
{
    while (bytes > 0) {
        ssize_t put = write(STDERR_FILENO, line, bytes);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return;
        line += put;
        bytes -= (size_t)put;
    }
}

static void say(const char *format, va_list arguments)
{
    int errno_before = errno; /* a wrapper must not change the program's errno */
    char line[LINE_BYTES];
    int rank = atomic_load_explicit(&job_rank, memory_order_relaxed);
    int head = rank < 0 ? snprintf(line, sizeof line, "oriel: ")
                        : snprintf(line, sizeof line, "oriel[%d]: ", rank);
    size_t room = sizeof line - (size_t)head - 1; /* one byte for the newline */
    int body = vsnprintf(line + head, room, format, arguments);
    if (body < 0) body = 0;
    size_t bytes = (size_t)head + (size_t)body;
    if ((size_t)body >= room) {
        bytes = (size_t)head + room - 1;
        memcpy(line + bytes - 3, "...", 3);
    }
    line[bytes] = '\n';
    put_line(line, bytes + 1);
    errno = errno_before;
}

void oriel_log(enum oriel_log_level level, const char *format, ...)
{
    if (!is_printed(level)) return;
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void oriel_log_once(int *once, enum oriel_log_level level, const char *format, ...)
{
    if (!is_printed(level)) return;
    if (__atomic_exchange_n(once, 1, __ATOMIC_RELAXED) != 0) return;
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}
