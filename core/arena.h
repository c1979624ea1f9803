/*
 * arena.h - shared memory that Oriel allocates, and that peers can map.
 *
 * One arena a process, of memfd segments that peers open through
 * /proc/<pid>/fd/<fd>. No name in any file system, nothing left after SIGKILL.
 * Allocations are page-aligned. An allocation lives until every reference is
 * dropped; its pages then go back to the system by hole punching, since peers'
 * mappings would keep them alive.
 *
 * Threads: any; one mutex inside. After fork the child's segments are private
 * copies-on-write, and the arena of the child refuses new allocations.
 */
#ifndef ORIEL_ARENA_H
#define ORIEL_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oriel_config;

/* Where an address range lies in the arena. */
struct oriel_arena_place {
    int fd;          /* of the segment, in this process */
    uint64_t device; /* st_dev and st_ino of the segment: its identity */
    uint64_t inode;
    uint64_t segment_bytes; /* size of the whole segment */
    uint64_t offset;        /* of the range in the segment */
};

/* Size of the segments that small allocations share; a larger allocation gets
 * a segment of its own. Call before the first alloc; 0 restores the default. */
void oriel_arena_set_segment_bytes(size_t bytes);

/* bytes > 0 of zeroed, page-aligned, shared memory with one reference. Pages are
 * not touched. Returns 0; -ENOMEM, -EFBIG (RLIMIT_FSIZE), -EMFILE, -ENOSYS (no
 * memfd), -EOWNERDEAD in a fork child. */
int oriel_arena_alloc(size_t bytes, void **out);

/* True when [base, base + bytes) lies in one live allocation; fills *out then
 * (out may be NULL). bytes may be 0. */
bool oriel_arena_find(const void *base, size_t bytes, struct oriel_arena_place *out);

/* One more reference on the allocation that contains base; -ENOENT if none. */
int oriel_arena_hold(const void *base);

/* Drop one reference on the allocation that contains base; at the last one the
 * memory is gone. Returns 0; -ENOENT when base is not in the arena. */
int oriel_arena_drop(const void *base);

/* Drop the owner's reference (MPI_Free_mem). Only for the start of an allocation:
 * -ENOENT otherwise, also when its owner has dropped it already. */
int oriel_arena_free(void *base);

/* Live segments, live allocations, their bytes; for tests and `oriel info`. */
struct oriel_arena_usage {
    size_t segments, allocations;
    uint64_t bytes;
};
void oriel_arena_usage(struct oriel_arena_usage *out);

#endif
