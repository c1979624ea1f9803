/*
 * leak_many.c - thousands of windows at once.
 *
 *   leak_many [windows]
 *
 * MPI libraries have limits of their own (MPICH 4.0.2: 2046 windows and communicators
 * together), so the native limit is found first, through PMPI_*. Under Oriel as many
 * windows are to be had, but for its one communicator; each is read through; what one
 * window costs in descriptors does not grow; the window that is too much gives the
 * native error to the program's error handler.
 */
#define _GNU_SOURCE
#include "mpi_test.h"

#include "leak_usage.h"

enum { BYTES = 256, WARM = 16 };

static MPI_Win *windows;
static unsigned char *blocks;

/* Collective: windows until the library refuses one, or n. */
static int create_all(__typeof__(MPI_Win_create) *create, int n, int *refusal)
{
    int made = 0;
    *refusal = MPI_SUCCESS;
    for (; made < n; made++) {
        unsigned char *block = blocks + (size_t)made * BYTES;
        int error =
            create(block, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[made]);
        if (error != MPI_SUCCESS) {
            MPI_Error_class(error, refusal);
            break;
        }
    }
    return made;
}

static void free_all(__typeof__(MPI_Win_free) *release, int n)
{
    while (n > 0)
        CHECK(release(&windows[--n]) == MPI_SUCCESS, "window %d is freed", n);
}

static void read_all(int n)
{
    int target = (test.rank + 1) % test.ranks;
    unsigned char got[BYTES];
    for (int i = 0; i < n; i++) {
        memset(got, 0, BYTES);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, windows[i]);
        MPI_Get(got, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, windows[i]);
        MPI_Win_unlock(target, windows[i]);
        CHECK(pattern_is(got, (unsigned)target, (size_t)i * BYTES, BYTES),
              "the bytes of window %d are right", i);
        COUNTED(windows[i], "redirected", 1, "the read of window %d is redirected", i);
    }
}

int main(int argc, char **argv)
{
    int wanted = argc > 1 ? atoi(argv[1]) : 3000, native_refusal, refusal, native, made;
    struct leak_usage few, many;
    test_start(2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    windows = malloc((size_t)wanted * sizeof *windows);
    REQUIRE(posix_memalign((void **)&blocks, 4096, (size_t)wanted * BYTES) == 0,
            "memory");
    pattern_fill(blocks, (unsigned)test.rank, 0, (size_t)wanted * BYTES);

    native = create_all(PMPI_Win_create, wanted, &native_refusal);
    free_all(PMPI_Win_free, native);

    made = create_all(MPI_Win_create, WARM, &refusal);
    read_all(made);
    leak_usage_read(&few);
    free_all(MPI_Win_free, made);
    made = create_all(MPI_Win_create, wanted, &refusal);
    if (test.rank == 0)
        printf("windows at once: native %d (then class %d), with Oriel %d (then class "
               "%d)\n",
               native, native_refusal, made, refusal);
    CHECK(made >= native - 2, "as many windows as natively: %d of %d", made, native);
    CHECK(made == wanted || refusal == native_refusal,
          "the window too much gives the native error class %d: %d", native_refusal,
          refusal);
    read_all(made);
    leak_usage_read(&many);
    CHECK(many.value[LEAK_DESCRIPTORS] <= few.value[LEAK_DESCRIPTORS] + 2,
          "descriptors do not grow with the windows: %ld, then %ld",
          few.value[LEAK_DESCRIPTORS], many.value[LEAK_DESCRIPTORS]);
    CHECK(many.value[LEAK_THREADS] == few.value[LEAK_THREADS], "nor threads");
    free_all(MPI_Win_free, made);
    /* And everything works as before. */
    made = create_all(MPI_Win_create, WARM, &refusal);
    CHECK(made == WARM, "windows can be made again");
    read_all(made);
    free_all(MPI_Win_free, made);
    free(windows);
    free(blocks);
    return test_end();
}
