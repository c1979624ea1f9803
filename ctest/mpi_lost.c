/*
 * A fabric that fails in the middle of a job: what was under way is read natively, no
 * byte is wrong, every read is counted once, and the job goes on.
 *
 *   mpi_lost reads|regions
 *
 * ofi_shim.c plays the fabric: reads that never end, or registrations that are refused
 * after the first few (field cases C2 and C7).
 */
#include "mpi_test.h"

enum { READS = 300, PIECE = 1000, STEP = 1237, UNIT = 4, BYTES = (READS + 2) * STEP };
static unsigned char got[READS][PIECE];

enum how { HOW_LOCK_ALL, HOW_ELIDED, HOW_FENCE, HOW_FLUSH_LOCAL, HOWS };
static const char *const how_names[] = {"lock_all and flush", "lock with NOCHECK",
                                        "fence", "flush_local"};

static void begin(enum how how, int target, MPI_Win win)
{
    if (how == HOW_FENCE)
        MPI_Win_fence(0, win);
    else if (how == HOW_ELIDED)
        MPI_Win_lock(MPI_LOCK_SHARED, target, MPI_MODE_NOCHECK, win);
    else
        MPI_Win_lock_all(0, win);
}

static void complete(enum how how, int target, MPI_Win win)
{
    if (how == HOW_FENCE)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    else if (how == HOW_ELIDED)
        MPI_Win_unlock(target, win);
    else if (how == HOW_FLUSH_LOCAL)
        MPI_Win_flush_local(target, win);
    else
        MPI_Win_flush(target, win);
}

static void end(enum how how, MPI_Win win)
{
    if (how == HOW_LOCK_ALL || how == HOW_FLUSH_LOCAL) MPI_Win_unlock_all(win);
}

/* Odd places: a native read of them needs a datatype. */
static void lose_reads(enum how how)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, KIND_CREATE, BYTES, UNIT, "oriel_offload=ofi");
    int target = (test.rank + 1) % test.ranks;
    pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
    MPI_Datatype type;
    int length = PIECE;
    MPI_Aint shift = 3;
    MPI_Type_create_hindexed(1, &length, &shift, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    memset(got, 0, sizeof got);
    begin(how, target, w.win);
    for (int i = 0; i < READS; i++)
        MPI_Get(got[i], PIECE, MPI_BYTE, target, (MPI_Aint)i * STEP / UNIT, 1, type,
                w.win);
    complete(how, target, w.win);
    int wrong = 0;
    for (int i = 0; i < READS; i++)
        wrong += !pattern_is(got[i], (unsigned)target,
                             (size_t)i * STEP / UNIT * UNIT + 3, PIECE);
    CHECK(wrong == 0, "%d of %d reads are wrong (%s)", wrong, READS, how_names[how]);
    end(how, w.win);
    COUNTED(w.win, "gets", READS, "every read is counted once (%s)", how_names[how]);
    if (how == 0)
        CHECK(counter(w.win, "engine-failed") > 0 &&
                  counter(w.win, "ofi") + counter(w.win, "engine-failed") == READS,
              "some reads were lost and made natively: %llu",
              (unsigned long long)counter(w.win, "engine-failed"));
    MPI_Type_free(&type);
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&w);
}

/* Windows beyond those that the fabric registers are native, and the job lives. */
static void refuse_regions(void)
{
    enum { WINDOWS = 40 };
    struct test_window w[WINDOWS];
    int target = (test.rank + 1) % test.ranks, native = 0;
    for (int i = 0; i < WINDOWS; i++) {
        w[i] = window_open(MPI_COMM_WORLD, KIND_CREATE, 4096, 1, "oriel_offload=ofi");
        pattern_fill(w[i].base, (unsigned)(test.rank + 10 * i), 0, 4096);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; i++) {
        unsigned char bytes[100] = {0};
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w[i].win);
        MPI_Get(bytes, 100, MPI_BYTE, target, 33, 100, MPI_BYTE, w[i].win);
        MPI_Win_unlock(target, w[i].win);
        CHECK(pattern_is(bytes, (unsigned)(target + 10 * i), 33, 100), "window %d", i);
        native += counter(w[i].win, "unreachable") == 1;
    }
    CHECK(native > 0 && native < WINDOWS, "%d of %d windows are native", native,
          WINDOWS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; i++)
        window_close(&w[i]);
}

int main(int argc, char **argv)
{
    test_start(2);
    NEED(test.layer && argc > 1, "the layer is loaded, and the case is named");
    if (strcmp(argv[1], "regions") == 0)
        refuse_regions();
    else
        for (int how = 0; how < HOWS; how++)
            lose_reads((enum how)how);
    return test_end();
}
