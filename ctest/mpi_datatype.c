/*
 * mpi_datatype.c - layouts of types that are known in advance, bad handles, and the
 * layouts' life.
 */
#define _GNU_SOURCE
#include "datatype_unit.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0 /* else freed memory is not used again for a while */
#endif

/* ---- what is known in advance ---- */

static void test_basic(void)
{
    static const struct {
        const char *name;
        size_t bytes;
    } sizes[] = {{"int", sizeof(int)},
                 {"double", sizeof(double)},
                 {"byte", 1},
                 {"count", sizeof(MPI_Count)},
                 {"bool", sizeof(_Bool)},
                 {"long double", sizeof(long double)},
                 {"2int", 2 * sizeof(int)},
                 {"float int", sizeof(float) + sizeof(int)},
                 {"int16_t", 2},
                 {"wchar_t", sizeof(wchar_t)},
                 {"float complex", 2 * sizeof(float)}};
    MPI_Datatype types[] = {MPI_INT,   MPI_DOUBLE,         MPI_BYTE,
                            MPI_COUNT, MPI_C_BOOL,         MPI_LONG_DOUBLE,
                            MPI_2INT,  MPI_FLOAT_INT,      MPI_INT16_T,
                            MPI_WCHAR, MPI_C_FLOAT_COMPLEX};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct oriel_layout *layout = oriel_datatype_layout(types[i]);
        REQUIRE(layout, "%s has a layout", sizes[i].name);
        CHECK(layout->contiguous && layout->n == 1 && layout->low == 0 &&
                  layout->bytes == sizes[i].bytes &&
                  layout->extent == (int64_t)sizes[i].bytes &&
                  layout->high == layout->extent && layout->pieces[0].offset == 0 &&
                  layout->pieces[0].bytes == sizes[i].bytes,
              "%s is %zu bytes in a row", sizes[i].name, sizes[i].bytes);
    }
#define ORIEL_BASIC(name)                                                              \
    if (name != MPI_DATATYPE_NULL) {                                                   \
        int bytes;                                                                     \
        const struct oriel_layout *layout = oriel_datatype_layout(name);               \
        MPI_Type_size(name, &bytes);                                                   \
        CHECK(bytes == 0 || (layout && layout->bytes == (uint64_t)bytes),              \
              #name " has a layout of its size");                                      \
    }
#define ORIEL_PAIR(name, type) ORIEL_BASIC(name)
#include "pmpi/basic.def"
    CHECK(!oriel_datatype_layout(MPI_DATATYPE_NULL), "MPI_DATATYPE_NULL has none");
    const struct oriel_layout *gap = oriel_datatype_layout(MPI_DOUBLE_INT);
    REQUIRE(gap, "MPI_DOUBLE_INT has a layout");
    CHECK(gap->n == 1 && gap->bytes == 12 && gap->extent == 16 && !gap->contiguous,
          "MPI_DOUBLE_INT: 12 bytes, 16 apart");
    gap = oriel_datatype_layout(MPI_SHORT_INT);
    REQUIRE(gap, "MPI_SHORT_INT has a layout");
    CHECK(gap->n == 2 && gap->bytes == 6 && gap->extent == 8 &&
              gap->pieces[1].offset == 4,
          "MPI_SHORT_INT leaves out its gap");
}

static void test_handles(void)
{
    MPI_Datatype type, copy, other;
    MPI_Type_vector(4, 1, 2, MPI_INT, &type);
    CHECK(!oriel_datatype_layout(type), "an uncommitted type has no layout");
    CHECK(!oriel_datatype_layout(type), "and still none");
    const struct oriel_layout *layout = commit(&type);
    REQUIRE(layout && layout->n == 4, "committed, it has one");
    MPI_Type_dup(type, &copy);
    const struct oriel_layout *second = oriel_datatype_layout(copy);
    CHECK(second && second != layout && second->n == 4, "a duplicate has its own");
    MPI_Type_free(&type);
    CHECK(second->pieces[3].offset == 24, "which outlives the original");
    int reused = 0;
    for (int i = 1; i < 200; i++) {
        MPI_Datatype old;
        MPI_Type_contiguous(i, MPI_INT, &type);
        layout = commit(&type);
        CHECK(layout && layout->bytes == 4u * (unsigned)i, "a new type's own layout");
        old = type;
        MPI_Type_free(&type);
        MPI_Type_vector(i, 1, 3, MPI_SHORT, &other);
        reused += other == old;
        CHECK(!oriel_datatype_layout(other), "a reused handle does not make it known");
        layout = commit(&other);
        CHECK(layout && layout->bytes == 2u * (unsigned)i && layout->n == (size_t)i,
              "the handle's new type, not its old one");
        MPI_Type_free(&other);
    }
    CHECK(SANITIZED || reused > 0,
          "the library reuses handles, or this test tests nothing");
    MPI_Type_free(&copy);
}

/* Far more types than the cache has slots. */
static void test_many(void)
{
    enum { MANY = 2000 };
    static MPI_Datatype types[MANY];
    static const struct oriel_layout *layouts[MANY];
    int same = 0, right = 0;
    for (int i = 0; i < MANY; i++) {
        MPI_Type_vector(2, i + 1, i + 2, MPI_CHAR, &types[i]);
        layouts[i] = commit(&types[i]);
    }
    for (int i = 0; i < MANY; i++) {
        const struct oriel_layout *layout = oriel_datatype_layout(types[i]);
        same += layout && layout == layouts[i];
        right += layout && layout->n == 2 && layout->pieces[1].offset == i + 2;
    }
    CHECK(same == MANY, "%d of %d layouts are flattened once", same, MANY);
    CHECK(right == MANY, "%d of %d layouts are the right ones", right, MANY);
    for (int i = 0; i < MANY; i++)
        MPI_Type_free(&types[i]);
}

/* No handler of the program's may run: the native call is to report these. */
static void test_bad_handles(void)
{
    int before = handler_calls;
    CHECK(!oriel_datatype_layout((MPI_Datatype)0), "a handle of 0 has no layout");
#ifdef MPICH
    CHECK(!oriel_datatype_layout((MPI_Datatype)12345), "nor has a number");
    CHECK(!oriel_datatype_layout((MPI_Datatype)-1), "nor -1");
    CHECK(!oriel_datatype_layout((MPI_Datatype)MPI_COMM_WORLD), "nor a communicator");
    CHECK(!oriel_datatype_layout((MPI_Datatype)0x4c000099),
          "nor an unknown basic type");
#endif
    CHECK(handler_calls == before, "no error handler of the program was called");
}

static void test_declined(void)
{
    int size[2] = {8, 8}, how[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    int arg[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {1, 1};
    MPI_Datatype type, inner;
    MPI_Type_create_darray(1, 0, 2, size, how, arg, grid, MPI_ORDER_C, MPI_INT, &type);
    CHECK(!commit(&type), "a distributed array goes native");
    CHECK(!oriel_datatype_layout(type), "and is remembered to");
    MPI_Type_free(&type);
    MPI_Type_vector(3 << 19, 1, 2, MPI_CHAR, &type);
    CHECK(!commit(&type), "more than a million pieces go native");
    MPI_Type_free(&type);
    MPI_Type_vector(1 << 20, 1, 2, MPI_CHAR, &type);
    const struct oriel_layout *layout = commit(&type);
    CHECK(layout && layout->n == 1 << 20, "a million pieces are a layout");
    MPI_Type_free(&type);
    MPI_Type_contiguous(1, MPI_INT, &type);
    for (int i = 0; i < 100; i++) {
        inner = type;
        MPI_Type_contiguous(1, inner, &type);
        MPI_Type_free(&inner);
    }
    CHECK(!commit(&type), "a hundred levels of nesting go native");
    MPI_Type_free(&type);
    /* Two members of the same type, thirty times over: 2^30 ints. */
    MPI_Type_contiguous(1, MPI_INT, &type);
    for (int i = 0; i < 30; i++) {
        int one[2] = {1, 1};
        MPI_Aint disp[2] = {0, extent_of(type)};
        MPI_Datatype both[2] = {type, type};
        MPI_Type_create_struct(2, one, disp, both, &inner);
        MPI_Type_free(&type);
        type = inner;
    }
    CHECK(!commit(&type), "a type that takes too long to read back goes native");
    MPI_Type_free(&type);
}

static void test_large(void)
{
    MPI_Datatype row, type;
    MPI_Type_contiguous(1 << 20, MPI_DOUBLE, &row);
    MPI_Type_contiguous(3000, row, &type);
    const struct oriel_layout *layout = commit(&type);
    CHECK(layout && layout->contiguous && layout->bytes == 3000ull << 23,
          "24 GiB in a row are one piece");
    MPI_Type_free(&type);
    MPI_Type_create_hvector(3, 1, (MPI_Aint)1 << 40, row, &type);
    layout = commit(&type);
    CHECK(layout && layout->n == 3 && layout->pieces[2].offset == (int64_t)1 << 41,
          "displacements beyond 32 bits");
    MPI_Type_free(&type);
    MPI_Type_vector(1 << 30, 1, 1, MPI_CHAR, &type);
    layout = commit(&type);
    CHECK(layout && layout->contiguous, "a vector without gaps is one piece");
    MPI_Type_free(&type);
    MPI_Type_free(&row);
    MPI_Type_create_f90_real(15, 300, &type);
    layout = oriel_datatype_layout(type);
    CHECK(layout && layout->contiguous && layout->bytes == 8, "Fortran's double");
    MPI_Type_create_f90_integer(4, &row);
    MPI_Type_vector(3, 1, 2, row, &type);
    layout = commit(&type);
    CHECK(layout && layout->bytes == 3 * 2 && layout->n == 3, "three Fortran integers");
    MPI_Type_free(&type);
}

#if MPI_VERSION >= 4
/* The large-count constructors, each against its classic twin. */
static void same_as(MPI_Datatype large, MPI_Datatype small, const char *name)
{
    const struct oriel_layout *a = commit(&large), *b = commit(&small);
    CHECK(a && b && a->n == b->n && a->extent == b->extent && a->low == b->low &&
              !memcmp(a->pieces, b->pieces, a->n * sizeof *a->pieces),
          "%s is as its classic twin", name);
    MPI_Type_free(&large);
    MPI_Type_free(&small);
}

static void test_large_count(void)
{
    MPI_Datatype a, b, types[2] = {MPI_INT, MPI_SHORT};
    MPI_Count length[2] = {2, 3}, disp[2] = {40, 8}, size[2] = {5, 6},
              subsize[2] = {2, 3}, start[2] = {1, 2};
    int ilength[2] = {2, 3}, idisp[2] = {40, 8}, isize[2] = {5, 6},
        isubsize[2] = {2, 3}, istart[2] = {1, 2};
    MPI_Aint adisp[2] = {40, 8};
    MPI_Type_contiguous_c((MPI_Count)5 << 30, MPI_INT, &a);
    const struct oriel_layout *layout = commit(&a);
    CHECK(layout && layout->contiguous && layout->bytes == 20ull << 30,
          "20 GiB of ints");
    MPI_Type_free(&a);
    MPI_Type_contiguous_c(7, MPI_INT, &a);
    MPI_Type_contiguous(7, MPI_INT, &b);
    same_as(a, b, "contiguous_c");
    MPI_Type_vector_c(3, 2, 5, MPI_INT, &a);
    MPI_Type_vector(3, 2, 5, MPI_INT, &b);
    same_as(a, b, "vector_c");
    MPI_Type_create_hvector_c(3, 2, 17, MPI_INT, &a);
    MPI_Type_create_hvector(3, 2, 17, MPI_INT, &b);
    same_as(a, b, "hvector_c");
    MPI_Type_indexed_c(2, length, disp, MPI_INT, &a);
    MPI_Type_indexed(2, ilength, idisp, MPI_INT, &b);
    same_as(a, b, "indexed_c");
    MPI_Type_create_hindexed_c(2, length, disp, MPI_INT, &a);
    MPI_Type_create_hindexed(2, ilength, adisp, MPI_INT, &b);
    same_as(a, b, "hindexed_c");
    MPI_Type_create_indexed_block_c(2, 3, disp, MPI_INT, &a);
    MPI_Type_create_indexed_block(2, 3, idisp, MPI_INT, &b);
    same_as(a, b, "indexed_block_c");
    MPI_Type_create_hindexed_block_c(2, 3, disp, MPI_INT, &a);
    MPI_Type_create_hindexed_block(2, 3, adisp, MPI_INT, &b);
    same_as(a, b, "hindexed_block_c");
    MPI_Type_create_struct_c(2, length, disp, types, &a);
    MPI_Type_create_struct(2, ilength, adisp, types, &b);
    same_as(a, b, "struct_c");
    for (int order = 0; order < 2; order++) {
        int how = order ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        MPI_Type_create_subarray_c(2, size, subsize, start, how, MPI_INT, &a);
        MPI_Type_create_subarray(2, isize, isubsize, istart, how, MPI_INT, &b);
        same_as(a, b, "subarray_c");
    }
    MPI_Type_create_resized_c(MPI_INT, -4, 24, &a);
    MPI_Type_create_resized(MPI_INT, -4, 24, &b);
    same_as(a, b, "resized_c");
}
#else
static void test_large_count(void) {}
#endif

/* ---- life ---- */

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void make_and_free(int types)
{
    for (int i = 0; i < types; i++) {
        MPI_Datatype inner, type;
        MPI_Type_vector(100, 1, 2, MPI_INT, &inner);
        MPI_Type_create_resized(inner, 0, 1000, &type);
        MPI_Type_free(&inner);
        const struct oriel_layout *layout = commit(&type);
        CHECK(layout && layout->n == 100, "a layout of 100 pieces");
        MPI_Type_free(&type);
    }
}

static void test_leaks(void)
{
    enum { TYPES = 10000 };
    make_and_free(1000);
    long before = resident_kib();
    make_and_free(TYPES);
    long grown = resident_kib() - before;
    /* Kept, the lists of pieces alone would be 15 MiB. */
    CHECK(SANITIZED || grown < 1024, "%d types leave nothing behind (%ld KiB)", TYPES,
          grown);
}

/* Long enough to flatten for several threads to come in meanwhile. */
enum { THREADS = 4, ROUNDS = 100, LONG = 50000 };
static pthread_barrier_t together;
static MPI_Datatype shared_type;
static const struct oriel_layout *seen[THREADS];

static void *thread_main(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&together);
        if (me == 0) {
            MPI_Type_vector(LONG + round, 1, 2, MPI_INT, &shared_type);
            MPI_Type_commit(&shared_type);
        }
        pthread_barrier_wait(&together);
        seen[me] = oriel_datatype_layout(shared_type);
        make_and_free(2); /* meanwhile others flatten and free their own */
        pthread_barrier_wait(&together);
        if (me == 0) {
            int same = 0;
            for (int i = 0; i < THREADS; i++)
                same += seen[i] && seen[i] == seen[0] &&
                        seen[i]->n == (size_t)(LONG + round);
            CHECK(same == THREADS, "all threads get the one layout (%d)", same);
            MPI_Type_free(&shared_type);
        }
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, thread_main, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
}

/* A type that outlives the layer, and one that is flattened by the next. */
static void test_restart(void)
{
    MPI_Datatype type;
    MPI_Type_vector(4, 1, 2, MPI_INT, &type);
    CHECK(commit(&type), "before fini");
    oriel_datatype_fini();
    CHECK(!oriel_datatype_layout(type), "no layouts after fini");
    CHECK(!oriel_datatype_layout(MPI_INT), "nor basic ones");
    REQUIRE(oriel_datatype_init(quiet) == 0, "init again");
    const struct oriel_layout *layout = oriel_datatype_layout(type);
    CHECK(layout && layout->n == 4, "flattened anew");
    oriel_datatype_fini();
    REQUIRE(oriel_datatype_init(MPI_COMM_NULL) == 0, "init without a communicator");
    CHECK(oriel_datatype_layout(MPI_INT), "predefined types have layouts");
    CHECK(!oriel_datatype_layout(type),
          "derived ones, which cannot be checked, do not");
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    unit_start(&argc, &argv);
    test_basic();
    test_leaks(); /* first, before others leave free memory in the heap */
    test_handles();
    test_many();
    test_bad_handles();
    test_large();
    test_large_count();
    test_declined();
    test_threads();
    test_restart();
    return unit_end();
}
