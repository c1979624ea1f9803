#define _GNU_SOURCE

#include "transports/ofi_library.h"

#include "transports/ofi_signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SONAME "libfabric.so.1"

static struct oriel_ofi_library library;
static char why[256];
static int result;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_symbols(void)
{
    static const struct {
        const char *name;
        size_t offset;
    } symbols[] = {
        {"fi_getinfo", offsetof(struct oriel_ofi_library, getinfo)},
        {"fi_freeinfo", offsetof(struct oriel_ofi_library, freeinfo)},
        {"fi_dupinfo", offsetof(struct oriel_ofi_library, dupinfo)},
        {"fi_fabric", offsetof(struct oriel_ofi_library, fabric)},
        {"fi_version", offsetof(struct oriel_ofi_library, version)},
        {"fi_strerror", offsetof(struct oriel_ofi_library, strerror)},
    };
    void *handle = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);

    result = -ENOTSUP;
    if (!handle) {
        snprintf(why, sizeof why, "libfabric cannot be loaded: %s", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(handle, symbols[i].name);

        if (!symbol) {
            snprintf(why, sizeof why, SONAME " has no %s", symbols[i].name);
            return;
        }
        memcpy((char *)&library + symbols[i].offset, &symbol, sizeof symbol);
    }
    if (FI_VERSION_LT(library.version(), ORIEL_OFI_VERSION)) {
        snprintf(why, sizeof why, "libfabric is version %u.%u, too old: 1.14 is needed",
                 FI_MAJOR(library.version()), FI_MINOR(library.version()));
        return;
    }
    result = 0;
}

static void load(void)
{
    struct oriel_ofi_signals signals;

    oriel_ofi_signals_save(&signals);
    find_symbols();
    oriel_ofi_signals_restore(&signals);
}

int oriel_ofi_library_load(const struct oriel_ofi_library **out, const char **why_out)
{
    pthread_once(&once, load);
    if (result)
        *why_out = why;
    else
        *out = &library;
    return result;
}

int oriel_ofi_error(int64_t code)
{
    switch (code < 0 ? -code : code) {
    case 0:
        return 0;
    case FI_EAGAIN:
        return -EAGAIN;
    case FI_ENOMEM:
        return -ENOMEM;
    case FI_ETIMEDOUT:
        return -ETIMEDOUT;
    case FI_EKEYREJECTED:
    case FI_ENOKEY:
    case FI_EACCES:
    case FI_EPERM:
    case FI_EINVAL:
    case EREMOTEIO: /* cxi and verbs for a key or range that the target refuses */
        return -EKEYREJECTED;
    case FI_ECANCELED: /* tcp, of what was under way when a connection ended */
    case FI_ENOTCONN:
    case FI_ECONNREFUSED:
    case FI_ECONNRESET:
    case FI_ECONNABORTED:
    case FI_ESHUTDOWN:
    case FI_EHOSTDOWN:
    case FI_EHOSTUNREACH:
    case FI_ENETDOWN:
    case FI_ENETUNREACH:
    case EPIPE:
    case ESRCH:
        return -ENOTCONN;
    default:
        return -EIO;
    }
}
