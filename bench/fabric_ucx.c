/*
 * fabric_ucx.c - reads by ucp_get_nbx, with the UCX_* settings of the environment.
 */
#include "bench/bare.h"
#include "bench/fabric.h"

#include <ucp/api/ucp.h>

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 64 };

struct side { /* one worker and what it takes */
    ucp_context_h context;
    ucp_worker_h worker;
    int fd;           /* serving */
    ucp_mem_h memory; /* serving */
    ucp_ep_h ep;      /* reading, as all below */
    ucp_rkey_h rkey;
    uint64_t base; /* of the peer's memory */
    size_t pending;
};

static void must(const char *step, ucs_status_t status)
{
    if (status != UCS_OK) bench_die("%s: %s", step, ucs_status_string(status));
}

static struct side *open_side(bool waits)
{
    struct side *side = calloc(1, sizeof *side);
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features =
                               UCP_FEATURE_RMA | (waits ? UCP_FEATURE_WAKEUP : 0)};
    ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucp_config_t *settings;
    if (!side) bench_die("out of memory");
    must("ucp_config_read", ucp_config_read(NULL, NULL, &settings));
    must("ucp_init", ucp_init(&params, settings, &side->context));
    ucp_config_release(settings);
    must("ucp_worker_create", ucp_worker_create(side->context, &worker, &side->worker));
    if (waits) must("ucp_worker_get_efd", ucp_worker_get_efd(side->worker, &side->fd));
    return side;
}

static void close_side(void *argument)
{
    struct side *side = argument;
    if (side->memory) ucp_mem_unmap(side->context, side->memory);
    if (side->rkey) ucp_rkey_destroy(side->rkey);
    ucp_worker_destroy(side->worker);
    ucp_cleanup(side->context);
    free(side);
}

static size_t put(unsigned char *out, const void *bytes, size_t n)
{
    if (n > BENCH_NAME_MOST) bench_die("an address or key of UCX has %zu bytes", n);
    memcpy(out, bytes, n);
    return n;
}

static void *ucx_expose(const char *provider, void *memory, size_t bytes,
                        struct bench_card *card_out)
{
    struct side *side = open_side(true);
    ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                                 UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                   .address = memory,
                                   .length = bytes};
    ucp_address_t *address;
    size_t address_bytes, packed_bytes;
    void *packed;
    if (*provider) bench_die("ucx:%s: use UCX_TLS", provider);
    must("ucp_mem_map", ucp_mem_map(side->context, &params, &side->memory));
    must("ucp_rkey_pack",
         ucp_rkey_pack(side->context, side->memory, &packed, &packed_bytes));
    must("ucp_worker_get_address",
         ucp_worker_get_address(side->worker, &address, &address_bytes));
    card_out->base = (uintptr_t)memory;
    card_out->address_bytes = put(card_out->address, address, address_bytes);
    card_out->packed_bytes = put(card_out->packed, packed, packed_bytes);
    strcpy(card_out->provider, "ucx");
    ucp_worker_release_address(side->worker, address);
    ucp_rkey_buffer_release(packed);
    return side;
}

static bool ucx_serve(void *argument)
{
    struct side *side = argument;
    int events = 0;
    while (events < ROUNDS && ucp_worker_progress(side->worker))
        events++;
    return events > 0;
}

static int ucx_rest(void *argument)
{
    struct side *side = argument;
    ucs_status_t status = ucp_worker_arm(side->worker);
    if (status == UCS_ERR_BUSY) return -1;
    must("ucp_worker_arm", status);
    return side->fd;
}

static void on_error(void *argument, ucp_ep_h ep, ucs_status_t status)
{
    (void)argument, (void)ep;
    bench_die("the connection fails: %s", ucs_status_string(status));
}

/* Lost peers are reported, as an engine must have it: that leaves out transports. */
static void *ucx_connect(const struct bench_card *card)
{
    struct side *side = open_side(false);
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLER,
                              .address = (const ucp_address_t *)card->address,
                              .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                              .err_handler = {on_error, NULL}};
    must("ucp_ep_create", ucp_ep_create(side->worker, &params, &side->ep));
    must("ucp_ep_rkey_unpack", ucp_ep_rkey_unpack(side->ep, card->packed, &side->rkey));
    side->base = card->base;
    return side;
}

static void on_landed(void *request, ucs_status_t status, void *argument)
{
    struct side *side = argument;
    must("ucp_get_nbx", status);
    side->pending--;
    ucp_request_free(request);
}

static void ucx_start(void *argument, uint64_t offset, void *local, size_t bytes)
{
    struct side *side = argument;
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA,
                                 .cb.send = on_landed,
                                 .user_data = side};
    ucs_status_ptr_t request =
        ucp_get_nbx(side->ep, local, bytes, side->base + offset, side->rkey, &param);
    if (UCS_PTR_IS_ERR(request)) must("ucp_get_nbx", UCS_PTR_STATUS(request));
    if (request) side->pending++;
}

static void ucx_finish(void *argument)
{
    struct side *side = argument;
    while (side->pending)
        ucp_worker_progress(side->worker);
}

const struct bench_fabric bench_fabric_ucx = {
    .name = "ucx",
    .expose = ucx_expose,
    .serve = ucx_serve,
    .rest = ucx_rest,
    .withdraw = close_side,
    .connect = ucx_connect,
    .start = ucx_start,
    .finish = ucx_finish,
    .disconnect = close_side,
};
