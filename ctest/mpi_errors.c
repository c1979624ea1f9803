/*
 * Bad input gives the error class, and calls the error handler, of a window without
 * Oriel: with MPI_ERRORS_RETURN and with a handler of the program's (A22). Two windows
 * are compared in one run; what one MPI library refuses, another may let pass.
 */
#include "mpi_test.h"

enum { BYTES = 4096, UNIT = 8, COUNT = BYTES / UNIT };

/* The window is part of a larger piece of memory, so that a library which lets a bad
 * read pass reads something. */
static unsigned char memory[2 * BYTES] __attribute__((aligned(4096)));
static unsigned char got[2 * BYTES];
static int target;
static MPI_Datatype uncommitted;

typedef int bad_call(MPI_Win win);

static int get(int count, MPI_Datatype type, int rank, MPI_Aint at, MPI_Win win)
{
    return MPI_Get(got, count, type, rank, at, count, type, win);
}

static int rank_too_large(MPI_Win win)
{
    return get(1, MPI_DOUBLE, test.ranks, 0, win);
}

static int rank_negative(MPI_Win win)
{
    return get(1, MPI_DOUBLE, -77, 0, win);
}

static int count_negative(MPI_Win win)
{
    return get(-1, MPI_DOUBLE, target, 0, win);
}

static int target_count_negative(MPI_Win win)
{
    return MPI_Get(got, 1, MPI_DOUBLE, target, 0, -1, MPI_DOUBLE, win);
}

static int type_null(MPI_Win win)
{
    return get(1, MPI_DATATYPE_NULL, target, 0, win);
}

static int target_type_null(MPI_Win win)
{
    return MPI_Get(got, 1, MPI_DOUBLE, target, 0, 1, MPI_DATATYPE_NULL, win);
}

static int type_uncommitted(MPI_Win win)
{
    return MPI_Get(got, 16, MPI_BYTE, target, 0, 1, uncommitted, win);
}

static int displacement_negative(MPI_Win win)
{
    return get(1, MPI_DOUBLE, target, -1, win);
}

static int begins_behind_the_end(MPI_Win win)
{
    return get(1, MPI_DOUBLE, target, COUNT, win);
}

static int ends_behind_the_end(MPI_Win win)
{
    return get(2, MPI_DOUBLE, target, COUNT - 1, win);
}

/* Times the unit of 8 this is 8, after the overflow. */
static int displacement_overflows(MPI_Win win)
{
    return get(1, MPI_DOUBLE, target, ((MPI_Aint)1 << 61) + 1, win);
}

static int origin_null(MPI_Win win)
{
    return MPI_Get(NULL, 0, MPI_DOUBLE, target, 0, 0, MPI_DOUBLE, win);
}

static int window_null(MPI_Win win)
{
    (void)win;
    return get(1, MPI_DOUBLE, target, 0, MPI_WIN_NULL);
}

static int process_null(MPI_Win win)
{
    return get(1, MPI_DOUBLE, MPI_PROC_NULL, 0, win);
}

static int request_rank(MPI_Win win)
{
    MPI_Request request = MPI_REQUEST_NULL;
    return MPI_Rget(got, 1, MPI_DOUBLE, test.ranks, 0, 1, MPI_DOUBLE, win, &request);
}

static int request_type(MPI_Win win)
{
    MPI_Request request = MPI_REQUEST_NULL;
    return MPI_Rget(got, 1, MPI_DATATYPE_NULL, target, 0, 1, MPI_DOUBLE, win, &request);
}

static int flush_rank(MPI_Win win)
{
    return MPI_Win_flush(test.ranks, win);
}

static int flush_local_rank(MPI_Win win)
{
    return MPI_Win_flush_local(-77, win);
}

static int unlock_rank(MPI_Win win)
{
    return MPI_Win_unlock(test.ranks, win);
}

static int lock_rank(MPI_Win win)
{
    return MPI_Win_lock(MPI_LOCK_SHARED, test.ranks, 0, win);
}

static int lock_kind(MPI_Win win)
{
    return MPI_Win_lock(4711, target, 0, win);
}

static int put_rank(MPI_Win win)
{
    return MPI_Put(got, 1, MPI_DOUBLE, test.ranks, 0, 1, MPI_DOUBLE, win);
}

static int accumulate_type(MPI_Win win)
{
    return MPI_Accumulate(got, 1, MPI_DATATYPE_NULL, target, 0, 1, MPI_DOUBLE, MPI_SUM,
                          win);
}

static const struct call {
    const char *name;
    bad_call *make;
    bool in_epoch;   /* made under lock_all */
    bool mpich_only; /* Open MPI 4.1.4 crashes */
} calls[] = {
    {"a rank too large", rank_too_large, true, false},
    {"a negative rank", rank_negative, true, false},
    {"a negative count", count_negative, true, false},
    {"a negative target count", target_count_negative, true, false},
    {"MPI_DATATYPE_NULL", type_null, true, false},
    {"a target type of MPI_DATATYPE_NULL", target_type_null, true, false},
    {"an uncommitted type", type_uncommitted, true, false},
    {"a negative displacement", displacement_negative, true, false},
    {"a read behind the end", begins_behind_the_end, true, false},
    {"a read across the end", ends_behind_the_end, true, false},
    {"a displacement that overflows", displacement_overflows, true, false},
    {"a NULL origin and nothing to read", origin_null, true, false},
    {"MPI_WIN_NULL", window_null, true, false},
    {"MPI_PROC_NULL", process_null, true, false},
    {"Rget of a rank too large", request_rank, true, false},
    {"Rget of MPI_DATATYPE_NULL", request_type, true, false},
    {"flush of a rank too large", flush_rank, true, true},
    {"flush_local of a negative rank", flush_local_rank, true, true},
    {"unlock of a rank too large", unlock_rank, true, false},
    {"lock of a rank too large", lock_rank, true, false},
    {"a lock of no kind", lock_kind, false, false},
    {"Put to a rank too large", put_rank, true, false},
    {"Accumulate of MPI_DATATYPE_NULL", accumulate_type, true, false},
    {"Get without epoch: a rank too large", rank_too_large, false, false},
    {"Get without epoch: MPI_DATATYPE_NULL", type_null, false, false},
    {"Get without epoch: a negative displacement", displacement_negative, false, false},
    {"Get without epoch: nothing to read", origin_null, false, false},
    {"Get without epoch: MPI_PROC_NULL", process_null, false, false},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* What a call did. */
struct effect {
    int class, handler_class, handler_calls, handler_window;
};

static struct effect seen;
static MPI_Win under_test;

static void handler(MPI_Win *win, int *error, ...)
{
    seen.handler_calls++;
    seen.handler_window = *win == under_test;
    MPI_Error_class(*error, &seen.handler_class);
}

/* MPI_WIN_NULL has no window's handler: its errors go to MPI_COMM_WORLD's or, since
 * MPI-4, to MPI_COMM_SELF's. */
static void set_handler(MPI_Win win, bool own, MPI_Errhandler made)
{
    MPI_Win_set_errhandler(win, own ? made : MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

static struct effect effect_of(const struct call *call, MPI_Win win)
{
    seen = (struct effect){.class = -1};
    under_test = win;
    if (call->in_epoch) MPI_Win_lock_all(0, win);
    int error = call->make(win);
    MPI_Error_class(error, &seen.class);
    if (call->in_epoch) MPI_Win_unlock_all(win);
    return seen;
}

static MPI_Win make(const char *keys)
{
    MPI_Win win;
    MPI_Info info = info_from(keys);
    MPI_Win_create(memory, BYTES, UNIT, info, MPI_COMM_WORLD, &win);
    info_free(&info);
    return win;
}

static void compare(const struct call *call, const char *keys, bool own)
{
    MPI_Errhandler made;
    struct effect effects[2];
    if (call->mpich_only && test.openmpi) return;
    MPI_Win_create_errhandler(handler, &made);
    for (int served = 0; served < 2; served++) {
        MPI_Win win = make(served ? keys : "oriel_offload=false");
        set_handler(win, own, made);
        MPI_Barrier(MPI_COMM_WORLD);
        effects[served] = effect_of(call, win);
        MPI_Barrier(MPI_COMM_WORLD);
        if (served) COUNTED(win, "redirected", 0, "%s is not redirected", call->name);
        MPI_Win_free(&win);
    }
    const struct effect *a = &effects[0], *b = &effects[1];
    CHECK(a->class == b->class, "%s (%s): error class %d, natively %d", call->name,
          keys, b->class, a->class);
    CHECK(a->handler_calls == b->handler_calls &&
              a->handler_class == b->handler_class &&
              a->handler_window == b->handler_window,
          "%s (%s): the handler was called %d times with class %d, natively %d with %d",
          call->name, keys, b->handler_calls, b->handler_class, a->handler_calls,
          a->handler_class);
    MPI_Errhandler_free(&made);
}

/* A handler still works where reads are redirected, and is kept by get. */
static void handler_is_kept(void)
{
    MPI_Errhandler made, found;
    MPI_Win_create_errhandler(handler, &made);
    MPI_Win win = make("oriel_offload=true");
    MPI_Win_set_errhandler(win, made);
    MPI_Win_get_errhandler(win, &found);
    CHECK(found == made, "the window returns the handler that was set");
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&made);
    under_test = win;
    MPI_Win_lock_all(0, win);
    get(4, MPI_DOUBLE, target, 0, win);
    seen = (struct effect){.class = -1};
    rank_too_large(win);
    CHECK(seen.handler_calls == 1 && seen.handler_window,
          "the window's handler is called between redirected reads");
    get(4, MPI_DOUBLE, target, 4, win);
    MPI_Win_unlock_all(win);
    COUNTED(win, "redirected", 2, "reads around an error are redirected");
    MPI_Win_free(&win);
}

/* MPI_BOTTOM is NULL in C, and right with absolute addresses. */
static void bottom(void)
{
    MPI_Aint address;
    MPI_Datatype absolute;
    MPI_Win win = make("oriel_offload=true");
    int length = 64;
    MPI_Get_address(got, &address);
    MPI_Type_create_hindexed(1, &length, &address, MPI_BYTE, &absolute);
    MPI_Type_commit(&absolute);
    memset(got, 0, sizeof got);
    pattern_fill(memory, (unsigned)test.rank, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Get(MPI_BOTTOM, 1, absolute, target, 3, 64, MPI_BYTE, win);
    MPI_Win_unlock_all(win);
    CHECK(pattern_is(got, (unsigned)target, 24, 64),
          "a read to MPI_BOTTOM by absolute addresses is right");
    COUNTED(win, "gets", 1, "and counted");
    MPI_Type_free(&absolute);
    MPI_Win_free(&win);
}

int main(void)
{
    test_start(2);
    target = (test.rank + 1) % test.ranks;
    MPI_Type_vector(2, 8, 16, MPI_BYTE, &uncommitted);
    for (int i = 0; i < CALLS; i++)
        for (int own = 0; own < 2; own++) {
            compare(&calls[i], "oriel_offload=true", own);
            compare(&calls[i], "oriel_offload=true,oriel_access=fenced", own);
        }
    handler_is_kept();
    bottom();
    MPI_Type_free(&uncommitted);
    return test_end();
}
