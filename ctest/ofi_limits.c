/*
 * ofi_limits.c - what providers may ask for or refuse, played by ofi_shim.c: short
 * messages, no more registrations, registered local memory, raw keys.
 */
#define _GNU_SOURCE

#include "peer.h"

enum { KIB = 1 << 10, MIB = 1 << 20, REGION = 12 * MIB };

static const struct oriel_transport *transport;
static struct oriel_engine *engine;

static void open_engine(void)
{
    const char *why = "no reason given";

    transport = oriel_engine_find("ofi");
    if (transport->open(oriel_config_get(), &engine, &why) != 0) check_skip(why);
}

static void check_read(struct oriel_peer *peer, uint64_t offset, size_t bytes)
{
    unsigned char *buffer = malloc(bytes + 1);
    struct oriel_span span = {offset, buffer + 1, bytes};
    int error;

    REQUIRE(buffer, "memory");
    error = peer_read(transport, engine, peer, &span, 1);
    CHECK(error == 0 && peer_wrong(buffer + 1, bytes, offset, 5) == 0,
          "%zu bytes at %llu are right (error %d)", bytes, (unsigned long long)offset,
          error);
    free(buffer);
}

/* Reads of all sizes, one at a time and many at once. */
static void read_all_ways(void)
{
    enum { MANY = 2000, SMALL = 700 };
    static unsigned char small[MANY][SMALL];
    static struct oriel_span spans[MANY];
    struct peer owner;
    struct oriel_peer *peer;
    struct oriel_blob blob;
    size_t wrong = 0;
    int error;

    open_engine();
    owner = peer_start("ofi", NULL);
    REQUIRE(peer_expose(&owner, 0, PEER_MALLOC, REGION, 3, 5, &blob) == 0, "exposed");
    REQUIRE(transport->connect(engine, &blob, &peer) == 0, "connected");
    check_read(peer, 0, 8);
    check_read(peer, 4093, 4097);
    check_read(peer, 12345, 64 * KIB + 1);
    check_read(peer, 777, 10 * MIB);
    for (size_t i = 0; i < MANY; i++)
        spans[i] = (struct oriel_span){i * 5003 % (REGION - SMALL), small[i], SMALL};
    error = peer_read(transport, engine, peer, spans, MANY);
    for (size_t i = 0; i < MANY; i++)
        wrong += peer_wrong(small[i], SMALL, spans[i].offset, 5);
    CHECK(error == 0 && wrong == 0, "%d reads at once (error %d, %zu wrong)", MANY,
          error, wrong);
    check_read(peer, 1, 3 * MIB);
    transport->disconnect(peer);
    transport->close(engine);
    peer_kill(&owner);
}

static void messages_are_short(void)
{
    setenv("SHIM_MAX", "4096", 1);
    read_all_ways();
}

static void chunks_are_short(void)
{
    setenv("SHIM_REFUSE_ABOVE", "4096", 1);
    setenv("ORIEL_CHUNK", "4K", 1);
    read_all_ways();
}

static void a_refused_read_is_an_error(void)
{
    unsigned char buffer[8192];
    struct oriel_span span = {0, buffer, sizeof buffer};
    struct peer owner;
    struct oriel_peer *peer;
    struct oriel_blob blob;

    setenv("SHIM_REFUSE_ABOVE", "4096", 1);
    open_engine();
    owner = peer_start("ofi", NULL);
    REQUIRE(peer_expose(&owner, 0, PEER_MALLOC, REGION, 3, 5, &blob) == 0, "exposed");
    REQUIRE(transport->connect(engine, &blob, &peer) == 0, "connected");
    CHECK(peer_read_for(transport, engine, peer, &span, 1, 5) == -EIO, "it is named");
    check_read(peer, 0, 4096);
    transport->disconnect(peer);
    peer_kill(&owner);
}

static void local_memory_is_registered(void)
{
    setenv("SHIM_LOCAL", "1", 1);
    read_all_ways();
}

static void local_memory_is_left_alone(void)
{
    setenv("SHIM_REMOTE_ONLY", "1", 1);
    read_all_ways();
}

static void keys_are_raw(void)
{
    setenv("SHIM_RAW", "1", 1);
    read_all_ways();
}

/* Expose until it is refused; returns what was printed. */
static void expose_too_often(const char *error, int expected, char *text, size_t bytes)
{
    enum { GIVEN = 3, TRIED = 7 };
    static char memory[TRIED][5000];
    struct oriel_region *regions[TRIED];
    FILE *file = tmpfile();
    int before = dup(2);
    size_t n;

    setenv("SHIM_REGISTRATIONS", "3", 1);
    setenv("SHIM_ERROR", error, 1);
    open_engine();
    REQUIRE(file && before >= 0, "a file");
    dup2(fileno(file), 2);
    for (int i = 0; i < TRIED; i++) {
        struct oriel_blob blob;
        int result =
            transport->expose(engine, memory[i], sizeof memory[i], &regions[i], &blob);

        CHECK(result == (i < GIVEN ? 0 : expected), "expose %d says %d", i, result);
    }
    fflush(stderr);
    dup2(before, 2);
    rewind(file);
    n = fread(text, 1, bytes - 1, file);
    text[n] = '\0';
    for (int i = 0; i < GIVEN; i++)
        transport->withdraw(regions[i]);
    transport->close(engine);
}

static int lines(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void no_memory_is_explained(void)
{
    char text[2000];

    expose_too_often("12", -ENOMEM, text, sizeof text);
    CHECK(lines(text) == 1, "one line: %s", text);
    CHECK(strstr(text, "5000 bytes") && strstr(text, "Cannot allocate"), "%s", text);
    CHECK(strstr(text, "ulimit -l"), "with the cure: %s", text);
}

static void no_space_is_named(void)
{
    char text[2000];

    expose_too_often("28", -EIO, text, sizeof text);
    CHECK(lines(text) == 1, "one line: %s", text);
    CHECK(strstr(text, "No space") && !strstr(text, "ulimit"), "%s", text);
}

int main(int argc, char **argv)
{
    static const struct peer_case cases[] = {
        {"messages are short", messages_are_short},
        {"chunks are short", chunks_are_short},
        {"a refused read is an error", a_refused_read_is_an_error},
        {"local memory is registered", local_memory_is_registered},
        {"local memory is left alone", local_memory_is_left_alone},
        {"keys are raw", keys_are_raw},
        {"no memory is explained", no_memory_is_explained},
        {"no space is named", no_space_is_named},
    };

    (void)argc;
    if (peer_is_owner(argv)) return peer_own(argv);
    return peer_cases(argv, cases, sizeof cases / sizeof *cases);
}
