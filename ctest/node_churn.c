/*
 * node_churn.c - many regions, at once and one after the other, leave nothing
 * behind: no descriptor, no mapping, no memory, in either process.
 */
#define _GNU_SOURCE

#include "peer.h"

#include <dirent.h>

static const struct oriel_transport *const node = &oriel_transport_node;
static struct oriel_engine *engine;

/* Lines of /proc/<pid>/<file> that hold the word. */
static int count_lines(pid_t pid, const char *file, const char *word)
{
    char path[64], line[512];
    FILE *stream;
    int n = 0;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    stream = fopen(path, "r");
    while (stream && fgets(line, sizeof line, stream))
        n += strstr(line, word) != NULL;
    if (stream) fclose(stream);
    return n;
}

static int descriptors(pid_t pid)
{
    char path[64];
    DIR *dir;
    int n = 0;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    while (dir && readdir(dir))
        n++;
    if (dir) closedir(dir);
    return n;
}

static long resident_kib(pid_t pid)
{
    char path[64], line[256];
    FILE *stream;
    long kib = 0;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    stream = fopen(path, "r");
    while (stream && fgets(line, sizeof line, stream))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1) break;
    if (stream) fclose(stream);
    return kib;
}

struct state {
    int descriptors[2], maps[2];
    long kib[2];
};

static struct state look(const struct peer *owner)
{
    struct state now;

    for (int i = 0; i < 2; i++) {
        pid_t pid = i ? owner->pid : getpid();

        now.descriptors[i] = descriptors(pid);
        now.maps[i] = count_lines(pid, "maps", "");
        now.kib[i] = resident_kib(pid);
    }
    return now;
}

static void one_after_the_other(const struct peer *owner)
{
    enum { ROUNDS = 10000, WARM = 500, SLACK_KIB = 1024, SLACK_MAPS = 4 };
    static const char *const names[] = {"the reader", "the owner"};
    struct state before = look(owner), after;

    for (int i = 0; i < ROUNDS; i++) {
        enum peer_memory memory = i % 2 ? PEER_ARENA : PEER_MALLOC;
        size_t bytes = 100 + (size_t)i % 7 * 3000;
        struct oriel_blob blob;
        bool mapped = false;
        int result;

        if (peer_expose(owner, 0, memory, bytes, 0, (unsigned)i, &blob) != 0)
            REQUIRE(0, "round %d exposes", i);
        result = peer_try(node, engine, &blob, (unsigned)i, &mapped);
        if (result || mapped != (memory == PEER_ARENA))
            REQUIRE(0, "round %d reads (result %d, mapped %d)", i, result, mapped);
        peer_tell(owner, PEER_WITHDRAW, 0, 0);
        if (i == WARM) before = look(owner);
    }
    after = look(owner);
    for (int i = 0; i < 2; i++) {
        CHECK(after.descriptors[i] == before.descriptors[i],
              "%s has as many descriptors as before (%d, %d)", names[i],
              before.descriptors[i], after.descriptors[i]);
        CHECK(after.maps[i] <= before.maps[i] + SLACK_MAPS,
              "%s has as many mappings as before (%d, %d)", names[i], before.maps[i],
              after.maps[i]);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* they keep memory  \
                                                                   */
        CHECK(after.kib[i] < before.kib[i] + SLACK_KIB,
              "%s has not grown (%ld, %ld KiB)", names[i], before.kib[i], after.kib[i]);
#endif
    }
}

static void many_at_once(const struct peer *owner)
{
    enum { LIVE = 500 };
    static struct oriel_peer *peers[LIVE];
    int before = descriptors(getpid()), wrong = 0;

    for (int i = 0; i < LIVE; i++) {
        struct oriel_blob blob;

        REQUIRE(peer_expose(owner, i, PEER_ARENA, 300, (size_t)i % 8, (unsigned)i,
                            &blob) == 0,
                "region %d is exposed", i);
        REQUIRE(node->connect(engine, &blob, &peers[i]) == 0, "and connected");
    }
    CHECK(descriptors(getpid()) == before, "no descriptor a region");
    CHECK(count_lines(getpid(), "maps", "memfd:oriel") == 1,
          "one mapping is enough for them all");
    CHECK(count_lines(owner->pid, "maps", "memfd:oriel") == 1, "and one segment");
    for (int i = 0; i < LIVE; i++)
        wrong += peer_wrong(node->map(peers[i]), 300, 0, (unsigned)i) != 0;
    CHECK(wrong == 0, "every region has its own bytes (%d have not)", wrong);
    for (int i = 0; i < LIVE; i++) {
        node->disconnect(peers[i]);
        peer_tell(owner, PEER_WITHDRAW, i, 0);
    }
}

/* A mapping is kept for the next window, but not for a process that has ended. */
static void the_dead_are_forgotten(const struct peer *owner)
{
    struct peer mortal = peer_start("node", NULL);
    struct oriel_blob blob;

    REQUIRE(peer_expose(&mortal, 0, PEER_ARENA, 300, 0, 1, &blob) == 0, "exposed");
    CHECK(peer_try(node, engine, &blob, 1, NULL) == 0, "read");
    CHECK(count_lines(getpid(), "maps", "memfd:oriel") == 2, "two segments are kept");
    peer_kill(&mortal);
    for (int i = 0; i < 2; i++) {
        REQUIRE(peer_expose(owner, 0, PEER_ARENA, 300, 0, 2, &blob) == 0, "exposed");
        CHECK(peer_try(node, engine, &blob, 2, NULL) == 0, "read");
        peer_tell(owner, PEER_WITHDRAW, 0, 0);
    }
    CHECK(count_lines(getpid(), "maps", "memfd:oriel") == 1, "that of the dead is not");
}

int main(int argc, char **argv)
{
    const char *why = "";
    struct peer owner;

    (void)argc;
    if (peer_is_owner(argv)) return peer_own(argv);
    REQUIRE(node->open(oriel_config_get(), &engine, &why) == 0, "%s", why);
    owner = peer_start("node", NULL);
    many_at_once(&owner);
    one_after_the_other(&owner);
    the_dead_are_forgotten(&owner);
    node->close(engine);
    CHECK(count_lines(getpid(), "maps", "memfd:oriel") == 0, "none stays at the end");
    peer_kill(&owner);
    return check_done();
}
