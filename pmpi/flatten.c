#include "pmpi/flatten.h"

#include "pmpi/contents.h"
#include "pmpi/native.h"

#include <errno.h>

/* Bounds on the work for one type: nesting, and constructor calls read back. */
enum { MAX_DEPTH = 64, MAX_READS = 1 << 16 };

/* Alignment may round a library's upper bound up by less than the strictest one. */
enum { MAX_PADDING = 32 };

struct walker {
    int depth;
    int reads;
};

/* A type under construction. */
struct build {
    struct oriel_piece_list *list;
    bool placed; /* a block was placed, so that the bounds are known */
    int64_t lb, ub;
};

static int flatten(struct walker *walker, MPI_Datatype type, struct oriel_flat *out);

static bool mul(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static bool add(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static bool sub(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_sub_overflow(a, b, out);
}

int oriel_measure_type(MPI_Datatype type, struct oriel_measure *out)
{
    MPI_Count bytes;
    MPI_Aint lb, extent, true_lb, true_extent;
    if (native.Type_size_x(type, &bytes) ||
        native.Type_get_extent(type, &lb, &extent) ||
        native.Type_get_true_extent(type, &true_lb, &true_extent))
        return -EIO;
    *out = (struct oriel_measure){.bytes = bytes,
                                  .lb = lb,
                                  .extent = extent,
                                  .true_lb = true_lb,
                                  .true_extent = true_extent};
    return 0;
}

/* Take the bounds of one more block into account. */
static void bound(struct build *build, int64_t lb, int64_t ub)
{
    if (!build->placed || lb < build->lb) build->lb = lb;
    if (!build->placed || ub > build->ub) build->ub = ub;
    build->placed = true;
}

/* count elements in a row, the first at displacement disp. */
static int place(struct build *build, const struct oriel_flat *in, int64_t disp,
                 int64_t count)
{
    int64_t extent, reach, first_lb, first_ub, last_lb, last_ub;
    if (count == 0) return 0;
    if (count < 0) return -EIO;
    if (!sub(in->ub, in->lb, &extent) || !mul(count - 1, extent, &reach) ||
        !add(disp, in->lb, &first_lb) || !add(disp, in->ub, &first_ub) ||
        !add(first_lb, reach, &last_lb) || !add(first_ub, reach, &last_ub))
        return -EOVERFLOW;
    bound(build, first_lb, first_ub);
    bound(build, last_lb, last_ub);
    /* Solid elements: one piece, however many there are. */
    int64_t total;
    if (in->list.n == 1 && (count == 1 || extent == (int64_t)in->bytes)) {
        if (!mul(count, (int64_t)in->bytes, &total) ||
            !add(disp, in->list.pieces[0].offset, &disp))
            return -EOVERFLOW;
        return oriel_pieces_add(build->list, disp, (uint64_t)total);
    }
    for (int64_t i = 0; i < count && in->list.n > 0; i++) {
        for (size_t k = 0; k < in->list.n; k++) {
            const struct oriel_piece *piece = &in->list.pieces[k];
            int64_t offset;
            if (!add(disp, piece->offset, &offset)) return -EOVERFLOW;
            int rc = oriel_pieces_add(build->list, offset, piece->bytes);
            if (rc) return rc;
        }
        disp += extent; /* within the bounds checked above */
    }
    return 0;
}

/* count blocks of length elements, step bytes apart. */
static int place_vector(struct build *build, const struct oriel_flat *in, int64_t count,
                        int64_t length, int64_t step)
{
    int64_t reach;
    if (count == 0 || length == 0) return 0;
    if (count < 0 || length < 0) return -EIO;
    int rc = place(build, in, 0, length);
    if (rc) return rc;
    if (!mul(count - 1, step, &reach)) return -EOVERFLOW;
    int64_t lb, ub;
    if (!add(build->lb, reach, &lb) || !add(build->ub, reach, &ub)) return -EOVERFLOW;
    bound(build, lb, ub);
    return oriel_pieces_repeat(build->list, 0, (uint64_t)(count - 1), step);
}

/* The four indexed kinds. lengths: one a block, or NULL where all have the same;
 * unit: bytes that a displacement counts. */
static int place_indexed(struct build *build, const struct oriel_flat *in, size_t count,
                         const int64_t *lengths, int64_t length, const int64_t *disps,
                         int64_t unit)
{
    for (size_t i = 0; i < count; i++) {
        int64_t disp;
        if (!mul(disps[i], unit, &disp)) return -EOVERFLOW;
        int rc = place(build, in, disp, lengths ? lengths[i] : length);
        if (rc) return rc;
    }
    return 0;
}

/* a: dimensions, then their sizes, subsizes and starts, then the storage order. */
static int place_subarray(struct build *build, const struct oriel_flat *in,
                          const struct oriel_contents *contents)
{
    const int64_t *a = contents->args;
    if (contents->n_args < 1 || a[0] < 1 || contents->n_args != 3 * (size_t)a[0] + 2)
        return -EIO;
    int64_t n = a[0], step, disp = 0;
    const int64_t *size = a + 1, *subsize = size + n, *start = subsize + n;
    bool row_major = a[3 * n + 1] == MPI_ORDER_C;
    if (!sub(in->ub, in->lb, &step)) return -EOVERFLOW;
    for (int64_t i = 0; i < n; i++) {
        int64_t d =
            row_major ? n - 1 - i : i; /* from the dimension that varies first */
        int64_t skip;
        if (subsize[d] < 1) return -ENOTSUP;
        int rc = i == 0 ? place(build, in, 0, subsize[d])
                        : oriel_pieces_repeat(build->list, 0,
                                              (uint64_t)(subsize[d] - 1), step);
        if (rc) return rc;
        if (!mul(start[d], step, &skip) || !add(disp, skip, &disp) ||
            !mul(step, size[d], &step))
            return -EOVERFLOW;
    }
    for (size_t i = 0; i < build->list->n; i++) {
        int64_t *offset = &build->list->pieces[i].offset;
        if (!add(*offset, disp, offset)) return -EOVERFLOW;
    }
    build->lb = 0;
    build->ub = step;
    return 0;
}

static int place_resized(struct build *build, const struct oriel_flat *in,
                         const int64_t *a)
{
    int rc = place(build, in, 0, 1);
    build->lb = a[0];
    return !rc && !add(a[0], a[1], &build->ub) ? -EOVERFLOW : rc;
}

static int place_struct(struct walker *walker, struct build *build,
                        const struct oriel_contents *contents)
{
    size_t n = contents->n_types;
    const int64_t *length = contents->args + 1, *disp = length + n;
    if (contents->n_args != 2 * n + 1) return -EIO;
    for (size_t i = 0; i < n; i++) {
        struct oriel_flat in;
        if (length[i] == 0) continue;
        int rc = flatten(walker, contents->types[i], &in);
        if (rc) return rc;
        rc = place(build, &in, disp[i], length[i]);
        oriel_pieces_fini(&in.list);
        if (rc) return rc;
    }
    return 0;
}

/* The combiners that have one old type. */
static int place_all(struct build *build, const struct oriel_flat *in,
                     const struct oriel_contents *contents)
{
    const int64_t *a = contents->args;
    int64_t extent, step;
    size_t n = contents->n_args;
    bool counted = n > 0 && a[0] >= 0;
    size_t count = counted ? (size_t)a[0] : 0;
    if (!sub(in->ub, in->lb, &extent)) return -EOVERFLOW;
    switch (contents->combiner) {
    case MPI_COMBINER_DUP:
        return place(build, in, 0, 1);
    case MPI_COMBINER_CONTIGUOUS:
        return n == 1 ? place(build, in, 0, a[0]) : -EIO;
    case MPI_COMBINER_VECTOR:
        if (n != 3) return -EIO;
        if (!mul(a[2], extent, &step)) return -EOVERFLOW;
        return place_vector(build, in, a[0], a[1], step);
    case MPI_COMBINER_HVECTOR:
        return n == 3 ? place_vector(build, in, a[0], a[1], a[2]) : -EIO;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
        if (!counted || n != 2 * count + 1) return -EIO;
        return place_indexed(build, in, count, a + 1, 0, a + 1 + count,
                             contents->combiner == MPI_COMBINER_INDEXED ? extent : 1);
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        if (!counted || n != count + 2) return -EIO;
        return place_indexed(build, in, count, NULL, a[1], a + 2,
                             contents->combiner == MPI_COMBINER_INDEXED_BLOCK ? extent
                                                                              : 1);
    case MPI_COMBINER_SUBARRAY:
        return place_subarray(build, in, contents);
    case MPI_COMBINER_RESIZED:
        return n == 2 ? place_resized(build, in, a) : -EIO;
    default: /* distributed arrays, and combiners newer than this code */
        return -ENOTSUP;
    }
}

static int place_derived(struct walker *walker, struct build *build,
                         const struct oriel_contents *contents)
{
    struct oriel_flat in;
    if (contents->combiner == MPI_COMBINER_STRUCT)
        return place_struct(walker, build, contents);
    if (contents->n_types != 1) return -ENOTSUP;
    int rc = flatten(walker, contents->types[0], &in);
    if (rc) return rc;
    rc = place_all(build, &in, contents);
    oriel_pieces_fini(&in.list);
    return rc;
}

static int sum_up(struct oriel_flat *flat)
{
    flat->bytes = 0;
    flat->low = flat->list.n > 0 ? INT64_MAX : 0;
    flat->high = flat->list.n > 0 ? INT64_MIN : 0;
    for (size_t i = 0; i < flat->list.n; i++) {
        const struct oriel_piece *piece = &flat->list.pieces[i];
        int64_t end;
        if (__builtin_add_overflow(flat->bytes, piece->bytes, &flat->bytes) ||
            __builtin_add_overflow(piece->offset, piece->bytes, &end))
            return -EOVERFLOW;
        if (piece->offset < flat->low) flat->low = piece->offset;
        if (end > flat->high) flat->high = end;
    }
    return flat->bytes > INT64_MAX ? -EOVERFLOW : 0;
}

/* The library's own answers decide: if ours differ, we have not understood the type,
 * or the library has a fault; either way it goes native. The bounds of a struct are
 * the library's choice: it pads them, and MPICH 4.0.2 gives bounds that the program
 * has set no precedence over others. So are those of a type without data. */
static int compare(MPI_Datatype type, int combiner, const struct build *build,
                   struct oriel_flat *flat)
{
    struct oriel_measure m;
    int64_t padding;
    int rc = oriel_measure_type(type, &m);
    if (rc) return rc;
    if (m.bytes < 0 || (uint64_t)m.bytes != flat->bytes) return -EIO;
    if (m.bytes > 0 &&
        (m.true_lb != flat->low || m.true_extent != flat->high - flat->low))
        return -EIO;
    if (!add(m.lb, m.extent, &flat->ub)) return -EOVERFLOW;
    flat->lb = m.lb;
    if (m.bytes == 0 || combiner == MPI_COMBINER_STRUCT) return 0;
    /* Open MPI pads the other kinds, too. */
    if (!sub(flat->ub, build->ub, &padding)) return -EOVERFLOW;
    bool padded = padding >= 0 && padding < MAX_PADDING;
    return flat->lb == build->lb && padded ? 0 : -EIO;
}

static int flatten_predefined(const struct oriel_layout *layout, struct oriel_flat *out)
{
    if (!layout) return -ENOTSUP;
    for (size_t i = 0; i < layout->n; i++) {
        int rc = oriel_pieces_add(&out->list, layout->pieces[i].offset,
                                  layout->pieces[i].bytes);
        if (rc) return rc;
    }
    out->ub = layout->extent;
    return sum_up(out);
}

/* Fortran's parametric types are basic ones of some size. */
static int flatten_parametric(MPI_Datatype type, struct oriel_flat *out)
{
    struct oriel_measure m;
    int rc = oriel_measure_type(type, &m);
    if (rc) return rc;
    if (m.bytes <= 0 || m.lb || m.true_lb || m.extent != m.bytes ||
        m.true_extent != m.bytes)
        return -ENOTSUP;
    out->ub = m.extent;
    rc = oriel_pieces_add(&out->list, 0, (uint64_t)m.bytes);
    return rc ? rc : sum_up(out);
}

static int flatten_derived(struct walker *walker, MPI_Datatype type,
                           struct oriel_flat *out)
{
    struct oriel_contents contents;
    if (++walker->reads > MAX_READS) return -E2BIG;
    int rc = oriel_contents_read(type, &contents);
    if (rc) return rc;
    struct build build = {.list = &out->list};
    switch (contents.combiner) {
    case MPI_COMBINER_NAMED:
        rc = -ENOTSUP;
        break;
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
        rc = flatten_parametric(type, out);
        break;
    default:
        rc = place_derived(walker, &build, &contents);
        if (!rc) rc = sum_up(out);
        if (!rc) rc = compare(type, contents.combiner, &build, out);
    }
    oriel_contents_fini(&contents);
    return rc;
}

static int flatten(struct walker *walker, MPI_Datatype type, struct oriel_flat *out)
{
    const struct oriel_layout *layout;
    struct oriel_flat flat = {0};
    if (walker->depth == MAX_DEPTH) return -E2BIG;
    oriel_pieces_init(&flat.list, ORIEL_FLATTEN_PIECES);
    walker->depth++;
    int rc = oriel_datatype_basic(type, &layout) ? flatten_predefined(layout, &flat)
                                                 : flatten_derived(walker, type, &flat);
    walker->depth--;
    if (rc)
        oriel_pieces_fini(&flat.list);
    else
        *out = flat;
    return rc;
}

int oriel_flatten(MPI_Datatype type, struct oriel_flat *out)
{
    struct walker walker = {0};
    return flatten(&walker, type, out);
}
