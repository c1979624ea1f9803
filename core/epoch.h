/*
 * epoch.h - which access epochs this process holds on one window, and what a
 * redirected read may rely on.
 *
 * Pure state: it calls no MPI. The caller tells it what succeeded natively.
 *
 * A lock is elided when a redirected read does not need the native one: the native
 * library has then not heard of it, and must before any call that it must answer.
 *
 * Threads: any; every word is atomic. Calls on the same target from two threads
 * must be ordered by the program, as MPI asks of it.
 */
#ifndef ORIEL_EPOCH_H
#define ORIEL_EPOCH_H

#include "core/stats.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What is known of the library and of the window; fixed at creation. */
struct oriel_epoch_rules {
    bool lock_holds;    /* lock returns with the lock held at the target */
    bool fence_barrier; /* a fence without NOPRECEDE ends in a full barrier */
    bool elide;         /* every call that needs the native epoch is seen */
    bool stable;        /* bytes change only between fences or barriers */
};

/* What a lock (or lock_all) was asked for, and how it stands. */
enum {
    ORIEL_LOCK_HELD = 1 << 0,      /* the program holds it */
    ORIEL_LOCK_EXCLUSIVE = 1 << 1, /* as asked: MPI_LOCK_EXCLUSIVE */
    ORIEL_LOCK_NOCHECK = 1 << 2,   /* as asked: MPI_MODE_NOCHECK */
    ORIEL_LOCK_ELIDED = 1 << 3,    /* the native library does not know of it */
    ORIEL_LOCK_USED = 1 << 4,      /* a native transfer was made under it */
    ORIEL_LOCK_PROVEN = 1 << 5,    /* ... and flushed: it is held for certain */
};

enum oriel_fence {
    ORIEL_FENCE_NONE, /* no fence epoch */
    ORIEL_FENCE_OPEN, /* open, and all have arrived */
    ORIEL_FENCE_WEAK, /* open, but nothing proves that the others have arrived */
};

struct oriel_epoch_target {
    _Atomic uint8_t lock;  /* ORIEL_LOCK_* bits of MPI_Win_lock */
    _Atomic uint8_t proof; /* USED and PROVEN under lock_all */
    _Atomic uint8_t dirty; /* a native update is not flushed yet */
};

struct oriel_epoch {
    struct oriel_epoch_rules rules;
    int n, self;
    _Atomic uint8_t all;        /* ORIEL_LOCK_* bits of MPI_Win_lock_all */
    _Atomic uint8_t fence;      /* enum oriel_fence */
    _Atomic uint8_t fence_read; /* a redirected read was made in this fence epoch */
    _Atomic uint8_t started;    /* between start and complete */
    _Atomic uint8_t any_dirty;
    _Atomic int locks;  /* locks held, elided or not; lock_all not counted */
    _Atomic int elided; /* of them elided, lock_all counted */
    struct oriel_epoch_target target[]; /* n */
};

/* Returns NULL when out of memory. */
struct oriel_epoch *oriel_epoch_create(int n, int self,
                                       const struct oriel_epoch_rules *rules);
void oriel_epoch_destroy(struct oriel_epoch *epoch);

/* May a read of this target be redirected now? ORIEL_SERVED or the reason why not.
 * 0 <= target < n. */
static inline enum oriel_reason oriel_epoch_read(const struct oriel_epoch *epoch,
                                                 int target);

/* Would a lock on the target, or lock_all, need no native lock? `asked`: EXCLUSIVE
 * and NOCHECK bits. */
bool oriel_epoch_elides_lock(const struct oriel_epoch *epoch, int target,
                             unsigned asked);
bool oriel_epoch_elides_all(const struct oriel_epoch *epoch, unsigned asked);

/* The lock is held now: after the native call succeeded, or elided (ELIDED in
 * bits). */
void oriel_epoch_lock(struct oriel_epoch *epoch, int target, unsigned bits);
void oriel_epoch_lock_all(struct oriel_epoch *epoch, unsigned bits);
/* It is given back: after native success, or where it was elided. */
void oriel_epoch_unlock(struct oriel_epoch *epoch, int target);
void oriel_epoch_unlock_all(struct oriel_epoch *epoch);

/* The elided lock was taken natively after all. */
void oriel_epoch_lock_taken(struct oriel_epoch *epoch, int target);
void oriel_epoch_all_taken(struct oriel_epoch *epoch);

/* After a successful fence. */
void oriel_epoch_fence(struct oriel_epoch *epoch, bool no_precede, bool no_succeed);
void oriel_epoch_start(struct oriel_epoch *epoch);
void oriel_epoch_complete(struct oriel_epoch *epoch);

/* A native update of the target; call before and after the native call, since
 * another thread may flush between the two. */
void oriel_epoch_update(struct oriel_epoch *epoch, int target);
/* A native transfer of at least one byte was started (update or read). */
void oriel_epoch_use(struct oriel_epoch *epoch, int target);

/* Before a native call that completes updates at the target (flush, unlock), or at
 * all (target < 0: flush_all, unlock_all, fence, complete). Marking clean before the
 * call means that an update which another thread starts meanwhile stays dirty.
 * Returns true when something was dirty; call oriel_epoch_soil if the native call
 * then fails. */
static inline bool oriel_epoch_clean(struct oriel_epoch *epoch, int target);
void oriel_epoch_soil(struct oriel_epoch *epoch, int target);
/* After a native flush (target < 0: all) succeeded: what was used is proven. */
static inline void oriel_epoch_prove(struct oriel_epoch *epoch, int target);
/* The parts of the two that are rarely needed. */
bool oriel_epoch_clean_dirty(struct oriel_epoch *epoch, int target);
void oriel_epoch_prove_lazy(struct oriel_epoch *epoch, int target);

static inline uint8_t oriel_epoch_load(const _Atomic uint8_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static inline bool oriel_epoch_clean(struct oriel_epoch *epoch, int target)
{
    return oriel_epoch_load(&epoch->any_dirty) &&
           oriel_epoch_clean_dirty(epoch, target);
}

static inline void oriel_epoch_prove(struct oriel_epoch *epoch, int target)
{
    if (!epoch->rules.lock_holds) oriel_epoch_prove_lazy(epoch, target);
}

static inline enum oriel_reason oriel_epoch_read(const struct oriel_epoch *epoch,
                                                 int target)
{
    const struct oriel_epoch_target *t = &epoch->target[target];
    if (oriel_epoch_load(&t->dirty)) return ORIEL_NATIVE_dirty;
    unsigned lock = oriel_epoch_load(&t->lock);
    if (!(lock & ORIEL_LOCK_HELD)) {
        lock = oriel_epoch_load(&epoch->all);
        if (lock & ORIEL_LOCK_HELD) lock |= oriel_epoch_load(&t->proof);
    }
    if (lock & ORIEL_LOCK_HELD) {
        if (epoch->rules.lock_holds || epoch->rules.stable) return ORIEL_SERVED;
        if (lock & (ORIEL_LOCK_NOCHECK | ORIEL_LOCK_ELIDED | ORIEL_LOCK_PROVEN))
            return ORIEL_SERVED;
        return ORIEL_NATIVE_lazy_lock;
    }
    if (oriel_epoch_load(&epoch->started)) return ORIEL_NATIVE_pscw;
    switch (oriel_epoch_load(&epoch->fence)) {
    case ORIEL_FENCE_OPEN:
        return ORIEL_SERVED;
    case ORIEL_FENCE_WEAK:
        return ORIEL_NATIVE_fence;
    default:
        return ORIEL_NATIVE_no_epoch;
    }
}

#endif
