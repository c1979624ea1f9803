/*
 * transport.h - the contract between core and one engine.
 *
 * An engine reads a peer's exposed memory; it knows nothing of MPI.
 *
 * Errors:  0 or -errno. From get, -EAGAIN: queue full, progress and retry;
 *          -ENOTSUP: declined, nothing started; -EIO ends that read; any
 *          other ends the peer.
 * Threads: one caller at a time per engine for the reading side (connect,
 *          disconnect, get, progress, cancel), unless the engine sets
 *          ORIEL_ENGINE_CONCURRENT. The serving side (serve, rest) runs beside
 *          it on one thread and an endpoint of its own. expose and withdraw may
 *          come from any thread.
 */
#ifndef ORIEL_TRANSPORT_H
#define ORIEL_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct oriel_config;
struct oriel_engine; /* one opened engine; each engine defines its own */
struct oriel_region; /* memory that this process lets peers read */
struct oriel_peer;   /* one exposed region of one other process */

/* What an engine publishes about a region: opaque bytes, safe to copy and to
 * compare, complete in themselves. */
enum { ORIEL_BLOB_MAX = 1024 };
struct oriel_blob {
    uint32_t bytes;
    unsigned char data[ORIEL_BLOB_MAX];
};

struct oriel_span {  /* one contiguous piece of a read */
    uint64_t offset; /* bytes from the peer's exposed base */
    void *local;     /* the engine's until track->pending is 0 */
    size_t bytes;
};

struct oriel_track {  /* completion counter, owned by the caller */
    uint32_t pending; /* pieces started and not yet landed */
    uint32_t landed;  /* pieces that landed: who waits sees that something moves */
    int error;        /* first failure as -errno, else 0 */
};

enum {
    ORIEL_ENGINE_CONCURRENT = 1 << 0, /* get from many threads at once */
    ORIEL_ENGINE_IMMEDIATE = 1 << 1,  /* a get has landed when it returns */
};

struct oriel_transport {
    const char *name;       /* as in oriel_offload and ORIEL_ENGINES */
    const char *counted_as; /* in counters, for reads that get() served */
    unsigned flags;

    /* -ENOTSUP: not usable on this machine; *why_out then says why, in a
     * string that lives for ever. */
    int (*open)(const struct oriel_config *config, struct oriel_engine **out,
                const char **why_out);
    /* No region, no peer and no serving thread is left. */
    void (*close)(struct oriel_engine *engine);
    /* What was opened and why, for people, such as "tcp;ofi_rxm on eth0"; the string
     * lives as long as the engine. NULL: there is nothing to choose. */
    const char *(*describe)(const struct oriel_engine *engine);

    /* Let peers read [base, base + bytes); memory must outlive withdraw. */
    int (*expose)(struct oriel_engine *engine, void *base, size_t bytes,
                  struct oriel_region **out, struct oriel_blob *blob_out);
    void (*withdraw)(struct oriel_region *region);

    /* Checks the blob, not the wire, unless that costs next to nothing: a dead
     * peer may show at the first get. -ENOTSUP: this engine cannot reach it.
     * -EPERM, -ENOENT, -ESTALE ...: it should, and this is why not. */
    int (*connect)(struct oriel_engine *engine, const struct oriel_blob *blob,
                   struct oriel_peer **out);
    /* Returns only when no read can touch local memory any more; reads that
     * were under way end with -ECANCELED. */
    void (*disconnect)(struct oriel_peer *peer);

    /* Where the peer's memory is mapped here: core then copies inline.
     * NULL, or returning NULL, where it is not. */
    const void *(*map)(struct oriel_peer *peer);

    /* Where the kernel reads the peer's memory by address (process_vm_readv): core then
     * does that by itself, since each level of calls costs a small read 5 ns. NULL, or
     * false, where it does not. */
    bool (*address)(struct oriel_peer *peer, pid_t *pid_out, uint64_t *base_out);

    /* Never blocks. Returns the spans accepted; -EAGAIN only for none. A span
     * that the engine cuts counts as accepted, its rest is the engine's. One
     * that copies at once leaves track untouched. */
    ssize_t (*get)(struct oriel_peer *peer, const struct oriel_span *spans, size_t n,
                   struct oriel_track *track);
    int (*progress)(struct oriel_engine *engine); /* NULL: nothing ever to do */
    /* Give up all reads of this peer: on return none can touch local memory any more,
     * and those that had not landed count as ended with -ECANCELED; so may reads of
     * other peers, where the engine has to close an endpoint. The peer itself stays.
     * NULL where reads are IMMEDIATE. */
    void (*cancel)(struct oriel_peer *peer);

    /* Serve remote reads that wait, without blocking. Returns how many events there
     * were; 0: idle. NULL, or -ENOTSUP at the first call: this engine serves without
     * a thread. Any other error: it serves no more. */
    int (*serve)(struct oriel_engine *engine);
    /* The thread wants to sleep. 0: *fd_out becomes readable when serve has something
     * to do; -EAGAIN: it has now; -ENOTSUP, or NULL: nothing tells, nap and look. */
    int (*rest)(struct oriel_engine *engine, int *fd_out);
};

#endif
