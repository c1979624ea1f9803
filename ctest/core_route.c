/* core.route: one read, taken or declined, with the bytes that the layouts say. The
 * window's rank 1 is this process as well, read through the node engine. */
#include "core/arena.h"
#include "core/route.h"

#include "check.h"

#include <string.h>

enum { BYTES = 1 << 20 };

static unsigned char pattern(uint64_t at)
{
    return (unsigned char)(at * 131 + (at >> 8) * 7 + 3);
}

struct rig {
    unsigned char *memory; /* rank 1's part */
    struct oriel_window *window;
};

static struct rig rig_create(bool arena, uint32_t unit)
{
    struct rig rig = {0};
    void *memory = NULL;
    if (arena)
        REQUIRE(oriel_arena_alloc(BYTES, &memory) == 0, "the arena gives memory");
    else
        memory = malloc(BYTES);
    REQUIRE(memory, "there is memory");
    rig.memory = memory;
    for (uint64_t i = 0; i < BYTES; i++)
        rig.memory[i] = pattern(i);

    unsigned engines = oriel_engines_open(1u << ORIEL_ENGINE_ID_node);
    struct oriel_row *rows = calloc(2, sizeof *rows);
    struct oriel_region *exposed[ORIEL_ENGINE_COUNT];
    unsigned char blobs[ORIEL_BLOBS_MAX];
    unsigned by = oriel_window_expose(memory, BYTES, engines, exposed, &rows[1], blobs);
    CHECK(oriel_row_long_bytes(&rows[1]) == 0, "node's blob fits into the row");
    REQUIRE(by != 0, "an engine exposes it");
    rows[1].bytes = BYTES;
    rows[1].disp_unit = unit;
    rows[1].flags = ORIEL_ROW_USABLE;
    struct oriel_window_spec spec = {.n = 2,
                                     .rules = {true, true, true, false},
                                     .engines = oriel_order_all(),
                                     .sample = 1};
    rig.window = oriel_window_create(&spec, rows, NULL, exposed);
    REQUIRE(rig.window, "a window is created");
    oriel_epoch_lock_all(rig.window->epoch, 0);
    return rig;
}

static void rig_destroy(struct rig *rig, bool arena)
{
    oriel_window_destroy(rig->window);
    if (arena)
        CHECK(oriel_arena_free(rig->memory) == 0, "the memory goes back");
    else
        free(rig->memory);
}

static const struct oriel_piece byte_piece = {0, 1};
static const struct oriel_layout bytes_layout = ORIEL_LAYOUT_BYTES(1, &byte_piece);

static enum oriel_reason get(struct rig *rig, void *origin, uint64_t n, int64_t disp)
{
    struct oriel_get get = {origin, n, &bytes_layout, 1, disp, n, &bytes_layout, false};
    return oriel_route_get(rig->window, &get);
}

static bool matches(const unsigned char *got, uint64_t n, uint64_t at)
{
    for (uint64_t i = 0; i < n; i++)
        if (got[i] != pattern(at + i)) return false;
    return true;
}

static void test_plain(bool arena)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 7, 8, 9, 100, 4096, 65537, BYTES - 16};
    struct rig rig = rig_create(arena, 1);
    unsigned char *got = malloc(BYTES + 1);
    uint64_t sum = 0, calls = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int64_t at = 0; at < 16; at += 5) {
            uint64_t n = sizes[s];
            memset(got, 0xee, BYTES + 1);
            CHECK(get(&rig, got, n, at) == ORIEL_SERVED, "%d bytes are served", (int)n);
            CHECK(matches(got, n, (uint64_t)at), "and right, at %d", (int)at);
            CHECK(got[n] == 0xee, "and no byte more");
            sum += n;
            calls++;
        }
    struct oriel_stats stats;
    oriel_window_stats(rig.window, &stats);
    enum oriel_path path = arena ? ORIEL_PATH_mapped : ORIEL_PATH_cma;
    CHECK(stats.path[path] == calls, "all by the expected path");
    CHECK(stats.bytes == sum, "with all their bytes counted");
    CHECK(oriel_hist_count(&stats.latency) == calls, "each of them timed");
    free(got);
    rig_destroy(&rig, arena);
}

static void test_declined(void)
{
    struct rig rig = rig_create(false, 8);
    unsigned char got[64];
    memset(got, 0xee, sizeof got);
    CHECK(get(&rig, got, 8, -1) == ORIEL_NATIVE_range, "a negative displacement");
    CHECK(get(&rig, got, 8, BYTES / 8) == ORIEL_NATIVE_range, "one behind the end");
    CHECK(get(&rig, got, 9, BYTES / 8 - 1) == ORIEL_NATIVE_range, "one byte too many");
    CHECK(get(&rig, got, 8, INT64_MAX / 4) == ORIEL_NATIVE_range, "an overflow");
    CHECK(get(&rig, got, UINT64_MAX, 0) == ORIEL_NATIVE_range, "a count that wraps");
    CHECK(get(&rig, got, 0, 0) == ORIEL_NATIVE_empty, "nothing to read");
    CHECK(get(&rig, NULL, 8, 0) == ORIEL_NATIVE_origin, "no origin");
    struct oriel_get g = {got, 8, &bytes_layout, 1, 0, 7, &bytes_layout, false};
    CHECK(oriel_route_get(rig.window, &g) == ORIEL_NATIVE_type, "sizes that differ");
    g.target_count = 8;
    g.target_layout = NULL;
    CHECK(oriel_route_get(rig.window, &g) == ORIEL_NATIVE_type, "an unknown type");
    g.target_layout = &bytes_layout;
    g.target = 2;
    CHECK(oriel_route_get(rig.window, &g) == ORIEL_NATIVE_range, "no such rank");
    g.target = 0;
    CHECK(oriel_route_get(rig.window, &g) == ORIEL_NATIVE_range, "an empty part");
    oriel_epoch_update(rig.window->epoch, 1);
    CHECK(get(&rig, got, 8, 0) == ORIEL_NATIVE_dirty, "a dirty target");
    oriel_epoch_clean(rig.window->epoch, 1);
    oriel_epoch_unlock_all(rig.window->epoch);
    CHECK(get(&rig, got, 8, 0) == ORIEL_NATIVE_no_epoch, "no epoch");
    for (size_t i = 0; i < sizeof got; i++)
        CHECK(got[i] == 0xee, "none of them has written a byte");
    struct oriel_stats stats;
    oriel_window_stats(rig.window, &stats);
    CHECK(oriel_stats_redirected(&stats) == 0 && oriel_stats_native(&stats) == 13,
          "all are counted, as native");
    rig_destroy(&rig, false);
}

/* n elements of `bytes`, `stride` apart, on one side; in a row on the other. */
static void strided(bool arena, uint64_t n, uint64_t bytes, int64_t stride)
{
    struct rig rig = rig_create(arena, 1);
    struct oriel_piece piece = {0, bytes};
    struct oriel_layout there = {.bytes = bytes,
                                 .extent = stride,
                                 .low = 0,
                                 .high = (int64_t)bytes,
                                 .n = 1,
                                 .pieces = &piece};
    unsigned char *got = calloc(1, n * bytes + 1);
    int64_t at = stride < 0 ? -stride * (int64_t)n : 11;
    struct oriel_get g = {got, n * bytes, &bytes_layout, 1, at, n, &there, false};
    enum oriel_reason reason = oriel_route_get(rig.window, &g);
    if (reason == ORIEL_NATIVE_scattered) {
        CHECK(!arena, "a mapped read is never scattered");
    } else {
        CHECK(reason == ORIEL_SERVED, "%d pieces are served (%s)", (int)n,
              oriel_reason_names[reason]);
        bool right = true;
        for (uint64_t i = 0; i < n; i++)
            right &=
                matches(got + i * bytes, bytes, (uint64_t)(at + (int64_t)i * stride));
        CHECK(right, "%d pieces of %d, %d apart, are right", (int)n, (int)bytes,
              (int)stride);
    }
    free(got);
    rig_destroy(&rig, arena);
}

static void test_strided(bool arena)
{
    strided(arena, 4096, 8, 64);
    strided(arena, 4096, 8, -64);
    strided(arena, 1000, 24, 1000);
    strided(arena, 7, 5000, 100000);
    strided(arena, 3, 300000, 300001);
    strided(arena, 20, 8, 16384);
    strided(arena, 60, 8, 16384);
}

int main(void)
{
    for (int arena = 0; arena < 2; arena++) {
        test_plain(arena);
        test_strided(arena);
    }
    test_declined();
    oriel_engines_close();
    return check_done();
}
