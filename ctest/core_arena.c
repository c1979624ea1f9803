/*
 * core_arena.c - core/arena.c and core/extent.c. Each case runs in a process of its
 * own, since there is one arena a process and a fork child gets none.
 */
#define _GNU_SOURCE

#include "check.h"

#include "core/arena.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, MIB = 1 << 20 };

static bool all_bytes(const void *base, size_t bytes, unsigned char value)
{
    const unsigned char *at = base;

    for (size_t i = 0; i < bytes; i++)
        if (at[i] != value) return false;
    return true;
}

static unsigned char *take(size_t bytes)
{
    void *base = NULL;
    int error = oriel_arena_alloc(bytes, &base);

    REQUIRE(error == 0, "the arena gives %zu bytes (error %d)", bytes, error);
    return base;
}

static struct oriel_arena_usage usage(void)
{
    struct oriel_arena_usage now;

    oriel_arena_usage(&now);
    return now;
}

static struct oriel_arena_place place_of(const void *base, size_t bytes)
{
    struct oriel_arena_place place;

    REQUIRE(oriel_arena_find(base, bytes, &place), "the range is found");
    return place;
}

/* As a peer does it. */
static unsigned char *map_as_peer(const struct oriel_arena_place *place)
{
    char path[48];
    void *base;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), place->fd);
    fd = open(path, O_RDONLY);
    REQUIRE(fd >= 0, "a peer opens the segment");
    base = mmap(NULL, place->segment_bytes, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    REQUIRE(base != MAP_FAILED, "a peer maps the segment");
    return base;
}

static long blocks(const struct oriel_arena_place *place)
{
    struct stat status;

    return fstat(place->fd, &status) == 0 ? (long)status.st_blocks : -1;
}

static int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (dir && readdir(dir))
        n++;
    if (dir) closedir(dir);
    return n;
}

static void memory_is_zero_aligned_and_shared(void)
{
    unsigned char *base = take(100000);
    struct oriel_arena_place place = place_of(base, 100000);
    unsigned char *seen = map_as_peer(&place);
    struct stat status;

    CHECK((uintptr_t)base % PAGE == 0, "memory is page-aligned");
    CHECK(all_bytes(base, 100000, 0), "new memory is zero");
    CHECK(fstat(place.fd, &status) == 0 && status.st_dev == place.device &&
              status.st_ino == place.inode,
          "the place names the segment");
    CHECK(fcntl(place.fd, F_GETFD) & FD_CLOEXEC,
          "the segment is not inherited by exec");
    memset(base, 7, 100000);
    CHECK(all_bytes(seen + place.offset, 100000, 7), "a peer sees the stores");
    CHECK(ftruncate(place.fd, 0) != 0, "nobody can cut a segment under its peers");
}

static void ranges_are_found_exactly(void)
{
    unsigned char *a = take(3 * PAGE), *b = take(PAGE);
    struct oriel_arena_place start = place_of(a, 0), inner = place_of(a + 5000, 10);
    int local;

    CHECK(inner.offset == start.offset + 5000, "an inner address has its own offset");
    CHECK(oriel_arena_find(a, 3 * PAGE, NULL), "the whole allocation is found");
    CHECK(!oriel_arena_find(a, 3 * PAGE + 1, NULL), "a range over its end is not");
    CHECK(!oriel_arena_find(a + 1, SIZE_MAX, NULL), "nor one that wraps around");
    CHECK(!oriel_arena_find(&local, 1, NULL), "nor the stack");
    CHECK(oriel_arena_free(a + PAGE) == -ENOENT, "only a start can be freed");
    CHECK(oriel_arena_free(&local) == -ENOENT, "and nothing but the arena");
    CHECK(oriel_arena_free(a) == 0, "a start can");
    CHECK(!oriel_arena_find(a, 1, NULL), "freed memory is not found");
    CHECK(oriel_arena_find(b, PAGE, NULL), "its neighbour is");
}

static void references_keep_memory(void)
{
    unsigned char *base = take(2 * PAGE);

    memset(base, 9, 2 * PAGE);
    CHECK(oriel_arena_hold(base + PAGE) == 0, "a reference by an inner address");
    CHECK(oriel_arena_free(base) == 0, "the owner frees");
    CHECK(oriel_arena_free(base) == -ENOENT, "the owner cannot free twice");
    CHECK(oriel_arena_find(base, 2 * PAGE, NULL), "held memory lives");
    CHECK(all_bytes(base, 2 * PAGE, 9), "with its bytes");
    CHECK(oriel_arena_drop(base + 1) == 0, "the last reference goes");
    CHECK(!oriel_arena_find(base, 1, NULL), "and the memory with it");
    CHECK(oriel_arena_drop(base) == -ENOENT, "nothing is left to drop");
}

static void freed_pages_go_back(void)
{
    unsigned char *keep = take(PAGE), *base = take(4 * MIB), *again;
    struct oriel_arena_place place = place_of(base, 4 * MIB);
    const unsigned char *seen = map_as_peer(&place) + place.offset;
    long before;

    memset(keep, 1, PAGE);
    before = blocks(&place);
    memset(base, 5, 4 * MIB);
    CHECK(all_bytes(seen, 4 * MIB, 5), "a peer has read all of it");
    CHECK(oriel_arena_free(base) == 0, "it is freed");
    CHECK(blocks(&place) == before, "no page stays, though a peer maps them");
    again = take(4 * MIB);
    CHECK(again == base, "the lowest free range is used first");
    CHECK(all_bytes(again, 4 * MIB, 0), "reused memory is zero");
    CHECK(keep[0] == 1, "other memory is untouched");
    CHECK(mlock(again, PAGE) == 0, "memory can be locked");
    memset(again, 5, 4 * MIB);
    CHECK(oriel_arena_free(again) == 0, "locked memory is freed");
    CHECK(all_bytes(take(4 * MIB), 4 * MIB, 0), "and zero when it is reused");
}

static void loops_stay_flat(void)
{
    unsigned char *keep = take(1);
    struct oriel_arena_place place = place_of(keep, 1);
    int open_before = descriptors();

    for (int i = 0; i < 10000; i++) {
        unsigned char *base = take((size_t)(i % 40 + 1) * 1000);

        base[0] = base[i % 1000] = 3;
        if (oriel_arena_free(base) != 0) CHECK(0, "round %d frees", i);
    }
    CHECK(usage().segments == 1 && usage().allocations == 1, "one segment is enough");
    CHECK(usage().bytes == PAGE, "only the first allocation is counted");
    CHECK(descriptors() == open_before, "no descriptor is left");
    CHECK(blocks(&place) * 512 <= PAGE, "no page is left");
}

struct model {
    unsigned char *base;
    size_t bytes;
    unsigned char tag;
};

/* Thousands of live allocations in any order of death: each keeps its own bytes,
 * so none overlap, and new ones are zero. */
static void many_live_together(void)
{
    enum { LIVE = 2000, STEPS = 12000 };
    static struct model model[LIVE];
    unsigned seed = 1;
    size_t live = 0, wrong = 0;

    oriel_arena_set_segment_bytes(8 * MIB);
    for (int step = 0; step < STEPS; step++) {
        struct model *one;

        seed = seed * 1103515245u + 12345u;
        one = &model[(seed >> 8) % LIVE];
        if (one->base) {
            wrong += !all_bytes(one->base, 64, one->tag) ||
                     !all_bytes(one->base + one->bytes - 64, 64, one->tag);
            wrong += oriel_arena_free(one->base) != 0;
            one->base = NULL;
            live--;
        } else {
            one->bytes = (seed >> 20) % 20 * 1000 + 128;
            one->tag = (unsigned char)(step % 255 + 1);
            one->base = take(one->bytes);
            wrong += !all_bytes(one->base, 64, 0) ||
                     !all_bytes(one->base + one->bytes - 64, 64, 0);
            memset(one->base, one->tag, 64);
            memset(one->base + one->bytes - 64, one->tag, 64);
            live++;
        }
    }
    CHECK(wrong == 0, "every allocation keeps its bytes (%zu did not)", wrong);
    CHECK(usage().allocations == live, "the count is right");
    CHECK(usage().segments > 1, "the case needs more than one segment");
    for (size_t i = 0; i < LIVE; i++)
        if (model[i].base) oriel_arena_free(model[i].base);
    CHECK(usage().allocations == 0 && usage().bytes == 0, "all is freed");
    CHECK(usage().segments == 1, "one empty segment may stay (%zu do)",
          usage().segments);
}

static void large_ones_come_alone(void)
{
    unsigned char *small, *large;
    int open_before;

    oriel_arena_set_segment_bytes(MIB);
    small = take(1);
    open_before = descriptors();
    large = take(5 * MIB + 1);
    memset(large, 1, 5 * MIB + 1);
    CHECK(usage().segments == 2, "a large allocation has its own segment");
    CHECK(place_of(large, 5 * MIB + 1).offset == 0, "from its start");
    CHECK(place_of(large, 1).inode != place_of(small, 1).inode, "not the shared one");
    CHECK(oriel_arena_free(large) == 0 && usage().segments == 1, "both are freed");
    CHECK(descriptors() == open_before, "and the descriptor with them");
}

static void limits_are_errors(void)
{
    struct rlimit limit, before;
    void *base = NULL;

    CHECK(oriel_arena_alloc(0, &base) == -EINVAL, "nothing is no allocation");
    CHECK(oriel_arena_alloc(SIZE_MAX, &base) == -ENOMEM, "too much is refused");
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 8 * MIB;
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK(oriel_arena_alloc(16 * MIB, &base) == -EFBIG, "ulimit -f is an error");
    memset(take(MIB), 1, MIB);
    memset(take(MIB), 1, MIB);
    CHECK(usage().segments == 1, "smaller ones still share a segment");
    getrlimit(RLIMIT_NOFILE, &before);
    limit = (struct rlimit){3, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK(oriel_arena_alloc(7 * MIB, &base) == -EMFILE, "ulimit -n is an error");
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK(base == NULL, "failures leave the output alone");
}

/* A program that closes all descriptors and opens files gets our numbers. */
static void a_lost_descriptor_is_left_alone(void)
{
    struct stat status;
    unsigned char *base;
    int file, number;

    oriel_arena_set_segment_bytes(MIB);
    base = take(2 * MIB);
    number = place_of(base, 1).fd;
    file = memfd_create("program", 0);
    CHECK(write(file, "precious", 8) == 8 && dup2(file, number) == number,
          "the program took the number");
    CHECK(oriel_arena_free(base) == 0, "the memory is freed");
    CHECK(fstat(number, &status) == 0 && status.st_size == 8 && status.st_blocks > 0,
          "the program's file is open and whole");
}

static void *churn(void *stop)
{
    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED)) {
        unsigned char *base = take(3 * PAGE);

        oriel_arena_hold(base);
        oriel_arena_free(base);
        oriel_arena_drop(base);
        usleep(20);
    }
    return NULL;
}

static int wait_child(pid_t pid)
{
    int status;

    REQUIRE(waitpid(pid, &status, 0) == pid, "the child is there");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/* In the child: 0, or the number of what is wrong. */
static int misbehave(unsigned char *shared, unsigned char *freed)
{
    void *more;
    pid_t grandchild;

    alarm(30);
    if (!all_bytes(shared, PAGE, 1)) return 1;
    memset(shared, 2, PAGE);
    if (oriel_arena_alloc(PAGE, &more) != -EOWNERDEAD) return 2;
    if (oriel_arena_free(freed) != 0) return 3;
    if (oriel_arena_find(freed, 1, NULL)) return 4;
    grandchild = fork();
    if (grandchild == 0) _exit(!all_bytes(shared, PAGE, 2) || !memset(shared, 3, PAGE));
    return wait_child(grandchild) == 0 ? 0 : 5;
}

static void a_fork_child_has_its_own_copy(void)
{
    enum { ROUNDS = 100 };
    unsigned char *shared = take(PAGE), *freed = take(PAGE), *own;
    struct oriel_arena_place place = place_of(shared, PAGE);
    unsigned char *seen = map_as_peer(&place);
    pthread_t threads[2];
    bool stop = false;

    oriel_arena_set_segment_bytes(MIB);
    own = take(2 * MIB); /* a second segment */
    memset(shared, 1, PAGE);
    memset(freed, 3, PAGE);
    memset(own, 4, 2 * MIB);
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, churn, &stop) == 0, "a thread");
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid = fork();
        int result;

        if (pid == 0) {
            memset(own + MIB, 5, 4 * PAGE);
            oriel_arena_free(own);
            _exit(misbehave(shared, freed));
        }
        result = wait_child(pid);
        if (result) CHECK(0, "round %d: the child found fault %d", i, result);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK(all_bytes(shared, PAGE, 1), "the parent's bytes are as they were");
    CHECK(all_bytes(seen + place.offset, PAGE, 1), "and what its peers see");
    CHECK(all_bytes(freed, PAGE, 3), "what the child freed is still the parent's");
    CHECK(all_bytes(own, 2 * MIB, 4), "in every segment");
    CHECK(usage().allocations == 3, "the parent's arena is whole");
    CHECK(oriel_arena_free(freed) == 0 && take(PAGE) == freed, "and works");
}

static void run(const char *name, void (*test)(void))
{
    pid_t pid;
    int result;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        test();
        exit(check_failures || !check_count ? 1 : 0);
    }
    result = wait_child(pid);
    CHECK(result == 0, "%s (exit or 256 + signal: %d)", name, result);
}

#define RUN(test) run(#test, test)

int main(void)
{
    RUN(memory_is_zero_aligned_and_shared);
    RUN(ranges_are_found_exactly);
    RUN(references_keep_memory);
    RUN(freed_pages_go_back);
    RUN(loops_stay_flat);
    RUN(many_live_together);
    RUN(large_ones_come_alone);
    RUN(limits_are_errors);
    RUN(a_lost_descriptor_is_left_alone);
    RUN(a_fork_child_has_its_own_copy);
    return check_done();
}
