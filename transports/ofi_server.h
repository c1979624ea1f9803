/*
 * ofi_server.h - the serving side: memory that peers may read, and the endpoint that
 * answers them. Opened at the first expose.
 *
 * Threads: expose and withdraw any; serve and rest one, beside them.
 */
#ifndef ORIEL_OFI_SERVER_H
#define ORIEL_OFI_SERVER_H

#include "core/process.h"
#include "transports/ofi_blob.h"
#include "transports/ofi_provider.h"

#include <pthread.h>
#include <stdatomic.h>

struct oriel_ofi_server {
    const struct oriel_process *self;
    const struct oriel_ofi_provider *provider;
    const struct oriel_ofi_library *library;
    const struct fi_info *info; /* what to open; the reader's */
    pthread_mutex_t lock;       /* of opening */
    atomic_bool is_open;        /* what follows stands still once this is true */
    struct oriel_ofi_side side;
    unsigned char address[ORIEL_OFI_ADDRESS_MAX];
    size_t address_bytes;
    uint64_t served; /* of side.served, when it was last looked at; of serve's thread */
    unsigned quiet;  /* calls of serve without traffic; of its thread */
    int wake_fd; /* readable from the opening on: for a thread that sleeps already */
};

/* Opens nothing of libfabric's yet. Returns 0; -errno: no descriptor left. */
int oriel_ofi_server_init(struct oriel_ofi_server *server,
                          const struct oriel_process *self,
                          const struct oriel_ofi_provider *provider,
                          const struct oriel_ofi_library *library,
                          const struct fi_info *info);
void oriel_ofi_server_fini(struct oriel_ofi_server *server);

/* As in transports/transport.h. */
int oriel_ofi_server_expose(struct oriel_ofi_server *server, void *base, size_t bytes,
                            struct oriel_region **out, struct oriel_blob *blob_out);
void oriel_ofi_server_withdraw(struct oriel_region *region);
int oriel_ofi_server_serve(struct oriel_ofi_server *server);
int oriel_ofi_server_rest(struct oriel_ofi_server *server, int *fd_out);

#endif
