/*
 * ucx_readers.h - who may read what: the inside of ucx_serve.h.
 *
 * All functions are called with the lock held.
 */
#ifndef ORIEL_UCX_READERS_H
#define ORIEL_UCX_READERS_H

#include "core/hash.h"
#include "core/process.h"
#include "transports/transport.h"
#include "transports/ucx_lib.h"
#include "transports/ucx_wire.h"

#include <pthread.h>
#include <stdatomic.h>

struct oriel_ucx_reader { /* a peer's reading worker */
    struct oriel_ucx_serving *serving;
    UT_hash_handle hh;
    ucp_ep_h ep;
    bool failed;
    size_t address_bytes;
    unsigned char address[];
};

struct oriel_ucx_hold { /* one peer of one reader may read one region */
    struct oriel_ucx_hold *next;
    struct oriel_ucx_reader *reader;
    uint64_t cookie;
};

struct oriel_region {
    struct oriel_ucx_serving *serving;
    UT_hash_handle hh;
    struct oriel_ucx_name name;
    ucp_mem_h memory; /* NULL: it has no bytes */
    struct oriel_ucx_hold *holds;
    bool gone;
};

struct oriel_ucx_question { /* an ask that has come */
    struct oriel_ucx_question *next;
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
    struct oriel_region *regions;     /* by name.key */
    struct oriel_ucx_reader *readers; /* by address */
    struct oriel_ucx_question *first, **last;
    unsigned questions;
    bool failed; /* some reader */
};

/* The handler of ORIEL_UCX_ASK; its argument is the serving side. It only notes. */
ucs_status_t oriel_ucx_on_ask(void *argument, const void *header, size_t header_bytes,
                              void *data, size_t bytes,
                              const ucp_am_recv_param_t *param);
/* Answer what was asked, and drop readers that are lost. Returns how many questions
 * there were. */
int oriel_ucx_readers_answer(struct oriel_ucx_serving *serving);
/* Tell all who hold the region that it is gone. */
void oriel_ucx_readers_warn(struct oriel_region *region);
/* Drop those that still do. */
void oriel_ucx_readers_end(struct oriel_region *region);
/* Nothing that this reader has sent is answered any more, and it holds nothing. */
void oriel_ucx_reader_drop(struct oriel_ucx_reader *reader);

#endif
