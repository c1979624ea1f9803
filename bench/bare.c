/*
 * bare.c - process_vm_readv and memcpy, and memory to use them on.
 */
#define _GNU_SOURCE
#include "bench/bare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

void bench_die(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("oriel-bench: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    exit(EXIT_FAILURE);
}

static void read_cma(const struct bench_bare *bare, void *into)
{
    struct iovec local = {.iov_base = into, .iov_len = bare->bytes};
    struct iovec remote = {.iov_base = (void *)bare->remote, .iov_len = bare->bytes};
    ssize_t got = process_vm_readv(bare->pid, &local, 1, &remote, 1, 0);
    if (got != (ssize_t)bare->bytes)
        bench_die("process_vm_readv of %zu bytes from process %d: %s", bare->bytes,
                  (int)bare->pid, got < 0 ? strerror(errno) : "short");
}

void bench_bare_cma(void *context, uint64_t n)
{
    struct bench_bare *bare = context;
    for (uint64_t i = 0; i < n; ++i)
        read_cma(bare, bare->local);
}

void bench_bare_memcpy(void *context, uint64_t n)
{
    struct bench_bare *bare = context;
    for (uint64_t i = 0; i < n; ++i) {
        memcpy(bare->local, bare->remote, bare->bytes);
        /* or n copies become one */
        __asm__ volatile("" ::: "memory");
    }
}

void bench_bare_cma_strided(void *context, uint64_t n)
{
    struct bench_bare *bare = context;
    for (uint64_t i = 0; i < n; ++i) {
        read_cma(bare, bare->hull);
        for (size_t k = 0; k < bare->count; ++k)
            memcpy((char *)bare->local + k * bare->element,
                   (const char *)bare->hull + k * bare->stride, bare->element);
        __asm__ volatile("" ::: "memory");
    }
}

struct area { /* one shared mapping of this process */
    uintptr_t start, end;
    struct bench_place place; /* of its start */
};

/* Next shared mapping of the map; 0 at the end. */
static int next_area(FILE *maps, struct area *out)
{
    char line[512];
    while (fgets(line, sizeof line, maps)) {
        char modes[5];
        unsigned major, minor;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %" SCNu64,
                   &out->start, &out->end, modes, &out->place.offset, &major, &minor,
                   &out->place.inode) == 7 &&
            modes[0] == 'r' && modes[3] == 's' && out->place.inode != 0) {
            out->place.device = makedev(major, minor);
            return 1;
        }
    }
    return 0;
}

struct bench_place bench_place_of(const void *address, size_t bytes)
{
    struct bench_place place = {.inode = 0};
    uintptr_t at = (uintptr_t)address;
    FILE *maps = fopen("/proc/self/maps", "r");
    struct area area;
    while (maps && !place.inode && next_area(maps, &area))
        if (at >= area.start && at < area.end && bytes <= area.end - at) {
            place = area.place;
            place.offset += at - area.start;
        }
    if (maps) fclose(maps);
    return place;
}

const void *bench_place_find(const struct bench_place *place, size_t bytes)
{
    const void *found = NULL;
    FILE *maps = place->inode ? fopen("/proc/self/maps", "r") : NULL;
    struct area area;
    while (maps && !found && next_area(maps, &area)) {
        const struct bench_place *has = &area.place;
        uint64_t skip = place->offset - has->offset;
        if (has->device == place->device && has->inode == place->inode &&
            has->offset <= place->offset && skip <= area.end - area.start &&
            bytes <= area.end - area.start - skip)
            found = (const void *)(area.start + skip);
    }
    if (maps) fclose(maps);
    return found;
}

void *bench_memory_create(size_t bytes, int shared)
{
    int flags = MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    bench_pattern_fill(memory, bytes);
    return memory;
}

void bench_memory_destroy(void *memory, size_t bytes)
{
    if (memory) munmap(memory, bytes);
}

static uint64_t pattern_word(uint64_t index)
{
    return (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

void bench_pattern_fill(void *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = pattern_word(at / sizeof word);
        size_t left = bytes - at;
        memcpy((char *)memory + at, &word, left < sizeof word ? left : sizeof word);
    }
}

size_t bench_pattern_check(const void *memory, size_t bytes, size_t offset)
{
    const unsigned char *seen = memory;
    for (size_t i = 0; i < bytes; ++i) {
        uint64_t word = pattern_word((offset + i) / sizeof word);
        unsigned char want[sizeof word];
        memcpy(want, &word, sizeof word);
        if (seen[i] != want[(offset + i) % sizeof word]) return i;
    }
    return bytes;
}
