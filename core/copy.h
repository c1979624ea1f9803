/*
 * copy.h - copies of memory that another process may be writing.
 */
#ifndef ORIEL_COPY_H
#define ORIEL_COPY_H

#include <stdint.h>
#include <string.h>

enum { ORIEL_COPY_WORDS = 8 }; /* a cache line */

/* Aligned words are never torn, in reads of up to a cache line: a byte copy, as memmove
 * may be, gives no such promise. */
static inline void oriel_copy(void *to, const char *from, uint64_t bytes)
{
    if (bytes == 8 && (uintptr_t)from % 8 == 0) {
        uint64_t word =
            __atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_RELAXED);
        memcpy(to, &word, 8);
    } else if ((uintptr_t)from % 8 == 0 && bytes % 8 == 0 &&
               bytes <= 8 * ORIEL_COPY_WORDS) {
        uint64_t words[ORIEL_COPY_WORDS];
        for (uint64_t i = 0; i < bytes / 8; i++)
            words[i] = __atomic_load_n((const uint64_t *)(const void *)from + i,
                                       __ATOMIC_RELAXED);
        memcpy(to, words, bytes);
    } else if (bytes == 4 && (uintptr_t)from % 4 == 0) {
        uint32_t word =
            __atomic_load_n((const uint32_t *)(const void *)from, __ATOMIC_RELAXED);
        memcpy(to, &word, 4);
    } else if (bytes == 2 && (uintptr_t)from % 2 == 0) {
        uint16_t word =
            __atomic_load_n((const uint16_t *)(const void *)from, __ATOMIC_RELAXED);
        memcpy(to, &word, 2);
    } else {
        memmove(to, from, bytes);
    }
}

#endif
