/*
 * mpi_ucx_beside.c - the ucx engine and the MPI library's own UCX in one process.
 *
 *   mpi_ucx_beside [before]
 *
 * Linked with liboriel, without the layer: ranks exchange blobs by MPI and read each
 * other's memory through the engine while MPI messages and MPI_Get go on.
 * before: the engine is opened before MPI_Init and closed after MPI_Finalize.
 */
#include "mpi_test.h"

#include "core/config.h"
#include "core/service.h"
#include "transports/engines.h"

#include <errno.h>
#include <sched.h>

enum { BYTES = 1 << 20, MESSAGE = 64 << 10, ROUNDS = 30, SPANS = 8 };

static const struct oriel_transport *transport;
static struct oriel_engine *engine;

static unsigned char byte_at(size_t i, int rank, int kind)
{
    return (unsigned char)(i * 7 + i / 251 + (size_t)rank * 31 + (size_t)kind * 101);
}

static void fill(unsigned char *at, size_t bytes, int rank, int kind)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = byte_at(i, rank, kind);
}

static size_t wrong(const unsigned char *at, size_t bytes, size_t offset, int rank,
                    int kind)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes; i++)
        n += at[i] != byte_at(offset + i, rank, kind);
    return n;
}

static void open_engine(void)
{
    const char *why = "";

    transport = oriel_engine_find("ucx");
    NEED(transport, "the engine is built");
    if (transport->open(oriel_config_get(), &engine, &why) != 0) check_skip(why);
    NEED(oriel_service_add(transport, engine) == 0, "it is served");
}

static void close_engine(void)
{
    oriel_service_remove(engine);
    transport->close(engine);
}

/* How many files named libucp* this process has mapped. */
static int count_copies(void)
{
    char line[1024], seen[1024] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    int n = 0;

    NEED(maps, "/proc/self/maps");
    while (fgets(line, sizeof line, maps)) {
        const char *path = strchr(line, '/');

        if (!path || !strstr(path, "/libucp") || strcmp(path, seen) == 0) continue;
        snprintf(seen, sizeof seen, "%s", path);
        n++;
    }
    fclose(maps);
    return n;
}

/* Read until all has landed; at most 20 s. */
static int finish(struct oriel_peer *peer, const struct oriel_span *spans, size_t n,
                  struct oriel_track *track)
{
    double deadline = MPI_Wtime() + 20;

    while (n || track->pending) {
        ssize_t taken = n ? transport->get(peer, spans, n, track) : 0;

        if (taken < 0 && taken != -EAGAIN) return (int)taken;
        if (taken > 0) {
            spans += taken;
            n -= (size_t)taken;
        }
        transport->progress(engine);
        sched_yield(); /* to the service threads, where cores are few */
        if (MPI_Wtime() < deadline) continue;
        transport->cancel(peer);
        return -ETIMEDOUT;
    }
    return track->error;
}

struct traffic {
    unsigned char sent[MESSAGE], received[MESSAGE], got[MESSAGE];
    MPI_Request requests[2];
    MPI_Win win;
};

/* One round: messages and an MPI_Get are under way while the engine reads. */
static void mix(struct traffic *t, struct oriel_peer *peer, int other, int round)
{
    static unsigned char buffer[SPANS][BYTES / SPANS];
    struct oriel_span spans[SPANS];
    struct oriel_track track = {0};
    int error;

    fill(t->sent, MESSAGE, test.rank, round);
    MPI_Irecv(t->received, MESSAGE, MPI_BYTE, other, round, MPI_COMM_WORLD,
              &t->requests[0]);
    MPI_Isend(t->sent, MESSAGE, MPI_BYTE, other, round, MPI_COMM_WORLD,
              &t->requests[1]);
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, t->win);
    MPI_Get(t->got, MESSAGE, MPI_BYTE, other, 0, MESSAGE, MPI_BYTE, t->win);
    memset(buffer, 0, sizeof buffer);
    for (int i = 0; i < SPANS; i++) {
        size_t bytes = round % 2 ? sizeof buffer[i] : (size_t)(8 << i);

        spans[i] = (struct oriel_span){sizeof buffer[i] * (size_t)i, buffer[i], bytes};
    }
    error = finish(peer, spans, SPANS, &track);
    CHECK(error == 0, "round %d: the engine reads (error %d)", round, error);
    MPI_Win_unlock(other, t->win);
    MPI_Wait(&t->requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&t->requests[1], MPI_STATUS_IGNORE);
    for (int i = 0; i < SPANS; i++)
        CHECK(!wrong(buffer[i], spans[i].bytes, spans[i].offset, other, 0),
              "round %d: span %d is right", round, i);
    CHECK(!wrong(t->received, MESSAGE, 0, other, round), "the message is right");
    CHECK(!wrong(t->got, MESSAGE, 0, other, 1), "MPI_Get is right");
}

static void run(void)
{
    static struct traffic traffic;
    unsigned char *memory = malloc(BYTES), *window = malloc(MESSAGE);
    int other = 1 - test.rank;
    struct oriel_region *region = NULL;
    struct oriel_blob blob, blobs[2];
    struct oriel_peer *peer = NULL;

    NEED(memory && window, "memory");
    memset(&blob, 0, sizeof blob);
    fill(memory, BYTES, test.rank, 0);
    fill(window, MESSAGE, test.rank, 1);
    NEED(transport->expose(engine, memory, BYTES, &region, &blob) == 0, "exposed");
    MPI_Allgather(&blob, sizeof blob, MPI_BYTE, blobs, sizeof blob, MPI_BYTE,
                  MPI_COMM_WORLD);
    MPI_Win_create(window, MESSAGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &traffic.win);
    NEED(transport->connect(engine, &blobs[other], &peer) == 0, "connected");
    for (int round = 0; round < ROUNDS; round++)
        mix(&traffic, peer, other, round);
    CHECK(count_copies() == 1, "one libucp in the process (%d)", count_copies());
    transport->disconnect(peer);
    MPI_Win_free(&traffic.win);
    transport->withdraw(region);
    free(memory);
    free(window);
}

int main(int argc, char **argv)
{
    bool before = argc > 1 && strcmp(argv[1], "before") == 0;

    alarm(50);
    if (before) open_engine();
    test_start(2);
    if (!before) open_engine();
    run();
    if (!before) close_engine();
    MPI_Finalize();
    if (before) close_engine();
    return check_done();
}
