/*
 * ucx_serve.h - the side of the ucx engine that lets peers read.
 *
 * Threads: any; one lock over all.
 */
#ifndef ORIEL_UCX_SERVE_H
#define ORIEL_UCX_SERVE_H

#include "transports/transport.h"

struct oriel_ucx_serving;

/* device: as for oriel_ucx_context. */
int oriel_ucx_serving_open(const char *device, struct oriel_ucx_serving **out);
void oriel_ucx_serving_close(struct oriel_ucx_serving *serving);
/* For oriel_transport.describe: the transports that UCX found, such as "tcp/eth0
 * self/memory". */
void oriel_ucx_serving_describe(const struct oriel_ucx_serving *serving, char *out,
                                size_t out_bytes);

int oriel_ucx_serving_expose(struct oriel_ucx_serving *serving, void *base,
                             size_t bytes, struct oriel_region **out,
                             struct oriel_blob *blob_out);
void oriel_ucx_serving_withdraw(struct oriel_region *region);
/* As serve and rest of the contract. */
int oriel_ucx_serving_serve(struct oriel_ucx_serving *serving);
int oriel_ucx_serving_rest(struct oriel_ucx_serving *serving, int *fd_out);

#endif
