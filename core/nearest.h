/*
 * nearest.h - what a mistyped name was meant to be.
 */
#ifndef ORIEL_NEAREST_H
#define ORIEL_NEAREST_H

#include <stddef.h>

/* Index of the name that is closest to word, capitals or not, or n when none is
 * close enough to be worth a suggestion. names may hold NULLs, which are skipped.
 * Threads any. */
size_t oriel_nearest(const char *word, const char *const *names, size_t n);

#endif
