/*
 * vmread.c - the kernel takes some 100 ns for each remote piece, whatever its size,
 * and copies some 10 bytes a nanosecond: pieces that are small and close are
 * cheaper read together with the gap and copied apart here (4096 pieces of 8 bytes,
 * 64 bytes apart: 420 us by pieces, 12 us so). docs/engines.md has the figures.
 */
#define _GNU_SOURCE

#include "core/vmread.h"

#include "core/err.h"
#include "core/scratch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum {
    PIECES = 128, /* a system call: its own cost is then 1 % of the pieces' */
    HULL_BYTES = ORIEL_SCRATCH_BYTES,
    /* Copied more, at most, to save one piece. Less than a page, so that each page
     * of a gap holds bytes of a span too: a hull is readable where its spans are. */
    JOIN_BYTES = 1536,
    ALONE_BYTES = 256 << 10 /* so large that batching gains nothing */
};
/* Below MAX_RW_COUNT, where the kernel cuts a transfer. */
static const size_t CALL_BYTES = (size_t)1 << 30;

struct hull { /* spans that are read together */
    const struct oriel_span *spans;
    size_t n;
    uint64_t low; /* offset of its first byte */
    size_t bytes;
    const char *at; /* where it lands */
};

struct batch {
    pid_t pid;
    uint64_t base;
    char *buffer; /* HULL_BYTES; NULL: no hulls */
    size_t buffered;
    size_t locals, remotes, hulls;
    struct iovec local[PIECES], remote[PIECES];
    struct hull hull[PIECES];
};

static int translate(int error)
{
    switch (error) {
    case ESRCH:
        return -ORIEL_EGONE;
    case EFAULT:
    case EPERM:
        return -error;
    case ENOSYS:
        return -ENOTSUP;
    default:
        return -EIO;
    }
}

static void skip(struct iovec **at, size_t *n, size_t bytes)
{
    while (*n && bytes >= (*at)->iov_len) {
        bytes -= (*at)->iov_len;
        ++*at;
        --*n;
    }
    if (bytes) {
        (*at)->iov_base = (char *)(*at)->iov_base + bytes;
        (*at)->iov_len -= bytes;
    }
}

/* Both lists hold the same number of bytes, and no empty piece. */
static int transfer(pid_t pid, struct iovec *local, size_t locals, struct iovec *remote,
                    size_t remotes)
{
    while (locals) {
        ssize_t got = process_vm_readv(pid, local, locals, remote, remotes, 0);

        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 ? translate(errno) : -EIO;
        skip(&local, &locals, (size_t)got);
        skip(&remote, &remotes, (size_t)got);
    }
    return 0;
}

int oriel_vmread_one(pid_t pid, uint64_t address, void *local, size_t bytes)
{
    int error = 0;

    for (size_t done = 0; done < bytes && !error;) {
        size_t now = bytes - done < CALL_BYTES ? bytes - done : CALL_BYTES;
        struct iovec to = {(char *)local + done, now};
        struct iovec from = {(void *)(uintptr_t)(address + done), now};

        error = transfer(pid, &to, 1, &from, 1);
        done += now;
    }
    return error;
}

/* Of small constant sizes the compiler makes one load and one store. */
static inline void copy_piece(void *to, const void *from, size_t bytes)
{
    if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, bytes);
}

static int flush(struct batch *batch)
{
    int error = transfer(batch->pid, batch->local, batch->locals, batch->remote,
                         batch->remotes);

    for (size_t i = 0; i < batch->hulls && !error; i++) {
        const struct hull *hull = &batch->hull[i];

        for (size_t k = 0; k < hull->n; k++)
            copy_piece(hull->spans[k].local,
                       hull->at + (hull->spans[k].offset - hull->low),
                       hull->spans[k].bytes);
    }
    batch->buffered = batch->locals = batch->remotes = batch->hulls = 0;
    return error;
}

static void append(struct iovec *list, size_t *n, void *base, size_t bytes)
{
    if (*n && (char *)list[*n - 1].iov_base + list[*n - 1].iov_len == base)
        list[*n - 1].iov_len += bytes;
    else
        list[(*n)++] = (struct iovec){base, bytes};
}

/* How many of the n spans, at least one, are best read as one hull of at most
 * limit bytes; they may come in any order, and overlap. */
static size_t join(const struct oriel_span *spans, size_t n, size_t limit,
                   uint64_t *low_out, uint64_t *high_out)
{
    uint64_t low = spans[0].offset, high = low + spans[0].bytes;
    size_t i = 1;

    for (; i < n; i++) {
        uint64_t from = spans[i].offset, to = from + spans[i].bytes;
        uint64_t new_low = from < low ? from : low;
        uint64_t new_high = to > high ? to : high;

        /* The hull's growth is copied by the kernel, the span once more by us. */
        if (new_high - new_low - (high - low) + spans[i].bytes > JOIN_BYTES ||
            new_high - new_low > limit)
            break;
        low = new_low;
        high = new_high;
    }
    *low_out = low;
    *high_out = high;
    return i;
}

static void add_hull(struct batch *batch, const struct oriel_span *spans, size_t n,
                     uint64_t low, uint64_t high)
{
    char *at = batch->buffer + batch->buffered;

    batch->hull[batch->hulls++] = (struct hull){spans, n, low, high - low, at};
    append(batch->local, &batch->locals, at, high - low);
    append(batch->remote, &batch->remotes, (void *)(uintptr_t)(batch->base + low),
           high - low);
    batch->buffered += high - low;
}

/* Put the next spans into the batch; returns how many. */
static size_t add(struct batch *batch, const struct oriel_span *spans, size_t n)
{
    uint64_t low, high;
    size_t joined = 1;

    if (spans->bytes == 0) return 1;
    if (batch->buffer && spans->bytes <= JOIN_BYTES)
        joined = join(spans, n, HULL_BYTES - batch->buffered, &low, &high);
    if (joined > 1) {
        add_hull(batch, spans, joined, low, high);
    } else {
        append(batch->local, &batch->locals, spans->local, spans->bytes);
        append(batch->remote, &batch->remotes,
               (void *)(uintptr_t)(batch->base + spans->offset), spans->bytes);
    }
    return joined;
}

static int read_batches(struct batch *batch, const struct oriel_span *spans, size_t n)
{
    int error = 0;

    batch->buffered = batch->locals = batch->remotes = batch->hulls = 0;
    for (size_t i = 0; i < n && !error;) {
        if (spans[i].bytes >= ALONE_BYTES) {
            error = oriel_vmread_one(batch->pid, batch->base + spans[i].offset,
                                     spans[i].local, spans[i].bytes);
            i++;
            continue;
        }
        i += add(batch, spans + i, n - i);
        /* A nearly full buffer would cut the next hull short. */
        if (batch->locals == PIECES || batch->remotes == PIECES ||
            batch->hulls == PIECES || batch->buffered > HULL_BYTES - HULL_BYTES / 8)
            error = flush(batch);
    }
    return error ? error : flush(batch);
}

/* Not inlined: its frame spans three pages, which a read of one span need not
 * touch. */
static __attribute__((noinline)) int read_many(pid_t pid, uint64_t base,
                                               const struct oriel_span *spans, size_t n)
{
    struct batch batch; /* 9 KiB: not worth clearing */
    int error;

    batch.pid = pid;
    batch.base = base;
    batch.buffer = oriel_scratch_take();
    error = read_batches(&batch, spans, n);
    oriel_scratch_give(batch.buffer);
    return error;
}

int oriel_vmread_spans(pid_t pid, uint64_t base, const struct oriel_span *spans,
                       size_t n)
{
    if (n == 1)
        return oriel_vmread_one(pid, base + spans->offset, spans->local, spans->bytes);
    return read_many(pid, base, spans, n);
}
