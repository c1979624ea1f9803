#define _GNU_SOURCE

#include "core/process.h"

#include "core/err.h"
#include "core/log.h"
#include "core/vmread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static struct oriel_process self;
static unsigned char nonce[ORIEL_NONCE_BYTES]; /* the one that peers read */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *failure;
static int failure_error;
static atomic_bool forked;
static bool has_proc;

bool oriel_process_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_relaxed);
}

static void after_fork_in_child(void)
{
    atomic_store(&forked, true);
    /* Should this child ever get its parent's pid, it is still not its parent. */
    memset(nonce, 0, sizeof nonce);
}

/* A small file as a string; false when it cannot be read. */
static bool slurp(const char *path, char *out, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0) return false;
    got = read(fd, out, bytes - 1);
    close(fd);
    if (got <= 0) return false;
    out[got] = '\0';
    return true;
}

/* "9ba967c6-bb56-..." as 16 bytes. */
static bool read_boot_id(unsigned char out[16])
{
    char text[64];
    const char *at = text;

    if (!slurp("/proc/sys/kernel/random/boot_id", text, sizeof text)) return false;
    for (int i = 0; i < 16; i++) {
        unsigned byte;

        if (*at == '-') at++;
        if (sscanf(at, "%2x", &byte) != 1) return false;
        out[i] = (unsigned char)byte;
        at += 2;
    }
    return true;
}

static uint64_t start_ticks(const char *path)
{
    char text[1024];
    const char *at;

    if (!slurp(path, text, sizeof text)) return 0;
    /* Field 2, the name, may contain anything; the last ')' ends it. */
    at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

static uint32_t namespace_id(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 ? (uint32_t)status.st_ino : 0;
}

static bool proc_is_ours(void)
{
    char link[16] = "";
    ssize_t n = readlink("/proc/self", link, sizeof link - 1);

    return n > 0 && atoi(link) == getpid();
}

static void refuse(int error, const char *why)
{
    failure = why;
    failure_error = error;
}

static void identify(void)
{
    self.pid = getpid();
    self.uid = geteuid();
    self.start_ticks = start_ticks("/proc/self/stat");
    self.pid_namespace = namespace_id("/proc/self/ns/pid");
    self.user_namespace = namespace_id("/proc/self/ns/user");
    self.nonce_address = (uintptr_t)nonce;
    has_proc = proc_is_ours();
    if (getrandom(nonce, sizeof nonce, 0) != sizeof nonce) {
        refuse(-ENOTSUP, "getrandom gives no random bytes");
    } else if (!read_boot_id(self.boot_id)) {
        refuse(-ENOTSUP, "/proc/sys/kernel/random/boot_id cannot be read");
    } else if (!self.pid_namespace) {
        refuse(-ENOTSUP, "/proc/self/ns/pid cannot be read");
    } else if (pthread_atfork(NULL, NULL, after_fork_in_child) != 0) {
        refuse(-ENOMEM, "out of memory");
    }
    memcpy(self.nonce, nonce, sizeof nonce);
}

int oriel_process_self(const struct oriel_process **out, const char **why_out)
{
    pthread_once(&once, identify);
    /* The second test finds children that no fork handler saw. */
    if (oriel_process_forked() || self.pid != getpid()) {
        *why_out = "this process is a fork child of one that uses Oriel";
        return -EOWNERDEAD;
    }
    if (failure_error) {
        *why_out = failure;
        return failure_error;
    }
    *out = &self;
    return 0;
}

bool oriel_process_is_near(const struct oriel_process *peer)
{
    return memcmp(peer->boot_id, self.boot_id, sizeof self.boot_id) == 0 &&
           peer->pid_namespace == self.pid_namespace;
}

bool oriel_process_has_proc(void)
{
    return has_proc;
}

static int yama_scope(void)
{
    char text[16];

    return slurp("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) ? atoi(text)
                                                                          : 0;
}

void oriel_process_admit(void)
{
    if (yama_scope() == 1) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

/* Has the pid gone to another process? Not known where /proc hides it. */
static bool was_replaced(const struct oriel_process *peer)
{
    char path[32];
    uint64_t ticks;

    if (!has_proc) return false;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)peer->pid);
    ticks = start_ticks(path);
    return ticks && ticks != peer->start_ticks;
}

/* What is private in /proc belongs to root where the process is not dumpable. */
static bool looks_undumpable(const struct oriel_process *peer)
{
    char path[32];
    struct stat status;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)peer->pid);
    return has_proc && stat(path, &status) == 0 && status.st_uid != peer->uid;
}

/* The kernel says only EPERM; what can be seen of the reason, in its order. */
static void log_refusal(const struct oriel_process *peer)
{
    static int once_refused;
    const char *cure = "start both in the same way, or set ORIEL_CMA=off";
    char cause[128];

    /* First, since uids of different namespaces say nothing. */
    if (peer->user_namespace != self.user_namespace) {
        snprintf(cause, sizeof cause, "it is in another user namespace");
        cure = "run both in the same container, or without one";
    } else if (peer->uid != geteuid()) {
        snprintf(cause, sizeof cause, "it runs as uid %u and this process as uid %u",
                 (unsigned)peer->uid, (unsigned)geteuid());
        cure = "run both as the same user";
    } else if (yama_scope() > 0) {
        snprintf(cause, sizeof cause, "kernel.yama.ptrace_scope is %d", yama_scope());
        cure = "ask for kernel.yama.ptrace_scope=0, or use windows from "
               "MPI_Win_allocate or MPI_Alloc_mem";
    } else if (looks_undumpable(peer)) {
        snprintf(cause, sizeof cause, "it made itself not dumpable (PR_SET_DUMPABLE)");
        cure = "leave it dumpable, and its program without setuid or file capabilities";
    } else {
        snprintf(
            cause, sizeof cause,
            "it has more capabilities, or a security module or seccomp forbids it");
    }
    oriel_log_once(&once_refused, ORIEL_LOG_WARN,
                   "the memory of process %d on this node may not be read: %s; %s",
                   (int)peer->pid, cause, cure);
}

int oriel_process_probe(const struct oriel_process *peer)
{
    unsigned char seen[ORIEL_NONCE_BYTES];
    int error = oriel_vmread_one(peer->pid, peer->nonce_address, seen, sizeof seen);

    /* Another program runs there since exec, or under a reused pid. */
    if (error == -EFAULT) return -ORIEL_ENONCE;
    if (error == -EPERM) {
        if (was_replaced(peer)) return -ORIEL_ENONCE;
        log_refusal(peer);
    }
    if (error) return error;
    return memcmp(seen, peer->nonce, sizeof seen) == 0 ? 0 : -ORIEL_ENONCE;
}
