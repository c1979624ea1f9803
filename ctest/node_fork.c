/*
 * node_fork.c - a fork child may use no engine of its parent, and disturbs none of
 * its parent's reads.
 */
#define _GNU_SOURCE

#include "peer.h"

#include "core/process.h"

static struct oriel_engine *engine;

struct reading {
    struct oriel_peer *peer;
    unsigned seed;
    bool stop;
    long reads;
    int error;
};

static void *read_on(void *argument)
{
    struct reading *reading = argument;
    unsigned char buffer[3000];
    struct oriel_span span = {17, buffer, sizeof buffer};

    while (!__atomic_load_n(&reading->stop, __ATOMIC_RELAXED) && !reading->error) {
        reading->error =
            peer_read(&oriel_transport_node, engine, reading->peer, &span, 1);
        if (peer_wrong(buffer, sizeof buffer, 17, reading->seed)) reading->error = -EIO;
        reading->reads++;
    }
    return NULL;
}

/* In the child: 0, or the number of what is wrong. */
static int misuse(struct reading readings[2], const struct oriel_blob *blob,
                  struct oriel_region *own)
{
    const struct oriel_transport *node = &oriel_transport_node;
    const struct oriel_process *self;
    struct oriel_engine *another;
    struct oriel_region *region;
    struct oriel_peer *peer;
    struct oriel_blob made;
    const char *why = NULL;
    char byte;
    struct oriel_span span = {0, &byte, 1};
    struct oriel_track track = {0};

    alarm(30);
    for (int i = 0; i < 2; i++)
        if (node->get(readings[i].peer, &span, 1, &track) != -EOWNERDEAD) return 1;
    if (node->connect(engine, blob, &peer) != -EOWNERDEAD) return 2;
    if (node->expose(engine, &byte, 1, &region, &made) != -EOWNERDEAD) return 3;
    if (node->open(oriel_config_get(), &another, &why) != -EOWNERDEAD || !why) return 4;
    if (oriel_process_self(&self, &why) != -EOWNERDEAD) return 5;
    for (int i = 0; i < 2; i++)
        node->disconnect(readings[i].peer);
    node->withdraw(own);
    node->close(engine);
    return 0;
}

static void fork_and_misuse(struct reading readings[2], const struct oriel_blob *blob,
                            struct oriel_region *own)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) _exit(misuse(readings, blob, own));
    waitpid(pid, &status, 0);
    CHECK(status == 0, "the child finds fault %d", status >> 8);
}

/* Whoever is given the parent's pid one day must not be taken for it. */
static void the_child_has_no_nonce(void)
{
    const struct oriel_process *self;
    const char *why;
    int status = 0;
    pid_t pid;

    REQUIRE(oriel_process_self(&self, &why) == 0, "this process is known");
    CHECK(memcmp((void *)(uintptr_t)self->nonce_address, self->nonce,
                 ORIEL_NONCE_BYTES) == 0,
          "the nonce is where it is said to be");
    pid = fork();
    if (pid == 0)
        _exit(memcmp((void *)(uintptr_t)self->nonce_address, self->nonce,
                     ORIEL_NONCE_BYTES) != 0);
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1, "a child has it not");
}

int main(int argc, char **argv)
{
    struct reading readings[2] = {{.seed = 1}, {.seed = 2}};
    struct oriel_blob blobs[2], mine;
    struct oriel_region *own;
    pthread_t threads[2];
    const char *why = "";
    struct peer owner;
    void *memory;

    (void)argc;
    if (peer_is_owner(argv)) return peer_own(argv);
    REQUIRE(oriel_transport_node.open(oriel_config_get(), &engine, &why) == 0, "%s",
            why);
    REQUIRE(oriel_arena_alloc(4096, &memory) == 0, "memory of the arena");
    memset(memory, 6, 4096);
    REQUIRE(oriel_transport_node.expose(engine, memory, 4096, &own, &mine) == 0,
            "ours");
    owner = peer_start("node", NULL);
    for (int i = 0; i < 2; i++) {
        REQUIRE(peer_expose(&owner, i, i ? PEER_MALLOC : PEER_ARENA, 4000, 0,
                            readings[i].seed, &blobs[i]) == 0,
                "exposed");
        REQUIRE(oriel_transport_node.connect(engine, &blobs[i], &readings[i].peer) == 0,
                "connected");
        REQUIRE(pthread_create(&threads[i], NULL, read_on, &readings[i]) == 0, "run");
    }
    for (int i = 0; i < 100; i++)
        fork_and_misuse(readings, &blobs[0], own);
    the_child_has_no_nonce();
    for (int i = 0; i < 2; i++) {
        __atomic_store_n(&readings[i].stop, true, __ATOMIC_RELAXED);
        pthread_join(threads[i], NULL);
        CHECK(readings[i].error == 0 && readings[i].reads > 0,
              "the parent's reads go on (error %d after %ld)", readings[i].error,
              readings[i].reads);
        CHECK(peer_try(&oriel_transport_node, engine, &blobs[i], readings[i].seed,
                       NULL) == 0,
              "and new connections");
        oriel_transport_node.disconnect(readings[i].peer);
    }
    CHECK(oriel_arena_free(memory) == 0, "the program frees exposed memory");
    CHECK(oriel_arena_find(memory, 4096, NULL), "which lives until it is withdrawn");
    CHECK(((char *)memory)[4095] == 6, "as whole as it was before the forks");
    oriel_transport_node.withdraw(own);
    CHECK(!oriel_arena_find(memory, 1, NULL), "and not longer");
    oriel_transport_node.close(engine);
    peer_kill(&owner);
    return check_done();
}
