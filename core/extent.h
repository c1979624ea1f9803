/*
 * extent.h - which ranges of the arena are taken; pure bookkeeping.
 *
 * Every segment is covered by extents without a gap. All extents of all segments
 * hang in one treap by address, in which each node knows the widest free extent
 * below it: finding the extent of an address, and the lowest free one that is
 * wide enough, is one descent. Low addresses are filled first, so that the arena
 * stays dense.
 *
 * Threads: the caller's lock. Owns: extents are the tree's.
 */
#ifndef ORIEL_EXTENT_H
#define ORIEL_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oriel_extent {
    uintptr_t start;
    size_t bytes;
    void *segment; /* the caller's; extents of one segment merge, others never */
    uint32_t refs; /* 0: free */
    bool owned;    /* one of refs is the allocation's owner */

    struct oriel_extent *prev, *next; /* neighbours in the segment */
    struct oriel_extent *left, *right;
    uint32_t priority;
    size_t widest; /* bytes of the widest free extent in this subtree */
};

struct oriel_extents { /* all zero: empty */
    struct oriel_extent *root;
    uint32_t seed;
};

/* A new segment: one extent over all of it, with refs references.
 * Returns NULL when memory is out. */
struct oriel_extent *oriel_extents_add(struct oriel_extents *tree, void *segment,
                                       uintptr_t start, size_t bytes, uint32_t refs);

/* Take bytes > 0 from the lowest free extent that is wide enough; it gets one
 * reference. Returns 0; -ENOSPC none is wide enough; -ENOMEM. */
int oriel_extents_take(struct oriel_extents *tree, size_t bytes,
                       struct oriel_extent **out);

/* The extent that contains address, free or not; NULL outside all segments. */
struct oriel_extent *oriel_extents_find(const struct oriel_extents *tree,
                                        uintptr_t address);

/* Make an extent free and merge it with free neighbours; the result, which may
 * be another struct. Never fails. */
struct oriel_extent *oriel_extents_release(struct oriel_extents *tree,
                                           struct oriel_extent *extent);

/* Forget a segment that is one extent. */
void oriel_extents_remove(struct oriel_extents *tree, struct oriel_extent *extent);

#endif
