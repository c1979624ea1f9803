/*
 * ucx_withdraw.c - memory is taken back and unmapped while others read it.
 *
 * UCX's software transports read for a peer whatever address it names: an owner that
 * did not end its readers first would crash, or give them other memory's bytes.
 */
#define _GNU_SOURCE

#include "peer.h"

enum { BYTES = 4 << 20, ROUNDS = 40 };

static const struct oriel_transport *transport;
static struct oriel_engine *engine;
static unsigned char buffer[BYTES];

static int answer_of(const struct peer *owner)
{
    struct peer_answer answer = {.error = -1};

    REQUIRE(read(owner->socket, &answer, sizeof answer) == sizeof answer,
            "the owner is alive");
    return answer.error;
}

/* Read on until the region is gone; what comes before is right. */
static void read_to_the_end(const struct peer *owner, struct oriel_peer *peer,
                            int round, unsigned seed)
{
    struct peer_order order = {.what = PEER_WITHDRAW, .slot = 0};
    struct oriel_span span = {0, buffer, round % 2 ? BYTES : 3000};
    double deadline = peer_now() + 20;
    int error = 0;

    for (int i = 0; !error && peer_now() < deadline; i++) {
        if (i == round) peer_send(owner, &order);
        error = peer_read(transport, engine, peer, &span, 1);
        if (error) break;
        CHECK(peer_wrong(buffer, span.bytes, 0, seed) == 0, "round %d: right", round);
    }
    CHECK(error < 0, "round %d: memory that was taken back is not read", round);
    CHECK(answer_of(owner) == 0, "round %d: it was taken back", round);
}

/* A reader that does not look learns of it at its next read. */
static void a_reader_that_is_busy(const struct peer *owner)
{
    struct oriel_span span = {0, buffer, 100};
    struct oriel_blob first, second;
    struct oriel_peer *gone = NULL, *stays = NULL;
    double start;

    REQUIRE(peer_expose(owner, 0, PEER_MALLOC, BYTES, 0, 3, &first) == 0, "exposed");
    REQUIRE(peer_expose(owner, 1, PEER_MALLOC, BYTES, 0, 4, &second) == 0, "exposed");
    REQUIRE(transport->connect(engine, &first, &gone) == 0, "connected");
    REQUIRE(transport->connect(engine, &second, &stays) == 0, "connected");
    CHECK(peer_read(transport, engine, gone, &span, 1) == 0, "it is read");
    CHECK(peer_read(transport, engine, stays, &span, 1) == 0, "and the other");
    start = peer_now();
    peer_tell(owner, PEER_WITHDRAW, 0, 0);
    CHECK(peer_now() - start < 10, "an owner does not wait for a busy reader");
    memset(buffer, 0xEE, sizeof buffer);
    CHECK(peer_read(transport, engine, gone, &span, 1) < 0, "the region is gone");
    CHECK(buffer[0] == 0xEE && buffer[99] == 0xEE, "no byte of it came");
    CHECK(peer_read(transport, engine, stays, &span, 1) == 0 &&
              peer_wrong(buffer, 100, 0, 4) == 0,
          "the owner's other region is read as before");
    transport->disconnect(gone);
    transport->disconnect(stays);
    peer_tell(owner, PEER_WITHDRAW, 1, 0);
}

int main(int argc, char **argv)
{
    const char *why = "";
    struct peer owner;

    (void)argc;
    if (peer_is_owner(argv)) return peer_own(argv);
    transport = oriel_engine_find("ucx");
    REQUIRE(transport, "the engine is built");
    if (transport->open(oriel_config_get(), &engine, &why) != 0) check_skip(why);
    alarm(200);
    owner = peer_start("ucx", NULL);
    for (int round = 0; round < ROUNDS; round++) {
        struct oriel_peer *peer = NULL;
        struct oriel_blob blob;
        unsigned seed = 10 + (unsigned)round;

        REQUIRE(peer_expose(&owner, 0, PEER_MALLOC, BYTES, 0, seed, &blob) == 0,
                "it is exposed");
        REQUIRE(transport->connect(engine, &blob, &peer) == 0, "it is reached");
        read_to_the_end(&owner, peer, round, seed);
        transport->disconnect(peer);
    }
    for (int i = 0; i < 3; i++)
        a_reader_that_is_busy(&owner);
    peer_kill(&owner);
    transport->close(engine);
    return check_done();
}
