#define _GNU_SOURCE
#include "core/log.h"
#include "include/oriel_mpi.h"
#include "pmpi/create.h"
#include "pmpi/guard.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local int oriel_guard_depth __attribute__((tls_model("initial-exec")));

/* All tracked windows of this process. The gate is open while there is one. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct oriel_mpi_window *list;

struct oriel_mpi_window *oriel_windows_lock(void)
{
    pthread_mutex_lock(&list_lock);
    return list;
}

void oriel_windows_unlock(void)
{
    pthread_mutex_unlock(&list_lock);
}

void oriel_windows_add(struct oriel_mpi_window *mine)
{
    pthread_mutex_lock(&list_lock);
    mine->previous = NULL;
    mine->next = list;
    if (list) list->previous = mine;
    list = mine;
    if (oriel_window_insert(mine->core, (uintptr_t)mine->handle))
        oriel_log(ORIEL_LOG_WARN, "out of memory: a window stays native");
    oriel_gate_set(ORIEL_GATE_WINDOW);
    pthread_mutex_unlock(&list_lock);
}

void oriel_windows_evict(MPI_Win win)
{
    struct oriel_window *window = oriel_find(win);
    if (!window) return;
    /* Its memory stays: peers may be reading it still. It is withdrawn at the end. */
    oriel_window_remove(window);
}

static void forget(struct oriel_mpi_window *mine)
{
    pthread_mutex_lock(&list_lock);
    if (mine->previous)
        mine->previous->next = mine->next;
    else
        list = mine->next;
    if (mine->next) mine->next->previous = mine->previous;
    if (!list) oriel_gate_set(ORIEL_GATE_WATCH);
    pthread_mutex_unlock(&list_lock);
}

/* The window is out of the table and nobody reads it any more. */
static void destroy(struct oriel_mpi_window *mine)
{
    oriel_report_keep(mine);
    forget(mine);
    oriel_window_destroy(mine->core);
    if (mine->taken_over) oriel_memory_put(mine->base);
    free(mine);
}

void oriel_windows_fini(void)
{
    struct oriel_mpi_window *mine;
    while ((mine = list)) {
        oriel_window_remove(mine->core);
        /* The native window lives on, on this memory: it is left to the system. */
        mine->taken_over = false;
        destroy(mine);
    }
}

/* Peers may read until they have come to the free, too: the native one synchronises,
 * unless the info said no_locks. The memory goes after it. */
int wrap_Win_free(MPI_Win *win)
{
    struct oriel_window *window = win && !oriel_guarded() ? oriel_find(*win) : NULL;
    if (!window) return native.Win_free(win);
    struct oriel_mpi_window *mine = oriel_mpi_window(window);
    int error = oriel_complete(window, -1);
    if (!error) error = oriel_sync_native(window, -1);
    if (error) return error;
    oriel_window_remove(window);
    if (mine->no_locks) native.Win_fence(MPI_MODE_NOSUCCEED, *win);
    error = native.Win_free(win);
    if (error) {
        if (oriel_window_insert(window, (uintptr_t)mine->handle))
            oriel_log(ORIEL_LOG_WARN, "out of memory: a window stays native");
        return error;
    }
    destroy(mine);
    return MPI_SUCCESS;
}

int wrap_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag)
{
    static int allocate = MPI_WIN_FLAVOR_ALLOCATE;
    int error = native.Win_get_attr(win, keyval, value, flag);
    if (error || keyval != MPI_WIN_CREATE_FLAVOR || !*flag) return error;
    struct oriel_window *window = oriel_find(win);
    if (window && oriel_mpi_window(window)->taken_over) *(int **)value = &allocate;
    return MPI_SUCCESS;
}

/* Engines that can serve some rank, joined by '+'; "native" for none. */
static void engine_names(const struct oriel_window *window, char *text, size_t bytes)
{
    unsigned set = 0;
    size_t at = 0;
    for (int rank = 0; rank < window->n; rank++) {
        if (atomic_load(&window->targets[rank].link) == ORIEL_LINK_NONE) continue;
        for (unsigned id = 0; id < ORIEL_ENGINE_COUNT; id++)
            if (window->rows[rank].blob_bytes[id])
                set |= oriel_order_set(&window->engines) & 1u << id;
    }
    snprintf(text, bytes, "native");
    for (unsigned id = 0; id < ORIEL_ENGINE_COUNT && at < bytes; id++)
        if (set >> id & 1)
            at += (size_t)snprintf(text + at, bytes - at, "%s%s", at ? "+" : "",
                                   oriel_engines[id]->name);
}

int wrap_Win_get_info(MPI_Win win, MPI_Info *info)
{
    static const char *const access[] = {"general", "fenced", "immutable"};
    int error = native.Win_get_info(win, info);
    struct oriel_window *window = error ? NULL : oriel_find(win);
    if (!window) return error;
    char engines[64];
    engine_names(window, engines, sizeof engines);
    native.Info_set(*info, ORIEL_KEY_OFFLOAD,
                    oriel_mpi_window(window)->wish.serve ? "true" : "false");
    native.Info_set(*info, ORIEL_KEY_ACCESS, access[window->access]);
    native.Info_set(*info, ORIEL_KEY_ENGINE, engines);
    return MPI_SUCCESS;
}

#if defined(OPEN_MPI)
/* From here on Fortran, whose calls pass by unseen, may update through the window. */
MPI_Fint wrap_Win_c2f(MPI_Win win)
{
    struct oriel_window *window = oriel_find(win);
    if (window && oriel_fortran_loaded()) {
        atomic_store(&window->defer, false);
        if (oriel_complete(window, -1) == MPI_SUCCESS &&
            oriel_sync_native(window, -1) == MPI_SUCCESS)
            atomic_store(&oriel_mpi_window(window)->shared_out, true);
    }
    return native.Win_c2f(win);
}
#endif

static int find_counter(const struct oriel_stats *stats, const char *name,
                        uint64_t *out)
{
    uint64_t redirected = oriel_stats_redirected(stats);
    uint64_t declined = oriel_stats_native(stats);
    if (strcmp(name, "gets") == 0)
        *out = redirected + declined;
    else if (strcmp(name, "redirected") == 0)
        *out = redirected;
    else if (strcmp(name, "native") == 0)
        *out = declined;
    else if (strcmp(name, "bytes") == 0)
        *out = stats->bytes;
    else
        goto named;
    return 0;

named:
    for (int i = 0; i < ORIEL_PATH_COUNT; i++)
        if (strcmp(name, oriel_path_names[i]) == 0) {
            *out = stats->path[i];
            return 0;
        }
    for (int i = 1; i < ORIEL_REASON_COUNT; i++)
        if (strcmp(name, oriel_reason_names[i]) == 0) {
            *out = stats->native[i];
            return 0;
        }
    return -1;
}

__attribute__((visibility("default"))) int
oriel_mpi_counter(MPI_Win win, const char *name, uint64_t *out)
{
    struct oriel_window *window = oriel_find(win);
    if (!window || !name || !out) return -1;
    struct oriel_stats *stats = malloc(sizeof *stats);
    if (!stats) return -1;
    oriel_window_stats(window, stats);
    int error = find_counter(stats, name, out);
    free(stats);
    return error;
}

/* ---- creation: each call becomes a request -------------------------------------- */

static int native_create(const struct oriel_request *r, MPI_Win *win)
{
    return native.Win_create(r->base, r->bytes, (int)r->unit, r->info, r->comm, win);
}

static int native_allocate(const struct oriel_request *r, MPI_Win *win)
{
    return native.Win_allocate(r->bytes, (int)r->unit, r->info, r->comm, r->base_out,
                               win);
}

int wrap_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info,
                    MPI_Comm comm, MPI_Win *win)
{
    struct oriel_request request = {
        .kind = ORIEL_KIND_CREATE,
        .base = base,
        .bytes = size,
        .unit = disp_unit,
        .info = info,
        .comm = comm,
        .native = native_create,
    };
    return oriel_window_make(&request, win);
}

int wrap_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                      void *baseptr, MPI_Win *win)
{
    struct oriel_request request = {
        .kind = ORIEL_KIND_ALLOCATE,
        .base_out = baseptr,
        .bytes = size,
        .unit = disp_unit,
        .info = info,
        .comm = comm,
        .native = native_allocate,
        .native_on_memory = native_create,
    };
    return oriel_window_make(&request, win);
}

int wrap_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                             void *baseptr, MPI_Win *win)
{
    oriel_layer.created++;
    int error = native.Win_allocate_shared(size, disp_unit, info, comm, baseptr, win);
    if (!error) oriel_windows_evict(*win);
    return error;
}

int wrap_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    oriel_layer.created++;
    int error = native.Win_create_dynamic(info, comm, win);
    if (!error) oriel_windows_evict(*win);
    return error;
}

#if MPI_VERSION >= 4
static int native_create_c(const struct oriel_request *r, MPI_Win *win)
{
    return native.Win_create_c(r->base, r->bytes, r->unit, r->info, r->comm, win);
}

static int native_allocate_c(const struct oriel_request *r, MPI_Win *win)
{
    return native.Win_allocate_c(r->bytes, r->unit, r->info, r->comm, r->base_out, win);
}

int wrap_Win_create_c(void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                      MPI_Comm comm, MPI_Win *win)
{
    struct oriel_request request = {
        .kind = ORIEL_KIND_CREATE,
        .base = base,
        .bytes = size,
        .unit = disp_unit,
        .info = info,
        .comm = comm,
        .native = native_create_c,
    };
    return oriel_window_make(&request, win);
}

int wrap_Win_allocate_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                        void *baseptr, MPI_Win *win)
{
    struct oriel_request request = {
        .kind = ORIEL_KIND_ALLOCATE,
        .base_out = baseptr,
        .bytes = size,
        .unit = disp_unit,
        .info = info,
        .comm = comm,
        .native = native_allocate_c,
        .native_on_memory = native_create_c,
    };
    return oriel_window_make(&request, win);
}

int wrap_Win_allocate_shared_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                               MPI_Comm comm, void *baseptr, MPI_Win *win)
{
    oriel_layer.created++;
    int error = native.Win_allocate_shared_c(size, disp_unit, info, comm, baseptr, win);
    if (!error) oriel_windows_evict(*win);
    return error;
}
#endif
