/*
 * err.c - texts for error numbers.
 */
#define _GNU_SOURCE 1

#include "core/err.h"

#include <limits.h>
#include <string.h>

/* A system text is copied here, since strerror_r may give a text that it owns or
 * one in the buffer. */
static _Thread_local char text[128];

const char *oriel_strerror(int error)
{
    int code = error < 0 && error > INT_MIN ? -error : error;
    switch (code) {
    case ORIEL_EGONE:
        return "gone: the publisher took the window back";
    case ORIEL_ECHANGED:
        return "changed: the bytes changed while they were read";
    case ORIEL_ENONCE:
        return "stale: another process answers where the publisher was";
    default:
        return strerror_r(code, text, sizeof text);
    }
}
