/*
 * fabric.c - the serving thread and the reading loops, for any library.
 */
#define _GNU_SOURCE
#include "bench/fabric.h"
#include "bench/bare.h"
#include "bench/series.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPIN_US = 20, TURN_NS = 100000 }; /* as Oriel's defaults */

struct bench_server {
    const struct bench_fabric *fabric;
    void *side; /* the library's; owned */
    pthread_t thread;
    int wake_fd;
    atomic_bool stop;
};

const struct bench_fabric *bench_fabric_find(const char *text,
                                             const char **provider_out)
{
    static const struct bench_fabric *const all[] = {
#if ORIEL_HAVE_OFI
        &bench_fabric_ofi,
#endif
#if ORIEL_HAVE_UCX
        &bench_fabric_ucx,
#endif
        NULL
    };
    size_t n = strcspn(text, ":");
    for (size_t i = 0; all[i]; ++i) {
        if (strlen(all[i]->name) != n || strncmp(all[i]->name, text, n) != 0) continue;
        *provider_out = text[n] ? text + n + 1 : "";
        return all[i];
    }
    return NULL;
}

static const struct bench_fabric *find(const char *text, const char **provider_out)
{
    const struct bench_fabric *fabric = bench_fabric_find(text, provider_out);
    if (!fabric) bench_die("--bare %s: this program was built without it", text);
    return fabric;
}

/* Oriel's thread asks the kernel for short turns, so that it wakes up before what
 * computes; this one does not deserve less. The struct is the kernel's sched_attr. */
static void ask_for_short_turns(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr = {0};
    if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0)) return;
    attr.runtime = TURN_NS;
    syscall(SYS_sched_setattr, 0, &attr, 0);
}

static void *serve(void *argument)
{
    struct bench_server *server = argument;
    const char *text = getenv("ORIEL_SPIN_US");
    double spin = 1e3 * (text ? strtod(text, NULL) : SPIN_US), idle_since = 0;
    ask_for_short_turns();
    while (!atomic_load_explicit(&server->stop, memory_order_relaxed)) {
        if (server->fabric->serve(server->side)) {
            idle_since = 0;
            continue;
        }
        double now = bench_now_ns();
        if (idle_since == 0) idle_since = now;
        if (now - idle_since < spin) continue;
        int fd = server->fabric->rest(server->side);
        if (fd < 0) continue;
        struct pollfd fds[] = {{.fd = server->wake_fd, .events = POLLIN},
                               {.fd = fd, .events = POLLIN}};
        poll(fds, 2, 1000);
    }
    return NULL;
}

struct bench_server *bench_server_create(const char *text, void *memory, size_t bytes,
                                         struct bench_card *card_out)
{
    struct bench_server *server = calloc(1, sizeof *server);
    const char *provider;
    if (!server) bench_die("out of memory");
    memset(card_out, 0, sizeof *card_out);
    server->fabric = find(text, &provider);
    server->side = server->fabric->expose(provider, memory, bytes, card_out);
    server->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (server->wake_fd < 0 || pthread_create(&server->thread, NULL, serve, server))
        bench_die("no thread can be started");
    return server;
}

void bench_server_destroy(struct bench_server *server)
{
    uint64_t one = 1;
    if (!server) return;
    atomic_store(&server->stop, true);
    if (write(server->wake_fd, &one, sizeof one) < 0) {
    } /* it wakes up by itself before long */
    pthread_join(server->thread, NULL);
    server->fabric->withdraw(server->side);
    close(server->wake_fd);
    free(server);
}

void bench_link_open(struct bench_link *link, const char *text,
                     const struct bench_card *card)
{
    const char *provider;
    link->fabric = find(text, &provider);
    link->reader = link->fabric->connect(card);
}

void bench_link_close(struct bench_link *link)
{
    if (link->reader) link->fabric->disconnect(link->reader);
    link->reader = NULL;
}

void bench_link_run(void *context, uint64_t n)
{
    struct bench_link *link = context;
    for (uint64_t i = 0; i < n; ++i) {
        link->fabric->start(link->reader, 0, link->local, link->bytes);
        link->fabric->finish(link->reader);
    }
}

void bench_link_together(void *context, uint64_t n)
{
    struct bench_link *link = context;
    for (uint64_t i = 0; i < n; ++i)
        link->fabric->start(link->reader, i * link->stride,
                            link->local + i * link->stride, link->bytes);
    link->fabric->finish(link->reader);
}
