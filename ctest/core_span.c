/* core.span: layouts, lists and the walk, against a slow and simple reference. */
#include "core/span.h"

#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* Any bytes in a row: the checks must be the same on every machine. */
static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int64_t random_between(int64_t low, int64_t high)
{
    return low + (int64_t)(random_bits() % (uint64_t)(high - low + 1));
}

/* A layout of random pieces: overlapping, out of order, before the address, with
 * empty blocks, any extent. */
static struct oriel_layout random_layout(struct oriel_piece_list *list)
{
    oriel_pieces_init(list, 64);
    struct oriel_layout layout = {.low = INT64_MAX, .high = INT64_MIN};
    int blocks = (int)random_between(1, 6);
    for (int i = 0; i < blocks || layout.bytes == 0; i++) {
        int64_t offset = random_between(-40, 40);
        uint64_t bytes = (uint64_t)random_between(0, 9);
        REQUIRE(oriel_pieces_add(list, offset, bytes) == 0, "a block is added");
        if (bytes == 0) continue;
        layout.bytes += bytes;
        if (offset < layout.low) layout.low = offset;
        if (offset + (int64_t)bytes > layout.high)
            layout.high = offset + (int64_t)bytes;
    }
    int kind = (int)random_between(0, 3);
    layout.extent = kind == 0   ? layout.high - layout.low
                    : kind == 1 ? (int64_t)layout.bytes
                                : random_between(-50, 50);
    layout.n = list->n;
    layout.pieces = list->pieces;
    layout.contiguous = list->n == 1 && list->pieces[0].offset == 0 &&
                        layout.extent == (int64_t)layout.bytes;
    return layout;
}

/* The offset of each data byte, in typemap order. */
static void bytes_of(const struct oriel_layout *layout, uint64_t bytes, int64_t *out)
{
    uint64_t n = 0;
    for (int64_t base = 0; n < bytes; base += layout->extent)
        for (size_t i = 0; i < layout->n; i++)
            for (uint64_t k = 0; k < layout->pieces[i].bytes && n < bytes; k++)
                out[n++] = base + layout->pieces[i].offset + (int64_t)k;
}

static void check_walk(const struct oriel_layout *origin,
                       const struct oriel_layout *target, uint64_t bytes)
{
    static int64_t origin_bytes[8192], target_bytes[8192];
    REQUIRE(bytes <= 8192, "the reference has room");
    bytes_of(origin, bytes, origin_bytes);
    bytes_of(target, bytes, target_bytes);
    struct oriel_walk walk;
    struct oriel_step step;
    uint64_t done = 0, steps = 0, wrong = 0;
    oriel_walk_init(&walk, origin, target, bytes);
    while (oriel_walk_next(&walk, &step)) {
        REQUIRE(step.bytes > 0 && done + step.bytes <= bytes,
                "a step has bytes, and all together no more than asked for");
        for (uint64_t k = 0; k < step.bytes; k++)
            wrong += step.origin + (int64_t)k != origin_bytes[done + k] ||
                     step.target + (int64_t)k != target_bytes[done + k];
        done += step.bytes;
        steps++;
    }
    CHECK(done == bytes, "the walk hands out every byte (%" PRIu64 ")", done);
    CHECK(wrong == 0, "each byte goes where its typemap says (%" PRIu64 ")", wrong);
    CHECK(!oriel_walk_next(&walk, &step), "the end stays the end");
    if (origin->contiguous && target->contiguous)
        CHECK(steps == 1, "two contiguous sides need one step");
}

static void check_bounds(const struct oriel_layout *layout, uint64_t count)
{
    static int64_t offsets[8192];
    int64_t low = INT64_MAX, high = INT64_MIN, low_got = 1, high_got = 1;
    bytes_of(layout, count * layout->bytes, offsets);
    for (uint64_t k = 0; k < count * layout->bytes; k++) {
        if (offsets[k] < low) low = offsets[k];
        if (offsets[k] + 1 > high) high = offsets[k] + 1;
    }
    CHECK(oriel_layout_bounds(layout, count, &low_got, &high_got) == 0 &&
              low_got == low && high_got == high,
          "%" PRIu64 " elements reach from %" PRId64 " to %" PRId64, count, low, high);
}

static void test_random_walks(void)
{
    for (int round = 0; round < 20000; round++) {
        struct oriel_piece_list a_list, b_list;
        struct oriel_layout a = random_layout(&a_list), b = random_layout(&b_list);
        uint64_t bytes = a.bytes * b.bytes * (uint64_t)random_between(1, 2);
        if (bytes > 8192) bytes = a.bytes * b.bytes;
        check_walk(&a, &b, bytes);
        check_bounds(&a, (uint64_t)random_between(1, 20));
        oriel_pieces_fini(&a_list);
        oriel_pieces_fini(&b_list);
        if (check_failures) return;
    }
}

static void test_basic_types(void)
{
    static const struct oriel_piece eight = {.offset = 0, .bytes = 8};
    static const struct oriel_piece one = {.offset = 0, .bytes = 1};
    struct oriel_layout doubles = ORIEL_LAYOUT_BYTES(8, &eight);
    struct oriel_layout bytes = ORIEL_LAYOUT_BYTES(1, &one);
    struct oriel_walk walk;
    struct oriel_step step;
    oriel_walk_init(&walk, &bytes, &doubles, (uint64_t)1 << 40);
    CHECK(oriel_walk_next(&walk, &step) && step.bytes == (uint64_t)1 << 40 &&
              step.origin == 0 && step.target == 0,
          "a terabyte of doubles read as bytes is one step");
    CHECK(!oriel_walk_next(&walk, &step), "and no more");

    static const struct oriel_piece shifted = {.offset = 16, .bytes = 8};
    struct oriel_layout run = {
        .bytes = 8, .extent = 8, .low = 16, .high = 24, .n = 1, .pieces = &shifted};
    oriel_walk_init(&walk, &run, &doubles, 800);
    CHECK(oriel_walk_next(&walk, &step) && step.bytes == 800 && step.origin == 16,
          "elements without gaps are one step, also behind a lower bound");
}

static void test_bounds_overflow(void)
{
    static const struct oriel_piece eight = {.offset = 0, .bytes = 8};
    struct oriel_layout doubles = ORIEL_LAYOUT_BYTES(8, &eight);
    int64_t low = 5, high = 5;
    CHECK(oriel_layout_bounds(&doubles, (uint64_t)1 << 60, &low, &high) == -EOVERFLOW,
          "2^60 doubles do not fit");
    CHECK(low == 5 && high == 5, "outputs are left alone on failure");
    CHECK(oriel_layout_bounds(&doubles, ((uint64_t)1 << 60) - 1, &low, &high) == 0 &&
              high == INT64_MAX - 7,
          "one less does");
    CHECK(oriel_layout_bounds(&doubles, UINT64_MAX, &low, &high) == -EOVERFLOW,
          "2^64 - 1 do not");
    doubles.extent = 0;
    CHECK(oriel_layout_bounds(&doubles, UINT64_MAX, &low, &high) == 0 && high == 8,
          "any number of elements fits in one place");
    doubles.extent = INT64_MIN;
    CHECK(oriel_layout_bounds(&doubles, 2, &low, &high) == 0 && low == INT64_MIN &&
              high == 8,
          "an extent may be very negative");
    CHECK(oriel_layout_bounds(&doubles, 3, &low, &high) == -EOVERFLOW, "but not twice");
}

static void test_pieces(void)
{
    struct oriel_piece_list list;
    oriel_pieces_init(&list, 3);
    CHECK(oriel_pieces_add(&list, 8, 0) == 0 && list.n == 0, "no bytes, no piece");
    CHECK(oriel_pieces_add(&list, 8, 8) == 0 && oriel_pieces_add(&list, 16, 4) == 0 &&
              list.n == 1 && list.pieces[0].bytes == 12,
          "neighbours merge");
    CHECK(oriel_pieces_add(&list, 0, 8) == 0 && list.n == 2,
          "what lies before is another piece: typemap order counts");
    CHECK(oriel_pieces_add(&list, 100, 1) == 0 && list.n == 3, "up to the limit");
    CHECK(oriel_pieces_add(&list, 200, 1) == -E2BIG && list.n == 3, "and not over it");
    CHECK(oriel_pieces_add(&list, 101, 1) == 0 && list.n == 3,
          "a neighbour still fits at the limit");
    CHECK(oriel_pieces_add(&list, INT64_MAX, 1) == -EOVERFLOW, "an end past 2^63");
    oriel_pieces_fini(&list);
    CHECK(list.n == 0 && !list.pieces, "an ended list is empty");
    oriel_pieces_fini(&list);
}

static void test_repeat(void)
{
    struct oriel_piece_list list;
    oriel_pieces_init(&list, 1000);
    oriel_pieces_add(&list, 4, 8);
    CHECK(oriel_pieces_repeat(&list, 0, (uint64_t)1 << 50, 8) == 0 && list.n == 1 &&
              list.pieces[0].bytes == 8 + ((uint64_t)1 << 53),
          "any number of copies without a gap is one piece");
    CHECK(oriel_pieces_repeat(&list, 0, 1, INT64_MAX) == -EOVERFLOW && list.n == 1,
          "a copy too far away fails");
    CHECK(oriel_pieces_repeat(&list, 0, 0, 1) == 0 &&
              oriel_pieces_repeat(&list, 1, 9, 1) == 0 && list.n == 1,
          "no copies, or copies of nothing, change nothing");
    oriel_pieces_fini(&list);

    oriel_pieces_init(&list, 5);
    oriel_pieces_add(&list, 0, 4);
    CHECK(oriel_pieces_repeat(&list, 0, UINT64_MAX, 16) == -E2BIG && list.n == 1 &&
              list.pieces[0].bytes == 4,
          "too many copies fail and leave the list as it was");
    CHECK(oriel_pieces_repeat(&list, 0, 4, -16) == 0 && list.n == 5 &&
              list.pieces[4].offset == -64,
          "copies may go backwards");
    oriel_pieces_fini(&list);
}

/* Repeating against adding one by one, with merges at the seams. */
static void test_random_repeats(void)
{
    for (int round = 0; round < 20000 && !check_failures; round++) {
        struct oriel_piece_list list, slow;
        struct oriel_piece source[4];
        oriel_pieces_init(&list, 1000);
        oriel_pieces_init(&slow, 1000);
        if (random_bits() & 1) {
            oriel_pieces_add(&list, -1000, 3);
            oriel_pieces_add(&slow, -1000, 3);
        }
        size_t first = list.n;
        int n = (int)random_between(1, 4);
        for (int i = 0; i < n; i++) {
            source[i].offset = random_between(-10, 10);
            source[i].bytes = (uint64_t)random_between(1, 6);
            oriel_pieces_add(&list, source[i].offset, source[i].bytes);
            oriel_pieces_add(&slow, source[i].offset, source[i].bytes);
        }
        uint64_t count = (uint64_t)random_between(0, 5);
        int64_t step = random_between(-12, 12);
        CHECK(oriel_pieces_repeat(&list, first, count, step) == 0, "copies are made");
        for (int64_t copy = 1; copy <= (int64_t)count; copy++)
            for (int i = 0; i < n; i++)
                oriel_pieces_add(&slow, source[i].offset + copy * step,
                                 source[i].bytes);
        CHECK(list.n == slow.n &&
                  memcmp(list.pieces, slow.pieces, list.n * sizeof list.pieces[0]) == 0,
              "%" PRIu64 " copies %" PRId64 " apart are as if added one by one", count,
              step);
        oriel_pieces_fini(&list);
        oriel_pieces_fini(&slow);
    }
}

int main(void)
{
    test_random_walks();
    test_basic_types();
    test_bounds_overflow();
    test_pieces();
    test_repeat();
    test_random_repeats();
    return check_done();
}
