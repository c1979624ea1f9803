#define _GNU_SOURCE

#include "transports/ofi_server.h"

#include "core/err.h"
#include "core/log.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/* Every so many calls the queue is read whatever its descriptor says. */
enum { LOOK_ANYWAY = 32 };

struct oriel_region {
    struct fid_mr *mr; /* NULL: no byte to read */
};

int oriel_ofi_server_init(struct oriel_ofi_server *server,
                          const struct oriel_process *self,
                          const struct oriel_ofi_provider *provider,
                          const struct oriel_ofi_library *library,
                          const struct fi_info *info)
{
    *server = (struct oriel_ofi_server){.self = self,
                                        .provider = provider,
                                        .library = library,
                                        .info = info,
                                        .side = {.fd = -1}};
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->wake_fd < 0) return -errno;
    pthread_mutex_init(&server->lock, NULL);
    return 0;
}

void oriel_ofi_server_fini(struct oriel_ofi_server *server)
{
    oriel_ofi_side_close(&server->side);
    close(server->wake_fd);
    pthread_mutex_destroy(&server->lock);
}

/* Endpoint, and its address for the blobs. Holding the lock. */
static int open_side(struct oriel_ofi_server *server)
{
    const char *failed = "fi_getname";
    uint64_t one = 1;
    int error =
        oriel_ofi_side_open(&server->side, server->library, server->info, &failed);

    if (!error) error = oriel_ofi_side_enable(&server->side, true, &failed);
    server->address_bytes = sizeof server->address;
    if (!error)
        error =
            fi_getname(&server->side.ep->fid, server->address, &server->address_bytes);
    if (error) {
        oriel_log(ORIEL_LOG_WARN, "ofi: %s of %s fails: %s; nothing is exposed by it",
                  failed, server->provider->name, server->library->strerror(-error));
        oriel_ofi_side_close(&server->side);
        return oriel_ofi_error(error) == -ENOMEM ? -ENOMEM : -EIO;
    }
    atomic_store_explicit(&server->is_open, true, memory_order_release);
    if (write(server->wake_fd, &one, sizeof one) < 0) {
    } /* readable already */
    return 0;
}

static int ensure_open(struct oriel_ofi_server *server)
{
    int error = 0;

    pthread_mutex_lock(&server->lock);
    if (!atomic_load_explicit(&server->is_open, memory_order_relaxed))
        error = open_side(server);
    pthread_mutex_unlock(&server->lock);
    return error;
}

/* The usual reason is the limit of locked memory, so name it. */
static int refused(const struct oriel_ofi_server *server, int error, size_t bytes)
{
    static int once;
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};

    getrlimit(RLIMIT_MEMLOCK, &limit);
    if ((error == -FI_ENOMEM || error == -FI_EPERM || error == -FI_EAGAIN) &&
        limit.rlim_cur != RLIM_INFINITY)
        oriel_log_once(&once, ORIEL_LOG_WARN,
                       "ofi: %s cannot register %zu bytes for remote reads: %s; only "
                       "%llu KiB may be locked, see 'ulimit -l'; that memory is read "
                       "natively",
                       server->provider->name, bytes, server->library->strerror(-error),
                       (unsigned long long)limit.rlim_cur / 1024);
    else
        oriel_log_once(&once, ORIEL_LOG_WARN,
                       "ofi: %s cannot register %zu bytes for remote reads: %s; that "
                       "memory is read natively",
                       server->provider->name, bytes,
                       server->library->strerror(-error));
    return error == -FI_ENOMEM || error == -FI_EPERM ? -ENOMEM : -EIO;
}

/* What a reader has to know of a registration. */
static int fill_key(const struct oriel_ofi_server *server, struct fid_mr *mr,
                    struct oriel_ofi_blob *blob)
{
    blob->key = fi_mr_key(mr);
    if (!(server->side.info->domain_attr->mr_mode & FI_MR_RAW))
        return blob->key == FI_KEY_NOTAVAIL ? -FI_EOTHER : 0;
    blob->key = 0;
    blob->is_raw = true;
    blob->raw_key_bytes = sizeof blob->raw_key;
    return fi_mr_raw_attr(mr, &blob->raw_base, blob->raw_key, &blob->raw_key_bytes, 0);
}

static void fill_blob(const struct oriel_ofi_server *server,
                      struct oriel_ofi_blob *blob)
{
    const struct fi_info *info = server->side.info;

    blob->address_format = info->addr_format;
    blob->is_virtual = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    strncpy(blob->provider, server->provider->name, ORIEL_OFI_NAME_MAX);
    memcpy(blob->nonce, server->self->nonce, sizeof blob->nonce);
    memcpy(blob->boot_id, server->self->boot_id, sizeof blob->boot_id);
    memcpy(blob->address, server->address, server->address_bytes);
    blob->address_bytes = server->address_bytes;
}

int oriel_ofi_server_expose(struct oriel_ofi_server *server, void *base, size_t bytes,
                            struct oriel_region **out, struct oriel_blob *blob_out)
{
    struct oriel_ofi_blob blob = {.base = (uintptr_t)base, .bytes = bytes};
    struct oriel_blob encoded = {0};
    struct oriel_region *region;
    int error;

    if ((uintptr_t)base + bytes < (uintptr_t)base) return -EINVAL;
    error = ensure_open(server);
    if (error) return error;
    region = calloc(1, sizeof *region);
    if (!region) return -ENOMEM;
    fill_blob(server, &blob);
    if (bytes) {
        error = oriel_ofi_side_register(&server->side, base, bytes, FI_REMOTE_READ,
                                        &region->mr);
        if (!error) error = fill_key(server, region->mr, &blob);
        if (error) error = refused(server, error, bytes);
    }
    if (!error) error = oriel_ofi_blob_encode(&blob, &encoded);
    if (error) {
        oriel_ofi_server_withdraw(region);
        return error;
    }
    *blob_out = encoded;
    *out = region;
    return 0;
}

void oriel_ofi_server_withdraw(struct oriel_region *region)
{
    int error = region->mr ? fi_close(&region->mr->fid) : 0;

    if (error)
        oriel_log(ORIEL_LOG_WARN, "ofi: a registration does not close: code %d", error);
    free(region);
}

static void drain_errors(struct oriel_ofi_server *server)
{
    struct fi_cq_err_entry entry = {0};

    /* Of some peer's connection; the reads that it spoils fail at their reader. */
    while (fi_cq_readerr(server->side.cq, &entry, 0) > 0) {
        oriel_log(ORIEL_LOG_DEBUG, "ofi: serving: %s",
                  server->library->strerror(entry.err));
        entry = (struct fi_cq_err_entry){0};
    }
}

/* Is something there to do? Remote reads leave nothing in the queue, so only its
 * descriptor tells that there are some, and only before the provider serves them. */
static bool has_traffic(const struct oriel_ofi_server *server)
{
    struct pollfd queue = {.fd = server->side.fd, .events = POLLIN};

    return poll(&queue, 1, 0) > 0;
}

/* The descriptor stays readable until the provider was asked whether to sleep. */
static int try_sleep(const struct oriel_ofi_server *server)
{
    struct fid *queue = &server->side.cq->fid;

    return fi_trywait(server->side.fabric, &queue, 1);
}

/* Reading the queue is what makes the provider work. */
int oriel_ofi_server_serve(struct oriel_ofi_server *server)
{
    struct fi_cq_entry entries[16];
    bool busy;
    ssize_t n;

    if (server->provider->serves_itself) return -ENOTSUP;
    if (!atomic_load_explicit(&server->is_open, memory_order_acquire)) return 0;
    busy = server->side.fd >= 0 && has_traffic(server);
    if (server->side.fd >= 0 && !busy && ++server->quiet % LOOK_ANYWAY) return 0;
    n = fi_cq_read(server->side.cq, entries, sizeof entries / sizeof *entries);
    if (n == -FI_EAVAIL) {
        drain_errors(server);
        n = 0;
    }
    if (n < 0 && n != -FI_EAGAIN) return oriel_ofi_error(n);
    if (busy) try_sleep(server);
    if (server->side.served) {
        uint64_t served = fi_cntr_read(server->side.served);

        busy = served != server->served;
        server->served = served;
    }
    return n > 0 ? (int)n : busy;
}

int oriel_ofi_server_rest(struct oriel_ofi_server *server, int *fd_out)
{
    int error;

    if (!atomic_load_explicit(&server->is_open, memory_order_acquire)) {
        *fd_out = server->wake_fd;
        return 0;
    }
    if (server->side.fd < 0) return -ENOTSUP;
    error = try_sleep(server);
    if (error == -FI_EAGAIN) {
        server->quiet = LOOK_ANYWAY - 1;
        return -EAGAIN;
    }
    if (error) return -ENOTSUP;
    *fd_out = server->side.fd;
    return 0;
}
