#define _GNU_SOURCE

#define _GNU_SOURCE
#include "core/arena.h"

#include "core/extent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

enum { SEGMENT_BYTES_DEFAULT = 1 << 30, SEGMENT_BYTES_LEAST = 1 << 20 };

struct segment {
    struct segment *next;
    int fd;      /* -1 in a fork child */
    bool shared; /* by many allocations; else it is one allocation's own */
    char *base;
    size_t bytes;
    uint64_t device, inode;
};

static struct {
    pthread_mutex_t lock;
    struct segment *segments;
    struct oriel_extents extents;
    struct segment *spare; /* one shared segment may stay while it is empty */
    size_t segment_bytes, page_bytes;
    struct oriel_arena_usage usage;
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER, .segment_bytes = SEGMENT_BYTES_DEFAULT};

/* Set at the first alloc: until then nobody needs the lock to learn that an
 * address is not ours, and a process that never allocates has no fork handler. */
static atomic_bool used;
static atomic_bool forked;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_error;

static void before_fork(void)
{
    pthread_mutex_lock(&arena.lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&arena.lock);
}

/* The program may have closed the number, and something else may have it now. */
static bool descriptor_is_ours(const struct segment *segment)
{
    struct stat status;

    return segment->fd >= 0 && fstat(segment->fd, &status) == 0 &&
           status.st_dev == segment->device && status.st_ino == segment->inode;
}

/* Make the segments private before the program's next instruction: no store of
 * the child may reach the parent's windows. Where the system refuses, the child
 * may read them but not write; that is loud, wrong bytes in the parent are not. */
static void after_fork_in_child(void)
{
    /* A child's child has private segments already, with the child's stores. */
    if (!atomic_load(&forked)) {
        for (struct segment *at = arena.segments; at; at = at->next) {
            bool ours = descriptor_is_ours(at);

            if ((!ours || mmap(at->base, at->bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, at->fd,
                               0) == MAP_FAILED) &&
                mprotect(at->base, at->bytes, PROT_READ) != 0)
                munmap(at->base, at->bytes);
            if (ours) close(at->fd); /* the mapping needs it no more */
            at->fd = -1;
        }
        atomic_store(&forked, true);
    }
    pthread_mutex_unlock(&arena.lock);
}

static void start(void)
{
    arena.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    once_error =
        -pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    if (!once_error) atomic_store(&used, true);
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + arena.page_bytes - 1) & ~(arena.page_bytes - 1);
}

static int open_memory(size_t bytes)
{
    struct rlimit limit;
    int fd;

    /* Over this limit ftruncate raises SIGXFSZ, which kills the program. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) return -EFBIG;
    /* The first form is what a system with vm.memfd_noexec=2 insists on. */
    fd = memfd_create("oriel", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("oriel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -errno;
    if (ftruncate(fd, (off_t)bytes) != 0) {
        int error = -errno;

        close(fd);
        return error;
    }
    /* A peer that maps the segment need never fear SIGBUS. */
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return fd;
}

static int segment_create(size_t bytes, bool shared, struct segment **out)
{
    struct segment *made = calloc(1, sizeof *made);
    struct stat status;
    int error = -ENOMEM;

    if (!made) return error;
    made->shared = shared;
    made->bytes = bytes;
    made->fd = error = open_memory(bytes);
    if (error < 0) goto free_struct;
    error = fstat(made->fd, &status) == 0 ? 0 : -errno;
    if (error) goto close_memory;
    made->device = status.st_dev;
    made->inode = status.st_ino;
    /* In two steps, since under mlockall(MCL_FUTURE) one would touch all pages. */
    made->base = mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, made->fd, 0);
    error = made->base != MAP_FAILED ? 0 : -ENOMEM;
    if (error) goto close_memory;
    error = mprotect(made->base, bytes, PROT_READ | PROT_WRITE) == 0 ? 0 : -ENOMEM;
    if (!error && !oriel_extents_add(&arena.extents, made, (uintptr_t)made->base, bytes,
                                     shared ? 0 : 1))
        error = -ENOMEM;
    if (error) goto unmap;
    made->next = arena.segments;
    arena.segments = made;
    arena.usage.segments++;
    *out = made;
    return 0;

unmap:
    munmap(made->base, bytes);
close_memory:
    close(made->fd);
free_struct:
    free(made);
    return error;
}

/* Programs that close all descriptors, and then open files, exist: act on the
 * number only while it still is our segment. */
static void segment_destroy(struct segment *segment)
{
    struct segment **at = &arena.segments;

    while (*at != segment)
        at = &(*at)->next;
    *at = segment->next;
    arena.usage.segments--;
    munmap(segment->base, segment->bytes);
    if (descriptor_is_ours(segment)) close(segment->fd);
    free(segment);
}

/* Give pages back, so that they read as zero again, here and in peers' mappings.
 * A child drops only its own copies: it has no right to the parent's bytes. */
static void punch(const struct segment *segment, char *base, size_t bytes)
{
    if (atomic_load(&forked)) {
        madvise(base, bytes, MADV_DONTNEED);
        return;
    }
    /* Through the mapping, not the descriptor; but not where it is mlocked. */
    if (madvise(base, bytes, MADV_REMOVE) == 0) return;
    if (descriptor_is_ours(segment) &&
        fallocate(segment->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  base - segment->base, (off_t)bytes) == 0)
        return;
    memset(base, 0, bytes);
}

static int take_shared(size_t bytes, struct oriel_extent **out)
{
    int error = oriel_extents_take(&arena.extents, bytes, out);
    size_t size = whole_pages(arena.segment_bytes);
    struct segment *made;

    if (error != -ENOSPC) return error;
    /* RLIMIT_AS and RLIMIT_FSIZE may have no room for that much: share less. */
    for (;; size = whole_pages(size / 4)) {
        error = segment_create(size, true, &made);
        if (!error) return oriel_extents_take(&arena.extents, bytes, out);
        if ((error != -ENOMEM && error != -EFBIG) || size / 4 < bytes ||
            size / 4 < SEGMENT_BYTES_LEAST)
            return error;
    }
}

static int take_own(size_t bytes, struct oriel_extent **out)
{
    struct segment *made;
    int error = segment_create(bytes, false, &made);

    if (!error) *out = oriel_extents_find(&arena.extents, (uintptr_t)made->base);
    return error;
}

void oriel_arena_set_segment_bytes(size_t bytes)
{
    pthread_mutex_lock(&arena.lock);
    arena.segment_bytes = bytes ? bytes : SEGMENT_BYTES_DEFAULT;
    pthread_mutex_unlock(&arena.lock);
}

int oriel_arena_alloc(size_t bytes, void **out)
{
    struct oriel_extent *extent = NULL;
    int error;

    if (bytes == 0) return -EINVAL;
    if (bytes > PTRDIFF_MAX) return -ENOMEM;
    pthread_once(&once, start);
    if (once_error) return once_error;
    if (atomic_load(&forked)) return -EOWNERDEAD;
    pthread_mutex_lock(&arena.lock);
    bytes = whole_pages(bytes);
    error = bytes > arena.segment_bytes ? -ENOSPC : take_shared(bytes, &extent);
    /* Too large for a shared segment, or limits forbid one of that size. */
    if (error) error = take_own(bytes, &extent);
    if (!error) {
        struct segment *segment = extent->segment;

        if (segment == arena.spare) arena.spare = NULL;
        arena.usage.allocations++;
        arena.usage.bytes += bytes;
        *out = (void *)extent->start;
    }
    pthread_mutex_unlock(&arena.lock);
    return error;
}

/* The live allocation around base, or NULL. Takes the lock when it finds one. */
static struct oriel_extent *lock_extent(const void *base)
{
    struct oriel_extent *extent;

    if (!atomic_load_explicit(&used, memory_order_acquire)) return NULL;
    pthread_mutex_lock(&arena.lock);
    extent = oriel_extents_find(&arena.extents, (uintptr_t)base);
    if (extent && extent->refs) return extent;
    pthread_mutex_unlock(&arena.lock);
    return NULL;
}

static void unreference(struct oriel_extent *extent)
{
    struct segment *segment = extent->segment;

    if (--extent->refs) return;
    arena.usage.allocations--;
    arena.usage.bytes -= extent->bytes;
    punch(segment, (char *)extent->start, extent->bytes);
    extent = oriel_extents_release(&arena.extents, extent);
    if (extent->bytes < segment->bytes) return;
    if (segment->shared && !arena.spare) {
        arena.spare = segment;
        return;
    }
    oriel_extents_remove(&arena.extents, extent);
    segment_destroy(segment);
}

bool oriel_arena_find(const void *base, size_t bytes, struct oriel_arena_place *out)
{
    struct oriel_extent *extent = lock_extent(base);
    const struct segment *segment;
    bool inside;

    if (!extent) return false;
    segment = extent->segment;
    inside = bytes <= extent->bytes - ((uintptr_t)base - extent->start);
    if (inside && out)
        *out = (struct oriel_arena_place){
            .fd = segment->fd,
            .device = segment->device,
            .inode = segment->inode,
            .segment_bytes = segment->bytes,
            .offset = (uint64_t)((const char *)base - segment->base),
        };
    pthread_mutex_unlock(&arena.lock);
    return inside;
}

int oriel_arena_hold(const void *base)
{
    struct oriel_extent *extent = lock_extent(base);

    if (!extent) return -ENOENT;
    extent->refs++;
    pthread_mutex_unlock(&arena.lock);
    return 0;
}

int oriel_arena_drop(const void *base)
{
    struct oriel_extent *extent = lock_extent(base);

    if (!extent) return -ENOENT;
    unreference(extent);
    pthread_mutex_unlock(&arena.lock);
    return 0;
}

int oriel_arena_free(void *base)
{
    struct oriel_extent *extent = lock_extent(base);
    int error = 0;

    if (!extent) return -ENOENT;
    if (extent->start == (uintptr_t)base && extent->owned) {
        extent->owned = false;
        unreference(extent);
    } else {
        error = -ENOENT;
    }
    pthread_mutex_unlock(&arena.lock);
    return error;
}

void oriel_arena_usage(struct oriel_arena_usage *out)
{
    pthread_mutex_lock(&arena.lock);
    *out = arena.usage;
    pthread_mutex_unlock(&arena.lock);
}
