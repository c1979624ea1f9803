/*
 * place_fork.c - fork while windows are open, as data loaders do.
 *
 *   place_fork [rounds] [allocate]
 *
 * Each round forks workers that look at the windows' pages, write over them and leave
 * in different ways, while the parents read each other. A worker's stores must stay
 * its own, the parents' reads right. `allocate` tries that on MPI_Win_allocate's memory
 * as well: the MPI libraries may give shared memory there, Oriel's is private to a
 * child.
 */
#include "place_reads.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

enum { WORKERS = 3 };

static int count_fds(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        n++;
    if (dir) closedir(dir);
    return n;
}

static int is_intact(const struct reads *t, int kind, const unsigned char *base)
{
    for (size_t i = 0; i < READS_BYTES; i++)
        if (base[i] != reads_pattern(t->rank, kind, i)) return 0;
    return 1;
}

static void work(const struct reads *t, unsigned char **bases, int kinds, int way)
{
    int seen = 1;
    for (int kind = 0; kind < kinds; kind++) {
        seen &= is_intact(t, kind, bases[kind]);
        memset(bases[kind], 0xEE, READS_BYTES);
    }
    free(malloc(1 << 20));
    if (!seen) _exit(9);
    if (way % 4 == 0) exit(0);
    if (way % 4 == 1) execl("/bin/true", "true", (char *)NULL);
    if (way % 4 == 2) kill(getpid(), SIGKILL);
    _exit(0);
}

/* Workers of one round; returns how many did not end as they should. */
static int run_workers(const struct reads *t, unsigned char **bases, MPI_Win *windows,
                       int kinds, int round, struct reads *reading)
{
    pid_t child[WORKERS];
    int bad = 0;
    for (int w = 0; w < WORKERS; w++) {
        child[w] = fork();
        if (child[w] == 0) work(t, bases, kinds, round + w);
    }
    for (int kind = 0; kind < READS_KINDS; kind++)
        for (int i = 0; i < 4; i++)
            reads_one(reading, kind, windows[kind], round * 4 + i);
    for (int w = 0; w < WORKERS; w++) {
        int status = 1, killed = (round + w) % 4 == 2;
        if (waitpid(child[w], &status, 0) != child[w] ||
            (killed ? !WIFSIGNALED(status) : status != 0))
            bad++;
    }
    return bad;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100, bad = 0;
    int kinds = argc > 2 ? READS_KINDS : READS_ALLOCATE; /* that children write to */
    unsigned char *base[READS_KINDS];
    MPI_Win win[READS_KINDS];
    struct reads t = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.size);
    for (int kind = 0; kind < READS_KINDS; kind++)
        win[kind] = reads_open(&t, kind, &base[kind]);
    for (int kind = 0; kind < READS_KINDS; kind++) /* everything is connected now */
        for (int i = 0; i < 8; i++)
            reads_one(&t, kind, win[kind], i);
    int fds = count_fds();
    for (int round = 0; round < rounds; round++)
        bad += run_workers(&t, base, win, kinds, round, &t);
    int leaked = count_fds() - fds;
    for (int kind = 0; kind < READS_KINDS; kind++) {
        t.wrong += !is_intact(&t, kind, base[kind]);
        t.redirected += reads_count(win[kind], "redirected");
        reads_close(kind, base[kind], &win[kind]);
    }
    unsigned long long mine[4] = {t.gets, t.redirected, t.wrong, (unsigned)bad}, sum[4];
    MPI_Allreduce(mine, sum, 4, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (t.rank == 0)
        printf("gets=%llu redirected=%llu wrong=%llu below=0 workers_bad=%llu "
               "fds=%d\n%s\n",
               sum[0], sum[1], sum[2], sum[3], leaked,
               sum[2] ? "reads wrong" : "all reads right");
    MPI_Finalize();
    return sum[2] || sum[3] || leaked > 0;
}
