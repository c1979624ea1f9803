#define _GNU_SOURCE
#include "pmpi/create.h"
#include "core/arena.h"
#include "core/config.h"
#include "core/device.h"
#include "core/err.h"
#include "core/log.h"
#include "pmpi/guard.h"
#include "pmpi/rows.h"
#include "pmpi/vote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int make_native(const struct oriel_request *request, MPI_Win *win)
{
    oriel_guard_enter();
    int error = request->native(request, win);
    oriel_guard_leave();
    if (!error) oriel_windows_evict(*win);
    return error;
}

/* A window on memory that is ours: MPI_Win_create underneath. */
static int make_on(const struct oriel_request *request, void *base, MPI_Win *win)
{
    struct oriel_request on = *request;
    on.base = base;
    on.native = request->native_on_memory;
    return make_native(&on, win);
}

/* The arena's memory, or private memory of the same alignment where it is off or
 * full: peers then read it by process_vm_readv. NULL for 0 bytes, and for none left. */
static void *memory_get(MPI_Aint bytes)
{
    void *base = NULL;
    if (bytes <= 0) return NULL;
    if (oriel_config_get()->arena) {
        int error = oriel_arena_alloc((size_t)bytes, &base);
        if (!error) return base;
        oriel_log(ORIEL_LOG_WARN,
                  "no shared memory of %lld bytes for a window: %s; it gets private "
                  "memory, which peers copy by a system call",
                  (long long)bytes, oriel_strerror(error));
    }
    return posix_memalign(&base, 4096, (size_t)bytes) ? NULL : base;
}

void oriel_memory_put(void *base)
{
    if (base && oriel_arena_free(base)) free(base);
}

/* The native window is made: put ours beside it. Failing here is no error of the
 * program's: its window is then native. */
static void track(struct oriel_window_spec *spec, struct oriel_mpi_window *mine,
                  struct oriel_rows *rows, struct oriel_region *exposed[])
{
    int *model, found = 0;
    if (native.Win_get_attr(mine->handle, MPI_WIN_MODEL, &model, &found) || !found ||
        *model != MPI_WIN_UNIFIED)
        for (int i = 0; i < spec->n; i++)
            rows->row[i].flags = 0;
    oriel_library_rules(mine->handle, spec->access, &spec->rules);
    spec->defer = spec->rules.elide; /* it asks for the same: all calls are seen */
    struct oriel_window *window =
        oriel_window_create(spec, rows->row, rows->long_blobs, exposed);
    if (!window) {
        /* Peers may read what is exposed until they free the window: leave it. */
        oriel_log(ORIEL_LOG_WARN, "out of memory: a window stays native");
        oriel_rows_free(rows);
        free(mine);
        return;
    }
    mine->core = window;
    window->user = mine;
    oriel_windows_add(mine);
}

/* One redirected window: memory, rows, the native window, and ours beside it. */
struct plan {
    const struct oriel_request *request;
    struct oriel_wish wish;
    uint64_t index;
    bool take_over, native_mapped, no_locks, report;
    enum oriel_access access;
    unsigned engines;           /* those that expose: what some rank may read by */
    struct oriel_order readers; /* those that this rank reads by */
};

/* Everything that Oriel does not add to: the library maps it itself, everywhere, and
 * nobody wants to read counters. */
static bool needless(const struct plan *plan, const struct oriel_rows *rows)
{
    if (plan->report) return false;
    for (int i = 0; i < rows->n; i++)
        if (!(rows->row[i].flags & ORIEL_ROW_NATIVE_MAPPED) ||
            rows->row[i].host != rows->row[rows->self].host)
            return false;
    return true;
}

static void fill_row(const struct plan *plan, void *base,
                     struct oriel_region *exposed[], struct oriel_row *row,
                     unsigned char *blobs)
{
    const struct oriel_request *request = plan->request;
    memset(row, 0, sizeof *row);
    memset(exposed, 0, ORIEL_ENGINE_COUNT * sizeof exposed[0]);
    row->host = oriel_layer.host;
    row->world_id = oriel_layer.world_id;
    row->serial = (uint32_t)plan->index;
    if (request->bytes < 0 || request->unit <= 0 || request->unit > UINT32_MAX) return;
    row->bytes = (uint64_t)request->bytes;
    row->disp_unit = (uint32_t)request->unit;
    if (plan->native_mapped) row->flags |= ORIEL_ROW_NATIVE_MAPPED;
    if (plan->take_over && request->bytes && !base) row->flags |= ORIEL_ROW_NO_MEMORY;
    if (!oriel_layer.rules || !base) return;
    if (oriel_device_memory(base, row->bytes)) return;
    row->flags |= ORIEL_ROW_USABLE;
    oriel_window_expose(base, row->bytes, plan->engines, exposed, row, blobs);
}

static bool all_ready(const struct oriel_rows *rows)
{
    for (int i = 0; i < rows->n; i++)
        if (rows->row[i].flags & ORIEL_ROW_NO_MEMORY) return false;
    return true;
}

/* This rank's row, and everyone's. */
static int exchange(const struct plan *plan, void *base, struct oriel_region *exposed[],
                    struct oriel_rows *rows)
{
    const struct oriel_request *request = plan->request;
    unsigned char blobs[ORIEL_BLOBS_MAX];
    struct oriel_row row;
    fill_row(plan, base, exposed, &row, blobs);
    int error = native.Allgather(&row, sizeof row, MPI_BYTE, rows->row, sizeof row,
                                 MPI_BYTE, request->comm);
    return error ? error : oriel_rows_finish(rows, blobs, request->comm);
}

/* The rows, then the native window on memory that is known before: the program's, or
 * ours. base NULL for a taken-over part that is not empty: there was no memory. All
 * ranks then leave the window to the native library, which reports that its own way. */
static int make_on_known(const struct plan *plan, void *base, struct oriel_rows *rows,
                         struct oriel_region *exposed[], bool *keep_out, MPI_Win *win)
{
    const struct oriel_request *request = plan->request;
    int error = exchange(plan, base, exposed, rows);
    bool together = !error && all_ready(rows);
    if (!error)
        error = plan->take_over && together ? make_on(request, base, win)
                                            : make_native(request, win);
    if (!error && together && plan->take_over && request->base_out)
        *(void **)request->base_out = base;
    *keep_out = !error && together;
    return error;
}

/* The native window, then the rows of the memory that it gave: ranks of other nodes,
 * and where it is not mapped, read it by an engine. */
static int make_on_native(const struct plan *plan, struct oriel_rows *rows,
                          struct oriel_region *exposed[], bool *keep_out, MPI_Win *win)
{
    const struct oriel_request *request = plan->request;
    int error = make_native(request, win);
    memset(exposed, 0, ORIEL_ENGINE_COUNT * sizeof exposed[0]);
    *keep_out = !error && exchange(plan, *(void **)request->base_out, exposed, rows) ==
                              MPI_SUCCESS;
    return error;
}

static int build_with(const struct plan *plan, void *base, struct oriel_rows *rows,
                      struct oriel_mpi_window *mine, MPI_Win *win)
{
    const struct oriel_request *request = plan->request;
    struct oriel_region *exposed[ORIEL_ENGINE_COUNT];
    bool native_memory = request->kind == ORIEL_KIND_ALLOCATE && !plan->take_over;
    bool keep = false;
    int error = native_memory ? make_on_native(plan, rows, exposed, &keep, win)
                              : make_on_known(plan, base, rows, exposed, &keep, win);
    if (!keep || needless(plan, rows)) {
        oriel_window_withdraw(exposed);
        oriel_rows_free(rows);
        free(mine);
        return error;
    }
    if (native_memory) base = *(void **)request->base_out;
    *mine = (struct oriel_mpi_window){
        .handle = *win,
        .kind = request->kind,
        .taken_over = plan->take_over,
        .no_locks = plan->no_locks,
        .base = base,
        .bytes = request->bytes,
        .wish = plan->wish,
        .index = plan->index,
        .id = {rows->row[0].world_id, rows->row[0].serial},
    };
    struct oriel_window_spec spec = {
        .n = rows->n,
        .self = rows->self,
        .threads = oriel_layer.threads,
        .sample = oriel_layer.report ? (uint32_t)oriel_config_get()->stats_sample : 0,
        .access = plan->access,
        .engines = plan->readers,
        .base = base,
    };
    track(&spec, mine, rows, exposed);
    return MPI_SUCCESS;
}

static int build(const struct plan *plan, MPI_Win *win)
{
    const struct oriel_request *request = plan->request;
    void *base = request->base;
    struct oriel_rows rows = {0};
    int error = native.Comm_size(request->comm, &rows.n);
    if (!error) error = native.Comm_rank(request->comm, &rows.self);
    if (error) return error;
    rows.row = malloc((size_t)rows.n * sizeof *rows.row);
    struct oriel_mpi_window *mine = malloc(sizeof *mine);
    if (!rows.row || !mine) {
        free(rows.row);
        free(mine);
        native.Comm_call_errhandler(request->comm, MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    }
    if (plan->take_over) base = memory_get(request->bytes);
    error = build_with(plan, base, &rows, mine, win);
    /* Nobody owns the memory unless the window was made on it. */
    if (plan->take_over && (error || *(void **)request->base_out != base))
        oriel_memory_put(base);
    return error;
}

static bool takes_over(const struct oriel_request *request,
                       const int16_t heard[ORIEL_VOTES])
{
    if (request->kind != ORIEL_KIND_ALLOCATE || heard[ORIEL_VOTE_NATIVE]) return false;
    if (heard[ORIEL_VOTE_TAKEOVER] == ORIEL_TAKEOVER_NO) return false;
    if (heard[ORIEL_VOTE_TAKEOVER] == ORIEL_TAKEOVER_YES &&
        heard[ORIEL_VOTE_TAKEOVER_NEG] == -ORIEL_TAKEOVER_YES)
        return true;
    return oriel_takeover_probe(request->comm) == ORIEL_TAKEOVER_YES;
}

static int agreed(const struct oriel_request *request, const struct oriel_wish *wish,
                  uint64_t index, const int16_t heard[ORIEL_VOTES], MPI_Win *win)
{
    static int said;
    if (heard[ORIEL_VOTE_LAYOUT] != -heard[ORIEL_VOTE_LAYOUT_NEG]) {
        oriel_log_once(&said, ORIEL_LOG_WARN,
                       "ranks load different versions of Oriel: windows stay native");
        return make_native(request, win);
    }
    if (heard[ORIEL_VOTE_STRICT]) {
        oriel_log_once(&said, ORIEL_LOG_ERROR,
                       "ORIEL_STRICT: no engine works on some rank; see 'oriel info'");
        native.Comm_call_errhandler(request->comm, MPI_ERR_OTHER);
        return MPI_ERR_OTHER;
    }
    if (!heard[ORIEL_VOTE_WANT]) return make_native(request, win);
    oriel_layer_start(request->comm);
    oriel_device_refresh();
    struct plan plan = {
        .request = request,
        .wish = *wish,
        .index = index,
        .take_over = takes_over(request, heard),
        .no_locks = heard[ORIEL_VOTE_NO_LOCKS] != 0,
        .report = heard[ORIEL_VOTE_REPORT] != 0,
        .access =
            (enum oriel_access)(ORIEL_ACCESS_IMMUTABLE - heard[ORIEL_VOTE_GENERAL]),
        .engines = oriel_votes_engines(heard),
        .readers = oriel_wish_order(wish),
    };
    plan.native_mapped =
        request->kind == ORIEL_KIND_ALLOCATE && !plan.take_over &&
        (oriel_takeover_known() == ORIEL_TAKEOVER_NO || heard[ORIEL_VOTE_NATIVE]);
    return build(&plan, win);
}

int oriel_window_make(const struct oriel_request *request, MPI_Win *win)
{
    if (oriel_guarded()) return request->native(request, win);
    oriel_layer_prepare();
    uint64_t index = oriel_layer.created++;
    int inter = 0;
    if (request->comm == MPI_COMM_NULL ||
        native.Comm_test_inter(request->comm, &inter) || inter)
        return make_native(request, win);
    uint64_t bytes = request->bytes > 0 ? (uint64_t)request->bytes : 0;
    struct oriel_wish wish = oriel_wish_find(request->info, index, bytes);
    int16_t votes[ORIEL_VOTES], heard[ORIEL_VOTES];
    oriel_votes_cast(request, &wish, votes);
    int error = oriel_agree_max(request->comm, votes, heard, ORIEL_VOTES);
    if (error) return error;
    return agreed(request, &wish, index, heard, win);
}
