#include "core/epoch.h"

#include <stdlib.h>

struct oriel_epoch *oriel_epoch_create(int n, int self,
                                       const struct oriel_epoch_rules *rules)
{
    struct oriel_epoch *epoch =
        calloc(1, sizeof *epoch + (size_t)n * sizeof epoch->target[0]);
    if (!epoch) return NULL;
    epoch->rules = *rules;
    epoch->n = n;
    epoch->self = self;
    return epoch;
}

void oriel_epoch_destroy(struct oriel_epoch *epoch)
{
    free(epoch);
}

/* Nothing else is open that the native library would check the lock against. A
 * fence epoch may be open natively: the first lock after it goes native, which
 * closes it or gives the native error. */
static bool quiet(const struct oriel_epoch *epoch)
{
    return epoch->rules.elide && !oriel_epoch_load(&epoch->started) &&
           oriel_epoch_load(&epoch->fence) == ORIEL_FENCE_NONE &&
           !oriel_epoch_load(&epoch->all);
}

static bool needless(const struct oriel_epoch *epoch, unsigned asked)
{
    return (asked & ORIEL_LOCK_NOCHECK) ||
           (epoch->rules.stable && !(asked & ORIEL_LOCK_EXCLUSIVE));
}

bool oriel_epoch_elides_lock(const struct oriel_epoch *epoch, int target,
                             unsigned asked)
{
    return target >= 0 && target < epoch->n && target != epoch->self &&
           needless(epoch, asked) && quiet(epoch) &&
           !oriel_epoch_load(&epoch->target[target].lock);
}

bool oriel_epoch_elides_all(const struct oriel_epoch *epoch, unsigned asked)
{
    return needless(epoch, asked) && quiet(epoch) && atomic_load(&epoch->locks) == 0;
}

/* The lock is held before a read that follows it may look at the bytes. */
static void close_fence(struct oriel_epoch *epoch)
{
    atomic_store_explicit(&epoch->fence, ORIEL_FENCE_NONE, memory_order_relaxed);
    atomic_store_explicit(&epoch->fence_read, 0, memory_order_relaxed);
}

void oriel_epoch_lock(struct oriel_epoch *epoch, int target, unsigned bits)
{
    close_fence(epoch);
    atomic_store_explicit(&epoch->target[target].lock,
                          (uint8_t)(bits | ORIEL_LOCK_HELD), memory_order_relaxed);
    atomic_fetch_add_explicit(&epoch->locks, 1, memory_order_relaxed);
    if (bits & ORIEL_LOCK_ELIDED)
        atomic_fetch_add_explicit(&epoch->elided, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
}

void oriel_epoch_lock_all(struct oriel_epoch *epoch, unsigned bits)
{
    close_fence(epoch);
    if (!epoch->rules.lock_holds)
        for (int i = 0; i < epoch->n; i++)
            atomic_store_explicit(&epoch->target[i].proof, 0, memory_order_relaxed);
    atomic_store_explicit(&epoch->all, (uint8_t)(bits | ORIEL_LOCK_HELD),
                          memory_order_relaxed);
    if (bits & ORIEL_LOCK_ELIDED)
        atomic_fetch_add_explicit(&epoch->elided, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
}

void oriel_epoch_unlock(struct oriel_epoch *epoch, int target)
{
    atomic_thread_fence(memory_order_release);
    unsigned was =
        atomic_exchange_explicit(&epoch->target[target].lock, 0, memory_order_relaxed);
    if (!(was & ORIEL_LOCK_HELD)) return;
    atomic_fetch_sub_explicit(&epoch->locks, 1, memory_order_relaxed);
    if (was & ORIEL_LOCK_ELIDED)
        atomic_fetch_sub_explicit(&epoch->elided, 1, memory_order_relaxed);
}

void oriel_epoch_unlock_all(struct oriel_epoch *epoch)
{
    atomic_thread_fence(memory_order_release);
    unsigned was = atomic_exchange_explicit(&epoch->all, 0, memory_order_relaxed);
    if (was & ORIEL_LOCK_ELIDED)
        atomic_fetch_sub_explicit(&epoch->elided, 1, memory_order_relaxed);
}

static void taken(struct oriel_epoch *epoch, _Atomic uint8_t *word)
{
    if (atomic_fetch_and(word, (uint8_t)~ORIEL_LOCK_ELIDED) & ORIEL_LOCK_ELIDED)
        atomic_fetch_sub(&epoch->elided, 1);
}

void oriel_epoch_lock_taken(struct oriel_epoch *epoch, int target)
{
    taken(epoch, &epoch->target[target].lock);
}

void oriel_epoch_all_taken(struct oriel_epoch *epoch)
{
    taken(epoch, &epoch->all);
}

void oriel_epoch_fence(struct oriel_epoch *epoch, bool no_precede, bool no_succeed)
{
    enum oriel_fence now = ORIEL_FENCE_OPEN;
    if (no_succeed)
        now = ORIEL_FENCE_NONE;
    else if (no_precede || !epoch->rules.fence_barrier)
        now = ORIEL_FENCE_WEAK;
    atomic_store_explicit(&epoch->fence, (uint8_t)now, memory_order_relaxed);
    atomic_store_explicit(&epoch->fence_read, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_acq_rel);
}

void oriel_epoch_start(struct oriel_epoch *epoch)
{
    close_fence(epoch);
    atomic_store_explicit(&epoch->started, 1, memory_order_relaxed);
}

void oriel_epoch_complete(struct oriel_epoch *epoch)
{
    atomic_store_explicit(&epoch->started, 0, memory_order_relaxed);
}

void oriel_epoch_update(struct oriel_epoch *epoch, int target)
{
    if (target < 0 || target >= epoch->n) return;
    atomic_store_explicit(&epoch->target[target].dirty, 1, memory_order_relaxed);
    atomic_store_explicit(&epoch->any_dirty, 1, memory_order_release);
}

void oriel_epoch_use(struct oriel_epoch *epoch, int target)
{
    if (epoch->rules.lock_holds || target < 0 || target >= epoch->n) return;
    struct oriel_epoch_target *t = &epoch->target[target];
    if (oriel_epoch_load(&t->lock) & ORIEL_LOCK_HELD)
        atomic_fetch_or(&t->lock, ORIEL_LOCK_USED);
    else
        atomic_fetch_or(&t->proof, ORIEL_LOCK_USED);
}

bool oriel_epoch_clean_dirty(struct oriel_epoch *epoch, int target)
{
    if (target >= 0)
        return target < epoch->n &&
               atomic_exchange(&epoch->target[target].dirty, 0) != 0;
    atomic_store(&epoch->any_dirty, 0);
    for (int i = 0; i < epoch->n; i++)
        atomic_store_explicit(&epoch->target[i].dirty, 0, memory_order_relaxed);
    return true;
}

void oriel_epoch_soil(struct oriel_epoch *epoch, int target)
{
    if (target >= 0) {
        oriel_epoch_update(epoch, target);
        return;
    }
    for (int i = 0; i < epoch->n; i++)
        oriel_epoch_update(epoch, i);
}

static void prove(_Atomic uint8_t *word)
{
    if (oriel_epoch_load(word) & ORIEL_LOCK_USED)
        atomic_fetch_or(word, ORIEL_LOCK_PROVEN);
}

void oriel_epoch_prove_lazy(struct oriel_epoch *epoch, int target)
{
    int first = target < 0 ? 0 : target;
    int last = target < 0 ? epoch->n : target + 1;
    for (int i = first; i < last && i < epoch->n; i++) {
        prove(&epoch->target[i].lock);
        prove(&epoch->target[i].proof);
    }
}
