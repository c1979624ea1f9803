/*
 * DESIGN, mapped memory: what MPI_Alloc_mem and MPI_Win_allocate give. Windows on any
 * part of it, freed in any order, also before the window; ranges that are used again;
 * no descriptor a window, nothing in /dev/shm, no page touched before the program
 * does, and pages given back.
 */
#include "mpi_test.h"

#include <dirent.h>
#include <sys/stat.h>

static const char keys[] = "oriel_offload=true";
static int target;

static MPI_Win create(void *base, size_t bytes)
{
    MPI_Win win;
    MPI_Info info = info_from(keys);
    MPI_Win_create(base, (MPI_Aint)bytes, 1, info, MPI_COMM_WORLD, &win);
    info_free(&info);
    return win;
}

static unsigned char *allocate(size_t bytes)
{
    void *base;
    MPI_Info info = info_from(keys);
    MPI_Alloc_mem((MPI_Aint)bytes, info, &base);
    info_free(&info);
    return base;
}

static bool reads(MPI_Win win, unsigned seed, size_t from, size_t bytes)
{
    unsigned char *got = malloc(bytes);
    memset(got, 0, bytes);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(got, (int)bytes, MPI_BYTE, target, 0, (int)bytes, MPI_BYTE, win);
    MPI_Win_unlock(target, win);
    bool right = pattern_is(got, seed + (unsigned)target, from, bytes);
    free(got);
    return right;
}

/* Windows on parts of one allocation, some overlapping, some at its very end. */
static void parts(void)
{
    enum { BYTES = 3 * 4096 + 100, N = 5 };
    static const size_t from[N] = {0, 64, 4096, 4000, 4096 * 3};
    static const size_t bytes[N] = {BYTES, 512, 4096, 5000, 100};
    unsigned char *base = allocate(BYTES);
    MPI_Win wins[N];
    CHECK(!test.layer || (uintptr_t)base % 64 == 0,
          "memory is aligned to 64 bytes or better");
    pattern_fill(base, (unsigned)test.rank, 0, BYTES);
    for (int i = 0; i < N; i++)
        wins[i] = create(base + from[i], bytes[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        bool right = reads(wins[i], 0, from[i], bytes[i]);
        /* MPICH 4.0.2 is wrong for bases that are not 16-byte aligned. */
        CHECK(right || (!test.layer && !test.openmpi),
              "a window on part %d is read right", i);
        COUNTED(wins[i], "mapped", 1, "a window on part %d is mapped", i);
    }
    for (int i = 0; i < N; i++)
        MPI_Win_free(&wins[i]);
    MPI_Free_mem(base);
}

/* A window half in memory of MPI_Alloc_mem's, half behind it, cannot be had; but one
 * on memory between two allocations of one's own can: it is read by the other path. */
static void beside(void)
{
    enum { BYTES = 4096 };
    unsigned char *first = allocate(BYTES), *own = NULL, *second = allocate(BYTES);
    NEED(posix_memalign((void **)&own, 4096, BYTES) == 0, "memory");
    pattern_fill(own, (unsigned)test.rank, 0, BYTES);
    MPI_Win win = create(own, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(reads(win, 0, 0, BYTES), "the program's own memory is read right");
    COUNTED(win, "cma", 1, "and by a copy");
    MPI_Win_free(&win);
    free(own);
    MPI_Free_mem(first);
    MPI_Free_mem(second);
}

/* The memory is freed while a window exposes it: readers still see it, and nobody
 * else gets it before the window goes. Natively this is an error of the program's. */
static void freed_before_the_window(void)
{
    enum { BYTES = 1 << 20 };
    unsigned char *base = allocate(BYTES);
    pattern_fill(base, (unsigned)test.rank, 0, BYTES);
    MPI_Win win = create(base, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(reads(win, 0, 0, BYTES), "the window is read before");
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Free_mem(base) == MPI_SUCCESS, "MPI_Free_mem succeeds under a window");
    unsigned char *other = allocate(BYTES);
    CHECK(other != base, "the range is not given out again");
    memset(other, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(reads(win, 0, 0, BYTES), "the window is read after MPI_Free_mem");
    COUNTED(win, "mapped", 2, "by the same path");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Free_mem(other);
}

/* Ranges are used again, with other sizes, while peers keep segments mapped. */
static void used_again(void)
{
    for (unsigned round = 0; round < 40; round++) {
        size_t bytes = 1000 + round * 7777 % 200000;
        if (!test.layer) bytes &= ~(size_t)63; /* MPICH 4.0.2 is wrong with less */
        enum kind kind = round % 2 ? KIND_ALLOC_MEM : KIND_ALLOCATE;
        struct test_window w = window_open(MPI_COMM_WORLD, kind, bytes, 1, keys);
        pattern_fill(w.base, 100 * round + (unsigned)test.rank, 0, bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(reads(w.win, 100 * round, 0, bytes), "memory used again is read right");
        MPI_Barrier(MPI_COMM_WORLD);
        window_close(&w);
    }
}

/* Memory without a window, and of no bytes. */
static void without_window(void)
{
    void *none = NULL, *some[20];
    MPI_Info info = info_from(keys);
    CHECK(MPI_Alloc_mem(0, info, &none) == MPI_SUCCESS, "no bytes are no error");
    for (size_t i = 0; i < 20; i++) {
        MPI_Alloc_mem((MPI_Aint)(i * 1000 + 1), info, &some[i]);
        memset(some[i], (int)i, i * 1000 + 1);
    }
    for (size_t i = 0; i < 20; i++) {
        CHECK(all_bytes(some[i], (unsigned char)i, i * 1000 + 1),
              "allocations do not overlap");
        MPI_Free_mem(some[i]);
    }
    if (none) MPI_Free_mem(none);
    info_free(&info);
}

/* Open descriptors, and the bytes of the memory files behind them. */
static int descriptors(uint64_t *memory_out)
{
    int count = 0;
    char path[512], link[64];
    struct stat st;
    DIR *dir = opendir("/proc/self/fd");
    *memory_out = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir)); count++) {
        snprintf(path, sizeof path, "/proc/self/fd/%.200s", entry->d_name);
        ssize_t n = readlink(path, link, sizeof link - 1);
        if (n <= 0) continue;
        link[n] = '\0';
        if (strstr(link, "memfd:") && stat(path, &st) == 0)
            *memory_out += (uint64_t)st.st_blocks * 512;
    }
    if (dir) closedir(dir);
    return count;
}

/* Mapped files of ours in /dev/shm; memory files have no name there. */
static int named_in_dev_shm(void)
{
    int count = 0;
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, "/dev/shm/") && strcasestr(line, "oriel");
    if (maps) fclose(maps);
    return count;
}

static void many_windows(void)
{
    enum { N = 200 };
    static struct test_window w[N];
    uint64_t memory;
    int before = descriptors(&memory);
    for (unsigned i = 0; i < N; i++) {
        w[i] = window_open(MPI_COMM_WORLD, KIND_ALLOC_MEM, 100 + i, 1, keys);
        pattern_fill(w[i].base, i + (unsigned)test.rank, 0, 100 + i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned i = 0; i < N; i++)
        CHECK(reads(w[i].win, i, 0, 100 + i), "window %u of many is read right", i);
    int after = descriptors(&memory);
    CHECK(!test.layer || after - before < 20,
          "%d windows take no descriptor each: %d before, %d after", N, before, after);
    CHECK(named_in_dev_shm() == 0, "nothing of ours is in /dev/shm");
    for (int i = 0; i < N; i++) {
        COUNTED(w[i].win, "mapped", 1, "each of many windows is mapped");
        window_close(&w[i]);
    }
}

/* Only pages that were touched take memory, and free gives them back although the
 * peers have had them mapped. */
static void pages(void)
{
    enum { MIB = 1 << 20 };
    const size_t bytes = 512u * MIB, touched = 32u * MIB;
    uint64_t memory, start;
    descriptors(&start);
    unsigned char *base = allocate(bytes);
    MPI_Win win = create(base, bytes);
    descriptors(&memory);
    CHECK(memory < start + 8u * MIB, "memory is not touched before the program does");
    pattern_fill(base, (unsigned)test.rank, 0, touched);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(reads(win, 0, 0, touched), "touched pages are read right");
    COUNTED(win, "mapped", 1, "and mapped");
    descriptors(&memory);
    CHECK(!test.layer || (memory >= start + touched && memory < start + 3 * touched),
          "pages that were touched take memory");
    MPI_Win_free(&win);
    MPI_Free_mem(base);
    descriptors(&memory);
    CHECK(memory < start + 8u * MIB, "free gives the pages back (%llu left)",
          (unsigned long long)memory);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(void)
{
    test_start(2);
    target = (test.rank + 1) % test.ranks;
    without_window();
    parts();
    beside();
    if (test.layer) freed_before_the_window();
    used_again();
    many_windows();
    pages();
    return test_end();
}
