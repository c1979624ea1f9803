/*
 * vmread.h - many pieces of another process's memory by process_vm_readv.
 *
 * Errors: 0 or -errno, translated for an engine: -ORIEL_EGONE no such process,
 * -EFAULT not mapped there or here, -EPERM, -ENOTSUP no such call, -EIO the rest.
 * Threads: any.
 */
#ifndef ORIEL_VMREAD_H
#define ORIEL_VMREAD_H

#include "transports/transport.h"

#include <pthread.h>

/* Buffers for pieces that are read together with the gaps between them. */
enum { ORIEL_VMREAD_IDLE = 4 };
struct oriel_vmread_pool {
    pthread_mutex_t lock;
    void *idle[ORIEL_VMREAD_IDLE]; /* owned */
    unsigned n;
};

void oriel_vmread_init(struct oriel_vmread_pool *out);
void oriel_vmread_fini(struct oriel_vmread_pool *pool);

/* bytes at an address of process pid. */
int oriel_vmread_one(pid_t pid, uint64_t address, void *local, size_t bytes);

/* n spans whose offsets count from base, an address of process pid. The spans are
 * inside one region, so what lies between them may be read as well. */
int oriel_vmread_spans(struct oriel_vmread_pool *pool, pid_t pid, uint64_t base,
                       const struct oriel_span *spans, size_t n);

#endif
