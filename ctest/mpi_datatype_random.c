/*
 * mpi_datatype_random.c - layouts of random nested types against a naive typemap, byte
 * by byte, and against what MPI_Pack takes from a buffer.
 *
 * The naive one is the judge: both libraries pack some types wrongly, without Oriel.
 */
#include "datatype_unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *arena; /* what types are laid over */
enum { ARENA = 1 << 23, MIDDLE = ARENA / 2, MAX_BYTES = 4096 };

/* ---- the naive oracle: every byte of a type, in typemap order ---- */

struct naive {
    MPI_Datatype type;
    bool derived; /* to be freed */
    bool wild;    /* MPI_Pack may be wrong, or crash (MPICH) */
    size_t n;
    int64_t *offset; /* of each byte */
};

static uint32_t random_state = 1;
static int pick(int low, int high) /* both included */
{
    random_state ^= random_state << 13; /* xorshift: no short periods in low bits */
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return low + (int)(random_state % (uint32_t)(high - low + 1));
}

static void naive_append(struct naive *to, const struct naive *from, int64_t disp,
                         int64_t count)
{
    int64_t extent = extent_of(from->type);
    to->wild |= from->wild || count == 0 || from->n == 0;
    for (int64_t i = 0; i < count; i++) {
        to->offset = realloc(to->offset, (to->n + from->n + 1) * sizeof *to->offset);
        for (size_t k = 0; k < from->n; k++)
            to->offset[to->n++] = disp + i * extent + from->offset[k];
    }
}

static void naive_free(struct naive *naive)
{
    if (naive->derived) MPI_Type_free(&naive->type);
    free(naive->offset);
}

/* The data of a predefined type: bytes at two places for the pair types. */
static struct naive naive_basic(void)
{
    static const int two[][3] = {{8, 8, 4}, {8, 8, 4}, {2, 4, 4}, {16, 16, 4}};
    MPI_Datatype pairs[] = {MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT,
                            MPI_LONG_DOUBLE_INT};
    MPI_Datatype plain[] = {
        MPI_CHAR, MPI_SHORT,   MPI_INT,       MPI_DOUBLE, MPI_BYTE,
        MPI_2INT, MPI_INTEGER, MPI_FLOAT_INT, MPI_AINT,   MPI_C_DOUBLE_COMPLEX};
    struct naive out = {.type = MPI_BYTE};
    if (pick(0, 5) == 0) {
        int i = pick(0, 3);
        out.type = pairs[i];
        out.offset = calloc((size_t)(two[i][0] + two[i][2]), sizeof *out.offset);
        for (int k = 0; k < two[i][0]; k++)
            out.offset[out.n++] = k;
        for (int k = 0; k < two[i][2]; k++)
            out.offset[out.n++] = two[i][1] + k;
    } else {
        int bytes;
        out.type = plain[pick(0, (int)(sizeof plain / sizeof *plain) - 1)];
        MPI_Type_size(out.type, &bytes);
        out.offset = calloc((size_t)bytes, sizeof *out.offset);
        while (out.n < (size_t)bytes) {
            out.offset[out.n] = (int64_t)out.n;
            out.n++;
        }
    }
    return out;
}

/* ---- random types ---- */

enum { MAX_BLOCKS = 5 };
static const char *kind_name;

static void make_vector(struct naive *out, const struct naive *in, bool bytes)
{
    int count = pick(0, 5), length = pick(0, 3), stride = pick(-6, 6);
    int64_t unit = extent_of(in->type);
    kind_name = bytes ? "hvector" : "vector";
    if (bytes) {
        stride = pick(-70, 70);
        unit = 1;
        MPI_Type_create_hvector(count, length, stride, in->type, &out->type);
    } else {
        MPI_Type_vector(count, length, stride, in->type, &out->type);
    }
    for (int i = 0; i < count; i++)
        naive_append(out, in, i * stride * unit, length);
}

static void make_indexed(struct naive *out, const struct naive *in, bool bytes,
                         bool same)
{
    int lengths[MAX_BLOCKS], disps[MAX_BLOCKS];
    MPI_Aint far[MAX_BLOCKS];
    int count = pick(0, MAX_BLOCKS), length = pick(0, 3);
    int64_t unit = bytes ? 1 : extent_of(in->type);
    for (int i = 0; i < count; i++) {
        lengths[i] = same ? length : pick(0, 3);
        disps[i] = bytes ? pick(-90, 90) : pick(-6, 6);
        far[i] = disps[i];
        naive_append(out, in, disps[i] * unit, lengths[i]);
    }
    kind_name = bytes  ? same ? "hindexed_block" : "hindexed"
                : same ? "indexed_block"
                       : "indexed";
    if (bytes && same)
        MPI_Type_create_hindexed_block(count, length, far, in->type, &out->type);
    else if (bytes)
        MPI_Type_create_hindexed(count, lengths, far, in->type, &out->type);
    else if (same)
        MPI_Type_create_indexed_block(count, length, disps, in->type, &out->type);
    else
        MPI_Type_indexed(count, lengths, disps, in->type, &out->type);
}

static void subarray_bytes(struct naive *out, const struct naive *in, int n,
                           const int *size, const int *subsize, const int *start,
                           bool row_major)
{
    int64_t extent = extent_of(in->type);
    int index[3] = {0};
    for (;;) {
        int64_t at = 0;
        for (int k = 0; k < n; k++) { /* slowest dimension first */
            int d = row_major ? k : n - 1 - k;
            at = at * size[d] + start[d] + index[d];
        }
        naive_append(out, in, at * extent, 1);
        int k = n - 1;
        for (; k >= 0; k--) {
            int d = row_major ? k : n - 1 - k;
            if (++index[d] < subsize[d]) break;
            index[d] = 0;
        }
        if (k < 0) return;
    }
}

static void make_subarray(struct naive *out, const struct naive *in)
{
    int n = pick(1, 3), size[3], subsize[3], start[3];
    bool row_major = pick(0, 1);
    for (int d = 0; d < n; d++) {
        size[d] = pick(1, 4);
        subsize[d] = pick(1, size[d]);
        start[d] = pick(0, size[d] - subsize[d]);
    }
    kind_name = "subarray";
    MPI_Type_create_subarray(n, size, subsize, start,
                             row_major ? MPI_ORDER_C : MPI_ORDER_FORTRAN, in->type,
                             &out->type);
    subarray_bytes(out, in, n, size, subsize, start, row_major);
}

static void make_struct(struct naive *out, const struct naive *in,
                        const struct naive *other)
{
    int n = pick(0, 4), lengths[4];
    MPI_Aint disps[4];
    MPI_Datatype types[4];
    kind_name = "struct";
    for (int i = 0; i < n; i++) {
        const struct naive *member = pick(0, 1) ? in : other;
        lengths[i] = pick(0, 2);
        disps[i] = pick(-60, 120);
        types[i] = member->type;
        naive_append(out, member, disps[i], lengths[i]);
    }
    MPI_Type_create_struct(n, lengths, disps, types, &out->type);
}

static struct naive make(int depth)
{
    if (depth == 0) return naive_basic();
    struct naive in = make(depth - 1), out = {.derived = true};
    if (in.n > MAX_BYTES) return in;
    switch (pick(0, 9)) {
    case 0: {
        kind_name = "dup";
        MPI_Type_dup(in.type, &out.type);
        naive_append(&out, &in, 0, 1);
        out.wild = true;
        break;
    }
    case 1: {
        int count = pick(0, 5);
        kind_name = "contiguous";
        MPI_Type_contiguous(count, in.type, &out.type);
        naive_append(&out, &in, 0, count);
        break;
    }
    case 2: {
        int extent = pick(-40, 90);
        kind_name = "resized";
        MPI_Type_create_resized(in.type, pick(-20, 20), extent, &out.type);
        naive_append(&out, &in, 0, 1);
        out.wild |= extent < 0;
        break;
    }
    case 3:
    case 4:
        make_vector(&out, &in, pick(0, 1));
        break;
    case 5:
    case 6:
        make_indexed(&out, &in, pick(0, 1), pick(0, 1));
        break;
    case 7:
        make_subarray(&out, &in);
        break;
    default: {
        struct naive other = make(pick(0, depth - 1));
        make_struct(&out, &in, &other);
        naive_free(&other);
    }
    }
    naive_free(&in);
    return out;
}

/* ---- comparison ---- */

static bool same_bytes(const struct oriel_layout *layout, const struct naive *naive)
{
    size_t n = 0;
    for (size_t i = 0; i < layout->n; i++) {
        for (uint64_t k = 0; k < layout->pieces[i].bytes; k++, n++) {
            if (n == naive->n) return false;
            if (layout->pieces[i].offset + (int64_t)k != naive->offset[n]) return false;
        }
    }
    return n == naive->n;
}

/* Is each piece really needed, and none empty? */
static bool merged(const struct oriel_layout *layout)
{
    for (size_t i = 0; i < layout->n; i++) {
        const struct oriel_piece *piece = &layout->pieces[i];
        if (piece->bytes == 0) return false;
        if (i > 0 && piece[-1].offset + (int64_t)piece[-1].bytes == piece->offset)
            return false;
    }
    return true;
}

enum pack { PACK_SAME, PACK_DIFFERS, PACK_UNTOLD, PACK_OUTCOMES };

/* Untold: the data do not lie in the arena, or the library packed only a part, as
 * MPICH 4.0.2 does after types of some kinds were freed. */
static enum pack compare_pack(const struct oriel_layout *layout, MPI_Datatype type,
                              int count)
{
    static unsigned char packed[1 << 20];
    int64_t low, high;
    int position = 0;
    size_t n = 0;
    if (layout->n == 0 || oriel_layout_bounds(layout, (uint64_t)count, &low, &high) ||
        low < -MIDDLE || high > MIDDLE ||
        layout->bytes * (uint64_t)count > sizeof packed)
        return PACK_UNTOLD;
    if (MPI_Pack(arena + MIDDLE, count, type, packed, (int)sizeof packed, &position,
                 MPI_COMM_SELF) ||
        (uint64_t)position != layout->bytes * (uint64_t)count)
        return PACK_UNTOLD;
    for (int e = 0; e < count; e++) {
        for (size_t i = 0; i < layout->n; i++) {
            const struct oriel_piece *piece = &layout->pieces[i];
            const unsigned char *from =
                arena + MIDDLE + e * layout->extent + piece->offset;
            if (memcmp(from, packed + n, piece->bytes) != 0) return PACK_DIFFERS;
            n += piece->bytes;
        }
    }
    return PACK_SAME;
}

static void bounds_match(const struct oriel_layout *layout, MPI_Datatype type)
{
    MPI_Aint lb, extent;
    int bytes;
    MPI_Type_get_extent(type, &lb, &extent);
    CHECK(layout->extent == extent, "%s: the extent is MPI's", kind_name);
    MPI_Type_size(type, &bytes);
    CHECK(layout->bytes == (uint64_t)bytes, "%s: the size is MPI's", kind_name);
    MPI_Type_get_true_extent(type, &lb, &extent);
    if (bytes > 0)
        CHECK(layout->low == lb && layout->high == lb + extent,
              "%s: the true bounds are MPI's", kind_name);
    bool solid =
        layout->n == 1 && layout->low == 0 && layout->extent == (int64_t)layout->bytes;
    CHECK(layout->contiguous == solid, "%s: contiguous says so", kind_name);
}

/* A duplicate is as committed as its original, and Open MPI treats a resized type
 * likewise. */
static bool surely_uncommitted(const struct naive *naive)
{
    return naive->derived && strcmp(kind_name, "dup") && strcmp(kind_name, "resized");
}

static void check_layout(const struct oriel_layout *layout, const struct naive *naive,
                         int i)
{
    CHECK(same_bytes(layout, naive), "%s %d: the typemap's bytes, in order", kind_name,
          i);
    CHECK(merged(layout), "%s %d: adjacent pieces are one", kind_name, i);
    bounds_match(layout, naive->type);
    CHECK(oriel_datatype_layout(naive->type) == layout, "%s %d: the same layout",
          kind_name, i);
}

static void test_random(int types)
{
    int served = 0, data = 0, packs[PACK_OUTCOMES] = {0};
    for (int i = 0; i < types; i++) {
        struct naive naive = make(pick(1, 4));
        if (surely_uncommitted(&naive))
            CHECK(!oriel_datatype_layout(naive.type), "%s %d: not committed: no layout",
                  kind_name, i);
        if (naive.derived) MPI_Type_commit(&naive.type);
        const struct oriel_layout *layout = oriel_datatype_layout(naive.type);
        if (layout) {
            served++;
            data += naive.n > 0;
            check_layout(layout, &naive, i);
            if (!naive.wild) packs[compare_pack(layout, naive.type, pick(1, 3))]++;
        } else if (getenv("VERBOSE")) {
            printf("type %d: %s of %zu bytes has no layout\n", i, kind_name, naive.n);
        }
        naive_free(&naive);
    }
    printf(
        "%d random types: %d with a layout, %d of them with data; MPI_Pack agrees on "
        "%d, differs on %d, tells nothing of %d\n",
        types, served, data, packs[PACK_SAME], packs[PACK_DIFFERS], packs[PACK_UNTOLD]);
    CHECK(served > types * 9 / 10, "nearly all types have a layout (%d of %d)", served,
          types);
    CHECK(packs[PACK_SAME] > types / 5, "MPI_Pack agrees on many (%d)",
          packs[PACK_SAME]);
    CHECK(packs[PACK_DIFFERS] == 0, "MPI_Pack differs on none (%d)",
          packs[PACK_DIFFERS]);
}

int main(int argc, char **argv)
{
    unit_start(&argc, &argv);
    arena = malloc(ARENA);
    REQUIRE(arena, "memory");
    for (int i = 0; i < ARENA; i++)
        arena[i] = (unsigned char)pick(0, 255);
    test_random(argc > 1 ? atoi(argv[1]) : 5000);
    free(arena);
    return unit_end();
}
