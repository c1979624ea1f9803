#define _GNU_SOURCE
#include "core/config.h"
#include "core/log.h"
#include "pmpi/layer.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One rank's counters of one window. */
struct entry {
    uint64_t id[2]; /* of the window in the job */
    struct oriel_report_row row;
};

/* Windows that were freed; only while a report is wanted. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *kept;
static size_t kept_n, kept_capacity;
static bool written;

static bool wanted(void)
{
    return oriel_layer.report || oriel_config_get()->stats[0];
}

static void fill(const struct oriel_mpi_window *window, struct entry *entry)
{
    static const char *const access[] = {"general", "fenced", "immutable"};
    memset(entry, 0, sizeof *entry);
    entry->id[0] = window->id[0];
    entry->id[1] = window->id[1];
    entry->row.index = window->index;
    entry->row.ranks = 1; /* summed over the ranks */
    entry->row.bytes = (uint64_t)window->bytes;
    snprintf(entry->row.kind, sizeof entry->row.kind, "%s",
             window->kind == ORIEL_KIND_CREATE ? "create" : "allocate");
    snprintf(entry->row.access, sizeof entry->row.access, "%s",
             access[window->core->access]);
    oriel_window_stats(window->core, &entry->row.stats);
}

void oriel_report_keep(const struct oriel_mpi_window *window)
{
    if (!wanted()) return;
    pthread_mutex_lock(&kept_lock);
    if (kept_n == kept_capacity) {
        size_t capacity = kept_capacity ? 2 * kept_capacity : 16;
        struct entry *more = realloc(kept, capacity * sizeof *more);
        if (more) {
            kept = more;
            kept_capacity = capacity;
        }
    }
    if (kept_n < kept_capacity) fill(window, &kept[kept_n++]);
    pthread_mutex_unlock(&kept_lock);
}

static void keep_live(void)
{
    for (struct oriel_mpi_window *w = oriel_windows_lock(); w; w = w->next)
        oriel_report_keep(w);
    oriel_windows_unlock();
}

static int by_id(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->id[0] != y->id[0]) return x->id[0] < y->id[0] ? -1 : 1;
    if (x->id[1] != y->id[1]) return x->id[1] < y->id[1] ? -1 : 1;
    return 0;
}

static int by_index(const void *a, const void *b)
{
    const struct oriel_report_row *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* One row a window: the ranks' counters summed. */
static size_t merge(struct entry *entries, size_t n, struct oriel_report_row *rows)
{
    size_t count = 0;
    if (n) qsort(entries, n, sizeof *entries, by_id);
    for (size_t i = 0; i < n; i++) {
        struct oriel_report_row *row = count ? &rows[count - 1] : NULL;
        if (!row || by_id(&entries[i], &entries[i - 1])) {
            rows[count++] = entries[i].row;
            continue;
        }
        row->ranks++;
        row->bytes += entries[i].row.bytes;
        if (entries[i].row.index < row->index) row->index = entries[i].row.index;
        oriel_stats_sum(&row->stats, &entries[i].row.stats);
    }
    if (count) qsort(rows, count, sizeof *rows, by_index);
    return count;
}

static void emit(struct entry *entries, size_t n, int ranks)
{
    char *version = calloc(1, MPI_MAX_LIBRARY_VERSION_STRING), where[PATH_MAX];
    struct oriel_report_row *rows = malloc((n + 1) * sizeof *rows);
    int length;
    if (!version || !rows) goto out;
    native.Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    for (char *p = version; *p; p++)
        if (*p == '\t') *p = ' ';
    const char *stats = oriel_config_get()->stats;
    snprintf(where, sizeof where, "%s", stats[0] ? stats : "text");
    if (!ranks && strchr(stats, ':'))
        snprintf(where, sizeof where, "%s.%d", stats, (int)getpid());
    struct oriel_report report = {
        .mpi = version,
        .ranks = ranks ? (uint64_t)ranks : 1,
        .whole_job = ranks != 0,
        .n = merge(entries, n, rows),
        .rows = rows,
    };
    if (oriel_report_emit(where, &report))
        oriel_log(ORIEL_LOG_WARN, "ORIEL_STATS=%s: the report could not be written",
                  where);
out:
    free(rows);
    free(version);
}

/* All ranks' entries at rank 0. */
static void write_job(void)
{
    int rank, n, total = 0;
    int *bytes = NULL, *offsets = NULL;
    struct entry *all = NULL;
    if (native.Comm_rank(MPI_COMM_WORLD, &rank) || native.Comm_size(MPI_COMM_WORLD, &n))
        return;
    /* Gatherv counts bytes in an int: with more windows the last ones are left out. */
    size_t most = INT_MAX / (size_t)n / sizeof *kept;
    int mine = (int)((kept_n < most ? kept_n : most) * sizeof *kept);
    if (rank == 0) {
        bytes = calloc((size_t)n, sizeof *bytes);
        offsets = calloc((size_t)n, sizeof *offsets);
    }
    native.Gather(&mine, 1, MPI_INT, bytes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; bytes && offsets && i < n; i++) {
        offsets[i] = total;
        total += bytes[i];
    }
    if (rank == 0) all = malloc((size_t)total + 1);
    native.Gatherv(kept, mine, MPI_BYTE, all, bytes, offsets, MPI_BYTE, 0,
                   MPI_COMM_WORLD);
    if (rank == 0) emit(all, (size_t)total / sizeof *all, n);
    free(all);
    free(offsets);
    free(bytes);
}

void oriel_report_rearm(void)
{
    written = false;
}

void oriel_report_write(void)
{
    if (written || !wanted()) return;
    written = true;
    keep_live();
    if (oriel_layer.world_agreed)
        write_job();
    else if (oriel_config_get()->stats[0])
        emit(kept, kept_n, 0);
    free(kept);
    kept = NULL;
    kept_n = kept_capacity = 0;
}
