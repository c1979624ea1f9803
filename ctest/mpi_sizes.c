/*
 * Windows whose ranks differ: empty ranks with a NULL base (A1), one rank that has
 * all the bytes (A2), a size given in elements instead of bytes (A9), other
 * displacement units on each rank.
 */
#include "mpi_test.h"

static MPI_Win create(void *base, size_t bytes, int unit)
{
    MPI_Win win;
    MPI_Info info = info_from("oriel_offload=true");
    MPI_Win_create(base, (MPI_Aint)bytes, unit, info, MPI_COMM_WORLD, &win);
    info_free(&info);
    return win;
}

static int class_of(int error)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    return class;
}

/* Every other rank is empty; the units are 1, 4, 8, 1, ... */
static void odd_ranks_empty(void)
{
    enum { BYTES = 4096 };
    static unsigned char memory[BYTES] __attribute__((aligned(64)));
    static const int units[] = {1, 4, 8};
    bool empty = test.rank % 2 == 1;
    pattern_fill(memory, (unsigned)test.rank, 0, BYTES);
    MPI_Win win =
        create(empty ? NULL : memory, empty ? 0 : BYTES, units[test.rank % 3]);
    MPI_Datatype every_other;
    MPI_Type_vector(16, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    uint64_t reads = 0, spared = 0;
    for (int target = 0; target < test.ranks; target++) {
        int ints[33];
        memset(ints, 0xA5, sizeof ints);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        if (target % 2 == 0) {
            int unit = units[target % 3];
            MPI_Get(ints, 16, MPI_INT, target, 64 / unit, 1, every_other, win);
            reads++;
        } else {
            MPI_Get(ints, 0, MPI_INT, target, 0, 0, MPI_INT, win);
            spared++;
        }
        MPI_Win_unlock(target, win);
        bool right = true;
        for (size_t i = 0; i < 16; i++)
            right &= target % 2 == 0
                         ? pattern_is(&ints[i], (unsigned)target, 64 + i * 8, 4)
                         : all_bytes(&ints[i], 0xA5, 4);
        CHECK(right, "a vector of rank %d, beside empty ranks, is read right", target);
        CHECK(all_bytes(ints + 16, 0xA5, sizeof ints - 64), "and nothing more");
    }
    COUNTED(win, "redirected", reads, "reads beside empty ranks are redirected");
    COUNTED(win, "empty", spared, "reads of count 0 are left to the library");
    MPI_Type_free(&every_other);
    MPI_Win_free(&win);
}

/* A1: a read of an empty rank that asks for bytes. MPICH crashes and Open MPI tries for
 * ever, so there is no native class to compare with: it has to be a range error. */
static void read_of_empty_rank(void)
{
    static unsigned char memory[64] __attribute__((aligned(64)));
    pattern_fill(memory, (unsigned)test.rank, 0, 64);
    MPI_Win win = create(test.rank == 1 ? NULL : memory, test.rank == 1 ? 0 : 64, 1);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (test.layer && test.rank == 0) {
        unsigned char got[8];
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        int error = MPI_Get(got, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, win);
        CHECK(class_of(error) == MPI_ERR_RMA_RANGE,
              "a read of an empty rank is a range error (class %d)", class_of(error));
        MPI_Win_unlock(1, win);
        COUNTED(win, "redirected", 0, "a read of an empty rank is never redirected");
    }
    MPI_Win_free(&win);
}

/* Only rank 0 has bytes; a read is checked against the target's size, not the
 * reader's own. */
static void one_rank_has_all(void)
{
    enum { BYTES = 1 << 20 };
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct test_window w =
            window_open(MPI_COMM_WORLD, kind, test.rank == 0 ? BYTES : 0,
                        test.rank == 0 ? 4 : 1, "oriel_offload=true");
        static unsigned char got[BYTES];
        if (test.rank == 0) pattern_fill(w.base, 7, 0, BYTES);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, w.win);
        MPI_Get(got, BYTES, MPI_BYTE, 0, 0, BYTES, MPI_BYTE, w.win);
        MPI_Win_flush(0, w.win);
        CHECK(pattern_is(got, 7, 0, BYTES), "rank 0's MiB is read (%s)",
              kind_names[kind]);
        MPI_Get(got, 4, MPI_BYTE, 0, BYTES / 4 - 1, 4, MPI_BYTE, w.win);
        MPI_Win_flush(0, w.win);
        CHECK(pattern_is(got, 7, BYTES - 4, 4), "its last word is read (%s)",
              kind_names[kind]);
        MPI_Win_unlock_all(w.win);
        ALL_SERVED(&w, 2, "reads of the one rank that has bytes are redirected");
        window_close(&w);
    }
}

/* A9: the program meant 4 N bytes and said N. Behind the window's end lies other
 * memory of the target, which no redirected read may show. */
static void size_in_elements(void)
{
    enum { N = 512 };
    static const char *const keys[] = {"oriel_offload=false", "oriel_offload=true"};
    static int32_t memory[N] __attribute__((aligned(64)));
    int classes[2][2] = {{0}};
    for (int i = 0; i < N; i++)
        memory[i] = 1000 * test.rank + i;
    for (int served = 0; served < 2; served++) {
        MPI_Win win;
        MPI_Info info = info_from(keys[served]);
        MPI_Win_create(memory, N, 4, info, MPI_COMM_WORLD, &win);
        info_free(&info);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        int target = (test.rank + 1) % test.ranks, got[2] = {-1, -1};
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Get(got, 1, MPI_INT32_T, target, N / 4 - 1, 1, MPI_INT32_T, win);
        MPI_Win_flush(target, win);
        CHECK(got[0] == 1000 * target + N / 4 - 1, "the last element inside is read");
        classes[served][0] =
            class_of(MPI_Get(got, 1, MPI_INT32_T, target, N / 4, 1, MPI_INT32_T, win));
        classes[served][1] = class_of(
            MPI_Get(got, 2, MPI_INT32_T, target, N / 4 - 1, 2, MPI_INT32_T, win));
        MPI_Win_unlock(target, win);
        if (served) {
            COUNTED(win, "redirected", 1, "only the read inside is redirected");
            COUNTED(win, "range", 2, "reads that leave the window are not");
        }
        MPI_Win_free(&win);
    }
    CHECK(classes[0][0] == classes[1][0] && classes[0][1] == classes[1][1],
          "a read past the end gives the native error class (%d, %d; native %d, %d)",
          classes[1][0], classes[1][1], classes[0][0], classes[0][1]);
}

int main(void)
{
    test_start(3);
    odd_ranks_empty();
    read_of_empty_rank();
    one_rank_has_all();
    size_in_elements();
    return test_end();
}
