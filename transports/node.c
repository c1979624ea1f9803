/*
 * node.c - reads between processes of one node: memory of Oriel's arena through a
 * shared mapping, any other by process_vm_readv ("cma").
 *
 * Nothing listens and nothing is kept open: a blob says where the bytes are, and the
 * reader asks the kernel. A region of the arena is offered both ways.
 */
#define _GNU_SOURCE

#include "core/arena.h"
#include "core/config.h"
#include "core/err.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/process.h"
#include "core/vmread.h"
#include "transports/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOB_VERSION = 1,
    IDLE_MOST = 256 /* mappings that nobody uses but may use again */
};
enum kind { KIND_CMA = 1, KIND_MAPPED };

/* Blobs never leave the node, so this struct as it is. */
struct wire {
    uint16_t version, kind;
    int32_t fd; /* from here on for KIND_MAPPED: the segment */
    uint64_t device, inode, segment_bytes;
    uint64_t offset;      /* of base in the segment */
    uint64_t base, bytes; /* of the region, in the publisher's address space */
    struct oriel_process process;
};
_Static_assert(sizeof(struct wire) == 120, "padding would make equal blobs differ");
_Static_assert(sizeof(struct wire) <= ORIEL_BLOB_MAX, "too large for a blob");

struct segment_key {
    uint64_t device, inode;
};
struct mapping { /* one segment of one peer */
    struct segment_key key;
    unsigned refs;    /* peers that use it; 0: idle */
    uint64_t idle_at; /* engine->idled when it became so, or was last looked at */
    pid_t pid;
    char *base;
    size_t bytes;
    UT_hash_handle hh;
};

struct oriel_engine {
    const struct oriel_process *self;
    bool cma;
    pthread_mutex_t lock; /* of mappings */
    struct mapping *mappings;
    unsigned idle;  /* of them */
    uint64_t idled; /* counts up, for their age */
};

struct oriel_region {
    void *held; /* in the arena until withdraw; NULL for other memory */
};

struct oriel_peer {
    struct oriel_engine *engine;
    struct mapping *mapping; /* NULL: by cma */
    const char *mapped;      /* the region, in the mapping */
    pid_t pid;
    uint64_t base, bytes;
};

static int node_open(const struct oriel_config *config, struct oriel_engine **out,
                     const char **why_out)
{
    struct oriel_engine *engine = calloc(1, sizeof *engine);
    int error;

    if (!engine) {
        *why_out = "out of memory";
        return -ENOMEM;
    }
    error = oriel_process_self(&engine->self, why_out);
    if (error) {
        free(engine);
        return error;
    }
    engine->cma = config->cma;
    if (engine->cma) oriel_process_admit();
    pthread_mutex_init(&engine->lock, NULL);
    *out = engine;
    return 0;
}

static void unmap(struct oriel_engine *engine, struct mapping *mapping)
{
    HASH_DEL(engine->mappings, mapping);
    munmap(mapping->base, mapping->bytes);
    free(mapping);
}

/* The oldest idle mapping, or NULL. */
static struct mapping *oldest_idle(const struct oriel_engine *engine)
{
    struct mapping *oldest = NULL;

    for (struct mapping *at = engine->mappings; at; at = at->hh.next)
        if (!at->refs && (!oldest || at->idle_at < oldest->idle_at)) oldest = at;
    return oldest;
}

static void unmap_oldest(struct oriel_engine *engine)
{
    unmap(engine, oldest_idle(engine));
    engine->idle--;
}

/* A fork child leaves everything as it is: another thread of its parent may have
 * held a lock when it forked. */
static void node_close(struct oriel_engine *engine)
{
    if (!engine || oriel_process_forked()) return;
    while (engine->idle)
        unmap_oldest(engine);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
}

static int node_expose(struct oriel_engine *engine, void *base, size_t bytes,
                       struct oriel_region **out, struct oriel_blob *blob_out)
{
    struct oriel_arena_place place;
    struct wire wire = {.version = BLOB_VERSION,
                        .kind = KIND_CMA,
                        .fd = -1,
                        .base = (uintptr_t)base,
                        .bytes = bytes};
    struct oriel_region *region;

    if (oriel_process_forked()) return -EOWNERDEAD;
    if ((uintptr_t)base + bytes < (uintptr_t)base) return -EINVAL;
    region = calloc(1, sizeof *region);
    if (!region) return -ENOMEM;
    if (oriel_arena_hold(base) == 0) region->held = base;
    if (region->held && oriel_arena_find(base, bytes, &place)) {
        wire.kind = KIND_MAPPED;
        wire.fd = place.fd;
        wire.device = place.device;
        wire.inode = place.inode;
        wire.segment_bytes = place.segment_bytes;
        wire.offset = place.offset;
    } else if (!engine->cma) {
        if (region->held) oriel_arena_drop(region->held);
        free(region);
        return -ENOTSUP;
    }
    wire.process = *engine->self;
    memcpy(blob_out->data, &wire, sizeof wire);
    blob_out->bytes = sizeof wire;
    *out = region;
    return 0;
}

static void node_withdraw(struct oriel_region *region)
{
    if (!region) return;
    if (region->held) oriel_arena_drop(region->held);
    free(region);
}

/* Is that still the segment? Its device and inode number say so, since no other
 * file can have them while a process has it open or mapped. */
static int check_segment(const struct stat *status, const struct wire *wire)
{
    if (status->st_dev != wire->device || status->st_ino != wire->inode ||
        (uint64_t)status->st_size != wire->segment_bytes)
        return -ORIEL_ENONCE;
    return 0;
}

static int gone_or(int error)
{
    return error == ENOENT || error == ESRCH ? -ORIEL_EGONE : -error;
}

static int map_segment(const char *path, const struct wire *wire, char **out)
{
    size_t bytes = wire->segment_bytes;
    struct stat status;
    char *base;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int error;

    if (fd < 0) return gone_or(errno);
    error = fstat(fd, &status) == 0 ? check_segment(&status, wire) : -errno;
    if (error) goto close_fd;
    /* In two steps: under mlockall(MCL_FUTURE) one would fill all of its holes. */
    base = mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED || mprotect(base, bytes, PROT_READ) != 0) {
        error = -errno;
        if (base != MAP_FAILED) munmap(base, bytes);
        goto close_fd;
    }
    *out = base;

close_fd:
    close(fd);
    return error;
}

/* A new entry of the table. Holding the lock. */
static int add_mapping(struct oriel_engine *engine, const char *path,
                       const struct wire *wire, struct mapping **out)
{
    struct mapping *made = calloc(1, sizeof *made);
    int error;

    if (!made) return -ENOMEM;
    error = map_segment(path, wire, &made->base);
    while (error == -ENOMEM && engine->idle) {
        unmap_oldest(engine);
        error = map_segment(path, wire, &made->base);
    }
    if (error) {
        free(made);
        return error;
    }
    made->pid = wire->process.pid;
    made->bytes = wire->segment_bytes;
    made->key = (struct segment_key){wire->device, wire->inode};
    HASH_ADD(hh, engine->mappings, key, sizeof made->key, made);
    if (!made->hh.tbl) { /* out of memory */
        munmap(made->base, made->bytes);
        free(made);
        return -ENOMEM;
    }
    *out = made;
    return 0;
}

/* The peer's segment, mapped once for all of its regions. The path is looked at
 * each time, so that a dead peer shows here and not as old bytes. */
static int take_mapping(struct oriel_engine *engine, const struct wire *wire,
                        struct mapping **out)
{
    struct segment_key key = {wire->device, wire->inode};
    struct mapping *found;
    struct stat status;
    char path[48];
    int error;

    if (wire->offset > wire->segment_bytes ||
        wire->bytes > wire->segment_bytes - wire->offset)
        return -EBADMSG;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)wire->process.pid,
             (int)wire->fd);
    error = stat(path, &status) == 0 ? check_segment(&status, wire) : gone_or(errno);
    if (error) return error;
    pthread_mutex_lock(&engine->lock);
    HASH_FIND(hh, engine->mappings, &key, sizeof key, found);
    if (!found)
        error = add_mapping(engine, path, wire, &found);
    else if (!found->refs)
        engine->idle--;
    if (!error) {
        found->refs++;
        *out = found;
    }
    pthread_mutex_unlock(&engine->lock);
    return error;
}

/* To map a segment and fault in its pages again is dear, and windows come and go:
 * what nobody uses stays for a while. The memory of a live process is its own
 * business; that of a dead one would be pinned, so look at one of them each time. */
static void drop_mapping(struct oriel_engine *engine, struct mapping *mapping)
{
    pthread_mutex_lock(&engine->lock);
    if (--mapping->refs == 0) {
        struct mapping *oldest;

        mapping->idle_at = ++engine->idled;
        engine->idle++;
        oldest = oldest_idle(engine);
        if (engine->idle > IDLE_MOST || (kill(oldest->pid, 0) != 0 && errno == ESRCH))
            unmap_oldest(engine);
        else
            oldest->idle_at = ++engine->idled;
    }
    pthread_mutex_unlock(&engine->lock);
}

/* How the peer is read: mapped where that can be; else by cma. */
static int reach(struct oriel_peer *peer, const struct wire *wire)
{
    int error = -ENOTSUP;

    if (wire->kind == KIND_MAPPED && oriel_process_has_proc()) {
        error = take_mapping(peer->engine, wire, &peer->mapping);
        if (!error) {
            peer->mapped = peer->mapping->base + wire->offset;
            return 0;
        }
        /* Refused, or no descriptor or address space left: cma needs neither. But
         * of a segment that is gone the address may hold other bytes by now. */
        if (error == -ORIEL_EGONE || error == -ORIEL_ENONCE || error == -EBADMSG)
            return error;
        oriel_log(ORIEL_LOG_DEBUG, "node: segment %d of process %d is not mapped: %s",
                  (int)wire->fd, (int)wire->process.pid, oriel_strerror(error));
    }
    return peer->engine->cma ? oriel_process_probe(&wire->process) : error;
}

static int node_connect(struct oriel_engine *engine, const struct oriel_blob *blob,
                        struct oriel_peer **out)
{
    struct oriel_peer *peer;
    struct wire wire;
    int error;

    if (oriel_process_forked()) return -EOWNERDEAD;
    if (blob->bytes != sizeof wire) return -EBADMSG;
    memcpy(&wire, blob->data, sizeof wire);
    if (wire.version != BLOB_VERSION ||
        (wire.kind != KIND_CMA && wire.kind != KIND_MAPPED) ||
        wire.base + wire.bytes < wire.base)
        return -EBADMSG;
    if (!oriel_process_is_near(&wire.process)) return -ENOTSUP;
    peer = calloc(1, sizeof *peer);
    if (!peer) return -ENOMEM;
    peer->engine = engine;
    peer->pid = wire.process.pid;
    peer->base = wire.base;
    peer->bytes = wire.bytes;
    error = reach(peer, &wire);
    if (error)
        free(peer);
    else
        *out = peer;
    return error;
}

static void node_disconnect(struct oriel_peer *peer)
{
    if (!peer || oriel_process_forked()) return;
    if (peer->mapping) drop_mapping(peer->engine, peer->mapping);
    free(peer);
}

static const void *node_map(struct oriel_peer *peer)
{
    return peer->mapped;
}

static bool node_address(struct oriel_peer *peer, pid_t *pid_out, uint64_t *base_out)
{
    if (peer->mapped) return false;
    *pid_out = peer->pid;
    *base_out = peer->base;
    return true;
}

static ssize_t node_get(struct oriel_peer *peer, const struct oriel_span *spans,
                        size_t n, struct oriel_track *track)
{
    int error;

    (void)track;
    if (oriel_process_forked()) return -EOWNERDEAD;
    for (size_t i = 0; i < n; i++)
        if (spans[i].offset > peer->bytes ||
            spans[i].bytes > peer->bytes - spans[i].offset)
            return -ERANGE;
    if (peer->mapped) {
        for (size_t i = 0; i < n; i++)
            memcpy(spans[i].local, peer->mapped + spans[i].offset, spans[i].bytes);
        return (ssize_t)n;
    }
    error = oriel_vmread_spans(peer->pid, peer->base, spans, n);
    return error ? error : (ssize_t)n;
}

const struct oriel_transport oriel_transport_node = {
    .name = "node",
    .counted_as = "cma",
    .flags = ORIEL_ENGINE_CONCURRENT | ORIEL_ENGINE_IMMEDIATE,
    .open = node_open,
    .close = node_close,
    .expose = node_expose,
    .withdraw = node_withdraw,
    .connect = node_connect,
    .disconnect = node_disconnect,
    .map = node_map,
    .address = node_address,
    .get = node_get,
};
