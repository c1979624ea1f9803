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

/* bytes at an address of process pid. */
int oriel_vmread_one(pid_t pid, uint64_t address, void *local, size_t bytes);

/* n spans whose offsets count from base, an address of process pid. The spans are
 * inside one region, so what lies between them may be read as well. */
int oriel_vmread_spans(pid_t pid, uint64_t base, const struct oriel_span *spans,
                       size_t n);

#endif
