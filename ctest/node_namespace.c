/*
 * node_namespace.c - the node engine where pids, /proc or the node itself are not
 * what they seem. Needs the right to make namespaces.
 */
#define _GNU_SOURCE

#include "peer.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

static struct oriel_engine *engine;
static struct oriel_blob arena, other;

static int open_engine(const char **why_out)
{
    return oriel_transport_node.open(oriel_config_get(), &engine, why_out);
}

static void expose_both(const struct peer *owner)
{
    REQUIRE(peer_expose(owner, 0, PEER_ARENA, 1000, 0, 1, &arena) == 0, "arena memory");
    REQUIRE(peer_expose(owner, 1, PEER_MALLOC, 1000, 0, 2, &other) == 0,
            "other memory");
}

static int try_arena(bool *mapped_out)
{
    return peer_try(&oriel_transport_node, engine, &arena, 1, mapped_out);
}

static int try_other(void)
{
    return peer_try(&oriel_transport_node, engine, &other, 2, NULL);
}

/* A private mount namespace, from which nothing spreads. */
static void unshare_mounts(void)
{
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        check_skip("no mount namespaces here");
}

/* Go on in a child that is in another pid namespace; the caller's process only
 * waits for it and takes its exit code. */
static void unshare_pids(void)
{
    int status = 0;
    pid_t pid;

    if (unshare(CLONE_NEWPID) != 0) check_skip("no pid namespaces here");
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return;
    }
    waitpid(pid, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* The same pid number may be another process there. */
static void owner_outside_the_pid_namespace(void)
{
    const char *why = "";
    struct peer outside = peer_start("node", NULL);

    expose_both(&outside);
    unshare_pids();
    REQUIRE(open_engine(&why) == 0, "the engine opens (%s)", why);
    CHECK(try_arena(NULL) == -ENOTSUP && try_other() == -ENOTSUP,
          "its owner is declined (%d)", try_other());
}

/* /proc still is that of the outer namespace: /proc/<pid> of an inner pid is some
 * other process, or none. */
static void proc_of_another_namespace(void)
{
    const char *why = "";
    bool mapped = true;
    struct peer inside;

    unshare_pids();
    inside = peer_start("node", NULL);
    expose_both(&inside);
    REQUIRE(open_engine(&why) == 0, "the engine opens (%s)", why);
    CHECK(try_other() == 0, "memory is read by pid");
    CHECK(try_arena(&mapped) == 0 && !mapped,
          "the arena as well, since /proc misleads");
}

static void own_pid_namespace(void)
{
    const char *why = "";
    bool mapped = false;
    struct peer inside;

    unshare_mounts();
    unshare_pids();
    REQUIRE(mount("proc", "/proc", "proc", 0, NULL) == 0, "a /proc of this namespace");
    inside = peer_start("node", NULL);
    expose_both(&inside);
    REQUIRE(open_engine(&why) == 0, "the engine opens (%s)", why);
    CHECK(try_other() == 0, "memory is read");
    CHECK(try_arena(&mapped) == 0 && mapped, "the arena is mapped");
}

static void owner_on_another_node(void)
{
    static const char boot_id[] = "00000000-1111-2222-3333-444444444444\n";
    char file[] = "/tmp/oriel-boot-XXXXXX";
    const char *why = "";
    struct peer owner = peer_start("node", NULL);
    int fd = mkstemp(file);

    expose_both(&owner);
    unshare_mounts();
    REQUIRE(write(fd, boot_id, sizeof boot_id - 1) > 0, "a file");
    REQUIRE(mount(file, "/proc/sys/kernel/random/boot_id", NULL, MS_BIND, NULL) == 0,
            "another boot id");
    unlink(file);
    REQUIRE(open_engine(&why) == 0, "the engine opens (%s)", why);
    CHECK(try_arena(NULL) == -ENOTSUP && try_other() == -ENOTSUP,
          "its owner is declined (%d)", try_other());
}

static void without_proc(void)
{
    const char *why = NULL;

    unshare_mounts();
    REQUIRE(mount("none", "/proc", "tmpfs", 0, NULL) == 0, "an empty /proc");
    CHECK(open_engine(&why) == -ENOTSUP, "the engine does not open");
    CHECK(why && strstr(why, "/proc"), "and says why: %s", why ? why : "");
    umount("/proc"); /* LeakSanitizer needs it */
}

int main(int argc, char **argv)
{
    static const struct peer_case cases[] = {
        {"an owner outside the pid namespace", owner_outside_the_pid_namespace},
        {"/proc is that of another pid namespace", proc_of_another_namespace},
        {"a pid namespace with its own /proc", own_pid_namespace},
        {"an owner on another node", owner_on_another_node},
        {"no /proc", without_proc},
    };

    (void)argc;
    if (peer_is_owner(argv)) return peer_own(argv);
    return peer_cases(argv, cases, sizeof cases / sizeof *cases);
}
