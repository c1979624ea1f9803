#define _GNU_SOURCE
#include "pmpi/create.h"
#include "core/arena.h"
#include "core/config.h"
#include "core/device.h"
#include "core/err.h"
#include "core/log.h"
#include "pmpi/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What every rank says at every window creation, and hears as the maximum. */
enum vote {
    VOTE_WANT,       /* serve this window */
    VOTE_LAYOUT,     /* version of this exchange and of the rows */
    VOTE_LAYOUT_NEG, /* its negative: equal to the maximum's on all ranks or else */
    VOTE_GENERAL,    /* 2 - access: the least that some rank promised wins */
    VOTE_NO_LOCKS,   /* info: no_locks */
    VOTE_NATIVE,     /* info asks something of the native memory */
    VOTE_TAKEOVER,   /* enum oriel_takeover */
    VOTE_TAKEOVER_NEG,
    VOTE_STRICT, /* ORIEL_STRICT, and no engine works here */
    VOTE_REPORT, /* counters are wanted */
    VOTES
};
enum { LAYOUT = 1 };

static bool info_value(MPI_Info info, const char *key, char *value, int bytes)
{
    int found = 0;
    if (info == MPI_INFO_NULL) return false;
    return native.Info_get(info, key, bytes - 1, value, &found) == MPI_SUCCESS && found;
}

static bool info_true(MPI_Info info, const char *key)
{
    char value[8] = "";
    return info_value(info, key, value, sizeof value) && strcmp(value, "true") == 0;
}

/* What the program and the rules want of this window. Disabled: nothing. */
struct oriel_wish oriel_wish_find(MPI_Info info, uint64_t index, uint64_t bytes)
{
    struct oriel_wish wish = {0};
    char value[128], message[256];
    bool annotated = false;
    if (!oriel_layer.rules || oriel_rules_none(oriel_layer.rules)) return wish;
    for (int i = 0; i < ORIEL_KEY_COUNT; i++)
        annotated |= info_value(info, oriel_key_names[i], value, sizeof value);
    oriel_rules_apply(oriel_layer.rules, annotated, index, bytes, &wish);
    for (int i = 0; annotated && i < ORIEL_KEY_COUNT; i++) {
        if (!info_value(info, oriel_key_names[i], value, sizeof value)) continue;
        if (oriel_wish_set(&wish, oriel_key_names[i] + strlen("oriel_"), value, message,
                           sizeof message) == 0)
            continue;
        oriel_log(ORIEL_LOG_WARN, "window %llu stays native: info key oriel_%s",
                  (unsigned long long)index, message);
        return (struct oriel_wish){0};
    }
    return wish;
}

/* Info keys of MPI_Win_allocate that only the native library can fulfil. MPICH's
 * alloc_shm is none: it asks for shared memory, which ours is (ARMCI-MPI sets it). */
static bool asks_native_memory(MPI_Info info)
{
    static const char *const keys[] = {"alloc_shared_noncontig",
                                       "mpi_minimum_memory_alignment",
                                       "mpi_memory_alloc_kinds"};
    char value[128];
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (info_value(info, keys[i], value, sizeof value)) return true;
    return false;
}

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
static void track(const struct oriel_request *request, struct oriel_window_spec *spec,
                  struct oriel_mpi_window *mine, struct oriel_row *rows,
                  struct oriel_region *exposed[])
{
    int *model, found = 0;
    if (native.Win_get_attr(mine->handle, MPI_WIN_MODEL, &model, &found) || !found ||
        *model != MPI_WIN_UNIFIED)
        for (int i = 0; i < spec->n; i++)
            rows[i].flags = 0;
    oriel_library_rules(mine->handle, spec->access, &spec->rules);
    (void)request;
    struct oriel_window *window = oriel_window_create(spec, rows, exposed);
    if (!window) {
        /* Peers may read what is exposed until they free the window: leave it. */
        oriel_log(ORIEL_LOG_WARN, "out of memory: a window stays native");
        free(rows);
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
};

/* Everything that Oriel does not add to: the library maps it itself, everywhere, and
 * nobody wants to read counters. */
static bool needless(const struct plan *plan, const struct oriel_row *rows, int n,
                     int self)
{
    if (plan->report) return false;
    for (int i = 0; i < n; i++)
        if (!(rows[i].flags & ORIEL_ROW_NATIVE_MAPPED) ||
            rows[i].host != rows[self].host)
            return false;
    return true;
}

static void fill_row(const struct plan *plan, void *base, bool known,
                     struct oriel_region *exposed[], struct oriel_row *row)
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
    if (!known || !oriel_layer.rules || !base) return;
    if (oriel_device_memory(base, row->bytes)) return;
    row->flags |= ORIEL_ROW_USABLE;
    oriel_window_expose(base, row->bytes, oriel_engines_open(oriel_layer.engines),
                        exposed, row);
}

static bool all_ready(const struct oriel_row *rows, int n)
{
    for (int i = 0; i < n; i++)
        if (rows[i].flags & ORIEL_ROW_NO_MEMORY) return false;
    return true;
}

/* base NULL for a taken-over part that is not empty: there was no memory. All ranks
 * then leave the window to the native library, which reports that its own way. */
static int build_with(const struct plan *plan, void *base, struct oriel_row *rows,
                      struct oriel_mpi_window *mine, MPI_Win *win)
{
    const struct oriel_request *request = plan->request;
    struct oriel_region *exposed[ORIEL_ENGINE_COUNT];
    struct oriel_row row;
    int n = 0, self = 0;
    fill_row(plan, base, request->kind == ORIEL_KIND_CREATE || plan->take_over, exposed,
             &row);
    int error = native.Comm_size(request->comm, &n);
    if (!error) error = native.Comm_rank(request->comm, &self);
    if (!error)
        error = native.Allgather(&row, sizeof row, MPI_BYTE, rows, sizeof row, MPI_BYTE,
                                 request->comm);
    bool together = !error && all_ready(rows, n);
    if (!error)
        error = plan->take_over && together ? make_on(request, base, win)
                                            : make_native(request, win);
    if (error || !together || needless(plan, rows, n, self)) {
        oriel_window_withdraw(exposed);
        free(rows);
        free(mine);
        return error;
    }
    if (request->base_out && plan->take_over) *(void **)request->base_out = base;
    if (request->base_out && !plan->take_over) base = *(void **)request->base_out;
    *mine = (struct oriel_mpi_window){
        .handle = *win,
        .kind = request->kind,
        .taken_over = plan->take_over,
        .no_locks = plan->no_locks,
        .base = base,
        .bytes = request->bytes,
        .wish = plan->wish,
        .index = plan->index,
        .id = {rows[0].world_id, rows[0].serial},
    };
    struct oriel_window_spec spec = {
        .n = n,
        .self = self,
        .threads = oriel_layer.threads,
        .sample = oriel_layer.report ? (uint32_t)oriel_config_get()->stats_sample : 0,
        .access = plan->access,
        .engines = plan->wish.serve
                       ? oriel_engines_open(plan->wish.engines & oriel_layer.engines)
                       : 0,
        .base = base,
    };
    track(request, &spec, mine, rows, exposed);
    return MPI_SUCCESS;
}

static int build(const struct plan *plan, MPI_Win *win)
{
    const struct oriel_request *request = plan->request;
    void *base = request->base;
    int n;
    int error = native.Comm_size(request->comm, &n);
    if (error) return error;
    struct oriel_row *rows = malloc((size_t)n * sizeof *rows);
    struct oriel_mpi_window *mine = malloc(sizeof *mine);
    if (!rows || !mine) {
        free(rows);
        free(mine);
        native.Comm_call_errhandler(request->comm, MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    }
    if (plan->take_over) base = memory_get(request->bytes);
    error = build_with(plan, base, rows, mine, win);
    /* Nobody owns the memory unless the window was made on it. */
    if (plan->take_over && (error || *(void **)request->base_out != base))
        oriel_memory_put(base);
    return error;
}

static void cast_votes(const struct oriel_request *request,
                       const struct oriel_wish *wish, int64_t votes[VOTES])
{
    const struct oriel_config *config = oriel_config_get();
    enum oriel_takeover takeover = oriel_takeover_known();
    votes[VOTE_WANT] = wish->serve;
    votes[VOTE_LAYOUT] = LAYOUT;
    votes[VOTE_LAYOUT_NEG] = -LAYOUT;
    votes[VOTE_GENERAL] = ORIEL_ACCESS_IMMUTABLE - (int)wish->access;
    votes[VOTE_NO_LOCKS] = info_true(request->info, "no_locks");
    votes[VOTE_NATIVE] =
        request->kind == ORIEL_KIND_ALLOCATE && asks_native_memory(request->info);
    votes[VOTE_TAKEOVER] = takeover;
    votes[VOTE_TAKEOVER_NEG] = -(int)takeover;
    votes[VOTE_REPORT] = oriel_layer.report || config->stats[0];
    votes[VOTE_STRICT] = config->strict && wish->serve &&
                         !oriel_engines_open(wish->engines & oriel_layer.engines);
}

static bool takes_over(const struct oriel_request *request, const int64_t heard[VOTES])
{
    if (request->kind != ORIEL_KIND_ALLOCATE || heard[VOTE_NATIVE]) return false;
    if (heard[VOTE_TAKEOVER] == ORIEL_TAKEOVER_NO) return false;
    if (heard[VOTE_TAKEOVER] == ORIEL_TAKEOVER_YES &&
        heard[VOTE_TAKEOVER_NEG] == -ORIEL_TAKEOVER_YES)
        return true;
    return oriel_takeover_probe(request->comm) == ORIEL_TAKEOVER_YES;
}

static int agreed(const struct oriel_request *request, const struct oriel_wish *wish,
                  uint64_t index, const int64_t heard[VOTES], MPI_Win *win)
{
    static int said;
    if (heard[VOTE_LAYOUT] != -heard[VOTE_LAYOUT_NEG]) {
        oriel_log_once(&said, ORIEL_LOG_WARN,
                       "ranks load different versions of Oriel: windows stay native");
        return make_native(request, win);
    }
    if (heard[VOTE_STRICT]) {
        oriel_log_once(&said, ORIEL_LOG_ERROR,
                       "ORIEL_STRICT: no engine works on some rank; see 'oriel info'");
        native.Comm_call_errhandler(request->comm, MPI_ERR_OTHER);
        return MPI_ERR_OTHER;
    }
    if (!heard[VOTE_WANT]) return make_native(request, win);
    oriel_layer_start(request->comm);
    oriel_device_refresh();
    struct plan plan = {
        .request = request,
        .wish = *wish,
        .index = index,
        .take_over = takes_over(request, heard),
        .no_locks = heard[VOTE_NO_LOCKS] != 0,
        .report = heard[VOTE_REPORT] != 0,
        .access = (enum oriel_access)(ORIEL_ACCESS_IMMUTABLE - heard[VOTE_GENERAL]),
    };
    plan.native_mapped =
        request->kind == ORIEL_KIND_ALLOCATE && !plan.take_over &&
        (oriel_takeover_known() == ORIEL_TAKEOVER_NO || heard[VOTE_NATIVE]);
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
    int64_t votes[VOTES], heard[VOTES];
    cast_votes(request, &wish, votes);
    int error = oriel_agree_max(request->comm, votes, heard, VOTES);
    if (error) return error;
    return agreed(request, &wish, index, heard, win);
}
