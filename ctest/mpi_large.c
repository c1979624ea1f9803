/*
 * Field case A10: windows and reads of more than 2 GiB. A window of 3 GiB and one of
 * 20 GiB of reserved address space, of which only some pages exist; reads at the
 * start, the middle, the end and across 2 and 4 GiB; then one read of 3 GiB by a
 * contiguous type of 3 elements, and one by a vector.
 */
#include "mpi_test.h"

#include <sys/sysinfo.h>

static const size_t gib = (size_t)1 << 30;
enum { PROBE = 4096 };

/* Places that are filled and read. */
static size_t places(size_t bytes, size_t out[8])
{
    const size_t all[] = {
        0,           bytes / 2,           bytes - PROBE,  2 * gib - PROBE / 2,
        2 * gib + 8, 4 * gib - PROBE / 2, 4 * gib + 12345};
    size_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] + PROBE <= bytes) out[n++] = all[i];
    return n;
}

static MPI_Win make(size_t bytes, int unit, bool arena, void **base)
{
    MPI_Win win;
    MPI_Info info = info_from("oriel_offload=true");
    if (arena)
        MPI_Alloc_mem((MPI_Aint)bytes, info, base);
    else
        *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    NEED(*base && *base != MAP_FAILED, "%zu bytes of address space", bytes);
    MPI_Win_create(*base, (MPI_Aint)bytes, unit, info, MPI_COMM_WORLD, &win);
    info_free(&info);
    return win;
}

static void drop(MPI_Win *win, void *base, size_t bytes, bool arena)
{
    MPI_Win_free(win);
    if (arena)
        MPI_Free_mem(base);
    else
        munmap(base, bytes);
}

static void probes(size_t bytes, int unit, bool arena)
{
    void *base;
    MPI_Win win = make(bytes, unit, arena, &base);
    size_t at[8], n = places(bytes, at);
    int target = (test.rank + 1) % test.ranks;
    unsigned char got[PROBE];
    for (size_t i = 0; i < n; i++)
        pattern_fill((char *)base + at[i] / (size_t)unit * (size_t)unit,
                     10 * (unsigned)i + (unsigned)test.rank, 0, PROBE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < n; i++) {
        memset(got, 0, PROBE);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Get(got, PROBE, MPI_BYTE, target, (MPI_Aint)(at[i] / (size_t)unit), PROBE,
                MPI_BYTE, win);
        MPI_Win_unlock(target, win);
        /* Later probes may overlap earlier ones; the last one is whole. */
        bool whole = true;
        for (size_t k = i + 1; k < n; k++)
            whole &= at[k] >= at[i] + PROBE || at[k] + PROBE <= at[i];
        if (whole)
            CHECK(pattern_is(got, 10 * (unsigned)i + (unsigned)target, 0, PROBE),
                  "a read at %zu of %zu bytes is right (unit %d)", at[i], bytes, unit);
    }
    COUNTED(win, path_of(arena), n, "reads of a large window are redirected");
    MPI_Barrier(MPI_COMM_WORLD);
    drop(&win, base, bytes, arena);
}

/* The target's zero pages cost nothing, but the reader's buffer is written. */
static void one_read(bool arena, bool vector)
{
    const size_t bytes = 3 * gib,
                 at[] = {0, gib + 7, 2 * gib - (vector ? 0 : 2048), 3 * gib - PROBE};
    void *base;
    MPI_Datatype type;
    MPI_Win win = make(bytes, 1, arena, &base);
    for (unsigned i = 0; i < 4; i++)
        pattern_fill((char *)base + at[i], 20 + i, 0, PROBE);
    if (vector)
        MPI_Type_vector(3, 1 << 29, 1 << 30, MPI_BYTE, &type);
    else
        MPI_Type_contiguous(1 << 30, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == 0) {
        unsigned char *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        NEED(got != MAP_FAILED, "a buffer of 3 GiB");
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Get(got, vector ? 1 : 3, type, 1, 0, vector ? 1 : 3, type, win);
        MPI_Win_unlock(1, win);
        for (unsigned i = 0; i < 4; i++) {
            bool read = !vector || at[i] % gib + PROBE <= gib / 2;
            bool right = read ? pattern_is(got + at[i], 20 + i, 0, PROBE)
                              : all_bytes(got + at[i], 0, PROBE);
            CHECK(right, "byte %zu of a read of 3 GiB is right", at[i]);
        }
        COUNTED(win, "redirected", 1, "a read of 3 GiB is redirected");
        COUNTED(win, "bytes", vector ? bytes / 2 : bytes, "and counted in full");
        munmap(got, bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&type);
    drop(&win, base, bytes, arena);
}

/* Reading a hole of a mapped window would fill it, so this is for windows on memory
 * of the program's; natively it takes too long. */
static void large_reads(void)
{
    struct sysinfo memory;
    sysinfo(&memory);
    int enough = (double)memory.freeram * memory.mem_unit > 1.2 * 3 * (double)gib;
    MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!enough || !test.layer) {
        MPI_Finalize();
        check_skip(test.layer ? "needs 4 GiB of free memory" : "natively too slow");
    }
    one_read(false, false);
    one_read(false, true);
}

int main(int argc, char **argv)
{
    test_start(2);
    if (argc > 1 && strcmp(argv[1], "one") == 0) {
        large_reads();
        return test_end();
    }
    for (int arena = 0; arena < 2; arena++) {
        probes(3 * gib, 1, arena);
        probes(3 * gib, 64, arena);
        if (test.layer) probes(20 * gib, 8, arena);
    }
    return test_end();
}
