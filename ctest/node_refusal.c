/*
 * node_refusal.c - where the node engine may not read its peer, or lacks what it
 * needs for that: an error that core can act on, one line that says why, no hang.
 */
#define _GNU_SOURCE

#include "peer.h"

#include "core/err.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { NOBODY = 65534 };

static struct oriel_engine *engine;
static struct oriel_blob arena, other; /* of the owner: one of each memory */

static void open_engine(void)
{
    const char *why = "";
    int error = oriel_transport_node.open(oriel_config_get(), &engine, &why);

    REQUIRE(error == 0, "the engine opens (%s)", why);
}

static struct peer start_owner(void (*before)(void))
{
    struct peer owner = peer_start("node", before);

    REQUIRE(peer_expose(&owner, 0, PEER_ARENA, 1000, 0, 1, &arena) == 0,
            "arena memory");
    REQUIRE(peer_expose(&owner, 1, PEER_MALLOC, 1000, 0, 2, &other) == 0,
            "other memory");
    return owner;
}

static int try_arena(bool *mapped_out)
{
    return peer_try(&oriel_transport_node, engine, &arena, 1, mapped_out);
}

static int try_other(void)
{
    return peer_try(&oriel_transport_node, engine, &other, 2, NULL);
}

static void become(uid_t uid)
{
    if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0) _exit(125);
}

static int log_file = -1;

/* From here on stderr goes to a file. */
static void catch_log(void)
{
    log_file = memfd_create("log", 0);
    fflush(stderr);
    dup2(log_file, STDERR_FILENO);
}

/* Both memories are refused, in one line that holds the word. */
static void expect_refusal(int code, const char *word)
{
    int saved = dup(STDERR_FILENO);
    int first, second, third, lines = 0;
    char text[2000];
    ssize_t n;

    catch_log();
    first = try_other();
    second = try_arena(NULL);
    third = try_other();
    dup2(saved, STDERR_FILENO);
    n = pread(log_file, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    CHECK(first == code && third == code, "other memory is refused (%d, %d)", first,
          third);
    CHECK(second == code, "arena memory is refused (%d)", second);
    if (word) {
        CHECK(lines == 1, "one line is logged, not %d: %s", lines, text);
        CHECK(strstr(text, word), "the line says '%s': %s", word, text);
    } else {
        CHECK(lines == 0, "nothing is logged: %s", text);
    }
}

static void undumpable_owner(void)
{
    struct oriel_peer *peer = NULL;
    struct peer owner;
    char byte;
    struct oriel_span span = {0, &byte, 1};
    int error;

    if (geteuid() == 0) become(NOBODY); /* root may read all */
    open_engine();
    owner = start_owner(NULL);
    CHECK(try_arena(NULL) == 0 && try_other() == 0, "it can be read at first");
    REQUIRE(oriel_transport_node.connect(engine, &other, &peer) == 0, "connected");
    peer_tell(&owner, PEER_DUMPABLE, 0, 0);
    expect_refusal(-EPERM, "PR_SET_DUMPABLE");
    error = peer_read(&oriel_transport_node, engine, peer, &span, 1);
    CHECK(error == -EPERM, "a connected peer is refused as well (%d)", error);
    peer_tell(&owner, PEER_DUMPABLE, 0, 1);
    CHECK(try_arena(NULL) == 0 && try_other() == 0, "and read when it allows that");
    oriel_transport_node.disconnect(peer);
}

static void become_other(void)
{
    become(NOBODY - 1);
}

static void another_user(void)
{
    if (geteuid() != 0) check_skip("needs root to become two users");
    start_owner(become_other);
    become(NOBODY);
    open_engine();
    expect_refusal(-EPERM, "uid 65533");
}

static void another_user_namespace(void)
{
    start_owner(NULL);
    if (unshare(CLONE_NEWUSER) != 0) check_skip("no user namespaces here");
    open_engine();
    expect_refusal(-EPERM, "user namespace");
}

static void block(long call, unsigned result)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | result),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, filter};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        check_skip("no seccomp here");
}

static void a_forbidden_call(void)
{
    bool mapped = false;

    start_owner(NULL);
    open_engine();
    block(SYS_process_vm_readv, EPERM);
    CHECK(try_arena(&mapped) == 0 && mapped, "mapped memory needs no such call");
    CHECK(try_other() == -EPERM, "other memory does");
}

static void a_missing_call(void)
{
    start_owner(NULL);
    open_engine();
    block(SYS_process_vm_readv, ENOSYS);
    CHECK(try_arena(NULL) == 0, "mapped memory needs no such call");
    CHECK(try_other() == -ENOTSUP, "other memory is declined");
}

static void no_descriptors_left(void)
{
    struct rlimit before, none;
    bool mapped = true;

    start_owner(NULL);
    open_engine();
    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){3, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    CHECK(try_arena(&mapped) == 0 && !mapped, "without a mapping the call still reads");
    CHECK(try_other() == 0, "other memory needs no descriptor");
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK(try_arena(&mapped) == 0 && mapped, "with descriptors it is mapped again");
}

static void no_address_space_left(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    check_skip("sanitizers need address space");
#endif
    struct rlimit before, little;
    bool mapped = true;

    start_owner(NULL);
    open_engine();
    getrlimit(RLIMIT_AS, &before);
    little = (struct rlimit){256u << 20, before.rlim_max};
    setrlimit(RLIMIT_AS, &little);
    CHECK(try_arena(&mapped) == 0 && !mapped, "without a mapping the call still reads");
    setrlimit(RLIMIT_AS, &before);
    CHECK(try_arena(&mapped) == 0 && mapped, "with room it is mapped again");
}

static void cma_switched_off(void)
{
    struct peer owner, willing;
    bool mapped = false;

    willing = start_owner(NULL);
    setenv("ORIEL_CMA", "off", 1);
    open_engine();
    CHECK(try_other() == -ENOTSUP, "a reader that is told so declines");
    CHECK(try_arena(&mapped) == 0 && mapped, "mapped memory is not concerned");
    owner = peer_start("node", NULL);
    CHECK(peer_expose(&owner, 1, PEER_MALLOC, 1000, 0, 2, &other) == -ENOTSUP,
          "an owner that is told so offers nothing");
    CHECK(peer_expose(&owner, 0, PEER_ARENA, 1000, 0, 1, &arena) == 0, "but its arena");
    peer_kill(&owner);
    peer_kill(&willing);
}

/* The memory is taken back, its owner lives: nothing else may be read there. */
static void a_withdrawn_segment(void)
{
    struct peer owner;

    setenv("ORIEL_ARENA_SEGMENT", "1M", 1);
    owner = peer_start("node", NULL);
    REQUIRE(peer_expose(&owner, 0, PEER_ARENA, 5 << 20, 0, 1, &arena) == 0, "exposed");
    open_engine();
    CHECK(try_arena(NULL) == 0, "it is read");
    peer_tell(&owner, PEER_WITHDRAW, 0, 0);
    CHECK(try_arena(NULL) < 0, "and refused after that (%d)", try_arena(NULL));
}

int main(int argc, char **argv)
{
    static const struct peer_case cases[] = {
        {"an owner that is not dumpable", undumpable_owner},
        {"an owner of another user", another_user},
        {"an owner in another user namespace", another_user_namespace},
        {"process_vm_readv is forbidden", a_forbidden_call},
        {"process_vm_readv is missing", a_missing_call},
        {"no descriptor is left", no_descriptors_left},
        {"no address space is left", no_address_space_left},
        {"ORIEL_CMA=off", cma_switched_off},
        {"a segment that was withdrawn", a_withdrawn_segment},
    };

    (void)argc;
    if (peer_is_owner(argv)) return peer_own(argv);
    return peer_cases(argv, cases, sizeof cases / sizeof *cases);
}
