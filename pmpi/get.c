#define _GNU_SOURCE
#include "core/config.h"
#include "core/route.h"
#include "pmpi/datatype.h"
#include "pmpi/layer.h"

/* The arguments of MPI_Get, in either count size. */
struct call {
    void *origin;
    MPI_Count origin_count;
    MPI_Datatype origin_type;
    int target;
    MPI_Aint displacement;
    MPI_Count target_count;
    MPI_Datatype target_type;
};

/* A part of each MPI_Get: after a system call every return costs 5 ns. */
#define INLINE static inline __attribute__((always_inline))

INLINE enum oriel_reason route(struct oriel_window *window, const struct call *call,
                               bool now)
{
    if (window->passive)
        return oriel_route_decline(window, ORIEL_NATIVE_already_mapped);
    if (call->target == MPI_PROC_NULL)
        return oriel_route_decline(window, ORIEL_NATIVE_proc_null);
    if (call->origin_count < 0 || call->target_count < 0)
        return oriel_route_decline(window, ORIEL_NATIVE_range);
    if (oriel_mpi_window(window)->shared_out)
        return oriel_route_decline(window, ORIEL_NATIVE_shared_out);
    struct oriel_get get = {
        .origin = call->origin,
        .origin_count = (uint64_t)call->origin_count,
        .origin_layout = oriel_datatype_layout(call->origin_type),
        .target = call->target,
        .displacement = call->displacement,
        .target_count = (uint64_t)call->target_count,
        .target_layout = call->target_type == call->origin_type
                             ? NULL
                             : oriel_datatype_layout(call->target_type),
        .now = now,
    };
    if (call->target_type == call->origin_type) get.target_layout = get.origin_layout;
    enum oriel_reason reason = oriel_route_get(window, &get);
    if (reason == ORIEL_SERVED)
        oriel_progress_tick(get.origin_count * get.origin_layout->bytes);
    return reason;
}

/* Reading a rank whose part is empty has no right answer, and natively ends in a
 * crash (both libraries follow its null base): it is the error that MPI has for it. */
static bool reads_empty_part(const struct oriel_window *window, const struct call *call)
{
    return call->origin_count > 0 && call->target_count > 0 &&
           call->displacement >= 0 && call->target >= 0 && call->target < window->n &&
           window->targets[call->target].bytes == 0;
}

/* Before the native read: it needs the locks that were elided. ORIEL_STRICT makes an
 * error of a target that should have been served. */
static int go_native(struct oriel_window *window, const struct call *call,
                     enum oriel_reason reason)
{
    if (oriel_config_get()->strict &&
        (reason == ORIEL_NATIVE_unreachable || reason == ORIEL_NATIVE_engine_failed) &&
        oriel_mpi_window(window)->wish.serve) {
        native.Win_call_errhandler(oriel_mpi_window(window)->handle, MPI_ERR_OTHER);
        return MPI_ERR_OTHER;
    }
    if (reason == ORIEL_NATIVE_range && reads_empty_part(window, call)) {
        native.Win_call_errhandler(oriel_mpi_window(window)->handle, MPI_ERR_RMA_RANGE);
        return MPI_ERR_RMA_RANGE;
    }
    return oriel_sync_native(window, call->target);
}

/* A native transfer of at least one byte proves a lazy lock once it is flushed. */
static void used(struct oriel_window *window, const struct call *call)
{
    if (window->epoch->rules.lock_holds || call->target_count <= 0) return;
    const struct oriel_layout *layout = oriel_datatype_layout(call->target_type);
    if (layout && layout->bytes) oriel_epoch_use(window->epoch, call->target);
}

/* Request-based reads exist under locks only: elsewhere the native library has to
 * say its error. */
static enum oriel_reason route_request(struct oriel_window *window,
                                       const struct call *call)
{
    const struct oriel_epoch *epoch = window->epoch;
    if (call->target >= 0 && call->target < window->n &&
        !(oriel_epoch_load(&epoch->target[call->target].lock) & ORIEL_LOCK_HELD) &&
        !(oriel_epoch_load(&epoch->all) & ORIEL_LOCK_HELD))
        return oriel_route_decline(window, ORIEL_NATIVE_no_epoch);
    return route(window, call, true);
}

/* True when the bytes have landed. Else the native call has to follow, unless
 * *error_out is an MPI error. */
INLINE bool serve(struct oriel_window *window, const struct call *call, bool request,
                  int *error_out)
{
    enum oriel_reason reason =
        request ? route_request(window, call) : route(window, call, false);
    if (reason == ORIEL_SERVED) return true;
    *error_out = go_native(window, call, reason);
    if (*error_out == MPI_SUCCESS) used(window, call);
    return false;
}

/* A window whose every target the library maps itself: its reads are only counted. */
static inline void count_passive(struct oriel_window *window)
{
    oriel_count(window, &window->counters.native[ORIEL_NATIVE_already_mapped], 1);
}

/*
 * The wrappers, in both count sizes. Each is only a look-up: a window that is not ours
 * passes with its arguments where they are; the rest is out of line.
 */
#define ARGS                                                                           \
    origin, origin_count, origin_type, target, displacement, target_count, target_type
#define PARAMS(COUNT)                                                                  \
    void *origin, COUNT origin_count, MPI_Datatype origin_type, int target,            \
        MPI_Aint displacement, COUNT target_count, MPI_Datatype target_type,           \
        MPI_Win win
#define NOINLINE __attribute__((noinline))

#define ORIEL_GET(suffix, COUNT)                                                       \
    static NOINLINE int get##suffix(PARAMS(COUNT))                                     \
    {                                                                                  \
        struct oriel_window *window = oriel_find(win);                                 \
        if (window && !window->passive) {                                              \
            struct call call = {ARGS};                                                 \
            int error = MPI_SUCCESS;                                                   \
            if (serve(window, &call, false, &error)) return MPI_SUCCESS;               \
            if (error) return error;                                                   \
        } else if (window) {                                                           \
            count_passive(window);                                                     \
        }                                                                              \
        return native.Get##suffix(ARGS, win);                                          \
    }                                                                                  \
    int wrap_Get##suffix(PARAMS(COUNT))                                                \
    {                                                                                  \
        return oriel_absent(win) ? native.Get##suffix(ARGS, win)                       \
                                 : get##suffix(ARGS, win);                             \
    }

/* Served, the data is here; the request is the native one of a read from nobody. */
#define ORIEL_RGET(suffix, COUNT)                                                      \
    int wrap_Rget##suffix(PARAMS(COUNT), MPI_Request *request)                         \
    {                                                                                  \
        struct oriel_window *window = oriel_find(win);                                 \
        if (window) {                                                                  \
            struct call call = {ARGS};                                                 \
            int error = MPI_SUCCESS;                                                   \
            if (serve(window, &call, true, &error)) target = MPI_PROC_NULL;            \
            if (error) return error;                                                   \
        }                                                                              \
        return native.Rget##suffix(ARGS, win, request);                                \
    }

ORIEL_GET(, int)
ORIEL_RGET(, int)
#if MPI_VERSION >= 4
ORIEL_GET(_c, MPI_Count)
ORIEL_RGET(_c, MPI_Count)
#endif
