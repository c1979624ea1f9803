/*
 * window.h - the windows that Oriel serves: what each rank exposed, how it is
 * reached, and what was counted.
 *
 * A window is found by the MPI handle's value. Handles are reused as soon as a
 * window is freed, so a window leaves the table before the native free.
 */
#ifndef ORIEL_WINDOW_H
#define ORIEL_WINDOW_H

#include "core/engine.h"
#include "core/epoch.h"
#include "core/flight.h"
#include "core/stats.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum oriel_access { ORIEL_ACCESS_GENERAL, ORIEL_ACCESS_FENCED, ORIEL_ACCESS_IMMUTABLE };

/* One rank's part of a window, as the ranks tell each other at creation: plain
 * bytes, the same on every rank of a job. */
struct oriel_row {
    uint64_t bytes;     /* of the window at this rank */
    uint64_t world_id;  /* of the process: random, the same for all its windows */
    uint32_t disp_unit; /* bytes */
    uint32_t host;      /* ranks of one row set with equal host share a node */
    uint32_t serial;    /* windows that this process had created before */
    uint32_t flags;     /* enum oriel_row_flag */
    uint32_t blob_bytes[ORIEL_ENGINE_COUNT];
    uint32_t
        blobs_at; /* where they are among the long ones; set by who reads the row */
    unsigned char blob[148]; /* of all engines, one after the other, where they fit */
};

/* Blobs of all engines, where they do not fit into a row. */
enum { ORIEL_BLOBS_MAX = ORIEL_ENGINE_COUNT * ORIEL_BLOB_MAX };

/* How many bytes a row's blobs need beside it; 0: they are in it. */
size_t oriel_row_long_bytes(const struct oriel_row *row);
enum oriel_row_flag {
    ORIEL_ROW_USABLE = 1 << 0,        /* may be read by an engine at all */
    ORIEL_ROW_NATIVE_MAPPED = 1 << 1, /* ranks of its node read it natively */
    ORIEL_ROW_NO_MEMORY = 1 << 2,     /* it found no memory for its part */
};

enum oriel_link {
    ORIEL_LINK_UNTRIED, /* nobody has read it yet */
    ORIEL_LINK_READY,
    ORIEL_LINK_NONE, /* no engine reaches it: native for good */
};

struct oriel_target {
    const char *mapped;          /* its bytes in this address space, or NULL */
    pid_t pid;                   /* of the process whose memory it is, or 0 */
    uint64_t address;            /* there */
    struct oriel_peer *peer;     /* owned; NULL where it is this process */
    struct oriel_flight *flight; /* owned; NULL where reads land at once */
    uint64_t bytes;
    uint32_t disp_unit;
    _Atomic uint8_t link;     /* enum oriel_link; set last, with release order */
    _Atomic uint8_t failures; /* reads that failed */
    uint8_t engine;           /* of peer */
    uint8_t path;             /* enum oriel_path, what a read is counted as */
    uint8_t why;              /* enum oriel_reason, where link is NONE */
};

/* Counters without atomic instructions where only one thread may call MPI. */
struct oriel_counters {
    _Atomic uint64_t bytes;
    _Atomic uint64_t path[ORIEL_PATH_COUNT];
    _Atomic uint64_t native[ORIEL_REASON_COUNT];
};

struct oriel_window {
    uintptr_t key; /* the MPI handle; 0 while it is not in the table */
    int n, self;   /* ranks, and this process's */
    bool threads;  /* MPI_THREAD_MULTIPLE: counters need atomic additions */
    enum oriel_access access;
    struct oriel_target *targets; /* n */
    struct oriel_epoch *epoch;    /* owned */
    struct oriel_row *rows;       /* n, owned: blobs wait here until first read */
    unsigned char *long_blobs;    /* owned; those that do not fit into rows */
    _Atomic int in_flight;        /* targets with reads that may not have landed */
    _Atomic bool defer;           /* reads may land as late as their flush */
    struct oriel_region *exposed[ORIEL_ENGINE_COUNT]; /* own memory; owned */
    struct oriel_counters counters;
    struct oriel_hist *latency; /* NULL unless reads are timed; owned */
    uint32_t sample;            /* time one read of so many; > 0 */
    _Atomic uint32_t tick;      /* reads, for sampling */
    pthread_mutex_t take_lock;  /* taking elided locks natively, which may block */
    pthread_mutex_t
        replay_lock;      /* reading natively what an engine lost; before take_lock */
    pthread_mutex_t lock; /* connecting, and the histogram */
    struct oriel_order engines; /* that may be used, best first */
    bool passive;               /* no target is ours to serve: reads are only counted */
    void *user;                 /* the MPI layer's part of the window */
};

/* What a window is made from. */
struct oriel_window_spec {
    int n, self;
    bool threads;
    uint32_t sample; /* time one read of so many; 0: none */
    enum oriel_access access;
    struct oriel_epoch_rules rules;
    struct oriel_order engines;
    bool defer; /* every call that completes reads is seen */
    void *base; /* of this process's part */
};

/* Let peers read this process's part by the engines of the set, as far as they are
 * open: fills row's blobs and the regions. blobs_out: all blobs, ORIEL_BLOBS_MAX bytes;
 * needed where oriel_row_long_bytes is not 0. An engine that refuses is left out.
 * Returns the set of engines that expose it. */
unsigned oriel_window_expose(void *base, uint64_t bytes, unsigned engines,
                             struct oriel_region *exposed[ORIEL_ENGINE_COUNT],
                             struct oriel_row *row, unsigned char *blobs_out);
void oriel_window_withdraw(struct oriel_region *exposed[ORIEL_ENGINE_COUNT]);

/* Takes rows, long_blobs (NULL: there are none) and the regions in `exposed`, on
 * success only. Returns NULL when out of memory. */
struct oriel_window *oriel_window_create(const struct oriel_window_spec *spec,
                                         struct oriel_row *rows,
                                         unsigned char *long_blobs,
                                         struct oriel_region *exposed[]);
/* Not in the table any more; no read is under way. */
void oriel_window_destroy(struct oriel_window *window);

/* The table. insert: -ENOMEM; a window with the same key is replaced.
 * Threads: find takes no lock. */
int oriel_window_insert(struct oriel_window *window, uintptr_t key);
void oriel_window_remove(struct oriel_window *window);
/* Any window of the table, or NULL; for the end of the process. */
struct oriel_window *oriel_window_any(void);

struct oriel_window_slot {
    _Atomic uintptr_t key; /* 0 empty, 1 removed */
    struct oriel_window *_Atomic window;
};
struct oriel_window_table {
    uint64_t mask;       /* number of slots - 1 */
    uint64_t mask_bytes; /* the same of their byte offsets, for a shorter look-up */
    struct oriel_window_slot slots[];
};
extern struct oriel_window_table *_Atomic oriel_window_table;

#define ORIEL_WINDOW_HASH UINT64_C(0x9E3779B97F4A7C15)

static inline size_t oriel_window_hash(uintptr_t key, uint64_t mask)
{
    return (size_t)((uint64_t)key * ORIEL_WINDOW_HASH >> 32 & mask);
}

/* Past the first slot; rarely needed, the table is a quarter full at most. */
struct oriel_window *oriel_window_search(const struct oriel_window_table *table,
                                         size_t slot, uintptr_t key);

/* The window of that handle, or NULL. A dozen instructions. */
static inline struct oriel_window *oriel_window_find(uintptr_t key)
{
    const struct oriel_window_table *table =
        atomic_load_explicit(&oriel_window_table, memory_order_acquire);
    if (!table) return NULL;
    size_t slot = oriel_window_hash(key, table->mask);
    uintptr_t at = atomic_load_explicit(&table->slots[slot].key, memory_order_acquire);
    if (at == 0) return NULL;
    if (at == key)
        return atomic_load_explicit(&table->slots[slot].window, memory_order_acquire);
    return oriel_window_search(table, slot, key);
}

/* True: certainly not in the table. False says nothing. */
static inline bool oriel_window_absent(uintptr_t key)
{
    _Static_assert(sizeof(struct oriel_window_slot) == 16, "the shift says so");
    const struct oriel_window_table *table =
        atomic_load_explicit(&oriel_window_table, memory_order_acquire);
    if (!table) return true;
    uint64_t at = (uint64_t)key * ORIEL_WINDOW_HASH >> 28 & table->mask_bytes;
    const struct oriel_window_slot *slot =
        (const void *)((const char *)table->slots + at);
    return !atomic_load_explicit(&slot->key, memory_order_acquire);
}

/* Connect to a target if nobody has yet. Returns its link. */
enum oriel_link oriel_window_connect(struct oriel_window *window, int target);

static inline void oriel_count(const struct oriel_window *window,
                               _Atomic uint64_t *counter, uint64_t by)
{
    if (window->threads)
        atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
    else
        atomic_store_explicit(counter,
                              atomic_load_explicit(counter, memory_order_relaxed) + by,
                              memory_order_relaxed);
}

/* Copy the counters. */
void oriel_window_stats(const struct oriel_window *window, struct oriel_stats *out);

#endif
