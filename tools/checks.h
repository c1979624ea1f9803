/*
 * checks.h - what this machine lets the processes of a job do, found out by doing it.
 */
#ifndef ORIEL_CHECKS_H
#define ORIEL_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

enum { ORIEL_CHECK_DETAIL_BYTES = 256 };
struct oriel_check {
    const char *name;    /* for programs: "cma" */
    const char *meaning; /* for people */
    bool is_good;
    char detail[ORIEL_CHECK_DETAIL_BYTES]; /* what was seen, and the cure */
};

/* Run all; forks. Returns how many were filled in. */
enum { ORIEL_CHECKS_MAX = 8 };
size_t oriel_checks_run(struct oriel_check out[ORIEL_CHECKS_MAX]);

#endif
