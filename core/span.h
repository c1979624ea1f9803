/*
 * span.h - where the bytes of a typed buffer lie, without MPI types.
 *
 * A layout is one datatype, flattened: its pieces in typemap order, adjacent
 * ones merged. A read walks an origin layout and a target layout side by side
 * and yields pieces that are contiguous on both sides.
 */
#ifndef ORIEL_SPAN_H
#define ORIEL_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oriel_piece {
    int64_t offset; /* bytes from the address that the caller gave */
    uint64_t bytes; /* > 0 */
};

/* Immutable once built; shared by threads. */
struct oriel_layout {
    uint64_t bytes;  /* data bytes of one element (MPI_Type_size) */
    int64_t extent;  /* step between elements; may be negative or 0 */
    int64_t low;     /* lowest byte of one element (true lower bound) */
    int64_t high;    /* one past its highest byte (true upper bound) */
    bool contiguous; /* one piece at offset 0, and extent == bytes */
    size_t n;        /* pieces; 0 for an empty type */
    const struct oriel_piece *pieces; /* owned by whoever owns the layout */
};

/* A layout of bytes in a row: what MPI's basic types are. */
#define ORIEL_LAYOUT_BYTES(size, piece)                                                \
    {                                                                                  \
        .bytes = (size), .extent = (int64_t)(size), .low = 0, .high = (int64_t)(size), \
        .contiguous = true, .n = 1, .pieces = (piece)                                  \
    }

/* Lowest byte and one past the highest byte of count elements, from their
 * address. Returns 0; -EOVERFLOW when that does not fit int64_t. count > 0 and
 * layout->n > 0. */
int oriel_layout_bounds(const struct oriel_layout *layout, uint64_t count,
                        int64_t *low_out, int64_t *high_out);

/* Grows a list of pieces in typemap order, merging neighbours. */
struct oriel_piece_list {
    struct oriel_piece *pieces; /* owned; freed by fini or taken by take */
    size_t n, capacity, limit;  /* limit: most pieces before -E2BIG */
};
void oriel_pieces_init(struct oriel_piece_list *list, size_t limit);
void oriel_pieces_fini(struct oriel_piece_list *list);
/* Returns 0; -ENOMEM; -E2BIG over the limit; -EOVERFLOW. bytes == 0 adds nothing. */
int oriel_pieces_add(struct oriel_piece_list *list, int64_t offset, uint64_t bytes);
/* Append count copies of the pieces [first, n), each step bytes further than the
 * one before, the first at +step. Returns as add; the list is as before on failure. */
int oriel_pieces_repeat(struct oriel_piece_list *list, size_t first, uint64_t count,
                        int64_t step);

/* Walks two typed buffers of equal data bytes. */
struct oriel_walk_side {
    const struct oriel_layout *layout;
    int64_t base;  /* offset of the current element */
    size_t piece;  /* current piece in it */
    int64_t at;    /* offset of the next byte */
    uint64_t room; /* bytes from there that are contiguous on this side */
};
struct oriel_walk {
    struct oriel_walk_side origin, target;
    uint64_t left; /* data bytes not handed out yet */
};
struct oriel_step { /* contiguous on both sides */
    int64_t origin; /* bytes from the origin address */
    int64_t target; /* bytes from the target displacement */
    uint64_t bytes;
};
/* bytes: data bytes of the whole read, the same on both sides, > 0; both layouts have
 * pieces, and oriel_layout_bounds has found both buffers to be addressable. */
void oriel_walk_init(struct oriel_walk *walk, const struct oriel_layout *origin,
                     const struct oriel_layout *target, uint64_t bytes);
/* False at the end. Never yields an empty step. */
bool oriel_walk_next(struct oriel_walk *walk, struct oriel_step *out);

/* Copy the data of one typed buffer to another; what oriel_walk_init asks of the two
 * holds. to, from: where their displacements 0 are. */
void oriel_layout_copy(void *to, const struct oriel_layout *sink, const void *from,
                       const struct oriel_layout *source, uint64_t bytes);

#endif
