/*
 * leak_windows.c - windows that are created, read and freed for ever leave nothing.
 *
 *   leak_windows [rounds] [bytes, at most]
 *
 * For each kind of window: some rounds to warm up, then rounds through PMPI_*, which is
 * the native library alone and may leak by itself, then as many through MPI_*. Memory,
 * address space, mappings, descriptors and threads may not grow by more than natively,
 * and some slack that a leak of a few bytes a round would exceed.
 */
#define _GNU_SOURCE
#include "mpi_test.h"

#include "leak_usage.h"

/* More than the mappings of peers that an engine keeps for later. */
enum { WARM_UP = 400 };

static int max_bytes = 65536;
static unsigned long long served_reads, reads;

/* The calls of one round, once by MPI_*, once by PMPI_*. */
struct calls {
    __typeof__(MPI_Alloc_mem) *alloc;
    __typeof__(MPI_Free_mem) *release;
    __typeof__(MPI_Win_create) *create;
    __typeof__(MPI_Win_allocate) *allocate;
    __typeof__(MPI_Win_free) *free;
    __typeof__(MPI_Win_lock) *lock;
    __typeof__(MPI_Win_unlock) *unlock;
    __typeof__(MPI_Get) *get;
};
static const struct calls through_mpi = {
    MPI_Alloc_mem, MPI_Free_mem, MPI_Win_create, MPI_Win_allocate,
    MPI_Win_free,  MPI_Win_lock, MPI_Win_unlock, MPI_Get,
};
static const struct calls through_pmpi = {
    PMPI_Alloc_mem, PMPI_Free_mem, PMPI_Win_create, PMPI_Win_allocate,
    PMPI_Win_free,  PMPI_Win_lock, PMPI_Win_unlock, PMPI_Get,
};

static unsigned char *block_of(const struct calls *c, enum kind kind, size_t bytes)
{
    unsigned char *block = NULL;
    if (kind == KIND_CREATE)
        block = aligned_alloc(64, (bytes + 63) / 64 * 64);
    else if (kind == KIND_ALLOC_MEM)
        c->alloc((MPI_Aint)bytes, MPI_INFO_NULL, &block);
    return block;
}

static void run_round(const struct calls *c, enum kind kind, int round)
{
    /* Multiples of 64: MPICH 4.0.2 misplaces allocated windows of odd sizes. */
    size_t bytes = 64 * (1 + (size_t)round * 127 % (size_t)(max_bytes / 64));
    int target = (test.rank + 1) % test.ranks;
    unsigned char got[64] = {0}, *block = block_of(c, kind, bytes);
    MPI_Win win;
    if (kind == KIND_ALLOCATE)
        c->allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &block, &win);
    else
        c->create(block, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    memset(block, 1 + (round + test.rank) % 200, bytes);
    PMPI_Barrier(MPI_COMM_WORLD);
    c->lock(MPI_LOCK_SHARED, target, 0, win);
    c->get(got, 64, MPI_BYTE, target, 0, 64, MPI_BYTE, win);
    c->unlock(target, win);
    for (int i = 0; i < 64; i++)
        REQUIRE(got[i] == 1 + (round + target) % 200, "byte %d of round %d is right", i,
                round);
    if (c == &through_mpi) {
        struct test_window w = {.win = win, .kind = kind};
        served_reads += is_served(win) ? reads_served(&w) : 0;
        reads++;
    }
    c->free(&win);
    if (kind == KIND_CREATE)
        free(block);
    else if (kind == KIND_ALLOC_MEM)
        c->release(block);
}

static struct leak_usage growth(const struct calls *c, enum kind kind, int rounds)
{
    struct leak_usage before, after;
    for (int i = 0; i < WARM_UP; i++)
        run_round(c, kind, i);
    leak_usage_read(&before);
    for (int i = 0; i < rounds; i++)
        run_round(c, kind, i);
    leak_usage_read(&after);
    return leak_usage_minus(&after, &before);
}

static void run_kind(enum kind kind, int rounds)
{
    run_round(&through_mpi, kind, 0); /* what is set up once */
    struct leak_usage native = growth(&through_pmpi, kind, rounds);
    struct leak_usage ours = growth(&through_mpi, kind, rounds);
    if (test.rank == 0)
        for (int i = 0; i < LEAK_ITEMS; i++)
            printf("%s: %s: native %+ld, with Oriel %+ld\n", kind_names[kind],
                   leak_items[i].name, native.value[i], ours.value[i]);
    for (int i = 0; i < LEAK_ITEMS; i++) {
        long allowed =
            leak_items[i].slack + (native.value[i] > 0 ? native.value[i] : 0);
        CHECK(ours.value[i] <= allowed, "%s: %d rounds leave %s as it was (%+ld)",
              kind_names[kind], rounds, leak_items[i].name, ours.value[i]);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 10000;
    if (argc > 2) max_bytes = atoi(argv[2]);
    test_start(1);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        served_reads = reads = 0;
        run_kind((enum kind)kind, rounds);
        /* Windows that Open MPI maps itself are not even counted. */
        if (kind == KIND_ALLOCATE && test.openmpi) continue;
        CHECK(!test.layer || served_reads == reads,
              "%s: each of %llu reads was served: %llu", kind_names[kind], reads,
              served_reads);
    }
    return test_end();
}
