/*
 * ORIEL_WINDOWS, seen from the program: six windows, some annotated. The argument has
 * a letter a window: y served, n not served. Run by mpi_rules.py with many rules.
 *
 *   window 0  100 bytes            window 3  100 bytes, oriel_offload=false
 *   window 1  2 MiB                window 4  a shared one, which is counted
 *   window 2  oriel_offload=true   window 5  100 bytes, oriel_access=fenced only
 *
 * Argument 2: what info key oriel_access says of window 1, or "-".
 */
#include "mpi_test.h"

enum { N = 6, LARGE = 2 << 20 };

static void is_read_right(MPI_Win win, unsigned seed)
{
    unsigned char got[100];
    int target = (test.rank + 1) % test.ranks;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(got, 100, MPI_BYTE, target, 0, 100, MPI_BYTE, win);
    MPI_Win_unlock(target, win);
    CHECK(pattern_is(got, seed + (unsigned)target, 0, 100), "window %u is read right",
          seed / 10);
}

static void access_is(MPI_Win win, const char *wanted)
{
    MPI_Info info;
    char value[64] = "";
    int found = 0;
    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, "oriel_access", (int)sizeof value - 1, value, &found);
    MPI_Info_free(&info);
    CHECK(found && strcmp(value, wanted) == 0, "access of window 1 is %s (it is '%s')",
          wanted, value);
}

int main(int argc, char **argv)
{
    static const char *const keys[N] = {NULL,
                                        NULL,
                                        "oriel_offload=true",
                                        "oriel_offload=false",
                                        NULL,
                                        "oriel_access=fenced"};
    struct test_window w[N];
    NEED(argc == 3 && strlen(argv[1]) == N, "two arguments");
    test_start(2);
    NEED(test.layer, "the layer is loaded");
    for (unsigned i = 0; i < N; i++) {
        if (i == 4) {
            MPI_Win_allocate_shared(100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w[i].base,
                                    &w[i].win);
            continue;
        }
        w[i] =
            window_open(MPI_COMM_WORLD, KIND_CREATE, i == 1 ? LARGE : 100, 1, keys[i]);
        pattern_fill(w[i].base, 10 * i + (unsigned)test.rank, 0, 100);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned i = 0; i < N; i++) {
        if (i != 4) is_read_right(w[i].win, 10 * i);
        CHECK(is_served(w[i].win) == (argv[1][i] == 'y'), "window %u is %sserved", i,
              argv[1][i] == 'y' ? "" : "not ");
        if (argv[1][i] == 'y')
            COUNTED(w[i].win, "redirected", 1, "and its read redirected");
    }
    if (strcmp(argv[2], "-") != 0) access_is(w[1].win, argv[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        if (i == 4)
            MPI_Win_free(&w[i].win);
        else
            window_close(&w[i]);
    }
    return test_end();
}
