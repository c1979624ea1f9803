/*
 * Ranks whose settings differ: reads stay right, nobody hangs, and a rank that can
 * redirect does.
 *
 *   mpi_settings RANK NAME=VALUE EXPECT
 *
 * sets the variable on that rank alone (the program starts itself again with it), and
 * EXPECT tells what becomes of the others' reads of each other and of that rank:
 *   all   every one is redirected
 *   both  the set rank and the others read each other natively; others redirect
 *   from  only the set rank's own reads are native
 *   any   not looked at
 * Run by mpi_settings.py with many variables, all ranks with ORIEL_WINDOWS=all.
 */
#include "mpi_test.h"

enum { BYTES = 4096 };
static unsigned char got[BYTES];

/* The launcher's number of this rank, before MPI_Init. */
static int rank_by_launcher(void)
{
    static const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK"};
    for (int i = 0; i < 2; i++)
        if (getenv(names[i])) return atoi(getenv(names[i]));
    return -1;
}

/* Starts this program again with the variable, on the rank that it is for. */
static void set_on_rank(char **argv)
{
    char *setting = argv[2];
    if (getenv("ORIEL_TEST_AGAIN") || rank_by_launcher() != atoi(argv[1])) return;
    setenv("ORIEL_TEST_AGAIN", "1", 1);
    char *value = strchr(setting, '=');
    *value = '\0';
    setenv(setting, value + 1, 1);
    *value = '=';
    execv(argv[0], argv);
    NEED(false, "the program starts again");
}

/* Which of this rank's reads have to be redirected? */
static bool must_redirect(const char *expect, int set_rank, int target)
{
    bool mine = test.rank == set_rank, its = target == set_rank;
    if (strcmp(expect, "all") == 0) return true;
    if (strcmp(expect, "both") == 0) return !mine && !its;
    if (strcmp(expect, "from") == 0) return !mine;
    return false;
}

static void read_all(struct test_window *w, const char *expect, int set_rank)
{
    for (int target = 0; target < test.ranks; target++) {
        uint64_t before = reads_served(w);
        memset(got, 0, BYTES);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
        MPI_Get(got, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, w->win);
        MPI_Win_unlock(target, w->win);
        CHECK(pattern_is(got, (unsigned)target, 0, BYTES),
              "a read of rank %d by rank %d is right (%s)", target, test.rank,
              kind_names[w->kind]);
        if (strcmp(expect, "any") == 0 || target == test.rank || !has_counters(w->win))
            continue;
        uint64_t moved = reads_served(w) - before;
        CHECK(moved == must_redirect(expect, set_rank, target),
              "a read of rank %d by rank %d is %s (%s)", target, test.rank,
              moved ? "redirected" : "native", kind_names[w->kind]);
    }
}

int main(int argc, char **argv)
{
    NEED(argc == 4 && strchr(argv[2], '='), "RANK NAME=VALUE EXPECT");
    set_on_rank(argv);
    int set_rank = atoi(argv[1]);
    test_start(3);
    NEED(test.layer, "the layer is loaded");
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct test_window w = window_open(MPI_COMM_WORLD, kind, BYTES, 1, NULL);
        pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
        read_all(&w, argv[3], set_rank);
        MPI_Barrier(MPI_COMM_WORLD);
        window_close(&w);
    }
    return test_end();
}
