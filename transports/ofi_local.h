/*
 * ofi_local.h - the reader's memory, where the provider cannot simply be given it:
 * where it wants local memory registered, and where the target may write to it after
 * the reader gave up ("bounces").
 *
 * A registration lasts as long as reads into it are in flight, and reads into the same
 * range share it. It is not kept: the program may unmap the memory and map other
 * pages there, and the device would go on writing to the old ones. Small pieces land
 * in slots that are registered once, and are copied from there.
 *
 * Threads: one caller at a time.
 */
#ifndef ORIEL_OFI_LOCAL_H
#define ORIEL_OFI_LOCAL_H

#include "transports/ofi_provider.h"

enum {
    ORIEL_OFI_SLOT_BYTES = 16 << 10,
    ORIEL_OFI_SLOTS = 256,
    ORIEL_OFI_RANGES = 16 /* registered at once */
};

struct oriel_ofi_range {
    char *base;
    size_t bytes;
    struct fid_mr *mr; /* NULL: free */
    unsigned uses;     /* reads in flight */
};

struct oriel_ofi_locals {
    bool bounces;   /* every piece lands in a slot */
    bool registers; /* all memory has to be registered */
    char *slots;    /* NULL: not there yet */
    struct fid_mr *slots_mr;
    uint16_t free[ORIEL_OFI_SLOTS];
    unsigned free_count;
    struct oriel_ofi_range ranges[ORIEL_OFI_RANGES];
};

/* Where one piece lands; all zeros: straight in the program's memory. */
struct oriel_ofi_local {
    char *slot;
    struct oriel_ofi_range *range;
};

void oriel_ofi_locals_init(struct oriel_ofi_locals *locals,
                           const struct oriel_ofi_provider *provider,
                           const struct fi_info *info);
/* The most bytes of one piece. */
size_t oriel_ofi_locals_most(const struct oriel_ofi_locals *locals);

/* Prepare a piece that is to land at `at`: *to_out is what to give to libfabric, with
 * *desc_out. Returns 0; -EAGAIN: no room while others are in flight; -ENOMEM, -EIO. */
int oriel_ofi_local_take(struct oriel_ofi_locals *locals, struct oriel_ofi_side *side,
                         void *at, size_t bytes, struct oriel_ofi_local *out,
                         void **to_out, void **desc_out);
/* The piece is in; copy it to where it belongs. */
void oriel_ofi_local_land(const struct oriel_ofi_local *local, void *at, size_t bytes);
/* The piece is no longer in flight. */
void oriel_ofi_local_drop(struct oriel_ofi_locals *locals,
                          struct oriel_ofi_local *local);

/* The endpoint was closed and pieces were in flight: slots that a target may still
 * write to are left to it, for ever. Those pieces have been dropped. */
void oriel_ofi_locals_abandon(struct oriel_ofi_locals *locals);
void oriel_ofi_locals_fini(struct oriel_ofi_locals *locals);

#endif
