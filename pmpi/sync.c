#define _GNU_SOURCE
#include "pmpi/guard.h"
#include "pmpi/layer.h"

/*
 * Redirected reads that are still under way are landed first, before the native call.
 * Beyond that these wrappers keep the epochs, who is dirty, and which locks the native
 * library has not heard of.
 */

/* The wrappers themselves are only the look-up: a window that is not ours passes with
 * its arguments where they are. */
#define NOINLINE __attribute__((noinline))

static int type_of(unsigned bits)
{
    return bits & ORIEL_LOCK_EXCLUSIVE ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
}

static int assert_of(unsigned bits)
{
    return bits & ORIEL_LOCK_NOCHECK ? MPI_MODE_NOCHECK : 0;
}

static int take_target(struct oriel_window *window, int target)
{
    unsigned bits = oriel_epoch_load(&window->epoch->target[target].lock);
    if (!(bits & ORIEL_LOCK_ELIDED)) return MPI_SUCCESS;
    int error = native.Win_lock(type_of(bits), target, assert_of(bits),
                                oriel_mpi_window(window)->handle);
    if (!error) oriel_epoch_lock_taken(window->epoch, target);
    return error;
}

static int take_all(struct oriel_window *window)
{
    unsigned bits = oriel_epoch_load(&window->epoch->all);
    if (!(bits & ORIEL_LOCK_ELIDED)) return MPI_SUCCESS;
    int error = native.Win_lock_all(assert_of(bits), oriel_mpi_window(window)->handle);
    if (!error) oriel_epoch_all_taken(window->epoch);
    return error;
}

int oriel_sync_take(struct oriel_window *window, int target)
{
    int first = target, last = target;
    if (target < 0 || target >= window->n) {
        first = 0;
        last = window->n - 1;
    }
    pthread_mutex_lock(&window->take_lock);
    int error = take_all(window);
    for (int i = first; i <= last && !error; i++)
        error = take_target(window, i);
    pthread_mutex_unlock(&window->take_lock);
    return error;
}

/* Give back a lock that the library has not heard of; rank < 0: lock_all. False: it
 * has, perhaps by another thread's call just now. */
static bool drop_elided(struct oriel_window *window, int rank)
{
    struct oriel_epoch *epoch = window->epoch;
    const _Atomic uint8_t *word = rank < 0 ? &epoch->all : &epoch->target[rank].lock;
    if (!(oriel_epoch_load(word) & ORIEL_LOCK_ELIDED)) return false;
    if (window->threads) pthread_mutex_lock(&window->take_lock);
    bool still = oriel_epoch_load(word) & ORIEL_LOCK_ELIDED;
    if (still && rank < 0) oriel_epoch_unlock_all(epoch);
    if (still && rank >= 0) oriel_epoch_unlock(epoch, rank);
    if (window->threads) pthread_mutex_unlock(&window->take_lock);
    return still;
}

/* The native library has seen no operation in a fence epoch whose reads were all
 * redirected, and would let a lock pass that it refuses otherwise. */
static int refuse_in_fence(struct oriel_window *window)
{
    if (!oriel_epoch_load(&window->epoch->fence_read)) return MPI_SUCCESS;
    native.Win_call_errhandler(oriel_mpi_window(window)->handle, MPI_ERR_RMA_SYNC);
    return MPI_ERR_RMA_SYNC;
}

/* Eliding pays only where the reads under the lock are then served. */
static bool reads_served(struct oriel_window *window, int target)
{
    return oriel_window_connect(window, target) == ORIEL_LINK_READY &&
           !oriel_mpi_window(window)->shared_out;
}

static NOINLINE int lock(int type, int rank, int assert, MPI_Win win)
{
    struct oriel_window *window = oriel_find_served(win);
    if (!window) return native.Win_lock(type, rank, assert, win);
    struct oriel_epoch *epoch = window->epoch;
    unsigned bits = (type == MPI_LOCK_EXCLUSIVE ? ORIEL_LOCK_EXCLUSIVE : 0) |
                    (assert &MPI_MODE_NOCHECK ? ORIEL_LOCK_NOCHECK : 0);
    bool plain = (type == MPI_LOCK_SHARED || type == MPI_LOCK_EXCLUSIVE) &&
                 (assert & ~MPI_MODE_NOCHECK) == 0;
    if (plain && oriel_epoch_elides_lock(epoch, rank, bits) &&
        reads_served(window, rank)) {
        oriel_epoch_lock(epoch, rank, bits | ORIEL_LOCK_ELIDED);
        return MPI_SUCCESS;
    }
    int error = refuse_in_fence(window);
    if (!error) error = oriel_sync_native(window, rank);
    if (!error) error = native.Win_lock(type, rank, assert, win);
    if (!error && rank >= 0 && rank < window->n) oriel_epoch_lock(epoch, rank, bits);
    return error;
}

int wrap_Win_lock(int type, int rank, int assert, MPI_Win win)
{
    return oriel_absent(win) ? native.Win_lock(type, rank, assert, win)
                             : lock(type, rank, assert, win);
}

static NOINLINE int unlock(int rank, MPI_Win win)
{
    struct oriel_window *window = oriel_find_served(win);
    if (!window) return native.Win_unlock(rank, win);
    struct oriel_epoch *epoch = window->epoch;
    bool known = rank >= 0 && rank < window->n;
    int error = known ? oriel_complete(window, rank) : MPI_SUCCESS;
    if (error) return error;
    if (known && drop_elided(window, rank)) return MPI_SUCCESS;
    error = oriel_sync_native(window, rank);
    if (error) return error;
    bool was_dirty = known && oriel_epoch_clean(epoch, rank);
    error = native.Win_unlock(rank, win);
    if (!error && known) oriel_epoch_unlock(epoch, rank);
    if (error && was_dirty) oriel_epoch_soil(epoch, rank);
    return error;
}

int wrap_Win_unlock(int rank, MPI_Win win)
{
    return oriel_absent(win) ? native.Win_unlock(rank, win) : unlock(rank, win);
}

static NOINLINE int lock_all(int assert, MPI_Win win)
{
    struct oriel_window *window = oriel_find_served(win);
    if (!window) return native.Win_lock_all(assert, win);
    struct oriel_epoch *epoch = window->epoch;
    unsigned bits = assert &MPI_MODE_NOCHECK ? ORIEL_LOCK_NOCHECK : 0;
    if ((assert & ~MPI_MODE_NOCHECK) == 0 && oriel_epoch_elides_all(epoch, bits) &&
        window->engines.n && !oriel_mpi_window(window)->shared_out) {
        oriel_epoch_lock_all(epoch, bits | ORIEL_LOCK_ELIDED);
        return MPI_SUCCESS;
    }
    int error = refuse_in_fence(window);
    if (!error) error = oriel_sync_native(window, -1);
    if (!error) error = native.Win_lock_all(assert, win);
    if (!error) oriel_epoch_lock_all(epoch, bits);
    return error;
}

int wrap_Win_lock_all(int assert, MPI_Win win)
{
    return oriel_absent(win) ? native.Win_lock_all(assert, win) : lock_all(assert, win);
}

static NOINLINE int unlock_all(MPI_Win win)
{
    struct oriel_window *window = oriel_find_served(win);
    if (!window) return native.Win_unlock_all(win);
    struct oriel_epoch *epoch = window->epoch;
    int error = oriel_complete(window, -1);
    if (error) return error;
    if (drop_elided(window, -1)) return MPI_SUCCESS;
    error = oriel_sync_native(window, -1);
    if (error) return error;
    bool was_dirty = oriel_epoch_clean(epoch, -1);
    error = native.Win_unlock_all(win);
    if (!error) oriel_epoch_unlock_all(epoch);
    if (error && was_dirty) oriel_epoch_soil(epoch, -1);
    return error;
}

int wrap_Win_unlock_all(MPI_Win win)
{
    return oriel_absent(win) ? native.Win_unlock_all(win) : unlock_all(win);
}

/* A flush of a lock that the native library has not heard of: nothing native was
 * started under it. */
static bool elided(const struct oriel_epoch *epoch, int rank)
{
    if (!atomic_load_explicit(&epoch->elided, memory_order_relaxed)) return false;
    if (rank < 0 || rank >= epoch->n) return false;
    unsigned lock = oriel_epoch_load(&epoch->target[rank].lock);
    if (!(lock & ORIEL_LOCK_HELD)) lock = oriel_epoch_load(&epoch->all);
    return lock & ORIEL_LOCK_ELIDED;
}

static bool all_elided(const struct oriel_epoch *epoch)
{
    int count = atomic_load_explicit(&epoch->elided, memory_order_relaxed);
    if (!count) return false;
    int held = atomic_load_explicit(&epoch->locks, memory_order_relaxed);
    if (oriel_epoch_load(&epoch->all) & ORIEL_LOCK_HELD) held++;
    return count == held;
}

static NOINLINE int flush(int rank, MPI_Win win)
{
    struct oriel_window *window = oriel_find_served(win);
    if (!window) return native.Win_flush(rank, win);
    struct oriel_epoch *epoch = window->epoch;
    int error = rank >= 0 ? oriel_complete(window, rank) : MPI_SUCCESS;
    if (error || elided(epoch, rank)) return error;
    bool was_dirty = rank >= 0 && oriel_epoch_clean(epoch, rank);
    error = native.Win_flush(rank, win);
    if (!error && rank >= 0) oriel_epoch_prove(epoch, rank);
    if (error && was_dirty) oriel_epoch_soil(epoch, rank);
    atomic_thread_fence(memory_order_acquire);
    return error;
}

int wrap_Win_flush(int rank, MPI_Win win)
{
    return oriel_absent(win) ? native.Win_flush(rank, win) : flush(rank, win);
}

static NOINLINE int flush_all(MPI_Win win)
{
    struct oriel_window *window = oriel_find_served(win);
    if (!window) return native.Win_flush_all(win);
    struct oriel_epoch *epoch = window->epoch;
    int error = oriel_complete(window, -1);
    if (error || all_elided(epoch)) return error;
    bool was_dirty = oriel_epoch_clean(epoch, -1);
    error = native.Win_flush_all(win);
    if (!error) oriel_epoch_prove(epoch, -1);
    if (error && was_dirty) oriel_epoch_soil(epoch, -1);
    atomic_thread_fence(memory_order_acquire);
    return error;
}

int wrap_Win_flush_all(MPI_Win win)
{
    return oriel_absent(win) ? native.Win_flush_all(win) : flush_all(win);
}

/* Local completion says nothing of the target: it stays dirty. */
static NOINLINE int flush_local(int rank, MPI_Win win)
{
    struct oriel_window *window = oriel_find_served(win);
    int error = window && rank >= 0 ? oriel_complete(window, rank) : MPI_SUCCESS;
    if (error || (window && elided(window->epoch, rank))) return error;
    return native.Win_flush_local(rank, win);
}

int wrap_Win_flush_local(int rank, MPI_Win win)
{
    return oriel_absent(win) ? native.Win_flush_local(rank, win)
                             : flush_local(rank, win);
}

static NOINLINE int flush_local_all(MPI_Win win)
{
    struct oriel_window *window = oriel_find_served(win);
    int error = window ? oriel_complete(window, -1) : MPI_SUCCESS;
    if (error || (window && all_elided(window->epoch))) return error;
    return native.Win_flush_local_all(win);
}

int wrap_Win_flush_local_all(MPI_Win win)
{
    return oriel_absent(win) ? native.Win_flush_local_all(win) : flush_local_all(win);
}

/* The program's stores before it are visible before its reads after it: that takes a
 * full fence, which the library's own call need not contain. */
int wrap_Win_sync(MPI_Win win)
{
    struct oriel_window *window = oriel_find_served(win);
    int error = window ? oriel_sync_native(window, -1) : MPI_SUCCESS;
    if (!error) error = native.Win_sync(win);
    atomic_thread_fence(memory_order_seq_cst);
    return error;
}

static NOINLINE int fence(int assert, MPI_Win win)
{
    struct oriel_window *window = oriel_find_served(win);
    if (!window) return native.Win_fence(assert, win);
    struct oriel_epoch *epoch = window->epoch;
    int error = oriel_complete(window, -1);
    if (!error) error = oriel_sync_native(window, -1);
    if (error) return error;
    bool was_dirty = oriel_epoch_clean(epoch, -1);
    atomic_thread_fence(memory_order_release);
    error = native.Win_fence(assert, win);
    if (!error)
        oriel_epoch_fence(epoch, assert &MPI_MODE_NOPRECEDE,
                          assert &MPI_MODE_NOSUCCEED);
    else if (was_dirty)
        oriel_epoch_soil(epoch, -1);
    return error;
}

int wrap_Win_fence(int assert, MPI_Win win)
{
    return oriel_absent(win) ? native.Win_fence(assert, win) : fence(assert, win);
}

static NOINLINE int start(MPI_Group group, int assert, MPI_Win win)
{
    struct oriel_window *window = oriel_find_served(win);
    if (!window) return native.Win_start(group, assert, win);
    int error = refuse_in_fence(window);
    if (!error) error = oriel_sync_native(window, -1);
    if (!error) error = native.Win_start(group, assert, win);
    if (!error) oriel_epoch_start(window->epoch);
    return error;
}

int wrap_Win_start(MPI_Group group, int assert, MPI_Win win)
{
    return oriel_absent(win) ? native.Win_start(group, assert, win)
                             : start(group, assert, win);
}

static NOINLINE int complete(MPI_Win win)
{
    struct oriel_window *window = oriel_find_served(win);
    if (!window) return native.Win_complete(win);
    int error = oriel_sync_native(window, -1);
    if (error) return error;
    bool was_dirty = oriel_epoch_clean(window->epoch, -1);
    error = native.Win_complete(win);
    if (!error)
        oriel_epoch_complete(window->epoch);
    else if (was_dirty)
        oriel_epoch_soil(window->epoch, -1);
    return error;
}

int wrap_Win_complete(MPI_Win win)
{
    return oriel_absent(win) ? native.Win_complete(win) : complete(win);
}

/* Exposure: others' reads and updates of this rank's part, in memory order. */
int wrap_Win_post(MPI_Group group, int assert, MPI_Win win)
{
    atomic_thread_fence(memory_order_release);
    return native.Win_post(group, assert, win);
}

int wrap_Win_wait(MPI_Win win)
{
    int error = native.Win_wait(win);
    atomic_thread_fence(memory_order_acquire);
    return error;
}

int wrap_Win_test(MPI_Win win, int *flag)
{
    int error = native.Win_test(win, flag);
    atomic_thread_fence(memory_order_acquire);
    return error;
}
