/*
 * span.c - layouts, lists of pieces, and the walk over two buffers.
 */
#define _DEFAULT_SOURCE 1 /* reallocarray */

#include "core/span.h"

#include "core/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int shift_bounds(int64_t low, int64_t high, int64_t shift, int64_t *low_out,
                        int64_t *high_out)
{
    if (__builtin_add_overflow(low, shift, low_out) ||
        __builtin_add_overflow(high, shift, high_out))
        return -EOVERFLOW;
    return 0;
}

int oriel_layout_bounds(const struct oriel_layout *layout, uint64_t count,
                        int64_t *low_out, int64_t *high_out)
{
    int64_t shift, low, high;
    /* The elements lie between the first and the last one, whatever the sign of the
     * extent; with an extent of 0 they are all in one place. */
    if (__builtin_mul_overflow(count - 1, layout->extent, &shift) ||
        shift_bounds(layout->low, layout->high, shift, &low, &high))
        return -EOVERFLOW;
    *low_out = low < layout->low ? low : layout->low;
    *high_out = high > layout->high ? high : layout->high;
    return 0;
}

void oriel_pieces_init(struct oriel_piece_list *list, size_t limit)
{
    *list = (struct oriel_piece_list){.limit = limit};
}

void oriel_pieces_fini(struct oriel_piece_list *list)
{
    free(list->pieces);
    *list = (struct oriel_piece_list){.limit = list->limit};
}

static int grow(struct oriel_piece_list *list)
{
    if (list->n >= list->limit) return -E2BIG;
    if (list->n < list->capacity) return 0;
    size_t capacity = list->capacity ? 2 * list->capacity : 8;
    struct oriel_piece *pieces = reallocarray(list->pieces, capacity, sizeof *pieces);
    if (!pieces) return -ENOMEM;
    list->pieces = pieces;
    list->capacity = capacity;
    return 0;
}

int oriel_pieces_add(struct oriel_piece_list *list, int64_t offset, uint64_t bytes)
{
    int64_t end;
    if (bytes == 0) return 0;
    if (__builtin_add_overflow(offset, bytes, &end)) return -EOVERFLOW;
    if (list->n > 0) {
        struct oriel_piece *last = &list->pieces[list->n - 1];
        if ((uint64_t)last->offset + last->bytes == (uint64_t)offset) {
            last->bytes += bytes;
            return 0;
        }
    }
    int rc = grow(list);
    if (rc) return rc;
    list->pieces[list->n++] = (struct oriel_piece){.offset = offset, .bytes = bytes};
    return 0;
}

/* count more blocks that follow the last piece without a gap: one longer piece,
 * however large count is. */
static int extend_last(struct oriel_piece_list *list, uint64_t count, uint64_t bytes)
{
    struct oriel_piece *last = &list->pieces[list->n - 1];
    uint64_t more;
    int64_t end;
    if (__builtin_mul_overflow(count, bytes, &more) ||
        __builtin_add_overflow(more, last->bytes, &more) ||
        __builtin_add_overflow(last->offset, more, &end))
        return -EOVERFLOW;
    last->bytes = more;
    return 0;
}

/* last: the piece at the end of the source as it was before a copy grew it. */
static int append_copy(struct oriel_piece_list *list, size_t first, size_t end,
                       struct oriel_piece last, int64_t shift)
{
    for (size_t i = first; i < end; i++) {
        struct oriel_piece piece = i + 1 == end ? last : list->pieces[i];
        if (__builtin_add_overflow(piece.offset, shift, &piece.offset))
            return -EOVERFLOW;
        int rc = oriel_pieces_add(list, piece.offset, piece.bytes);
        if (rc) return rc;
    }
    return 0;
}

int oriel_pieces_repeat(struct oriel_piece_list *list, size_t first, uint64_t count,
                        int64_t step)
{
    size_t end = list->n;
    if (first >= end || count == 0) return 0;
    struct oriel_piece last = list->pieces[end - 1];
    if (end - first == 1 && step > 0 && (uint64_t)step == last.bytes)
        return extend_last(list, count, last.bytes);
    int rc = 0;
    int64_t shift = 0;
    for (uint64_t copy = 0; copy < count && !rc; copy++) {
        if (__builtin_add_overflow(shift, step, &shift))
            rc = -EOVERFLOW;
        else
            rc = append_copy(list, first, end, last, shift);
    }
    if (rc) {
        list->n = end;
        list->pieces[end - 1] = last;
    }
    return rc;
}

/* One piece that the next element's continues: all elements are one run. */
static inline bool is_run(const struct oriel_layout *layout)
{
    return layout->n == 1 && layout->extent == (int64_t)layout->pieces[0].bytes;
}

static void side_init(struct oriel_walk_side *side, const struct oriel_layout *layout,
                      uint64_t bytes)
{
    *side = (struct oriel_walk_side){.layout = layout};
    side->at = layout->pieces[0].offset;
    side->room = is_run(layout) ? bytes : layout->pieces[0].bytes;
}

void oriel_walk_init(struct oriel_walk *walk, const struct oriel_layout *origin,
                     const struct oriel_layout *target, uint64_t bytes)
{
    side_init(&walk->origin, origin, bytes);
    side_init(&walk->target, target, bytes);
    walk->left = bytes;
}

/* To the next piece; only called when data are left, so that the sums stay inside the
 * bounds that the caller has checked. */
static inline void side_next_piece(struct oriel_walk_side *side)
{
    const struct oriel_layout *layout = side->layout;
    if (++side->piece == layout->n) {
        side->piece = 0;
        side->base += layout->extent;
    }
    side->at = side->base + layout->pieces[side->piece].offset;
    side->room = layout->pieces[side->piece].bytes;
}

static inline void side_take(struct oriel_walk_side *side, uint64_t bytes)
{
    side->room -= bytes;
    if (side->room == 0)
        side_next_piece(side);
    else
        side->at += (int64_t)bytes;
}

bool oriel_walk_next(struct oriel_walk *walk, struct oriel_step *out)
{
    uint64_t bytes = walk->left;
    if (bytes == 0) return false;
    if (walk->origin.room < bytes) bytes = walk->origin.room;
    if (walk->target.room < bytes) bytes = walk->target.room;
    out->origin = walk->origin.at;
    out->target = walk->target.at;
    out->bytes = bytes;
    walk->left -= bytes;
    if (walk->left > 0) {
        side_take(&walk->origin, bytes);
        side_take(&walk->target, bytes);
    }
    return true;
}

/* All pieces, one after the other, to where the data are in a row: the bytes are those
 * of whole elements. */
static void gather(char *to, const char *from, const struct oriel_layout *source,
                   uint64_t bytes)
{
    for (const char *end = to + bytes; to < end; from += source->extent)
        for (size_t i = 0; i < source->n; i++) {
            const struct oriel_piece *piece = &source->pieces[i];
            oriel_copy(to, from + piece->offset, piece->bytes);
            to += piece->bytes;
        }
}

void oriel_layout_copy(void *to, const struct oriel_layout *sink, const void *from,
                       const struct oriel_layout *source, uint64_t bytes)
{
    struct oriel_walk walk;
    struct oriel_step step;
    if (sink->contiguous && is_run(source)) {
        oriel_copy(to, (const char *)from + source->pieces[0].offset, bytes);
        return;
    }
    if (sink->contiguous) {
        gather(to, from, source, bytes);
        return;
    }
    oriel_walk_init(&walk, sink, source, bytes);
    while (oriel_walk_next(&walk, &step))
        oriel_copy((char *)to + step.origin, (const char *)from + step.target,
                   step.bytes);
}
