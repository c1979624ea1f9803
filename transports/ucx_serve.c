#define _GNU_SOURCE
#include "transports/ucx_serve.h"

#include "core/log.h"
#include "transports/ucx_readers.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* ROUNDS: of progress in one call of serve. GRACE_NS: how long readers that still hold
 * a region have to let go of it; those that read right now take microseconds. */
enum { ROUNDS = 64, GRACE_NS = 200000000, ADDRESS_MOST = 800 };

static void take_lock(struct oriel_ucx_serving *serving)
{
    atomic_fetch_add(&serving->waiting, 1);
    pthread_mutex_lock(&serving->lock);
    atomic_fetch_sub(&serving->waiting, 1);
    oriel_ucx_enter();
}

static void give_lock(struct oriel_ucx_serving *serving)
{
    oriel_ucx_leave();
    pthread_mutex_unlock(&serving->lock);
}

/* Holding the lock. Returns how many events there were. */
static int work(struct oriel_ucx_serving *serving)
{
    int events = 0;

    while (events < ROUNDS && oriel_ucx.ucp_worker_progress(serving->worker))
        events++;
    events += oriel_ucx_readers_answer(serving);
    return events;
}

int oriel_ucx_serving_serve(struct oriel_ucx_serving *serving)
{
    int events = 0;

    if (atomic_load_explicit(&serving->waiting, memory_order_relaxed)) return 0;
    pthread_mutex_lock(&serving->lock);
    oriel_ucx_enter();
    events = work(serving);
    give_lock(serving);
    return events;
}

int oriel_ucx_serving_rest(struct oriel_ucx_serving *serving, int *fd_out)
{
    ucs_status_t status;

    pthread_mutex_lock(&serving->lock);
    oriel_ucx_enter();
    status = oriel_ucx.ucp_worker_arm(serving->worker);
    give_lock(serving);
    if (status == UCS_ERR_BUSY) return -EAGAIN;
    if (status != UCS_OK) return -ENOTSUP; /* look again and again */
    *fd_out = serving->fd;
    return 0;
}

/* ---- regions ---- */

static int map_memory(struct oriel_ucx_serving *serving, void *base, size_t bytes,
                      ucp_mem_h *out)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_PROT |
                      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .address = base,
        .length = bytes,
        .prot = UCP_MEM_MAP_PROT_LOCAL_READ | UCP_MEM_MAP_PROT_REMOTE_READ,
        .memory_type = UCS_MEMORY_TYPE_HOST};
    ucs_status_t status = oriel_ucx.ucp_mem_map(serving->context, &params, out);

    return oriel_ucx_failed(status, "to register memory");
}

static int encode(const struct oriel_region *region, struct oriel_blob *out)
{
    static int once;
    struct oriel_ucx_serving *serving = region->serving;
    struct oriel_ucx_head head;
    void *rkey = NULL;
    size_t rkey_bytes = 0;
    int error;

    memset(&head, 0, sizeof head);
    if (region->memory) {
        ucs_status_t status = oriel_ucx.ucp_rkey_pack(serving->context, region->memory,
                                                      &rkey, &rkey_bytes);

        if (status != UCS_OK) return oriel_ucx_failed(status, "to name memory");
    }
    head.rkey_bytes = (uint16_t)rkey_bytes;
    head.address_bytes = (uint16_t)serving->address_bytes;
    head.name = region->name;
    head.process = *serving->self;
    error = oriel_ucx_blob_encode(&head, rkey, serving->address, out);
    if (error == -EMSGSIZE)
        oriel_log_once(
            &once, ORIEL_LOG_WARN,
            "ucx: an address of %zu and a key of %zu bytes are too long; use "
            "fewer transports or devices: UCX_TLS, UCX_NET_DEVICES",
            serving->address_bytes, rkey_bytes);
    if (rkey) oriel_ucx.ucp_rkey_buffer_release(rkey);
    return error;
}

static int expose(struct oriel_region *region, void *base, struct oriel_blob *blob_out)
{
    struct oriel_ucx_serving *serving = region->serving;
    int error = 0;

    if (getrandom(&region->name.key, sizeof region->name.key, 0) !=
        sizeof region->name.key)
        return -EIO;
    if (region->name.bytes)
        error = map_memory(serving, base, region->name.bytes, &region->memory);
    if (error) return error;
    error = encode(region, blob_out);
    if (error) goto unmap;
    take_lock(serving);
    HASH_ADD(hh, serving->regions, name.key, sizeof region->name.key, region);
    give_lock(serving);
    if (region->hh.tbl) return 0;
    error = -ENOMEM;

unmap:
    if (region->memory) oriel_ucx.ucp_mem_unmap(serving->context, region->memory);
    return error;
}

int oriel_ucx_serving_expose(struct oriel_ucx_serving *serving, void *base,
                             size_t bytes, struct oriel_region **out,
                             struct oriel_blob *blob_out)
{
    struct oriel_region *region;
    int error;

    if ((uintptr_t)base + bytes < (uintptr_t)base) return -EINVAL;
    region = calloc(1, sizeof *region);
    if (!region) return -ENOMEM;
    region->serving = serving;
    region->name.base = (uintptr_t)base;
    region->name.bytes = bytes;
    oriel_ucx_enter();
    error = expose(region, base, blob_out);
    oriel_ucx_leave();
    if (error)
        free(region);
    else
        *out = region;
    return error;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ask the readers to let go; whoever does not in time, since it is busy or stopped,
 * loses its endpoint, as over software transports the memory would be read for it. */
void oriel_ucx_serving_withdraw(struct oriel_region *region)
{
    struct oriel_ucx_serving *serving = region->serving;
    uint64_t deadline;

    take_lock(serving);
    region->gone = true;
    oriel_ucx_readers_warn(region);
    for (deadline = now_ns() + GRACE_NS; region->holds && now_ns() < deadline;)
        if (!work(serving)) sched_yield();
    oriel_ucx_readers_end(region);
    HASH_DEL(serving->regions, region);
    if (region->memory) oriel_ucx.ucp_mem_unmap(serving->context, region->memory);
    give_lock(serving);
    free(region);
}

/* ---- open and close ---- */

static int open_worker(struct oriel_ucx_serving *serving)
{
    ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = ORIEL_UCX_ASK,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = oriel_ucx_on_ask,
        .arg = serving};
    ucs_status_t status;
    int error = oriel_ucx_worker(serving->context, &serving->worker);

    if (error) return error;
    status = oriel_ucx.ucp_worker_set_am_recv_handler(serving->worker, &handler);
    if (status == UCS_OK)
        status = oriel_ucx.ucp_worker_get_efd(serving->worker, &serving->fd);
    error = status == UCS_OK
                ? oriel_ucx_address(serving->worker, ADDRESS_MOST, &serving->address,
                                    &serving->address_bytes)
                : oriel_ucx_failed(status, "to set up its worker");
    if (error) oriel_ucx.ucp_worker_destroy(serving->worker);
    return error;
}

int oriel_ucx_serving_open(const char *device, struct oriel_ucx_serving **out)
{
    struct oriel_ucx_serving *serving = calloc(1, sizeof *serving);
    const char *why;
    int error;

    if (!serving) return -ENOMEM;
    error = oriel_process_self(&serving->self, &why);
    if (error) goto free_serving;
    serving->last = &serving->first;
    pthread_mutex_init(&serving->lock, NULL);
    error = oriel_ucx_context(UCP_FEATURE_RMA | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
                              true, device, &serving->context);
    if (error) goto destroy_lock;
    error = open_worker(serving);
    if (error) goto cleanup;
    *out = serving;
    return 0;

cleanup:
    oriel_ucx.ucp_cleanup(serving->context);
destroy_lock:
    pthread_mutex_destroy(&serving->lock);
free_serving:
    free(serving);
    return error;
}

void oriel_ucx_serving_close(struct oriel_ucx_serving *serving)
{
    oriel_ucx_enter();
    work(serving);
    while (serving->readers)
        oriel_ucx_reader_drop(serving->readers);
    work(serving);
    oriel_ucx.ucp_worker_destroy(serving->worker);
    oriel_ucx.ucp_cleanup(serving->context);
    oriel_ucx_leave();
    pthread_mutex_destroy(&serving->lock);
    free(serving->address);
    free(serving);
}

/* UCX names its resources only in print: "#  resource 1 : md 1 dev 1 flags -- tcp/lo".
 */
void oriel_ucx_serving_describe(const struct oriel_ucx_serving *serving, char *out,
                                size_t out_bytes)
{
    char *text = NULL, *line, *rest;
    size_t bytes = 0, used = 0;
    FILE *stream = open_memstream(&text, &bytes);

    out[0] = '\0';
    if (!stream) return;
    oriel_ucx.ucp_context_print_info(serving->context, stream);
    fclose(stream);
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *name = strrchr(line, ' ');

        if (!strstr(line, " resource ") || !strstr(line, "flags") || !name) continue;
        if (used + strlen(name) + 1 >= out_bytes) break;
        used += (size_t)snprintf(out + used, out_bytes - used, "%s", name + !used);
    }
    free(text);
}
