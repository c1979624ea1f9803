/*
 * err.h - error numbers of core and engines.
 *
 * Functions return 0 or -errno. Codes of our own exist only where errno has no
 * word for it, above the system's range.
 */
#ifndef ORIEL_ERR_H
#define ORIEL_ERR_H

enum {
    ORIEL_EGONE = 4096, /* the publisher took the window back */
    ORIEL_ECHANGED,     /* the bytes changed while they were read */
    ORIEL_ENONCE,       /* another process answers where the publisher was: stale */
};

/* A text for 0, a -errno or an -ORIEL_E code. Thread-safe; the text is static, or
 * thread-local until the next call. */
const char *oriel_strerror(int error);

#endif
