/*
 * Field case D1: processes that fork after their windows were made. A child sees the
 * window's bytes as they were, as it would see native memory; its stores, its own
 * fork and its exit reach neither its parent's windows nor the peers that read them;
 * the parent goes on. 100 rounds, and system() in between.
 */
#include "mpi_test.h"

#include <signal.h>
#include <sys/wait.h>

enum { BYTES = 1 << 16, ROUNDS = 100 };
static unsigned char got[BYTES];
static int target;

/* How the child ends: by _exit as workers do, by exit with all its handlers, or by
 * a signal. */
enum ending { BY_UNDERSCORE, BY_EXIT, BY_SIGNAL, BY_EXEC, ENDINGS };

static int child(struct test_window *w, unsigned round, enum ending ending)
{
    int failed = !pattern_is(w->base, round * 10 + (unsigned)test.rank, 0, BYTES);
    memset(w->base, 0xEE, BYTES);
    failed |= !all_bytes(w->base, 0xEE, BYTES) << 1;
    if (round % 5 == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            memset(w->base, 0xDD, BYTES);
            _exit(0);
        }
        int status = 0;
        waitpid(grandchild, &status, 0);
        failed |= (status != 0) << 2;
        failed |= !all_bytes(w->base, 0xEE, BYTES) << 3;
    }
    if (ending == BY_EXEC) execl("/bin/true", "true", (char *)NULL);
    if (ending == BY_SIGNAL && !failed) raise(SIGKILL);
    if (ending == BY_EXIT) return failed;
    _exit(failed);
}

/* Stores of the parent while the child lives. In mapped memory the child sees those to
 * pages that it has not written itself (a copy of all pages at every fork would cost
 * too much), so only the program's own memory is checked. */
static void concurrent_stores(struct test_window *w)
{
    int to_child[2], from_child[2];
    char token = 0;
    NEED(pipe(to_child) == 0 && pipe(from_child) == 0, "pipes");
    memset(w->base, 1, BYTES);
    pid_t pid = fork();
    if (pid == 0) {
        if (read(to_child[0], &token, 1) != 1) _exit(9);
        _exit(!all_bytes(w->base, 1, BYTES));
    }
    memset(w->base, 2, BYTES);
    int status = -1;
    if (write(to_child[1], &token, 1) != 1) CHECK(false, "the child hears");
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "a child has the bytes of the moment of the fork (%s, status %d)",
          kind_names[w->kind], status);
    CHECK(all_bytes(w->base, 2, BYTES), "and its parent has its own");
    for (int i = 0; i < 2; i++) {
        close(to_child[i]);
        close(from_child[i]);
    }
}

static void read_peer(struct test_window *w, unsigned round, const char *when)
{
    memset(got, 0, BYTES);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
    MPI_Get(got, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, w->win);
    MPI_Win_unlock(target, w->win);
    CHECK(pattern_is(got, round * 10 + (unsigned)target, 0, BYTES),
          "%s its child's life the parent's window is right (%s, round %u)", when,
          kind_names[w->kind], round);
}

static void rounds(enum kind kind)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, kind, BYTES, 1, "oriel_offload=true");
    for (unsigned round = 0; round < ROUNDS; round++) {
        enum ending ending = round % ENDINGS;
        pattern_fill(w.base, round * 10 + (unsigned)test.rank, 0, BYTES);
        MPI_Barrier(MPI_COMM_WORLD);
        pid_t pid = fork();
        NEED(pid >= 0, "fork");
        if (pid == 0) exit(child(&w, round, ending));
        read_peer(&w, round, "during");
        int status = -1;
        waitpid(pid, &status, 0);
        CHECK(ending == BY_SIGNAL ? WIFSIGNALED(status)
                                  : WIFEXITED(status) && WEXITSTATUS(status) == 0,
              "the child saw its bytes and stored its own (%s, round %u, status %#x)",
              kind_names[kind], round, status);
        CHECK(pattern_is(w.base, round * 10 + (unsigned)test.rank, 0, BYTES),
              "the parent's bytes are its own (%s, round %u)", kind_names[kind], round);
        MPI_Barrier(MPI_COMM_WORLD);
        read_peer(&w, round, "after");
        if (round % 10 == 0)
            CHECK(system("true") == 0, "system() works beside windows");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ALL_SERVED(&w, 2 * ROUNDS, "reads beside forks are redirected");
    MPI_Barrier(MPI_COMM_WORLD);
    if (kind == KIND_CREATE) concurrent_stores(&w);
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&w);
}

int main(void)
{
    /* exit() in a child runs the handlers that its parent has; those of the output
     * are no part of the test. */
    setvbuf(stdout, NULL, _IONBF, 0);
    test_start(2);
    target = (test.rank + 1) % test.ranks;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        /* The MPI library's own shared memory stays shared in a child. */
        if (kind == KIND_ALLOCATE && (test.openmpi || !test.layer)) continue;
        rounds(kind);
    }
    return test_end();
}
