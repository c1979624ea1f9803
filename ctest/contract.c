/*
 * contract.c - what transports/transport.h promises, asked of one engine.
 *
 *   contract <engine>
 *
 * Two processes; every byte is compared with a pattern, and the bytes around a
 * destination must not change. What goes wrong is in contract_faults.c.
 */
#define _GNU_SOURCE

#include "contract.h"
#include "peer.h"

#include <stdint.h>
#include <sys/personality.h>

enum { KIB = 1 << 10, MIB = 1 << 20, GUARD = 64 };

static const struct oriel_transport *transport;
static struct oriel_engine *engine;

static const char *memory_name(enum peer_memory memory)
{
    return memory == PEER_ARENA ? "arena" : "malloc";
}

PEER_PLAIN static bool untouched(const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != 0xEE) return false;
    return true;
}

static struct oriel_peer *connect_to(const struct oriel_blob *blob)
{
    struct oriel_peer *peer = NULL;
    int error = transport->connect(engine, blob, &peer);

    REQUIRE(error == 0, "the owner is reached (error %d)", error);
    return peer;
}

/* One read into the middle of a guarded buffer. */
static void read_one(struct oriel_peer *peer, uint64_t offset, size_t bytes,
                     unsigned seed)
{
    unsigned char *buffer = malloc(bytes + 2 * GUARD + 8);
    unsigned char *local;
    struct oriel_span span;
    int error;

    REQUIRE(buffer, "memory");
    memset(buffer, 0xEE, bytes + 2 * GUARD + 8);
    local = buffer + GUARD + offset % 8;
    span = (struct oriel_span){offset, local, bytes};
    error = peer_read(transport, engine, peer, &span, 1);
    CHECK(error == 0, "%zu bytes at %llu are read (error %d)", bytes,
          (unsigned long long)offset, error);
    CHECK(peer_wrong(local, bytes, offset, seed) == 0, "%zu bytes at %llu are right",
          bytes, (unsigned long long)offset);
    CHECK(untouched(buffer, (size_t)(local - buffer)) &&
              untouched(local + bytes, GUARD),
          "nothing around the destination of %zu bytes changed", bytes);
    free(buffer);
}

static void read_sizes(const struct peer *owner, enum peer_memory memory)
{
    static const size_t sizes[] = {1,    2,        3,   7,           8,
                                   9,    63,       64,  4095,        4096,
                                   4097, 64 * KIB, MIB, 4 * MIB + 1, 64 * MIB};
    enum { EXTRA = 9000 };
    struct oriel_blob blob;
    struct oriel_peer *peer;
    const unsigned char *map;
    int error = peer_expose(owner, 0, memory, 64 * MIB + EXTRA, 0, 1, &blob);

    REQUIRE(error == 0, "%s memory is exposed (error %d)", memory_name(memory), error);
    peer = connect_to(&blob);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        read_one(peer, 4093, sizes[i], 1);
        if (sizes[i] == 64 * MIB) continue;
        read_one(peer, 0, sizes[i], 1);
        read_one(peer, 1 + i % 7, sizes[i], 1);
        read_one(peer, 64 * MIB + EXTRA - sizes[i], sizes[i], 1);
    }
    map = transport->map ? transport->map(peer) : NULL;
    if (map)
        CHECK(peer_wrong(map, 64 * MIB + EXTRA, 0, 1) == 0,
              "the mapping is the memory");
    peer_tell(owner, PEER_FILL, 0, 2);
    read_one(peer, 12345, 5 * MIB, 2);
    transport->disconnect(peer);
    peer_tell(owner, PEER_WITHDRAW, 0, 0);
}

/* Lists of spans of every shape: count, sizes up to most bytes, in order, backwards
 * or anywhere, with gaps up to most_gap. */
struct shape {
    size_t n, most, most_gap;
    enum { FORWARDS, BACKWARDS, ANYWHERE } order;
};

static void read_spans(struct oriel_peer *peer, size_t bytes, const struct shape *shape,
                       unsigned seed)
{
    struct oriel_span *spans = calloc(shape->n, sizeof *spans);
    unsigned char *buffer = malloc(shape->n * (shape->most + 1));
    unsigned random = (unsigned)(shape->n + shape->most_gap);
    uint64_t at = shape->order == BACKWARDS ? bytes : 0;
    size_t wrong = 0, n = 0;
    int error;

    REQUIRE(spans && buffer, "memory");
    memset(buffer, 0xEE, shape->n * (shape->most + 1));
    for (; n < shape->n; n++) {
        size_t size, gap;

        random = random * 1103515245u + 12345u;
        size = random / 65536 % shape->most + 1;
        gap = random / 4096 % (shape->most_gap + 1);
        if (shape->order == ANYWHERE) at = (uint64_t)random * 16 % (bytes - size);
        if (shape->order == FORWARDS && at + gap + size > bytes) break;
        if (shape->order == BACKWARDS && at < gap + size) break;
        if (shape->order == FORWARDS) at += gap;
        if (shape->order == BACKWARDS) at -= gap + size;
        spans[n] = (struct oriel_span){at, buffer + n * (shape->most + 1), size};
        if (shape->order == FORWARDS) at += size;
    }
    error = peer_read(transport, engine, peer, spans, n);
    CHECK(error == 0, "%zu spans are read (error %d)", n, error);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *local = spans[i].local;

        wrong += peer_wrong(local, spans[i].bytes, spans[i].offset, seed);
        wrong += !untouched(local + spans[i].bytes, shape->most + 1 - spans[i].bytes);
    }
    CHECK(wrong == 0, "%zu spans up to %zu bytes, order %d: all right (%zu wrong)", n,
          shape->most, (int)shape->order, wrong);
    free(buffer);
    free(spans);
}

static void read_many_spans(const struct peer *owner, enum peer_memory memory)
{
    enum { BYTES = 8 * MIB };
    static const size_t counts[] = {2, 100, 5000}, most[] = {1, 8, 700, 5000},
                        gaps[] = {0, 56, 1000, 9000};
    struct oriel_blob blob;
    struct oriel_peer *peer;

    REQUIRE(peer_expose(owner, 1, memory, BYTES, 3, 7, &blob) == 0,
            "memory is exposed");
    peer = connect_to(&blob);
    for (size_t i = 0; i < 3 * 4 * 4 * 3; i++) {
        struct shape shape = {.n = counts[i % 3],
                              .most = most[i / 3 % 4],
                              .most_gap = gaps[i / 12 % 4],
                              .order = i / 48 % 3};

        read_spans(peer, BYTES, &shape, 7);
    }
    transport->disconnect(peer);
    peer_tell(owner, PEER_WITHDRAW, 1, 0);
}

static void ranges_are_checked(const struct peer *owner, enum peer_memory memory)
{
    static const struct {
        uint64_t offset;
        size_t bytes;
    } bad[] = {{1000, 1},           {0, 1001},         {999, 2},    {UINT64_MAX, 1},
               {UINT64_MAX - 8, 9}, {8, SIZE_MAX - 7}, {1 << 20, 8}};
    unsigned char buffer[64];
    struct oriel_blob blob;
    struct oriel_peer *peer = NULL;

    REQUIRE(peer_expose(owner, 2, memory, 1000, 5, 3, &blob) == 0, "memory is exposed");
    peer = connect_to(&blob);
    read_one(peer, 0, 1000, 3);
    read_one(peer, 999, 1, 3);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct oriel_span spans[2] = {{0, buffer + 32, 8},
                                      {bad[i].offset, buffer, bad[i].bytes}};

        memset(buffer, 0xEE, sizeof buffer);
        CHECK(peer_read(transport, engine, peer, spans + 1, 1) < 0, "bad span %zu", i);
        CHECK(untouched(buffer, sizeof buffer), "bad span %zu wrote nothing", i);
        CHECK(peer_read(transport, engine, peer, spans, 2) < 0,
              "bad span %zu after one", i);
        CHECK(untouched(buffer, 32), "bad span %zu after one wrote nothing", i);
    }
    transport->disconnect(peer);
    peer_tell(owner, PEER_WITHDRAW, 2, 0);
    if (peer_expose(owner, 2, memory, 0, 0, 3, &blob) != 0) return;
    if (transport->connect(engine, &blob, &peer) == 0) {
        struct oriel_span span = {0, buffer, 1};

        CHECK(peer_read(transport, engine, peer, &span, 1) < 0, "an empty region");
        transport->disconnect(peer);
    }
    peer_tell(owner, PEER_WITHDRAW, 2, 0);
}

static void blobs_are_checked(const struct peer *owner)
{
    struct oriel_blob blob, bad;
    struct oriel_peer *peer = NULL;

    REQUIRE(peer_expose(owner, 3, PEER_ARENA, 4096, 0, 3, &blob) == 0, "it is exposed");
    CHECK(blob.bytes <= ORIEL_BLOB_MAX, "a blob has a length");
    bad = blob;
    bad.bytes = 0;
    CHECK(transport->connect(engine, &bad, &peer) < 0, "an empty blob is refused");
    bad.bytes = blob.bytes / 2;
    CHECK(transport->connect(engine, &bad, &peer) < 0, "half a blob is refused");
    memset(&bad, 0, sizeof bad);
    bad.bytes = blob.bytes;
    CHECK(transport->connect(engine, &bad, &peer) < 0, "a blob of zeros is refused");
    CHECK(peer == NULL, "failures leave the output alone");
    peer_tell(owner, PEER_WITHDRAW, 3, 0);
}

struct job {
    struct oriel_peer *peer;
    unsigned seed;
    size_t bytes, wrong;
    int error;
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *read_in_thread(void *argument)
{
    enum { ROUNDS = 400, SPANS = 50 };
    bool alone = !(transport->flags & ORIEL_ENGINE_CONCURRENT);
    struct job *job = argument;
    unsigned char buffer[SPANS][64];
    unsigned random = job->seed;

    for (int i = 0; i < ROUNDS && !job->error; i++) {
        struct oriel_span spans[SPANS];

        for (int k = 0; k < SPANS; k++) {
            random = random * 1103515245u + 12345u;
            spans[k] = (struct oriel_span){random % (job->bytes - 64), buffer[k],
                                           random / 65536 % 64 + 1};
        }
        if (alone) pthread_mutex_lock(&turn);
        job->error = peer_read(transport, engine, job->peer, spans, i % 3 ? SPANS : 1);
        if (alone) pthread_mutex_unlock(&turn);
        for (int k = 0; k < (i % 3 ? SPANS : 1); k++)
            job->wrong +=
                peer_wrong(spans[k].local, spans[k].bytes, spans[k].offset, job->seed);
    }
    return NULL;
}

/* Each thread has its own region with its own pattern, two of them the same one. */
static void threads_read_at_once(const struct peer *owner, enum peer_memory memory)
{
    enum { THREADS = 4, REGIONS = 3 };
    struct job jobs[THREADS] = {{0}};
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        struct oriel_blob blob;

        jobs[i] = (struct job){.seed = 20 + (unsigned)i, .bytes = 100000};
        if (i < REGIONS) {
            REQUIRE(peer_expose(owner, i, memory, 100000, 0, jobs[i].seed, &blob) == 0,
                    "it is exposed");
            jobs[i].peer = connect_to(&blob);
        } else {
            jobs[i] = jobs[0];
        }
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, read_in_thread, &jobs[i]) == 0,
                "run");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(jobs[i].error == 0 && jobs[i].wrong == 0,
              "thread %d reads its bytes (error %d, %zu wrong)", i, jobs[i].error,
              jobs[i].wrong);
    }
    for (int i = 0; i < REGIONS; i++) {
        transport->disconnect(jobs[i].peer);
        peer_tell(owner, PEER_WITHDRAW, i, 0);
    }
}

static void keep_addresses(void)
{
    personality(ADDR_NO_RANDOMIZE);
}

/* exec keeps the pid, the start time and, without randomization, all addresses;
 * the memory is another's. */
static void a_stale_blob_is_refused(enum peer_memory memory)
{
    struct peer owner = peer_start(transport->name, keep_addresses);
    struct peer_order exec = {.what = PEER_EXEC};
    struct oriel_blob old, now;

    REQUIRE(peer_expose(&owner, 0, memory, 4096, 0, 3, &old) == 0, "it is exposed");
    CHECK(peer_try(transport, engine, &old, 3, NULL) == 0, "the owner is there");
    peer_send(&owner, &exec);
    REQUIRE(peer_expose(&owner, 0, memory, 4096, 0, 4, &now) == 0,
            "the new one exposes");
    CHECK(peer_try(transport, engine, &old, 3, NULL) < 0,
          "the old blob is refused after a restart (%s)", memory_name(memory));
    CHECK(peer_try(transport, engine, &now, 4, NULL) == 0, "the new one is accepted");
    peer_kill(&owner);
    CHECK(peer_try(transport, engine, &now, 4, NULL) < 0,
          "and refused when that process is dead");
}

static void *kill_soon(void *argument)
{
    usleep(50000);
    kill(*(pid_t *)argument, SIGKILL);
    return NULL;
}

/* The owner dies between or during reads: an error, and soon. A mapping may
 * outlive its owner. */
static void a_dead_owner_is_an_error(enum peer_memory memory)
{
    enum { BYTES = 256 * KIB };
    static unsigned char buffer[BYTES];
    struct peer owner = peer_start(transport->name, NULL);
    struct oriel_span span = {0, buffer, BYTES};
    double deadline = peer_now() + 60;
    struct oriel_blob blob;
    struct oriel_peer *peer;
    pthread_t killer;
    int error = 0;

    REQUIRE(peer_expose(&owner, 0, memory, BYTES, 0, 3, &blob) == 0, "it is exposed");
    peer = connect_to(&blob);
    if (transport->map && transport->map(peer)) {
        peer_kill(&owner);
        CHECK(peer_wrong(transport->map(peer), BYTES, 0, 3) == 0, "the mapping stays");
    } else {
        REQUIRE(pthread_create(&killer, NULL, kill_soon, &owner.pid) == 0, "a thread");
        while (!error && peer_now() < deadline) {
            error = peer_read_for(transport, engine, peer, &span, 1, 5);
            if (!error && peer_wrong(buffer, BYTES, 0, 3)) CHECK(0, "a read is right");
        }
        /* Some fabrics do not tell: then the reader's own deadline ends it. */
        CHECK(error < 0 && (error != -ETIMEDOUT || transport->cancel),
              "the read ends with an error (%d)", error);
        pthread_join(killer, NULL);
        peer_kill(&owner);
    }
    transport->disconnect(peer);
    CHECK(peer_try(transport, engine, &blob, 3, NULL) < 0,
          "a dead owner is not reached again");
}

int main(int argc, char **argv)
{
    const char *why = "no reason given";
    struct peer owner;
    double start;

    if (peer_is_owner(argv)) return peer_own(argv);
    transport = argc > 1 ? oriel_engine_find(argv[1]) : NULL;
    REQUIRE(transport, "the first argument names an engine");
    if (transport->open(oriel_config_get(), &engine, &why) != 0) check_skip(why);
    if (transport->describe) printf("%s\n", transport->describe(engine));
    alarm(580); /* a hang is a failure */
    owner = peer_start(transport->name, NULL);
    for (enum peer_memory memory = PEER_ARENA; memory <= PEER_MALLOC; memory++) {
        read_sizes(&owner, memory);
        read_many_spans(&owner, memory);
        ranges_are_checked(&owner, memory);
        threads_read_at_once(&owner, memory);
        a_stale_blob_is_refused(memory);
        a_dead_owner_is_an_error(memory);
    }
    blobs_are_checked(&owner);
    contract_faults(transport, engine);
    peer_kill(&owner);
    transport->disconnect(NULL);
    transport->withdraw(NULL);
    start = peer_now();
    transport->close(engine);
    CHECK(peer_now() - start < CONTRACT_CLOSE_S, "an engine closes without a wait");
    transport->close(NULL);
    return check_done();
}
