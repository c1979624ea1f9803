/*
 * process.h - who a process is, for peers on the same node.
 *
 * A pid alone is no identity: pids are reused, and exec keeps the pid and even the
 * start time. So each process publishes a random nonce and where it lies in its
 * memory; whoever reads that nonce there has found the process that published.
 */
#ifndef ORIEL_PROCESS_H
#define ORIEL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

enum { ORIEL_NONCE_BYTES = 16 };

/* Part of a blob: fixed widths, no padding. */
struct oriel_process {
    unsigned char boot_id[16]; /* of the running kernel: the node */
    unsigned char nonce[ORIEL_NONCE_BYTES];
    uint64_t nonce_address;
    uint64_t start_ticks;    /* field 22 of /proc/<pid>/stat */
    uint32_t pid_namespace;  /* inode numbers in /proc/<pid>/ns */
    uint32_t user_namespace; /* 0: unknown */
    int32_t pid;
    uint32_t uid; /* effective */
};

/* This process; the same at each call. Returns 0; -EOWNERDEAD in a fork child;
 * -ENOTSUP or -ENOMEM, and *why_out then says why, for ever. */
int oriel_process_self(const struct oriel_process **out, const char **why_out);

/* True in a child that forked after its parent asked who it is. One load. */
bool oriel_process_forked(void);

/* Can this process name the peer by its pid at all? */
bool oriel_process_is_near(const struct oriel_process *peer);

/* Is /proc that of this process's pid namespace? Where it is not, the directory of a
 * peer's pid is another process's. */
bool oriel_process_has_proc(void);

/* Read the peer's nonce. Returns 0: it is alive, it is the one that published, and
 * its memory may be read; -ORIEL_EGONE it ended; -ORIEL_ENONCE another process has
 * its pid; -EPERM, and one log line says what forbids it; -ENOTSUP. */
int oriel_process_probe(const struct oriel_process *peer);

/* Where Yama lets only ancestors read a process, let all processes of this user
 * read this one. Does nothing on other systems. */
void oriel_process_admit(void);

#endif
