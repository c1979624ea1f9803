#define _GNU_SOURCE
#include "transports/ucx_readers.h"

#include "core/err.h"
#include "core/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A peer that asks faster than it is answered is not served. */
enum { QUESTIONS_MOST = 4096 };

/* Called in progress, so it only notes. */
ucs_status_t oriel_ucx_on_ask(void *argument, const void *header, size_t header_bytes,
                              void *data, size_t bytes,
                              const ucp_am_recv_param_t *param)
{
    struct oriel_ucx_serving *serving = argument;
    struct oriel_ucx_question *question;

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
    struct oriel_ucx_reader *reader = argument;

    (void)ep, (void)status;
    reader->failed = true;
    reader->serving->failed = true;
}

/* UCX made an endpoint when the reader connected; to create one to the reader's address
 * gives that one, and the right to end it. An earlier connection that came to nothing
 * may be first in line. */
static int create_ep(struct oriel_ucx_reader *reader, ucp_ep_h wanted)
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
    oriel_log(ORIEL_LOG_DEBUG, "ucx: the endpoint of a reader is not found");
    return -EIO;
}

static struct oriel_ucx_reader *add_reader(struct oriel_ucx_serving *serving,
                                           const struct oriel_ucx_question *question)
{
    struct oriel_ucx_reader *made = calloc(1, sizeof *made + question->address_bytes);

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

static void drop_holds(struct oriel_region *region,
                       const struct oriel_ucx_reader *reader, const uint64_t *cookie)
{
    struct oriel_ucx_hold **at = &region->holds;

    while (*at) {
        struct oriel_ucx_hold *hold = *at;

        if (hold->reader == reader && (!cookie || hold->cookie == *cookie)) {
            *at = hold->next;
            free(hold);
        } else {
            at = &hold->next;
        }
    }
}

static void tell(struct oriel_ucx_reader *reader, int error, uint64_t cookie,
                 uint64_t key)
{
    struct oriel_ucx_tell what = {ORIEL_UCX_MAGIC, error, cookie, key, {0}};

    memcpy(what.nonce, reader->serving->self->nonce, sizeof what.nonce);
    if (!reader->failed)
        oriel_ucx_send(reader->ep, ORIEL_UCX_TELL, 0, &what, sizeof what, NULL, 0);
}

/* Nothing that this reader has sent is answered any more. */
void oriel_ucx_reader_drop(struct oriel_ucx_reader *reader)
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
    struct oriel_ucx_reader *next;

    serving->failed = false;
    for (struct oriel_ucx_reader *at = serving->readers; at; at = next) {
        next = at->hh.next;
        if (at->failed) oriel_ucx_reader_drop(at);
    }
}

static int add_hold(struct oriel_region *region, struct oriel_ucx_reader *reader,
                    uint64_t cookie)
{
    struct oriel_ucx_hold *hold = malloc(sizeof *hold);

    if (!hold) return -ENOMEM;
    *hold = (struct oriel_ucx_hold){region->holds, reader, cookie};
    region->holds = hold;
    return 0;
}

static void answer(struct oriel_ucx_serving *serving,
                   const struct oriel_ucx_question *question)
{
    const struct oriel_ucx_ask *ask = &question->ask;
    struct oriel_region *region;
    struct oriel_ucx_reader *reader;
    int error = 0;

    if (ask->magic != ORIEL_UCX_MAGIC) return;
    HASH_FIND(hh, serving->regions, &ask->name.key, sizeof ask->name.key, region);
    HASH_FIND(hh, serving->readers, question->address, question->address_bytes, reader);
    if (!ask->takes) {
        if (region && reader) drop_holds(region, reader, &ask->cookie);
        return;
    }
    if (reader && reader->ep != question->ep) { /* it has connected anew */
        oriel_ucx_reader_drop(reader);
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

int oriel_ucx_readers_answer(struct oriel_ucx_serving *serving)
{
    int events = 0;

    while (serving->first) {
        struct oriel_ucx_question *question = serving->first;

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

void oriel_ucx_readers_warn(struct oriel_region *region)
{
    for (struct oriel_ucx_hold *at = region->holds; at; at = at->next)
        tell(at->reader, -ORIEL_EGONE, 0, region->name.key);
}

void oriel_ucx_readers_end(struct oriel_region *region)
{
    while (region->holds) {
        struct oriel_ucx_reader *reader = region->holds->reader;

        /* By itself it would notice when UCX looks after silent peers, in 20 s. */
        tell(reader, -ECONNRESET, 0, 0);
        drop_holds(region, reader, NULL);
        oriel_ucx_reader_drop(reader);
    }
}
