/*
 * checks.c - tries what the engines will do.
 */
#define _GNU_SOURCE 1

#include "tools/checks.h"

#include "core/arena.h"
#include "core/err.h"
#include "core/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the second of two siblings reads of the first, as two ranks do: a parent may
 * read its children where siblings may not. */
static volatile uint64_t secret;
static const uint64_t secret_word = 0x6f7269656c2d6f6b;

static int read_sibling_memory(pid_t peer, int fd)
{
    uint64_t seen = 0;
    struct iovec local = {.iov_base = &seen, .iov_len = sizeof seen};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)&secret,
                           .iov_len = sizeof secret};
    (void)fd;
    ssize_t got = process_vm_readv(peer, &local, 1, &remote, 1, 0);
    if (got < 0) return errno;
    return got == sizeof seen && seen == secret_word ? 0 : EIO;
}

static int map_sibling_file(pid_t peer, int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)peer, fd);
    int theirs = open(path, O_RDONLY | O_CLOEXEC);
    if (theirs < 0) return errno;
    const uint64_t *page = mmap(NULL, sizeof *page, PROT_READ, MAP_SHARED, theirs, 0);
    if (page == MAP_FAILED) return errno;
    return *page == secret_word ? 0 : EIO;
}

/* The first sibling: holds the word until it is killed. Says over ready that it is
 * there, as an errno. */
static void hold(int ready, int wait_for)
{
    int code = 0;
    int fd = memfd_create("oriel-check", MFD_CLOEXEC);
    secret = secret_word;
    oriel_process_admit();
    if (fd < 0 || write(fd, &secret_word, sizeof secret_word) != sizeof secret_word)
        code = errno;
    int message[2] = {code, fd};
    if (write(ready, message, sizeof message) == sizeof message)
        while (read(wait_for, message, 1) < 0 && errno == EINTR)
            continue;
    _exit(0);
}

/* Runs a try in a sibling of a process that holds the word. Returns an errno. */
static int between_siblings(int (*attempt)(pid_t peer, int fd))
{
    int ready[2], hold_on[2];
    int message[2] = {EIO, -1};
    if (pipe2(ready, O_CLOEXEC)) return errno;
    if (pipe2(hold_on, O_CLOEXEC)) return errno;
    pid_t first = fork();
    if (first == 0) {
        close(hold_on[1]);
        hold(ready[1], hold_on[0]);
    }
    close(ready[1]);
    close(hold_on[0]);
    int error = first < 0 ? EAGAIN : 0;
    if (!error && read(ready[0], message, sizeof message) != sizeof message)
        error = EIO;
    if (!error) error = message[0];
    pid_t second = error ? -1 : fork();
    if (second == 0) _exit(attempt(first, message[1]));
    if (second > 0) {
        int status = 0;
        waitpid(second, &status, 0);
        error = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
    }
    close(hold_on[1]);
    close(ready[0]);
    if (first > 0) waitpid(first, NULL, 0);
    return error;
}

static int read_scope(void)
{
    int scope = -1;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (!file) return scope;
    if (fscanf(file, "%d", &scope) != 1) scope = -1;
    fclose(file);
    return scope;
}

static void check_cma(struct oriel_check *out)
{
    int error = between_siblings(read_sibling_memory);
    int scope = read_scope();
    out->name = "cma";
    out->meaning = "read memory that the program owns (process_vm_readv)";
    out->is_good = error == 0;
    if (!error)
        snprintf(out->detail, sizeof out->detail, "works");
    else if (error == EPERM && scope > 0)
        snprintf(out->detail, sizeof out->detail,
                 "refused: kernel.yama.ptrace_scope is %d, it takes 0 or 1; windows of "
                 "MPI_Win_create stay native",
                 scope);
    else
        snprintf(out->detail, sizeof out->detail,
                 "refused: %s; windows of MPI_Win_create stay native",
                 oriel_strerror(error));
}

static void check_mapped(struct oriel_check *out)
{
    int error = between_siblings(map_sibling_file);
    out->name = "mapped";
    out->meaning = "map memory that Oriel allocates (memfd, /proc/<pid>/fd)";
    out->is_good = error == 0;
    if (!error)
        snprintf(out->detail, sizeof out->detail, "works");
    else
        snprintf(out->detail, sizeof out->detail,
                 "refused: %s; windows of MPI_Win_allocate stay native",
                 oriel_strerror(error));
}

static void check_arena(struct oriel_check *out)
{
    void *memory = NULL;
    struct oriel_arena_usage usage;
    int error = oriel_arena_alloc(1 << 20, &memory);
    out->name = "arena";
    out->meaning = "allocate shared memory";
    out->is_good = error == 0;
    if (error) {
        snprintf(out->detail, sizeof out->detail, "refused: %s", oriel_strerror(error));
        return;
    }
    memset(memory, 1, 1 << 20);
    oriel_arena_usage(&usage);
    snprintf(out->detail, sizeof out->detail, "works: %zu segment%s, %zu allocation%s",
             usage.segments, usage.segments == 1 ? "" : "s", usage.allocations,
             usage.allocations == 1 ? "" : "s");
    oriel_arena_free(memory);
}

static void check_scope(struct oriel_check *out)
{
    int scope = read_scope();
    out->name = "ptrace-scope";
    out->meaning = "kernel.yama.ptrace_scope, which limits cma";
    out->is_good = scope < 2;
    if (scope < 0)
        snprintf(out->detail, sizeof out->detail, "there is no such limit here");
    else
        snprintf(out->detail, sizeof out->detail, "%d: %s", scope,
                 scope == 0   ? "no limit"
                 : scope == 1 ? "Oriel lets the user's other processes read its ranks"
                              : "only root may read other processes");
}

/* Each segment is a descriptor of its owner, and of its readers while they map it. */
static void check_files(struct oriel_check *out)
{
    struct rlimit limit = {0, 0};
    getrlimit(RLIMIT_NOFILE, &limit);
    out->name = "files";
    out->meaning = "open files a process (ulimit -n)";
    out->is_good = limit.rlim_cur >= 256;
    if (limit.rlim_cur == RLIM_INFINITY)
        snprintf(out->detail, sizeof out->detail, "unlimited");
    else
        snprintf(out->detail, sizeof out->detail, "%" PRIu64 "%s",
                 (uint64_t)limit.rlim_cur, out->is_good ? "" : ": raise it");
}

size_t oriel_checks_run(struct oriel_check out[ORIEL_CHECKS_MAX])
{
    static void (*const checks[])(struct oriel_check *) = {
        check_mapped, check_cma, check_scope, check_arena, check_files};
    enum { N = sizeof checks / sizeof checks[0] };
    _Static_assert((int)N <= (int)ORIEL_CHECKS_MAX, "there is room for every check");
    for (size_t i = 0; i < N; i++) {
        memset(&out[i], 0, sizeof out[i]);
        checks[i](&out[i]);
    }
    return N;
}
