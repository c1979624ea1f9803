#define _GNU_SOURCE
#include "core/service.h"

#include "core/config.h"
#include "core/err.h"
#include "core/log.h"
#include "core/process.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Two for each engine that there may be: tests open an engine twice. */
enum {
    CLIENTS = 8,
    SLEEP_MS = 1000,
    NAP_FIRST_NS = 50000,
    NAP_LAST_NS = 2000000,
    TURN_NS = 100000
};

struct client {
    const struct oriel_transport *transport;
    struct oriel_engine *engine; /* NULL: a free slot */
    bool broken;                 /* serve failed: it is left alone */
};

/* Held by the thread through a round, so that a client is gone once remove has it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Serialises start and end; taken before lock. */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;
static struct client clients[CLIENTS];
static int count;
static pthread_t thread;
static int wake_fd = -1;
static atomic_bool stop;
/* Set by who waits for the lock: the thread, which would take it again at once, lets
 * go of it for a moment. */
static atomic_int waiting;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void take_lock(void)
{
    uint64_t one = 1;
    atomic_fetch_add(&waiting, 1);
    if (wake_fd >= 0 && write(wake_fd, &one, sizeof one) < 0) {
    } /* full: it is awake */
    pthread_mutex_lock(&lock);
    atomic_fetch_sub(&waiting, 1);
}

/* One round of all clients. Returns whether something was there to do. */
static bool serve_all(void)
{
    bool busy = false;
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &clients[i];
        if (!client->engine || client->broken) continue;
        int events = client->transport->serve(client->engine);
        if (events > 0) busy = true;
        if (events >= 0) continue;
        client->broken = true;
        oriel_log(
            ORIEL_LOG_WARN,
            "engine %s serves no more: %s; others' reads of this process will fail "
            "and go native",
            client->transport->name, oriel_strerror(events));
    }
    return busy;
}

/* What to wait for. Returns the number of descriptors, the first being ours; 0: there
 * is work. *naps_out: some client cannot say when it has work. */
static int prepare_sleep(struct pollfd *fds, bool *naps_out)
{
    int n = 0;
    *naps_out = false;
    fds[n++] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
    for (int i = 0; i < CLIENTS; i++) {
        const struct client *client = &clients[i];
        int fd = -1;
        if (!client->engine || client->broken) continue;
        int error = client->transport->rest
                        ? client->transport->rest(client->engine, &fd)
                        : -ENOTSUP;
        if (error == -EAGAIN) return 0;
        if (error)
            *naps_out = true;
        else
            fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    return n;
}

static void drain(void)
{
    uint64_t count_read;
    if (read(wake_fd, &count_read, sizeof count_read) < 0) {
    } /* empty already */
}

/* Sleeps without the lock. nap_ns: how long where some client cannot wake us. */
static void sleep_on(struct pollfd *fds, int n, long nap_ns)
{
    struct timespec time = {.tv_sec = SLEEP_MS / 1000};
    if (nap_ns) time = (struct timespec){.tv_nsec = nap_ns};
    if (ppoll(fds, (nfds_t)n, &time, NULL) > 0 && fds[0].revents) drain();
}

/* struct sched_attr of the kernel, which the C library does not have. */
struct schedule {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period; /* ns */
};

/* Short turns: the kernel (since 6.12) lets a thread that wakes up for a short turn go
 * before one that computes, and else has it wait for some ms, hundreds of reads long.
 * Older kernels do so by themselves, and ignore or refuse this. */
static void ask_for_short_turns(void)
{
    struct schedule schedule = {0};
    if (syscall(SYS_sched_getattr, 0, &schedule, sizeof schedule, 0)) return;
    if (schedule.policy != SCHED_OTHER) return;
    schedule.runtime = TURN_NS;
    syscall(SYS_sched_setattr, 0, &schedule, 0);
}

static void *run(void *unused)
{
    uint64_t idle_since = 0, spin = (uint64_t)oriel_config_get()->spin_us * 1000;
    long nap = NAP_FIRST_NS;
    (void)unused;
    ask_for_short_turns();
    pthread_mutex_lock(&lock);
    while (!atomic_load(&stop)) {
        struct pollfd fds[CLIENTS + 1];
        int n = 0;
        bool naps = false;
        if (serve_all()) {
            idle_since = 0;
            nap = NAP_FIRST_NS;
        } else {
            uint64_t now = now_ns();
            if (!idle_since) idle_since = now;
            if (now - idle_since >= spin) n = prepare_sleep(fds, &naps);
        }
        if (!n && !atomic_load_explicit(&waiting, memory_order_relaxed)) continue;
        pthread_mutex_unlock(&lock);
        if (n) sleep_on(fds, n, naps ? nap : 0);
        if (naps && nap < NAP_LAST_NS) nap += nap / 4;
        while (atomic_load(&waiting) && !atomic_load(&stop))
            sched_yield();
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* The program's signals are not for this thread. */
static int start(void)
{
    sigset_t all, before;
    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0) return -errno;
    atomic_store(&stop, false);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        close(wake_fd);
        wake_fd = -1;
        return -error;
    }
    pthread_setname_np(thread, "oriel-service");
    return 0;
}

static void end(void)
{
    uint64_t one = 1;
    atomic_store(&stop, true);
    if (write(wake_fd, &one, sizeof one) < 0) {
    } /* full: it is awake */
    pthread_join(thread, NULL);
    close(wake_fd);
    wake_fd = -1;
}

int oriel_service_add(const struct oriel_transport *transport,
                      struct oriel_engine *engine)
{
    int error = transport->serve ? transport->serve(engine) : -ENOTSUP;
    if (error == -ENOTSUP) return 0;
    if (error < 0) return error;
    pthread_mutex_lock(&life);
    take_lock();
    struct client *slot = NULL;
    for (int i = 0; i < CLIENTS && !slot; i++)
        if (!clients[i].engine) slot = &clients[i];
    if (slot) *slot = (struct client){.transport = transport, .engine = engine};
    pthread_mutex_unlock(&lock);
    error = slot ? 0 : -ENOMEM;
    if (!error && count == 0) error = start();
    if (!error) count++;
    if (error && slot) slot->engine = NULL; /* no thread yet that could look */
    pthread_mutex_unlock(&life);
    return error;
}

void oriel_service_remove(struct oriel_engine *engine)
{
    bool found = false;
    if (oriel_process_forked()) return;
    pthread_mutex_lock(&life);
    take_lock();
    for (int i = 0; i < CLIENTS; i++) {
        if (!engine || clients[i].engine != engine) continue;
        clients[i] = (struct client){0};
        found = true;
    }
    pthread_mutex_unlock(&lock);
    if (found && --count == 0) end();
    pthread_mutex_unlock(&life);
}
