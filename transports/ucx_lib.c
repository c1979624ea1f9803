#define _GNU_SOURCE
#include "transports/ucx_lib.h"

#include "core/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LIBRARY "libucp.so.0"

/* 1.11 brought ucp_worker_query's address and active messages as they are used here. */
enum { LEAST_MAJOR = 1, LEAST_MINOR = 12, TEXT_BYTES = 256, STATUS_KINDS = 128 };

/* As in ucs/debug/log_def.h, which newer versions fill with assembler that strict C11
 * does not take. */
enum { UCS_SAYS_ERROR = 1, UCS_SAYS_WARN = 2 };
enum { UCS_IS_HEARD = 0, UCS_IS_NOT = 1 };
typedef int ucs_listener(const char *file, unsigned line, const char *function,
                         int level, const void *component, const char *message,
                         va_list arguments);
typedef void ucs_add_listener(ucs_listener *listener);

struct oriel_ucx_calls oriel_ucx;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char failure[2 * TEXT_BYTES]; /* empty: loaded */

/* What UCX said last in this thread, and whether it is ours to hear. */
static _Thread_local char said[TEXT_BYTES];
static _Thread_local int inside;

void oriel_ucx_enter(void)
{
    if (inside++ == 0) said[0] = '\0';
}

void oriel_ucx_leave(void)
{
    inside--;
}

static int on_log(const char *file, unsigned line, const char *function, int level,
                  const void *component, const char *message, va_list arguments)
{
    (void)file, (void)line, (void)function, (void)component;
    if (!inside || level < UCS_SAYS_ERROR || level > UCS_SAYS_WARN) return UCS_IS_NOT;
    vsnprintf(said, sizeof said, message, arguments);
    oriel_log(ORIEL_LOG_DEBUG, "UCX says: %s", said);
    return UCS_IS_HEARD;
}

/* ---- one copy ---- */

struct copies {
    const char *stem; /* "libucp" */
    dev_t device;
    ino_t inode;
    unsigned n; /* different files */
    char first[TEXT_BYTES], other[TEXT_BYTES];
};

/* Python wheels bring their own, as libucp-1a2b3c4d.so.0.0.0. */
static int count_copy(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct copies *copies = argument;
    const char *name = strrchr(info->dlpi_name, '/');
    size_t length = strlen(copies->stem);
    struct stat status;

    (void)size;
    name = name ? name + 1 : info->dlpi_name;
    if (strncmp(name, copies->stem, length) != 0 || !strchr(".-", name[length]))
        return 0;
    if (stat(info->dlpi_name, &status) != 0) memset(&status, 0, sizeof status);
    if (copies->n && status.st_dev == copies->device && status.st_ino == copies->inode)
        return 0;
    snprintf(copies->n ? copies->other : copies->first, TEXT_BYTES, "%s",
             info->dlpi_name);
    copies->device = status.st_dev;
    copies->inode = status.st_ino;
    copies->n++;
    return 0;
}

/* Two copies in one process patch each other's memory hooks. Returns false, and
 * failure says why, where there are two, or one that is not known by its usual name. */
static bool is_single(bool loaded)
{
    static const char *const stems[] = {"libucp", "libucs"};

    for (int i = 0; i < 2; i++) {
        struct copies copies = {.stem = stems[i]};

        dl_iterate_phdr(count_copy, &copies);
        if (copies.n > 1)
            snprintf(failure, sizeof failure,
                     "this process has two copies of UCX, %.200s and %.200s: let both "
                     "users load the same",
                     copies.first, copies.other);
        else if (copies.n && !loaded)
            snprintf(failure, sizeof failure,
                     "this process has UCX as %.200s, and " LIBRARY
                     " would be a second copy",
                     copies.first);
        if (failure[0]) return false;
    }
    return true;
}

/* ---- loading ---- */

/* At load UCX takes signals for its backtraces (UCX_HANDLE_ERRORS), also from a
 * program that has handlers for them. They go back to whom they belonged. */
static void *load_quietly(void)
{
    struct sigaction before[NSIG];
    bool known[NSIG];
    sigset_t all, mask;
    void *library;

    for (int i = 1; i < NSIG; i++)
        known[i] = sigaction(i, NULL, &before[i]) == 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    for (int i = 1; i < NSIG; i++)
        if (known[i] && i != SIGKILL && i != SIGSTOP) sigaction(i, &before[i], NULL);
    return library;
}

static bool find_calls(void *library)
{
    void *symbol;

#define FIND(name)                                                                     \
    symbol = dlsym(library, #name);                                                    \
    if (!symbol) {                                                                     \
        snprintf(failure, sizeof failure, LIBRARY " has no " #name);                   \
        return false;                                                                  \
    }                                                                                  \
    memcpy(&oriel_ucx.name, &symbol, sizeof symbol);
    ORIEL_UCX_CALLS(FIND)
#undef FIND
    return true;
}

/* This library must stay where UCX calls back into it. */
static void hear_log(void *library)
{
    ucs_add_listener *push;
    void *symbol = dlsym(library, "ucs_log_push_handler");
    Dl_info self;

    if (!symbol || !dladdr(failure, &self) || !self.dli_fname) return;
    dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    memcpy(&push, &symbol, sizeof symbol);
    push(on_log);
}

static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    unsigned major, minor, release;

    if (!is_single(library != NULL)) return;
    if (!library) {
        library = load_quietly();
        if (!library) {
            const char *why = dlerror();

            snprintf(failure, sizeof failure, "%.400s", why ? why : "no " LIBRARY);
            return;
        }
        if (!is_single(true)) return;
    }
    if (!find_calls(library)) return;
    oriel_ucx.ucp_get_version(&major, &minor, &release);
    if (major != LEAST_MAJOR || minor < LEAST_MINOR) {
        snprintf(failure, sizeof failure,
                 "UCX %u.%u.%u is installed; the engine needs 1.%d or later of 1.x",
                 major, minor, release, LEAST_MINOR);
        return;
    }
    hear_log(library);
}

int oriel_ucx_load(const char **why_out)
{
    pthread_once(&once, load);
    if (!failure[0]) return 0;
    *why_out = failure;
    return -ENOTSUP;
}

/* UCX takes for endpoints that must report a lost peer only transports that can, and
 * its shared memory says so only where one of these is set. Without them processes of
 * one node reach each other as those of two nodes do. */
bool oriel_ucx_shares_memory(void)
{
    static const char *const names[] = {
        "UCX_MM_ERROR_HANDLING",          "ORIEL_UCX_MM_ERROR_HANDLING",
        "UCX_POSIX_ERROR_HANDLING",       "UCX_SYSV_ERROR_HANDLING",
        "ORIEL_UCX_POSIX_ERROR_HANDLING", "ORIEL_UCX_SYSV_ERROR_HANDLING"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i])) return true;
    return false;
}

int oriel_ucx_context(uint64_t features, bool shared, const char *device,
                      ucp_context_h *out)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES |
                                         UCP_PARAM_FIELD_MT_WORKERS_SHARED |
                                         UCP_PARAM_FIELD_NAME,
                           .features = features,
                           .mt_workers_shared = shared,
                           .name = "oriel"};
    unsigned major, minor, release;
    ucp_config_t *settings;
    ucs_status_t status;

    status = oriel_ucx.ucp_config_read("ORIEL", NULL, &settings);
    if (status != UCS_OK) return oriel_ucx_failed(status, "to read UCX_* settings");
    if (*device) oriel_ucx.ucp_config_modify(settings, "NET_DEVICES", device);
    /* As that version would be asked: no field is used that it does not know. */
    oriel_ucx.ucp_get_version(&major, &minor, &release);
    status = oriel_ucx.ucp_init_version(major, minor, &params, settings, out);
    oriel_ucx.ucp_config_release(settings);
    return status == UCS_OK ? 0 : oriel_ucx_failed(status, "to start UCX");
}

/* UCX starts a thread of its own with the first worker: the program's signals are not
 * for it. */
int oriel_ucx_worker(ucp_context_h context, ucp_worker_h *out)
{
    ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucs_status_t status;
    sigset_t all, mask;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    status = oriel_ucx.ucp_worker_create(context, &params, out);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return oriel_ucx_failed(status, "to create a worker");
}

/* ---- errors ---- */

int oriel_ucx_errno(ucs_status_t status)
{
    switch (status) {
    case UCS_OK:
        return 0;
    case UCS_ERR_NO_MEMORY:
        return -ENOMEM;
    case UCS_ERR_NO_RESOURCE:
    case UCS_ERR_BUSY:
        return -EAGAIN;
    case UCS_ERR_INVALID_PARAM:
        return -EINVAL;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_UNSUPPORTED:
    case UCS_ERR_NOT_IMPLEMENTED:
    case UCS_ERR_NO_DEVICE:
        return -ENOTSUP;
    case UCS_ERR_INVALID_ADDR:
        return -EBADMSG;
    case UCS_ERR_CANCELED:
        return -ECANCELED;
    case UCS_ERR_TIMED_OUT:
    case UCS_ERR_ENDPOINT_TIMEOUT:
        return -EHOSTUNREACH;
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_NOT_CONNECTED:
        return -ECONNRESET;
    case UCS_ERR_REJECTED:
        return -ECONNREFUSED;
    default:
        return -EIO;
    }
}

int oriel_ucx_failed(ucs_status_t status, const char *doing)
{
    static int logged[STATUS_KINDS];
    const char *cure = "";
    int kind = -(int)status;

    if (status == UCS_OK) return 0;
    if (status == UCS_ERR_NO_MEMORY)
        cure = "; if memory may not be locked, raise 'ulimit -l'";
    if (status == UCS_ERR_UNREACHABLE)
        cure = "; within a node it takes tcp or a NIC, or UCX_MM_ERROR_HANDLING=y for "
               "shared memory";
    if (kind > 0 && kind < STATUS_KINDS)
        oriel_log_once(&logged[kind],
                       status == UCS_ERR_UNREACHABLE ? ORIEL_LOG_INFO : ORIEL_LOG_WARN,
                       "ucx: it failed %s: %s%s%s%s%s", doing,
                       oriel_ucx.ucs_status_string(status), said[0] ? " (" : "", said,
                       said[0] ? ")" : "", cure);
    return oriel_ucx_errno(status);
}
