#define _GNU_SOURCE

#include "transports/ofi_local.h"

#include "core/log.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS_BYTES = ORIEL_OFI_SLOTS * ORIEL_OFI_SLOT_BYTES };

void oriel_ofi_locals_init(struct oriel_ofi_locals *locals,
                           const struct oriel_ofi_provider *provider,
                           const struct fi_info *info)
{
    *locals = (struct oriel_ofi_locals){.bounces = provider->bounces,
                                        .registers =
                                            info->domain_attr->mr_mode & FI_MR_LOCAL};
}

size_t oriel_ofi_locals_most(const struct oriel_ofi_locals *locals)
{
    return locals->bounces ? ORIEL_OFI_SLOT_BYTES : SIZE_MAX;
}

static int refused(const struct oriel_ofi_side *side, int error, size_t bytes)
{
    static int once;

    oriel_log_once(&once, ORIEL_LOG_WARN,
                   "ofi: %zu bytes of local memory cannot be registered: %s; see "
                   "'ulimit -l'",
                   bytes, side->library->strerror(-error));
    return error == -FI_ENOMEM || error == -FI_EPERM ? -ENOMEM : -EIO;
}

static void unmap_slots(struct oriel_ofi_locals *locals)
{
    if (locals->slots_mr) fi_close(&locals->slots_mr->fid);
    locals->slots_mr = NULL;
    if (locals->slots) munmap(locals->slots, SLOTS_BYTES);
    locals->slots = NULL;
    locals->free_count = 0;
}

static int map_slots(struct oriel_ofi_locals *locals, struct oriel_ofi_side *side)
{
    void *slots = mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int error = 0;

    if (slots == MAP_FAILED) return -ENOMEM;
    locals->slots = slots;
    if (locals->registers)
        error = oriel_ofi_side_register(side, slots, SLOTS_BYTES, FI_READ,
                                        &locals->slots_mr);
    if (error) {
        unmap_slots(locals);
        return refused(side, error, SLOTS_BYTES);
    }
    for (unsigned i = 0; i < ORIEL_OFI_SLOTS; i++)
        locals->free[locals->free_count++] = (uint16_t)i;
    return 0;
}

static int take_slot(struct oriel_ofi_locals *locals, struct oriel_ofi_side *side,
                     struct oriel_ofi_local *out, void **to_out, void **desc_out)
{
    int error = locals->slots ? 0 : map_slots(locals, side);

    if (error) return error;
    if (!locals->free_count) return -EAGAIN;
    out->slot = locals->slots +
                (size_t)locals->free[--locals->free_count] * ORIEL_OFI_SLOT_BYTES;
    *to_out = out->slot;
    *desc_out = locals->slots_mr ? fi_mr_desc(locals->slots_mr) : NULL;
    return 0;
}

static int take_range(struct oriel_ofi_locals *locals, struct oriel_ofi_side *side,
                      char *at, size_t bytes, struct oriel_ofi_local *out,
                      void **desc_out)
{
    struct oriel_ofi_range *range = NULL;

    for (size_t i = 0; i < ORIEL_OFI_RANGES; i++) {
        struct oriel_ofi_range *one = &locals->ranges[i];

        if (!one->mr) {
            if (!range) range = one;
        } else if (at >= one->base && bytes <= one->bytes &&
                   (size_t)(at - one->base) <= one->bytes - bytes) {
            range = one;
            break;
        }
    }
    if (!range) return -EAGAIN;
    if (!range->mr) {
        int error = oriel_ofi_side_register(side, at, bytes, FI_READ, &range->mr);

        if (error) {
            range->mr = NULL;
            return refused(side, error, bytes);
        }
        range->base = at;
        range->bytes = bytes;
    }
    range->uses++;
    out->range = range;
    *desc_out = fi_mr_desc(range->mr);
    return 0;
}

int oriel_ofi_local_take(struct oriel_ofi_locals *locals, struct oriel_ofi_side *side,
                         void *at, size_t bytes, struct oriel_ofi_local *out,
                         void **to_out, void **desc_out)
{
    int error = 0;

    *out = (struct oriel_ofi_local){0};
    *to_out = at;
    *desc_out = NULL;
    if (!locals->bounces && !locals->registers) return 0;
    if (bytes <= ORIEL_OFI_SLOT_BYTES) {
        error = take_slot(locals, side, out, to_out, desc_out);
        if (error != -EAGAIN || locals->bounces) return error;
    }
    return take_range(locals, side, at, bytes, out, desc_out);
}

void oriel_ofi_local_land(const struct oriel_ofi_local *local, void *at, size_t bytes)
{
    if (local->slot) memcpy(at, local->slot, bytes);
}

void oriel_ofi_local_drop(struct oriel_ofi_locals *locals,
                          struct oriel_ofi_local *local)
{
    if (local->slot)
        locals->free[locals->free_count++] =
            (uint16_t)((size_t)(local->slot - locals->slots) / ORIEL_OFI_SLOT_BYTES);
    if (local->range && --local->range->uses == 0) {
        fi_close(&local->range->mr->fid);
        local->range->mr = NULL;
    }
    *local = (struct oriel_ofi_local){0};
}

void oriel_ofi_locals_abandon(struct oriel_ofi_locals *locals)
{
    if (!locals->bounces) return;
    locals->slots = NULL;
    locals->free_count = 0;
}

void oriel_ofi_locals_fini(struct oriel_ofi_locals *locals)
{
    unmap_slots(locals);
}
