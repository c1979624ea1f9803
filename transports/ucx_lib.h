/*
 * ucx_lib.h - libucp, opened at run time, and how its answers are read.
 *
 * liboriel does not link UCX: a process that reads nothing through it loads none, and
 * one whose MPI library has loaded it uses that copy.
 */
#ifndef ORIEL_UCX_LIB_H
#define ORIEL_UCX_LIB_H

#include <ucp/api/ucp.h>

#include <stdbool.h>

/* X(function) for each one that the engine calls. */
#define ORIEL_UCX_CALLS(X)                                                             \
    X(ucp_get_version)                                                                 \
    X(ucp_get_version_string)                                                          \
    X(ucp_config_read)                                                                 \
    X(ucp_config_modify)                                                               \
    X(ucp_config_release)                                                              \
    X(ucp_init_version)                                                                \
    X(ucp_cleanup)                                                                     \
    X(ucp_context_print_info)                                                          \
    X(ucp_worker_create)                                                               \
    X(ucp_worker_destroy)                                                              \
    X(ucp_worker_query)                                                                \
    X(ucp_worker_release_address)                                                      \
    X(ucp_worker_progress)                                                             \
    X(ucp_worker_get_efd)                                                              \
    X(ucp_worker_arm)                                                                  \
    X(ucp_worker_set_am_recv_handler)                                                  \
    X(ucp_ep_create)                                                                   \
    X(ucp_ep_close_nbx)                                                                \
    X(ucp_ep_rkey_unpack)                                                              \
    X(ucp_rkey_destroy)                                                                \
    X(ucp_rkey_pack)                                                                   \
    X(ucp_rkey_buffer_release)                                                         \
    X(ucp_mem_map)                                                                     \
    X(ucp_mem_unmap)                                                                   \
    X(ucp_get_nbx)                                                                     \
    X(ucp_am_send_nbx)                                                                 \
    X(ucp_request_check_status)                                                        \
    X(ucp_request_free)                                                                \
    X(ucs_status_string)

struct oriel_ucx_calls {
#define ORIEL_UCX_MEMBER(name) __typeof__(name) *name;
    ORIEL_UCX_CALLS(ORIEL_UCX_MEMBER)
#undef ORIEL_UCX_MEMBER
};
/* Valid once oriel_ucx_load succeeded. */
extern struct oriel_ucx_calls oriel_ucx;

/* Open the library, once a process. Returns 0; -ENOTSUP, and *why_out says why, for
 * ever. Threads: any. */
int oriel_ucx_load(const char **why_out);

/* A context with the site's UCX_* settings, over which ORIEL_UCX_* go.
 *
 *   shared   threads may use it at once
 *   device   as UCX names it; empty: UCX's choice */
int oriel_ucx_context(uint64_t features, bool shared, const char *device,
                      ucp_context_h *out);

/* May processes of one node reach each other through shared memory? */
bool oriel_ucx_shares_memory(void);

/* A worker for one thread at a time. */
int oriel_ucx_worker(ucp_context_h context, ucp_worker_h *out);

/* Its address, for peers.
 *
 *   most    an address that is longer is asked for again without the transports that
 *           only work within a node
 *   out     owned by the caller, by malloc */
int oriel_ucx_address(ucp_worker_h worker, size_t most, void **out, size_t *bytes_out);

/* Send a copy of header and data as one active message; nobody is told how it went.
 *
 *   flags   UCP_AM_SEND_FLAG_* */
int oriel_ucx_send(ucp_ep_h ep, unsigned id, uint32_t flags, const void *header,
                   size_t header_bytes, const void *data, size_t data_bytes);
/* End an endpoint and all that is under way on it, without asking its peer. Returns
 * at once; worker progress does the rest. */
void oriel_ucx_drop(ucp_ep_h ep);

/* Around calls of UCX: what it has to say is kept for oriel_ucx_failed and goes to the
 * debug log, not to stdout; UCX in the hands of others is left alone. */
void oriel_ucx_enter(void);
void oriel_ucx_leave(void);

/* A status as -errno; 0 for UCS_OK. */
int oriel_ucx_errno(ucs_status_t status);
/* The same, and each kind of failure is logged once, with what UCX said of it.
 *
 *   doing   "to register memory", for the message */
int oriel_ucx_failed(ucs_status_t status, const char *doing);

#endif
