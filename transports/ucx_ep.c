/*
 * ucx_ep.c - addresses, messages and the end of endpoints, for both sides.
 */
#include "transports/ucx_lib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int query_address(ucp_worker_h worker, uint32_t flags, ucp_worker_attr_t *out)
{
    *out = (ucp_worker_attr_t){.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS |
                                             UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS,
                               .address_flags = flags};
    return oriel_ucx_failed(oriel_ucx.ucp_worker_query(worker, out),
                            "to get an address");
}

int oriel_ucx_address(ucp_worker_h worker, size_t most, void **out, size_t *bytes_out)
{
    ucp_worker_attr_t attr;
    int error = query_address(worker, 0, &attr);
    void *copy;

    if (!error && attr.address_length > most) {
        oriel_ucx.ucp_worker_release_address(worker, attr.address);
        error = query_address(worker, UCP_WORKER_ADDRESS_FLAG_NET_ONLY, &attr);
    }
    if (error) return error;
    copy = malloc(attr.address_length);
    if (copy) {
        memcpy(copy, attr.address, attr.address_length);
        *out = copy;
        *bytes_out = attr.address_length;
    }
    oriel_ucx.ucp_worker_release_address(worker, attr.address);
    return copy ? 0 : -ENOMEM;
}

static void on_sent(void *request, ucs_status_t status, void *copy)
{
    (void)status;
    free(copy);
    oriel_ucx.ucp_request_free(request);
}

int oriel_ucx_send(ucp_ep_h ep, unsigned id, uint32_t flags, const void *header,
                   size_t header_bytes, const void *data, size_t data_bytes)
{
    unsigned char *copy = malloc(header_bytes + data_bytes);
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_AM_SEND_FLAG_EAGER | flags,
                                 .cb.send = on_sent,
                                 .user_data = copy};
    ucs_status_ptr_t request;

    if (!copy) return -ENOMEM;
    memcpy(copy, header, header_bytes);
    if (data_bytes) memcpy(copy + header_bytes, data, data_bytes);
    request = oriel_ucx.ucp_am_send_nbx(ep, id, copy, header_bytes,
                                        data_bytes ? copy + header_bytes : NULL,
                                        data_bytes, &param);
    if (UCS_PTR_IS_PTR(request)) return 0;
    free(copy);
    return oriel_ucx_failed(UCS_PTR_STATUS(request), "to send a message");
}

static void on_dropped(void *request, ucs_status_t status, void *nothing)
{
    (void)status, (void)nothing;
    oriel_ucx.ucp_request_free(request);
}

void oriel_ucx_drop(ucp_ep_h ep)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS |
                                                 UCP_OP_ATTR_FIELD_CALLBACK,
                                 .flags = UCP_EP_CLOSE_FLAG_FORCE,
                                 .cb.send = on_dropped};

    oriel_ucx.ucp_ep_close_nbx(ep, &param);
}
