/*
 * log.h - what Oriel says to the user: lines on stderr, "oriel: ..." or
 * "oriel[3]: ..." once the rank is known. Never stdout.
 *
 * Threads: any. A line is one write(2), so ranks' lines do not mix.
 */
#ifndef ORIEL_LOG_H
#define ORIEL_LOG_H

enum oriel_log_level {
    ORIEL_LOG_ERROR, /* redirection is off, or the job ends */
    ORIEL_LOG_WARN,  /* something went native that the user wanted served */
    ORIEL_LOG_INFO,  /* what was decided: ORIEL_LOG=info */
    ORIEL_LOG_DEBUG,
};

/* Highest level that is printed; the default is ORIEL_LOG_WARN. */
void oriel_log_set_level(enum oriel_log_level level);
void oriel_log_set_rank(int rank);

void oriel_log(enum oriel_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As oriel_log, but says it once a process for each `once` (a static int at the
 * place of the call, 0 at first). */
void oriel_log_once(int *once, enum oriel_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
