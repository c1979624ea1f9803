#define _GNU_SOURCE
#include "transports/ucx_serve.h"

#include "core/err.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/process.h"
#include "transports/ucx_lib.h"
#include "transports/ucx_wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* ROUNDS: of progress in one call of serve. GRACE_NS: how long readers that still hold
 * a region have to let go of it; those that read right now take microseconds. */
enum { ROUNDS = 64, GRACE_NS = 200000000, ADDRESS_MOST = 800, QUESTIONS_MOST = 4096 };

struct reader { /* a peer's reading worker */
    struct oriel_ucx_serving *serving;
    UT_hash_handle hh;
    ucp_ep_h ep;
    bool failed;
    size_t address_bytes;
    unsigned char address[];
};

struct hold { /* one peer of one reader may read one region */
    struct hold *next;
    struct reader *reader;
    uint64_t cookie;
};

struct oriel_region {
    struct oriel_ucx_serving *serving;
    UT_hash_handle hh;
    struct oriel_ucx_name name;
    ucp_mem_h memory; /* NULL: it has no bytes */
    struct hold *holds;
    bool gone;
};

struct question { /* an ask that has come */
    struct question *next;
    struct oriel_ucx_ask ask;
    ucp_ep_h ep; /* on which it came; to compare */
    size_t address_bytes;
    unsigned char address[];
};

struct oriel_ucx_serving {
    const struct oriel_process *self;
    pthread_mutex_t lock; /* of all below, and of the worker */
    atomic_int waiting;   /* for the lock: the service thread gives way */
    ucp_context_h context;
    ucp_worker_h worker;
    int fd;
    void *address;
    size_t address_bytes;
    struct oriel_region *regions; /* by name.key */
    struct reader *readers;       /* by address */
    struct question *first, **last;
    unsigned questions;
    bool failed; /* some reader */
};

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

/* ---- questions and readers ---- */

/* Called in progress, so it only notes. */
static ucs_status_t on_ask(void *argument, const void *header, size_t header_bytes,
                           void *data, size_t bytes, const ucp_am_recv_param_t *param)
{
    struct oriel_ucx_serving *serving = argument;
    struct question *question;

    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) || bytes == 0 ||
        header_bytes != sizeof question->ask || bytes > ORIEL_BLOB_MAX ||
        serving->questions >= QUESTIONS_MOST)
        return UCS_OK;
    question = calloc(1, sizeof *question + bytes);
    if (!question) return UCS_OK;
    memcpy(&question->ask, header, sizeof question->ask);
    if (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP)
        question->ep = param->reply_ep;
    question->address_bytes = bytes;
    memcpy(question->address, data, bytes);
    *serving->last = question;
    serving->last = &question->next;
    serving->questions++;
    return UCS_OK;
}

static void on_reader_lost(void *argument, ucp_ep_h ep, ucs_status_t status)
{
    struct reader *reader = argument;

    (void)ep, (void)status;
    reader->failed = true;
    reader->serving->failed = true;
}

/* UCX made an endpoint when the reader connected; to create one to the reader's address
 * gives that one, and the right to end it. An earlier connection that came to nothing
 * may be first in line. */
static int create_ep(struct reader *reader, ucp_ep_h wanted)
{
    enum { TRIES = 16 };
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLER,
                              .address = (ucp_address_t *)reader->address,
                              .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                              .err_handler = {on_reader_lost, reader}};

    for (int i = 0; i < TRIES; i++) {
        ucs_status_t status =
            oriel_ucx.ucp_ep_create(reader->serving->worker, &params, &reader->ep);

        if (status != UCS_OK) return oriel_ucx_failed(status, "to answer a reader");
        if (reader->ep == wanted) return 0;
        oriel_ucx_drop(reader->ep);
    }
    return -EIO;
}

static struct reader *add_reader(struct oriel_ucx_serving *serving,
                                 const struct question *question)
{
    struct reader *made = calloc(1, sizeof *made + question->address_bytes);

    if (!made) return NULL;
    made->serving = serving;
    made->address_bytes = question->address_bytes;
    memcpy(made->address, question->address, made->address_bytes);
    HASH_ADD(hh, serving->readers, address, made->address_bytes, made);
    if (!made->hh.tbl) goto free_made;
    if (create_ep(made, question->ep)) goto remove_made;
    return made;

remove_made:
    HASH_DEL(serving->readers, made);
free_made:
    free(made);
    return NULL;
}

static void drop_holds(struct oriel_region *region, const struct reader *reader,
                       const uint64_t *cookie)
{
    struct hold **at = &region->holds;

    while (*at) {
        struct hold *hold = *at;

        if (hold->reader == reader && (!cookie || hold->cookie == *cookie)) {
            *at = hold->next;
            free(hold);
        } else {
            at = &hold->next;
        }
    }
}

/* Nothing that this reader has sent is answered any more. */
static void drop_reader(struct reader *reader)
{
    struct oriel_ucx_serving *serving = reader->serving;

    for (struct oriel_region *at = serving->regions; at; at = at->hh.next)
        drop_holds(at, reader, NULL);
    oriel_ucx_drop(reader->ep);
    HASH_DEL(serving->readers, reader);
    free(reader);
}

static void drop_failed(struct oriel_ucx_serving *serving)
{
    struct reader *next;

    serving->failed = false;
    for (struct reader *at = serving->readers; at; at = next) {
        next = at->hh.next;
        if (at->failed) drop_reader(at);
    }
}

static void tell(struct reader *reader, int error, uint64_t cookie, uint64_t key)
{
    struct oriel_ucx_tell what = {ORIEL_UCX_MAGIC, error, cookie, key};

    if (!reader->failed)
        oriel_ucx_send(reader->ep, ORIEL_UCX_TELL, 0, &what, sizeof what, NULL, 0);
}

static int add_hold(struct oriel_region *region, struct reader *reader, uint64_t cookie)
{
    struct hold *hold = malloc(sizeof *hold);

    if (!hold) return -ENOMEM;
    *hold = (struct hold){region->holds, reader, cookie};
    region->holds = hold;
    return 0;
}

static void answer(struct oriel_ucx_serving *serving, const struct question *question)
{
    const struct oriel_ucx_ask *ask = &question->ask;
    struct oriel_region *region;
    struct reader *reader;
    int error = 0;

    if (ask->magic != ORIEL_UCX_MAGIC) return;
    HASH_FIND(hh, serving->regions, &ask->name.key, sizeof ask->name.key, region);
    HASH_FIND(hh, serving->readers, question->address, question->address_bytes, reader);
    if (!ask->takes) {
        if (region && reader) drop_holds(region, reader, &ask->cookie);
        return;
    }
    if (reader && reader->ep != question->ep) { /* it has connected anew */
        drop_reader(reader);
        reader = NULL;
    }
    if (!reader) reader = add_reader(serving, question);
    if (!reader) return;
    if (memcmp(ask->nonce, serving->self->nonce, sizeof ask->nonce) != 0)
        error = -ORIEL_ENONCE;
    else if (!region || region->gone)
        error = -ORIEL_EGONE;
    else if (memcmp(&ask->name, &region->name, sizeof ask->name) != 0)
        error = -EBADMSG;
    else
        error = add_hold(region, reader, ask->cookie);
    tell(reader, error, ask->cookie, ask->name.key);
}

/* Holding the lock. Returns how many events there were. */
static int work(struct oriel_ucx_serving *serving)
{
    int events = 0;

    while (events < ROUNDS && oriel_ucx.ucp_worker_progress(serving->worker))
        events++;
    while (serving->first) {
        struct question *question = serving->first;

        serving->first = question->next;
        if (!serving->first) serving->last = &serving->first;
        serving->questions--;
        answer(serving, question);
        free(question);
        events++;
    }
    if (serving->failed) drop_failed(serving);
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
        oriel_log_once(&once, ORIEL_LOG_WARN,
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
    for (struct hold *at = region->holds; at; at = at->next)
        tell(at->reader, -ORIEL_EGONE, 0, region->name.key);
    for (deadline = now_ns() + GRACE_NS; region->holds && now_ns() < deadline;)
        if (!work(serving)) sched_yield();
    while (region->holds)
        drop_reader(region->holds->reader);
    HASH_DEL(serving->regions, region);
    if (region->memory) oriel_ucx.ucp_mem_unmap(serving->context, region->memory);
    give_lock(serving);
    free(region);
}

/* ---- open and close ---- */

static int open_worker(struct oriel_ucx_serving *serving)
{
    ucp_am_handler_param_t handler = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                                                    UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                                                    UCP_AM_HANDLER_PARAM_FIELD_CB |
                                                    UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                      .id = ORIEL_UCX_ASK,
                                      .flags = UCP_AM_FLAG_WHOLE_MSG,
                                      .cb = on_ask,
                                      .arg = serving};
    ucs_status_t status;
    int error = oriel_ucx_worker(serving->context, &serving->worker);

    if (error) return error;
    status = oriel_ucx.ucp_worker_set_am_recv_handler(serving->worker, &handler);
    if (status == UCS_OK)
        status = oriel_ucx.ucp_worker_get_efd(serving->worker, &serving->fd);
    error = status == UCS_OK ? oriel_ucx_address(serving->worker, ADDRESS_MOST,
                                                 &serving->address,
                                                 &serving->address_bytes)
                             : oriel_ucx_failed(status, "to set up its worker");
    if (error) oriel_ucx.ucp_worker_destroy(serving->worker);
    return error;
}

int oriel_ucx_serving_open(struct oriel_ucx_serving **out)
{
    struct oriel_ucx_serving *serving = calloc(1, sizeof *serving);
    const char *why;
    int error;

    if (!serving) return -ENOMEM;
    error = oriel_process_self(&serving->self, &why);
    if (error) goto free_serving;
    serving->last = &serving->first;
    pthread_mutex_init(&serving->lock, NULL);
    error =
        oriel_ucx_context(UCP_FEATURE_RMA | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP, true,
                          &serving->context);
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
        drop_reader(serving->readers);
    work(serving);
    oriel_ucx.ucp_worker_destroy(serving->worker);
    oriel_ucx.ucp_cleanup(serving->context);
    oriel_ucx_leave();
    pthread_mutex_destroy(&serving->lock);
    free(serving->address);
    free(serving);
}

/* UCX names its resources only in print: "#  resource 1 : md 1 dev 1 flags -- tcp/lo". */
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
