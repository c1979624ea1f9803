/*
 * Derived datatypes: origin and target of different types (A8), lower bounds,
 * resized extents, several elements of them, and types that are freed before the
 * read completes (A5). Expected bytes come from walking the typemaps by hand.
 */
#include "mpi_test.h"

#include <stddef.h>

enum { BYTES = 1 << 16, MAX_BLOCKS = 64 };

/* A datatype and its typemap: where each of its bytes lies. */
struct map {
    const char *name;
    MPI_Datatype type;
    int count;
    size_t n;         /* blocks of one element, in typemap order */
    ptrdiff_t extent; /* from one element to the next */
    ptrdiff_t at[MAX_BLOCKS];
    size_t bytes[MAX_BLOCKS];
    ptrdiff_t shift; /* displacement that keeps negative bounds inside */
};

static void add_block(struct map *map, ptrdiff_t at, size_t bytes)
{
    map->at[map->n] = at;
    map->bytes[map->n++] = bytes;
}

/* All types below hold 480 bytes: 120 ints in some order, for all elements. */
static struct map contiguous(void)
{
    struct map map = {.name = "contiguous", .count = 1, .extent = 480};
    add_block(&map, 0, 480);
    MPI_Type_contiguous(120, MPI_INT, &map.type);
    return map;
}

static struct map ints(void)
{
    struct map map = {.name = "ints", .count = 120, .extent = 4, .type = MPI_INT};
    add_block(&map, 0, 4);
    return map;
}

static struct map vector(void)
{
    struct map map = {.name = "vector", .count = 4, .extent = 4 * (9 * 5 + 3)};
    for (ptrdiff_t i = 0; i < 10; i++)
        add_block(&map, i * 20, 12);
    MPI_Type_vector(10, 3, 5, MPI_INT, &map.type);
    return map;
}

static struct map backwards(void)
{
    struct map map = {.name = "vector of negative stride", .count = 1, .shift = 2000};
    for (ptrdiff_t i = 0; i < 60; i++)
        add_block(&map, i * -24, 8);
    MPI_Type_create_hvector(60, 2, -24, MPI_INT, &map.type);
    return map;
}

static struct map indexed(void)
{
    int lengths[] = {5, 1, 4}, at[] = {20, 3, 9};
    struct map map = {.name = "indexed", .count = 12, .extent = 4 * (25 - 3)};
    for (int i = 0; i < 3; i++)
        add_block(&map, at[i] * 4, (size_t)lengths[i] * 4);
    MPI_Type_indexed(3, lengths, at, MPI_INT, &map.type);
    return map;
}

static struct map subarray(void)
{
    int whole[] = {8, 16, 4}, part[] = {5, 6, 4}, start[] = {2, 7, 0};
    struct map map = {.name = "subarray", .count = 1, .extent = 8 * 16 * 4 * 4};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 6; j++)
            add_block(&map, ((start[0] + i) * 64 + (start[1] + j) * 4) * 4, 16);
    MPI_Type_create_subarray(3, whole, part, start, MPI_ORDER_C, MPI_INT, &map.type);
    return map;
}

static struct map resized(void)
{
    struct map map = {.name = "resized, with lower bound", .count = 60, .extent = 32};
    MPI_Datatype pair;
    MPI_Aint at[] = {-8, 4};
    int lengths[] = {1, 1};
    map.shift = 64;
    add_block(&map, -8, 4);
    add_block(&map, 4, 4);
    MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &pair);
    MPI_Type_create_resized(pair, -16, 32, &map.type);
    MPI_Type_free(&pair);
    return map;
}

/* Out of order, and nested. */
static struct map structure(void)
{
    struct map map = {.name = "structure", .count = 12, .extent = 160};
    int lengths[] = {2, 2, 4};
    MPI_Aint at[] = {96, 0, 40};
    MPI_Datatype piece, whole, types[] = {MPI_INT, MPI_INT, MPI_INT};
    MPI_Type_vector(2, 1, 3, MPI_INT, &piece);
    types[0] = piece; /* elements of piece are 16 bytes apart */
    add_block(&map, 96, 4);
    add_block(&map, 108, 4);
    add_block(&map, 112, 4);
    add_block(&map, 124, 4);
    add_block(&map, 0, 8);
    add_block(&map, 40, 16);
    MPI_Type_create_struct(3, lengths, at, types, &whole);
    MPI_Type_create_resized(whole, 0, 160, &map.type);
    MPI_Type_free(&whole);
    MPI_Type_free(&piece);
    return map;
}

/* struct { int; double; } on one side, read as the packed bytes of the other. */
static void int_and_double(struct test_window *w, int target)
{
    struct pair {
        int32_t i;
        double d;
    } got[3];
    int lengths[] = {1, 1};
    MPI_Aint here[] = {offsetof(struct pair, i), offsetof(struct pair, d)};
    MPI_Aint there[] = {16, 0};
    MPI_Datatype types[] = {MPI_INT32_T, MPI_DOUBLE}, a, origin, b, remote;
    MPI_Type_create_struct(2, lengths, here, types, &a);
    MPI_Type_create_resized(a, 0, sizeof(struct pair), &origin);
    MPI_Type_create_struct(2, lengths, there, types, &b);
    MPI_Type_create_resized(b, 0, 40, &remote);
    MPI_Type_commit(&origin);
    MPI_Type_commit(&remote);
    memset(got, 0, sizeof got);
    MPI_Get(got, 3, origin, target, 800, 3, remote, w->win);
    MPI_Win_flush(target, w->win);
    for (size_t k = 0; k < 3; k++)
        CHECK(pattern_is(&got[k].i, (unsigned)target, 816 + k * 40, 4) &&
                  pattern_is(&got[k].d, (unsigned)target, 800 + k * 40, 8),
              "int and double land in their members, element %zu", k);
    MPI_Type_free(&a);
    MPI_Type_free(&b);
    MPI_Type_free(&origin);
    MPI_Type_free(&remote);
}

/* What a read from that map gives, packed in typemap order. */
static size_t packed(const struct map *map, unsigned seed, unsigned char *out)
{
    size_t n = 0;
    for (int e = 0; e < map->count; e++)
        for (size_t b = 0; b < map->n; b++) {
            ptrdiff_t at = map->shift + e * map->extent + map->at[b];
            pattern_fill(out + n, seed, (size_t)at, map->bytes[b]);
            n += map->bytes[b];
        }
    return n;
}

/* Scatter packed bytes into a buffer as the origin's map says. */
static void spread(const struct map *map, const unsigned char *in, unsigned char *out)
{
    for (int e = 0; e < map->count; e++)
        for (size_t b = 0; b < map->n; b++) {
            memcpy(out + map->shift + e * map->extent + map->at[b], in, map->bytes[b]);
            in += map->bytes[b];
        }
}

typedef struct map maker(void);
static maker *const makers[] = {contiguous, ints,     vector,  backwards,
                                indexed,    subarray, resized, structure};
enum { MAKERS = sizeof makers / sizeof makers[0] };

/* Types are freed before the read completes where `early`. */
static void pair_of_types(struct test_window *w, int from, int to, int target,
                          bool early)
{
    static unsigned char got[BYTES], want[BYTES], line[BYTES];
    struct map remote = makers[from](), origin = makers[to]();
    bool free_remote = remote.type != MPI_INT, free_origin = origin.type != MPI_INT;
    if (free_remote) MPI_Type_commit(&remote.type);
    if (free_origin) MPI_Type_commit(&origin.type);
    memset(got, 0xA5, BYTES);
    memset(want, 0xA5, BYTES);
    size_t bytes = packed(&remote, (unsigned)target, line);
    NEED(bytes == 480, "the test's types have equal sizes (%s: %zu)", remote.name,
         bytes);
    spread(&origin, line, want);
    MPI_Get(got + origin.shift, origin.count, origin.type, target, remote.shift,
            remote.count, remote.type, w->win);
    if (!early) MPI_Win_flush(target, w->win);
    if (free_remote) MPI_Type_free(&remote.type);
    if (free_origin) MPI_Type_free(&origin.type);
    if (early) MPI_Win_flush(target, w->win);
    CHECK(memcmp(got, want, BYTES) == 0, "%s read into %s is right (%s%s)", remote.name,
          origin.name, kind_names[w->kind], early ? ", freed early" : "");
}

int main(void)
{
    test_start(2);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct test_window w =
            window_open(MPI_COMM_WORLD, kind, BYTES, 1, "oriel_offload=true");
        pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, w.win);
        uint64_t reads = 0;
        for (int target = 0; target < test.ranks; target++) {
            for (int from = 0; from < MAKERS; from++)
                for (int to = 0; to < MAKERS; to++)
                    for (int early = 0; early < 2; early++, reads++)
                        pair_of_types(&w, from, to, target, early);
            int_and_double(&w, target);
            reads++;
        }
        MPI_Win_unlock_all(w.win);
        COUNTED(w.win, "gets", reads, "every read is counted once");
        /* Pieces that are too small to pay may go native, mapped ones never. */
        if (kind == KIND_ALLOC_MEM)
            ALL_SERVED(&w, reads, "derived types are redirected");
        if (kind == KIND_CREATE)
            CHECK(!test.layer ||
                      reads_served(&w) + counter(w.win, "scattered") == reads,
                  "derived types are redirected unless they are too scattered");
        CHECK(!has_counters(w.win) || reads_served(&w) > reads / 2,
              "most of them are redirected");
        window_close(&w);
    }
    return test_end();
}
