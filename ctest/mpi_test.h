/*
 * mpi_test.h - what the MPI tests share: windows of each kind, byte patterns, and
 * checks of the layer's counters.
 *
 * The programs know nothing of Oriel but info keys and, where the layer is loaded,
 * the symbol oriel_mpi_counter. Without the layer only bytes are checked and the
 * program says "native run". Bytes are compared with patterns, never with what the
 * native library returned.
 */
#ifndef ORIEL_CTEST_MPI_TEST_H
#define ORIEL_CTEST_MPI_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "check.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* As CHECK, for what the rest of the test cannot do without: ends the job. */
#define NEED(condition, ...)                                                           \
    do {                                                                               \
        if (!(condition)) {                                                            \
            CHECK(condition, __VA_ARGS__);                                             \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

typedef int test_counter_function(MPI_Win win, const char *name, uint64_t *out);

static struct {
    int rank, ranks;
    bool layer;   /* reads may be redirected, counters can be asked */
    bool openmpi; /* else MPICH */
    test_counter_function *counter;
} test;

/* A preload that did not take would turn every test into one of the MPI library. */
static inline void test_find_layer(void)
{
    const char *preload = getenv("LD_PRELOAD");
    void *symbol = dlsym(RTLD_DEFAULT, "oriel_mpi_counter");
    memcpy(&test.counter, &symbol, sizeof symbol);
    test.layer = test.counter != NULL;
#if defined(OPEN_MPI)
    test.openmpi = true;
#endif
    NEED(test.layer || !preload || !strstr(preload, "liboriel"),
         "the layer that LD_PRELOAD names is loaded");
    if (!test.layer && test.rank == 0) printf("native run: counters are not checked\n");
}

/* Start MPI; a test that needs more ranks than it got is skipped. */
static inline void test_start_threads(int least_ranks, int wanted)
{
    int provided = 0;
    MPI_Init_thread(NULL, NULL, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test.ranks);
    test_find_layer();
    if (provided < wanted || test.ranks < least_ranks) {
        MPI_Finalize();
        check_skip(provided < wanted ? "this MPI has no such thread level"
                                     : "needs more ranks");
    }
}

static inline void test_start(int least_ranks)
{
    test_start_threads(least_ranks, MPI_THREAD_SINGLE);
}

/* End MPI and give the exit code: a failure of one rank is one of all. */
static inline int test_end(void)
{
    int all = 0;
    MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    /* MPICH 4.0.2 over UCX's tcp, with more ranks than cores, hangs in a finalize that
     * comes right after a collective call, natively. */
    if (getenv("ORIEL_TEST_NODE")) usleep(300000);
    MPI_Finalize();
    int mine = test.rank == 0 ? check_done() : check_failures != 0;
    return mine || all;
}

/* --- bytes --------------------------------------------------------------------- */

/* Byte i of the pattern of that seed: no two seeds share a run of bytes. */
static inline unsigned char pattern(unsigned seed, size_t i)
{
    uint64_t x = ((uint64_t)i + 1) * UINT64_C(0x9E3779B97F4A7C15) ^
                 ((uint64_t)seed + 1) * UINT64_C(0xC2B2AE3D27D4EB4F);
    x ^= x >> 29;
    return (unsigned char)(x * UINT64_C(0xBF58476D1CE4E5B9) >> 56);
}

/* Bytes [from, from + bytes) of the pattern. */
static inline void pattern_fill(void *out, unsigned seed, size_t from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)out)[i] = pattern(seed, from + i);
}

static inline bool pattern_is(const void *got, unsigned seed, size_t from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (((const unsigned char *)got)[i] != pattern(seed, from + i)) return false;
    return true;
}

/* True when all the bytes have that value. */
static inline bool all_bytes(const void *got, unsigned char value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (((const unsigned char *)got)[i] != value) return false;
    return true;
}

/* --- windows ------------------------------------------------------------------- */

enum kind {
    KIND_CREATE,    /* MPI_Win_create on the program's own memory: read by cma */
    KIND_ALLOC_MEM, /* MPI_Alloc_mem, MPI_Win_create: mapped */
    KIND_ALLOCATE,  /* MPI_Win_allocate: mapped, or left to a library that maps it */
    KIND_COUNT
};
static const char *const kind_names[KIND_COUNT] = {"create", "alloc_mem", "allocate"};

struct test_window {
    MPI_Win win;
    unsigned char *base;
    size_t bytes;
    enum kind kind;
};

/* An info object from "key=value,key=value"; NULL gives MPI_INFO_NULL. */
static inline MPI_Info info_from(const char *text)
{
    MPI_Info info = MPI_INFO_NULL;
    char copy[256];
    if (!text) return info;
    MPI_Info_create(&info);
    snprintf(copy, sizeof copy, "%s", text);
    for (char *at = strtok(copy, ","); at; at = strtok(NULL, ",")) {
        char *value = strchr(at, '=');
        *value = '\0';
        MPI_Info_set(info, at, value + 1);
    }
    return info;
}

static inline void info_free(MPI_Info *info)
{
    if (*info != MPI_INFO_NULL) MPI_Info_free(info);
}

/* Collective. Memory that is 64-byte aligned: MPICH 4.0.2 is wrong with less. */
static inline struct test_window window_open(MPI_Comm comm, enum kind kind,
                                             size_t bytes, int unit, const char *keys)
{
    struct test_window w = {.bytes = bytes, .kind = kind};
    MPI_Info info = info_from(keys);
    void *base = NULL;
    if (kind == KIND_ALLOCATE) {
        MPI_Win_allocate((MPI_Aint)bytes, unit, info, comm, &base, &w.win);
    } else {
        if (kind == KIND_ALLOC_MEM)
            MPI_Alloc_mem((MPI_Aint)bytes, info, &base);
        else
            NEED(posix_memalign(&base, 64, bytes ? bytes : 1) == 0, "memory");
        MPI_Win_create(base, (MPI_Aint)bytes, unit, info, comm, &w.win);
    }
    info_free(&info);
    w.base = base;
    return w;
}

/* What reads of another rank are counted as: by the node engine, or by the fabric that
 * ORIEL_ENGINES names. */
static inline const char *path_of(bool arena)
{
    const char *engines = getenv("ORIEL_ENGINES");
    if (engines && (strcmp(engines, "ofi") == 0 || strcmp(engines, "ucx") == 0))
        return engines;
    return arena ? "mapped" : "cma";
}

/* Collective in the world, for a communicator that is one of `parts` disjoint ones:
 * Open MPI 4.1.4 confuses windows of one node that are being made at once, natively. */
static inline struct test_window window_open_in_turn(int part, int parts, MPI_Comm comm,
                                                     enum kind kind, size_t bytes,
                                                     int unit, const char *keys)
{
    struct test_window w = {0};
    for (int turn = 0; turn < parts; turn++) {
        if (turn == part) w = window_open(comm, kind, bytes, unit, keys);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return w;
}

/* Collective. */
static inline void window_close(struct test_window *w)
{
    MPI_Win_free(&w->win);
    if (w->kind == KIND_CREATE) free(w->base);
    if (w->kind == KIND_ALLOC_MEM) MPI_Free_mem(w->base);
    w->base = NULL;
}

/* --- counters ------------------------------------------------------------------ */

/* This process's counter of that window; UINT64_MAX where there is none. */
static inline uint64_t counter(MPI_Win win, const char *name)
{
    uint64_t value = 0;
    if (!test.layer || test.counter(win, name, &value) != 0) return UINT64_MAX;
    return value;
}

/* Does the layer serve this window at all? */
static inline bool is_served(MPI_Win win)
{
    return counter(win, "gets") != UINT64_MAX;
}

/* Should the window have counters? Open MPI maps MPI_Win_allocate's on a node itself;
 * the layer leaves those alone and counts only where a report is wanted. */
static inline bool has_counters(MPI_Win win)
{
    int *flavor, found;
    if (!test.layer) return false;
    if (!test.openmpi || is_served(win)) return true;
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &found);
    return !found || *flavor != MPI_WIN_FLAVOR_ALLOCATE;
}

/* Reads that were redirected, or that the MPI library serves from its own mapping. */
static inline uint64_t reads_served(const struct test_window *w)
{
    uint64_t redirected = counter(w->win, "redirected");
    if (redirected == UINT64_MAX || w->kind != KIND_ALLOCATE || !test.openmpi)
        return redirected;
    return redirected + counter(w->win, "already-mapped");
}

/* A counter of a window has this value, in runs that have counters. */
#define COUNTED(win, name, expected, ...)                                              \
    do {                                                                               \
        if (has_counters(win)) {                                                       \
            uint64_t counted_ = counter(win, name), expected_ = (uint64_t)(expected);  \
            CHECK(counted_ == expected_, __VA_ARGS__);                                 \
            if (counted_ != expected_)                                                 \
                fprintf(stderr, "    rank %d: %s is %lld, not %lld\n", test.rank,      \
                        name, (long long)counted_, (long long)expected_);              \
        }                                                                              \
    } while (0)

/* All n reads since its creation were served, and no other was made. */
#define ALL_SERVED(w, n, ...)                                                          \
    do {                                                                               \
        if (has_counters((w)->win)) {                                                  \
            uint64_t served_ = reads_served(w), wanted_ = (uint64_t)(n);               \
            CHECK(served_ == wanted_, __VA_ARGS__);                                    \
            if (served_ != wanted_)                                                    \
                fprintf(stderr, "    rank %d, %s window: served %lld of %lld\n",       \
                        test.rank, kind_names[(w)->kind], (long long)served_,          \
                        (long long)wanted_);                                           \
            COUNTED((w)->win, "gets", wanted_, "every read is counted once");          \
        }                                                                              \
    } while (0)

/* --- processes ----------------------------------------------------------------- */

static inline double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A zeroed page that all ranks of the node share, outside of MPI: how ranks talk
 * while MPI must not be called. Collective over the world. */
static inline void *shared_page(void)
{
    char path[64] = "";
    int fd = -1;
    if (test.rank == 0) {
        snprintf(path, sizeof path, "/tmp/oriel-test-XXXXXX");
        fd = mkstemp(path);
        NEED(fd >= 0 && ftruncate(fd, 4096) == 0, "a file for the ranks to share");
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (test.rank != 0) {
        FILE *file = fopen(path, "r+");
        NEED(file != NULL, "the ranks' shared file opens");
        fd = dup(fileno(file));
        fclose(file);
    }
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    NEED(page != MAP_FAILED, "the ranks' shared file maps");
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == 0) unlink(path);
    return page;
}

#endif
