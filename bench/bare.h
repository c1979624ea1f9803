/*
 * bare.h - the loops that an engine is measured against: the same bytes by the
 * same system call or copy, with nothing of Oriel and nothing of MPI around it.
 */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One read; fields beyond the first three only for the strided ones. */
struct bench_bare {
    const void *remote; /* in the peer for cma, here for memcpy */
    void *local;
    size_t bytes; /* contiguous, or the hull of the elements */
    pid_t pid;    /* of the peer, for cma */

    size_t count, element, stride; /* bytes of an element and between two */
    void *hull;                    /* of bytes, the caller's */
};

/* run functions of a bench_way; context is a struct bench_bare. They end the
 * process with a message when a read fails or comes short. */
void bench_bare_cma(void *context, uint64_t n);
void bench_bare_memcpy(void *context, uint64_t n);
/* Reads the hull and picks the elements from it. */
void bench_bare_cma_strided(void *context, uint64_t n);

/* Which bytes of which shared object lie at an address. */
struct bench_place {
    uint64_t device, inode; /* inode 0: not shared, private to its process */
    uint64_t offset;
};

/* Looks [address, address + bytes) up in this process's memory map; .inode is 0
 * where that is not one shared mapping. */
struct bench_place bench_place_of(const void *address, size_t bytes);

/* Address here of a shared mapping of those bytes, whoever made it; NULL if there
 * is none. */
const void *bench_place_find(const struct bench_place *place, size_t bytes);

/* bytes of memory, shared or private, filled with the pattern; NULL and errno. */
void *bench_memory_create(size_t bytes, int shared);
void bench_memory_destroy(void *memory, size_t bytes);

/* The pattern: no two 8-byte words are alike. */
void bench_pattern_fill(void *memory, size_t bytes);
/* Offset of the first wrong byte, where `memory` should hold the pattern's bytes
 * from `offset` on; bytes if all are right. */
size_t bench_pattern_check(const void *memory, size_t bytes, size_t offset);

/* Prints "program: ..." on stderr and exits with 1. */
void bench_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
