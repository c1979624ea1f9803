/*
 * fabric.h - reads by a fabric library used directly, with nothing of Oriel and
 * nothing of MPI around them: what an engine over that library is measured against.
 *
 * The side that is read works as Oriel's does: one thread serves, looks for traffic
 * for some microseconds after the last, and then sleeps on the library's descriptor.
 * Whatever fails ends the process with a message.
 */
#ifndef BENCH_FABRIC_H
#define BENCH_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_PROVIDER_MOST = 64, BENCH_NAME_MOST = 1024 };

/* What a reader has to know; bytes that may be sent. */
struct bench_card {
    char provider[BENCH_PROVIDER_MOST];
    uint64_t base, key;
    size_t address_bytes, packed_bytes;
    unsigned char address[BENCH_NAME_MOST], packed[BENCH_NAME_MOST]; /* packed: a key */
};

struct bench_fabric { /* one library */
    const char *name;
    void *(*expose)(const char *provider, void *memory, size_t bytes,
                    struct bench_card *card_out);
    bool (*serve)(void *server); /* whether there was something to do */
    int (*rest)(void *server);   /* descriptor to sleep on; -1: there is work */
    void (*withdraw)(void *server);

    void *(*connect)(const struct bench_card *card);
    void (*start)(void *reader, uint64_t offset, void *local, size_t bytes);
    void (*finish)(void *reader); /* on return all have landed */
    void (*disconnect)(void *reader);
};
extern const struct bench_fabric bench_fabric_ofi, bench_fabric_ucx;

/* For "ofi:tcp;ofi_rxm" or "ucx": the library, and what comes after the colon; NULL
 * if this program was built without it. */
const struct bench_fabric *bench_fabric_find(const char *text,
                                             const char **provider_out);

/* Memory that peers may read, and the thread that serves them. */
struct bench_server;
struct bench_server *bench_server_create(const char *text, void *memory, size_t bytes,
                                         struct bench_card *card_out);
void bench_server_destroy(struct bench_server *server);

struct bench_link { /* a connection, and what to read over it */
    const struct bench_fabric *fabric;
    void *reader; /* owned */
    char *local;
    size_t bytes, stride; /* stride: between two reads of bench_link_together */
};
void bench_link_open(struct bench_link *link, const char *text,
                     const struct bench_card *card);
void bench_link_close(struct bench_link *link);

/* run functions of a bench_way; context is a struct bench_link. One read after the
 * other, or n reads and one completion. */
void bench_link_run(void *context, uint64_t n);
void bench_link_together(void *context, uint64_t n);

#endif
