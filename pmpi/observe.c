#define _GNU_SOURCE
#include "pmpi/datatype.h"
#include "pmpi/layer.h"

/*
 * Calls that stay native and are only noted: updates. Each takes the locks that were
 * elided, and makes its target dirty until it is flushed.
 */

/* The library has to know the locks that were elided. */
static __attribute__((noinline)) int before(struct oriel_window *window, int target)
{
    int error = oriel_sync_native(window, target);
    if (!error) oriel_epoch_update(window->epoch, target);
    return error;
}

/* What proves a lazy lock is a transfer of at least one byte. */
static __attribute__((noinline)) int after(struct oriel_window *window, int target,
                                           MPI_Count count, MPI_Datatype type,
                                           int error)
{
    oriel_epoch_update(window->epoch, target);
    if (error || count <= 0 || window->epoch->rules.lock_holds) return error;
    const struct oriel_layout *layout = oriel_datatype_layout(type);
    if (layout && layout->bytes) oriel_epoch_use(window->epoch, target);
    return error;
}

/* Marked dirty before and after: another thread may flush between the two. */
#define ORIEL_UPDATE(name, target, count, type, params, args)                          \
    int wrap_##name params                                                             \
    {                                                                                  \
        struct oriel_window *window = oriel_find_served(win);                          \
        if (!window) return native.name args;                                          \
        int error = before(window, target);                                            \
        if (error) return error;                                                       \
        return after(window, target, count, type, native.name args);                   \
    }

#define PUT_PARAMS(COUNT)                                                              \
    const void *origin, COUNT n, MPI_Datatype type, int rank, MPI_Aint disp, COUNT tn, \
        MPI_Datatype ttype
#define PUT_ARGS origin, n, type, rank, disp, tn, ttype
#define FETCH_PARAMS(COUNT)                                                            \
    const void *origin, COUNT n, MPI_Datatype type, void *result, COUNT rn,            \
        MPI_Datatype rtype, int rank, MPI_Aint disp, COUNT tn, MPI_Datatype ttype
#define FETCH_ARGS origin, n, type, result, rn, rtype, rank, disp, tn, ttype

#define ORIEL_UPDATES(suffix, COUNT)                                                   \
    ORIEL_UPDATE(Put##suffix, rank, tn, ttype, (PUT_PARAMS(COUNT), MPI_Win win),       \
                 (PUT_ARGS, win))                                                      \
    ORIEL_UPDATE(Rput##suffix, rank, tn, ttype,                                        \
                 (PUT_PARAMS(COUNT), MPI_Win win, MPI_Request * request),              \
                 (PUT_ARGS, win, request))                                             \
    ORIEL_UPDATE(Accumulate##suffix, rank, tn, ttype,                                  \
                 (PUT_PARAMS(COUNT), MPI_Op op, MPI_Win win), (PUT_ARGS, op, win))     \
    ORIEL_UPDATE(Raccumulate##suffix, rank, tn, ttype,                                 \
                 (PUT_PARAMS(COUNT), MPI_Op op, MPI_Win win, MPI_Request * request),   \
                 (PUT_ARGS, op, win, request))                                         \
    ORIEL_UPDATE(Get_accumulate##suffix, rank, tn, ttype,                              \
                 (FETCH_PARAMS(COUNT), MPI_Op op, MPI_Win win), (FETCH_ARGS, op, win)) \
    ORIEL_UPDATE(Rget_accumulate##suffix, rank, tn, ttype,                             \
                 (FETCH_PARAMS(COUNT), MPI_Op op, MPI_Win win, MPI_Request * request), \
                 (FETCH_ARGS, op, win, request))

ORIEL_UPDATES(, int)
#if MPI_VERSION >= 4
ORIEL_UPDATES(_c, MPI_Count)
#endif

ORIEL_UPDATE(Fetch_and_op, rank, 1, type,
             (const void *origin, void *result, MPI_Datatype type, int rank,
              MPI_Aint disp, MPI_Op op, MPI_Win win),
             (origin, result, type, rank, disp, op, win))
ORIEL_UPDATE(Compare_and_swap, rank, 1, type,
             (const void *origin, const void *compare, void *result, MPI_Datatype type,
              int rank, MPI_Aint disp, MPI_Win win),
             (origin, compare, result, type, rank, disp, win))
