/*
 * contract_faults.c - the contract when things go wrong: an error by the caller's
 * deadline, never wrong bytes, no byte after cancel, and later reads are right.
 */
#define _GNU_SOURCE

#include "contract.h"
#include "peer.h"

enum { KIB = 1 << 10, MIB = 1 << 20, REGION = 8 * MIB, SEED = 5 };

static const struct oriel_transport *transport;
static struct oriel_engine *engine;
static unsigned char *buffer; /* REGION bytes, for what a read brings */

static struct oriel_peer *connect_to(const struct oriel_blob *blob)
{
    struct oriel_peer *peer = NULL;
    int error = transport->connect(engine, blob, &peer);

    REQUIRE(error == 0, "the owner is reached (error %d)", error);
    return peer;
}

/* An owner that exposes REGION bytes in slot 0. */
static struct peer start_owner(struct oriel_blob *blob_out)
{
    struct peer owner = peer_start(transport->name, NULL);
    int error = peer_expose(&owner, 0, PEER_MALLOC, REGION, 0, SEED, blob_out);

    REQUIRE(error == 0, "memory is exposed (error %d)", error);
    return owner;
}

PEER_PLAIN static bool untouched(size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (buffer[i] != 0xEE) return false;
    return true;
}

static void progress_for(double seconds)
{
    double deadline = peer_now() + seconds;

    while (peer_now() < deadline) {
        if (transport->progress) transport->progress(engine);
        usleep(100);
    }
}

static void check_read(struct oriel_peer *peer, const char *when)
{
    struct oriel_span span = {4321, buffer, 100 * KIB};
    int error = peer_read(transport, engine, peer, &span, 1);

    CHECK(error == 0 && peer_wrong(buffer, span.bytes, span.offset, SEED) == 0,
          "a read is right %s (error %d)", when, error);
}

/* Start one read in spans of that size, as far as the queue takes it; returns how
 * many bytes were asked for. */
static size_t start_read(struct oriel_peer *peer, size_t bytes, size_t span_bytes,
                         struct oriel_track *track)
{
    double deadline = peer_now() + 20;
    size_t at = 0;

    while (at < bytes && peer_now() < deadline) {
        struct oriel_span span = {at, buffer + at, span_bytes};
        ssize_t taken = transport->get(peer, &span, 1, track);

        if (taken == 1) at += span_bytes;
        if (taken != 1 && taken != -EAGAIN) break;
        if (taken == -EAGAIN && transport->progress) transport->progress(engine);
    }
    return at;
}

static void finish(struct oriel_track *track, double seconds)
{
    double deadline = peer_now() + seconds;

    while (track->pending && peer_now() < deadline)
        if (transport->progress) transport->progress(engine);
}

static void many_reads_at_once(size_t reads, size_t bytes)
{
    struct oriel_track track = {0};
    struct oriel_blob blob;
    struct peer owner = start_owner(&blob);
    struct oriel_peer *peer = connect_to(&blob);
    size_t begun;

    memset(buffer, 0xEE, REGION);
    begun = start_read(peer, reads * bytes, bytes, &track);
    CHECK(begun == reads * bytes, "%zu reads begin", reads);
    finish(&track, 30);
    CHECK(track.pending == 0 && track.error == 0, "they end (%u left, error %d)",
          track.pending, track.error);
    CHECK(peer_wrong(buffer, begun, 0, SEED) == 0, "%zu reads of %zu bytes are right",
          reads, bytes);
    CHECK(memchr(buffer + begun, 0xEE, 1) || begun == REGION, "and nothing else");
    transport->disconnect(peer);
    peer_kill(&owner);
}

/* Where the blobs of one memory that is exposed twice differ, there is a key. */
static bool has_key(const struct oriel_blob *a, const struct oriel_blob *b)
{
    return a->bytes != b->bytes || memcmp(a->data, b->data, a->bytes) != 0;
}

static void a_wrong_key_is_an_error(void)
{
    struct oriel_blob old, now, bad;
    struct peer_order again = {.what = PEER_AGAIN};
    struct peer owner = start_owner(&old);
    int tried = 0;

    CHECK(peer_try(transport, engine, &old, SEED, NULL) == 0, "it is read");
    peer_tell(&owner, PEER_TAKE_BACK, 0, 0);
    REQUIRE(peer_ask(&owner, &again, &now) == 0, "it is exposed again");
    if (has_key(&old, &now))
        CHECK(peer_try(transport, engine, &old, SEED, NULL) < 0,
              "the key of the first time is an error");
    CHECK(peer_try(transport, engine, &now, SEED, NULL) == 0, "the new one is right");
    for (size_t i = 0; i < now.bytes && tried < 3; i++) {
        if (old.bytes != now.bytes || old.data[i] == now.data[i]) continue;
        bad = now;
        bad.data[i] ^= 0x5A;
        CHECK(peer_try(transport, engine, &bad, SEED, NULL) < 0,
              "a wrong key is an error (byte %zu)", i);
        CHECK(peer_try(transport, engine, &now, SEED, NULL) == 0,
              "the right one is right after it");
        tried++;
    }
    peer_kill(&owner);
}

static void memory_taken_back_is_not_read(void)
{
    struct oriel_span span = {0, buffer, 64 * KIB};
    struct oriel_blob blob, now;
    struct peer_order again = {.what = PEER_AGAIN};
    struct peer owner = start_owner(&blob);
    struct oriel_peer *peer = connect_to(&blob);
    bool keyed;

    check_read(peer, "before the memory is taken back");
    peer_tell(&owner, PEER_TAKE_BACK, 0, 0);
    REQUIRE(peer_ask(&owner, &again, &now) == 0, "it is exposed again");
    keyed = has_key(&blob, &now);
    peer_tell(&owner, PEER_TAKE_BACK, 0, 0);
    peer_tell(&owner, PEER_FILL, 0, SEED + 1);
    memset(buffer, 0xEE, span.bytes);
    if (keyed) {
        CHECK(peer_read_for(transport, engine, peer, &span, 1, 5) < 0,
              "memory that was taken back is an error");
        CHECK(untouched(span.bytes), "and none of its bytes come");
    }
    transport->disconnect(peer);
    peer_kill(&owner);
}

static void change_blob_bytes(void)
{
    struct oriel_blob blob, bad;
    struct peer owner = start_owner(&blob);

    for (size_t i = 0; i < blob.bytes; i++) {
        for (int bit = 0; bit < 8; bit += 3) {
            struct oriel_peer *peer = NULL;

            bad = blob;
            bad.data[i] ^= (unsigned char)(1 << bit);
            if (transport->connect(engine, &bad, &peer) == 0)
                transport->disconnect(peer);
        }
    }
    CHECK(peer_try(transport, engine, &blob, SEED, NULL) == 0,
          "damaged blobs disturb no other");
    peer_kill(&owner);
}

/* What is left of a read from an owner that fell silent: the deadline, cancel, and
 * then no byte any more. */
static void give_up(struct oriel_peer *peer, struct oriel_track *track, size_t bytes)
{
    finish(track, 1);
    if (track->pending) {
        REQUIRE(transport->cancel, "reads that do not end can be cancelled");
        transport->cancel(peer);
        CHECK(track->pending == 0, "nothing is pending after cancel");
        CHECK(track->error == -ECANCELED, "reads end as cancelled (%d)", track->error);
    }
    if (!track->error)
        CHECK(peer_wrong(buffer, bytes, 0, SEED) == 0, "what landed is right");
    memset(buffer, 0xEE, REGION);
}

/* before_ms: how long the read runs before the owner stops. */
static void a_stopped_owner_costs_the_deadline(int before_ms, size_t span_bytes)
{
    struct oriel_blob blob, other_blob;
    struct peer owner = start_owner(&blob), other = start_owner(&other_blob);
    struct oriel_peer *peer = connect_to(&blob), *another = connect_to(&other_blob);
    struct oriel_track track = {0};
    size_t begun = 0;

    check_read(peer, "before the owner stops");
    if (before_ms) begun = start_read(peer, REGION, span_bytes, &track);
    if (before_ms) finish(&track, before_ms * 1e-3);
    kill(owner.pid, SIGSTOP);
    waitpid(owner.pid, NULL, WUNTRACED);
    if (!before_ms) begun = start_read(peer, REGION, span_bytes, &track);
    give_up(peer, &track, begun);
    check_read(another, "from another owner while one is stopped");
    memset(buffer, 0xEE, REGION);
    kill(owner.pid, SIGCONT);
    progress_for(0.5);
    CHECK(untouched(REGION), "no byte lands after cancel");
    check_read(another, "from another owner, later");
    check_read(peer, "from the owner that was stopped, later");
    transport->disconnect(peer);
    transport->disconnect(another);
    peer_kill(&owner);
    peer_kill(&other);
}

static void a_killed_owner_costs_the_deadline(void)
{
    struct oriel_blob blob, other_blob;
    struct peer owner = start_owner(&blob), other = start_owner(&other_blob);
    struct oriel_peer *peer = connect_to(&blob), *another = connect_to(&other_blob);
    struct oriel_track track = {0};
    size_t begun;

    check_read(peer, "before the owner is killed");
    check_read(another, "from another owner");
    begun = start_read(peer, REGION, 64 * KIB, &track);
    peer_kill(&owner);
    give_up(peer, &track, begun);
    progress_for(0.2);
    CHECK(untouched(REGION), "no byte lands after a kill");
    check_read(another, "from another owner after a kill");
    transport->disconnect(peer);
    transport->disconnect(another);
    peer_kill(&other);
}

static void disconnect_ends_reads(void)
{
    struct oriel_blob blob;
    struct peer owner = start_owner(&blob);

    for (int i = 0; i < 4; i++) {
        struct oriel_peer *peer = connect_to(&blob), *same = connect_to(&blob);
        struct oriel_track track = {0};

        memset(buffer, 0xEE, REGION);
        start_read(peer, REGION, i % 2 ? 8 * KIB : REGION, &track);
        if (i / 2) finish(&track, 0.001);
        transport->disconnect(peer);
        CHECK(track.pending == 0, "nothing is pending after disconnect");
        CHECK(track.error == 0 || track.error == -ECANCELED, "reads end as cancelled");
        memset(buffer, 0xEE, REGION);
        progress_for(0.1);
        CHECK(untouched(REGION), "no byte lands after disconnect");
        check_read(same, "by the other connection");
        transport->disconnect(same);
    }
    peer_kill(&owner);
}

/* In a fork child: 0, or the number of what is wrong. */
static int misuse(struct oriel_peer *peer, struct oriel_region *own,
                  const struct oriel_blob *blob)
{
    struct oriel_region *region;
    struct oriel_peer *made;
    struct oriel_blob out;
    char byte;
    struct oriel_span span = {0, &byte, 1};
    struct oriel_track track = {0};

    alarm(30);
    if (transport->get(peer, &span, 1, &track) != -EOWNERDEAD) return 1;
    if (transport->connect(engine, blob, &made) != -EOWNERDEAD) return 2;
    if (transport->expose(engine, &byte, 1, &region, &out) != -EOWNERDEAD) return 3;
    if (transport->progress && transport->progress(engine) != -EOWNERDEAD) return 4;
    if (transport->serve && transport->serve(engine) != -EOWNERDEAD) return 5;
    if (transport->cancel) transport->cancel(peer);
    transport->disconnect(peer);
    transport->withdraw(own);
    transport->close(engine);
    return 0;
}

static void a_fork_child_disturbs_nothing(void)
{
    static char exposed[100];
    struct oriel_blob blob, own_blob;
    struct peer owner = start_owner(&blob);
    struct oriel_peer *peer = connect_to(&blob);
    struct oriel_region *own;
    int status = 0;
    pid_t pid;

    REQUIRE(transport->expose(engine, exposed, sizeof exposed, &own, &own_blob) == 0,
            "this process exposes, too");
    check_read(peer, "before a fork");
    fflush(NULL);
    pid = fork();
    if (pid == 0) _exit(misuse(peer, own, &blob));
    waitpid(pid, &status, 0);
    CHECK(status == 0, "the child finds fault %d", status >> 8);
    check_read(peer, "after the child ended");
    transport->withdraw(own);
    transport->disconnect(peer);
    peer_kill(&owner);
}

static void an_idle_owner_closes_soon(void)
{
    struct oriel_blob blob;
    struct peer owner = start_owner(&blob);
    struct peer_order close_it = {.what = PEER_CLOSE};
    double start;

    CHECK(peer_try(transport, engine, &blob, SEED, NULL) == 0, "it is read");
    peer_tell(&owner, PEER_WITHDRAW, 0, 0);
    usleep(100000); /* its service thread sleeps by now */
    start = peer_now();
    peer_ask(&owner, &close_it, NULL);
    printf("idle owner closed after %.1f ms\n", (peer_now() - start) * 1e3);
    CHECK(peer_now() - start < CONTRACT_CLOSE_S, "an idle owner closes without a wait");
    peer_kill(&owner);
}

void contract_faults(const struct oriel_transport *of, struct oriel_engine *opened)
{
    transport = of;
    engine = opened;
    buffer = malloc(REGION);
    REQUIRE(buffer, "memory");
    many_reads_at_once(4096, 64);
    many_reads_at_once(7, MIB + 1);
    a_wrong_key_is_an_error();
    memory_taken_back_is_not_read();
    change_blob_bytes();
    a_stopped_owner_costs_the_deadline(0, 64 * KIB);
    a_stopped_owner_costs_the_deadline(1, REGION);
    a_killed_owner_costs_the_deadline();
    disconnect_ends_reads();
    a_fork_child_disturbs_nothing();
    an_idle_owner_closes_soon();
    free(buffer);
}
