/*
 * scratch.h - buffers for bytes on their way, such as pieces that are read together
 * with the gaps between them.
 *
 * A fresh buffer of this size costs its page faults, more than the read itself; a few
 * are kept.
 */
#ifndef ORIEL_SCRATCH_H
#define ORIEL_SCRATCH_H

enum { ORIEL_SCRATCH_BYTES = 256 << 10 };

/* ORIEL_SCRATCH_BYTES bytes, or NULL: out of memory. Threads: any. */
void *oriel_scratch_take(void);
/* NULL is accepted. Threads: any. */
void oriel_scratch_give(void *buffer);

#endif
