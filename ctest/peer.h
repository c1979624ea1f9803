/*
 * peer.h - a second process that exposes memory through an engine, for the tests
 * of engines.
 *
 * The test program runs itself again (fork and exec, since a fork child may use no
 * engine) as the owner of the memory and gives it orders through a socket:
 *
 *   int main(int argc, char **argv)
 *   {
 *       if (peer_is_owner(argv)) return peer_own(argv);
 *       struct peer owner = peer_start("node", NULL);
 *       struct oriel_blob blob;
 *       peer_expose(&owner, 0, PEER_ARENA, 4096, 0, seed, &blob);
 */
#ifndef ORIEL_CTEST_PEER_H
#define ORIEL_CTEST_PEER_H

#include "check.h"

#include "core/arena.h"
#include "core/config.h"
#include "core/service.h"
#include "transports/engines.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PEER_SLOTS = 600, PEER_SOCKET = 100 };
enum peer_memory { PEER_ARENA, PEER_MALLOC };
enum peer_what {
    PEER_EXPOSE,
    PEER_WITHDRAW,  /* and free the memory */
    PEER_TAKE_BACK, /* withdraw, the memory stays */
    PEER_AGAIN,     /* expose the memory that was taken back */
    PEER_FILL,
    PEER_EXEC,
    PEER_DUMPABLE,
    PEER_CLOSE /* the engine; the owner then ends */
};

/* Loops over whole regions: nothing for a sanitizer to find, and it is slow at it. */
#define PEER_PLAIN __attribute__((no_sanitize("thread", "address", "undefined")))

struct peer_order {
    enum peer_what what;
    enum peer_memory memory;
    int slot;
    unsigned seed;
    size_t bytes, shift;
};

struct peer_answer {
    int error;
    struct oriel_blob blob;
};

struct peer {
    pid_t pid;
    int socket;
};

/* Byte i of the memory that was filled with that seed. */
PEER_PLAIN static inline unsigned char peer_byte(uint64_t i, unsigned seed)
{
    return (unsigned char)(i ^ i >> 8 ^ i >> 16 ^ seed);
}

/* How many of the bytes are not those of a region's range that begins at offset. */
PEER_PLAIN static inline size_t peer_wrong(const void *bytes, size_t n, uint64_t offset,
                                           unsigned seed)
{
    const unsigned char *at = bytes;
    size_t wrong = 0;

    for (size_t i = 0; i < n; i++)
        wrong += at[i] != peer_byte(offset + i, seed);
    return wrong;
}

/* ---- the owner ---- */

struct peer_slot {
    void *memory;
    unsigned char *base;
    size_t bytes;
    struct oriel_region *region;
};

PEER_PLAIN static inline void peer_fill(const struct peer_slot *slot, unsigned seed)
{
    for (size_t i = 0; i < slot->bytes; i++)
        slot->base[i] = peer_byte(i, seed);
}

static inline int peer_do_expose(const struct oriel_transport *transport,
                                 struct oriel_engine *engine, struct peer_slot *slot,
                                 const struct peer_order *order,
                                 struct oriel_blob *blob_out)
{
    int error = 0;

    if (order->memory == PEER_ARENA)
        error = oriel_arena_alloc(order->bytes + order->shift + 1, &slot->memory);
    else
        slot->memory = malloc(order->bytes + order->shift + 1);
    if (error || !slot->memory) return error ? error : -ENOMEM;
    slot->base = (unsigned char *)slot->memory + order->shift;
    slot->bytes = order->bytes;
    peer_fill(slot, order->seed);
    error = transport->expose(engine, slot->base, slot->bytes, &slot->region, blob_out);
    if (error && oriel_arena_free(slot->memory) != 0) free(slot->memory);
    return error;
}

static inline void peer_do_withdraw(const struct oriel_transport *transport,
                                    struct peer_slot *slot)
{
    transport->withdraw(slot->region);
    if (oriel_arena_free(slot->memory) != 0) free(slot->memory);
    *slot = (struct peer_slot){0};
}

static inline void peer_do_take_back(const struct oriel_transport *transport,
                                     struct peer_slot *slot)
{
    transport->withdraw(slot->region);
    slot->region = NULL;
}

static inline bool peer_is_owner(char **argv)
{
    return strcmp(argv[0], "owner") == 0;
}

/* argv: "owner", the engine. Ends when the test's end of the socket closes. */
static inline int peer_own(char **argv)
{
    const struct oriel_transport *transport = oriel_engine_find(argv[1]);
    struct oriel_engine *engine = NULL;
    static struct peer_slot slots[PEER_SLOTS];
    struct peer_order order;
    const char *why = "";

    oriel_arena_set_segment_bytes(oriel_config_get()->arena_segment);
    if (!transport || transport->open(oriel_config_get(), &engine, &why) != 0) {
        fprintf(stderr, "owner: engine %s: %s\n", argv[1], why);
        return 1;
    }
    if (oriel_service_add(transport, engine) != 0) return 1;
    while (read(PEER_SOCKET, &order, sizeof order) == sizeof order) {
        struct peer_slot *slot = &slots[order.slot];
        struct peer_answer answer = {0};

        if (order.what == PEER_EXPOSE)
            answer.error =
                peer_do_expose(transport, engine, slot, &order, &answer.blob);
        else if (order.what == PEER_WITHDRAW)
            peer_do_withdraw(transport, slot);
        else if (order.what == PEER_TAKE_BACK)
            peer_do_take_back(transport, slot);
        else if (order.what == PEER_AGAIN)
            answer.error = transport->expose(engine, slot->base, slot->bytes,
                                             &slot->region, &answer.blob);
        else if (order.what == PEER_FILL)
            peer_fill(slot, order.seed);
        else if (order.what == PEER_DUMPABLE)
            prctl(PR_SET_DUMPABLE, (int)order.seed);
        else if (order.what == PEER_EXEC)
            execv("/proc/self/exe", argv); /* answers by its first read */
        if (order.what == PEER_CLOSE) {
            oriel_service_remove(engine);
            transport->close(engine);
        }
        if (write(PEER_SOCKET, &answer, sizeof answer) != sizeof answer) break;
    }
    _exit(0);
}

/* ---- the test's side ---- */

/* Start an owner; before, if any, runs in it first. The environment is inherited. */
static inline struct peer peer_start(const char *engine, void (*before)(void))
{
    struct peer peer;
    int sockets[2];

    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0,
            "a socket pair");
    fflush(NULL);
    peer.pid = fork();
    if (peer.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (before) before();
        dup2(sockets[1], PEER_SOCKET); /* without CLOEXEC */
        execl("/proc/self/exe", "owner", engine, (char *)NULL);
        _exit(126);
    }
    REQUIRE(peer.pid > 0, "a process");
    close(sockets[1]);
    peer.socket = sockets[0];
    return peer;
}

static inline void peer_send(const struct peer *peer, const struct peer_order *order)
{
    REQUIRE(send(peer->socket, order, sizeof *order, MSG_NOSIGNAL) == sizeof *order,
            "the owner takes order %d", (int)order->what);
}

static inline int peer_ask(const struct peer *peer, const struct peer_order *order,
                           struct oriel_blob *blob_out)
{
    struct peer_answer answer;

    peer_send(peer, order);
    REQUIRE(read(peer->socket, &answer, sizeof answer) == sizeof answer,
            "the owner answers order %d", (int)order->what);
    if (blob_out) *blob_out = answer.blob;
    return answer.error;
}

static inline int peer_expose(const struct peer *peer, int slot,
                              enum peer_memory memory, size_t bytes, size_t shift,
                              unsigned seed, struct oriel_blob *blob_out)
{
    struct peer_order order = {.what = PEER_EXPOSE,
                               .memory = memory,
                               .slot = slot,
                               .seed = seed,
                               .bytes = bytes,
                               .shift = shift};

    return peer_ask(peer, &order, blob_out);
}

static inline void peer_tell(const struct peer *peer, enum peer_what what, int slot,
                             unsigned seed)
{
    struct peer_order order = {.what = what, .slot = slot, .seed = seed};

    peer_ask(peer, &order, NULL);
}

/* Kill the owner as a batch system does, and see it dead. */
static inline void peer_kill(struct peer *peer)
{
    kill(peer->pid, SIGKILL);
    waitpid(peer->pid, NULL, 0);
    close(peer->socket);
}

static inline double peer_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Read spans and wait until they have landed, or until the deadline; then -ETIMEDOUT,
 * and the reads are cancelled. */
static inline int peer_read_for(const struct oriel_transport *transport,
                                struct oriel_engine *engine, struct oriel_peer *from,
                                const struct oriel_span *spans, size_t n,
                                double seconds)
{
    struct oriel_track track = {0};
    double deadline = peer_now() + seconds;
    int error = 0;

    while ((n && !error) || track.pending) {
        ssize_t taken = n && !error ? transport->get(from, spans, n, &track) : 0;

        if (taken > 0) {
            spans += taken;
            n -= (size_t)taken;
        } else if (taken != -EAGAIN) {
            error = error ? error : (int)taken;
        }
        if (transport->progress) transport->progress(engine);
        if (peer_now() < deadline) continue;
        if (transport->cancel) transport->cancel(from);
        CHECK(track.pending == 0, "nothing is pending after cancel");
        return -ETIMEDOUT;
    }
    return error ? error : track.error;
}

/* As peer_read_for, with a deadline for busy machines. */
static inline int peer_read(const struct oriel_transport *transport,
                            struct oriel_engine *engine, struct oriel_peer *from,
                            const struct oriel_span *spans, size_t n)
{
    return peer_read_for(transport, engine, from, spans, n, 90);
}

/* Connect, read 100 bytes and compare. Returns 0; -errno, -ETIMEDOUT after 5 s; the
 * number of wrong bytes. */
static inline int peer_try(const struct oriel_transport *transport,
                           struct oriel_engine *engine, const struct oriel_blob *blob,
                           unsigned seed, bool *mapped_out)
{
    unsigned char buffer[100];
    struct oriel_span span = {0, buffer, sizeof buffer};
    struct oriel_peer *peer;
    int error = transport->connect(engine, blob, &peer);

    if (error) return error;
    if (mapped_out) *mapped_out = transport->map && transport->map(peer);
    error = peer_read_for(transport, engine, peer, &span, 1, 5);
    transport->disconnect(peer);
    return error ? error : (int)peer_wrong(buffer, sizeof buffer, 0, seed);
}

/* ---- cases that each need a fresh process ---- */

struct peer_case {
    const char *name;
    void (*run)(void);
};

/* Run one case, when argv says so, or all of them; the program's exit code. */
static inline int peer_cases(char **argv, const struct peer_case *cases, size_t n)
{
    int skipped = 0;

    if (strcmp(argv[0], "case") == 0) {
        alarm(100);
        cases[atoi(argv[1])].run();
        return check_done();
    }
    for (size_t i = 0; i < n; i++) {
        char index[16];
        int status = 0;
        pid_t pid;

        printf("- %s: ", cases[i].name);
        fflush(NULL);
        snprintf(index, sizeof index, "%zu", i);
        pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", "case", index, (char *)NULL);
            _exit(126);
        }
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_EXIT_SKIP)
            skipped++;
        else
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", cases[i].name);
    }
    if (skipped == (int)n) check_skip("no case can run here");
    return check_done();
}

#endif
