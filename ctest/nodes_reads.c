/*
 * Several nodes: reads between them go by the fabric that is named, reads inside a node
 * by shared memory, and a target that computes delays neither.
 *
 *   nodes_reads ofi|ucx
 *
 * Run by nodes.sh, which sets ORIEL_TEST_NODE.
 */
#include "mpi_test.h"

enum { BYTES = 3 << 20, UNIT = 4 };
static const char *fabric;
static int *nodes; /* of all ranks */
static unsigned char *got;

static void find_nodes(void)
{
    const char *node = getenv("ORIEL_TEST_NODE");
    NEED(node, "nodes.sh says which node this is");
    int mine = atoi(node), several = 0;
    nodes = calloc((size_t)test.ranks, sizeof *nodes);
    MPI_Allgather(&mine, 1, MPI_INT, nodes, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < test.ranks; i++)
        several += nodes[i] != nodes[0];
    NEED(several, "there is more than one node");
}

static bool near(int rank)
{
    return nodes[rank] == nodes[test.rank];
}

static void read_from(struct test_window *w, int target, size_t at, size_t bytes)
{
    memset(got, 0, bytes);
    MPI_Get(got, (int)bytes, MPI_BYTE, target, (MPI_Aint)(at / UNIT), (int)bytes,
            MPI_BYTE, w->win);
    MPI_Win_flush(target, w->win);
    CHECK(pattern_is(got, (unsigned)target, at, bytes), "%zu bytes of rank %d at %zu",
          bytes, target, at);
}

/* Everyone reads everyone, one at a time and many at once. */
static void all_pairs(enum kind kind)
{
    static const size_t sizes[] = {1, 8, 4096, 100001, BYTES};
    enum { SIZES = 5, MANY = 200, SMALL = 3000 };
    struct test_window w = window_open(MPI_COMM_WORLD, kind, BYTES, UNIT, NULL);
    /* Open MPI maps allocated windows on the node itself. */
    bool mapped = test.openmpi && kind == KIND_ALLOCATE;
    const char *shared = kind == KIND_CREATE ? "cma" : "mapped";
    uint64_t reads[3] = {0}; /* self, near, far */
    pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w.win);
    /* Where locks are lazy (osc/pt2pt), the first read of each target is native. */
    for (int i = 0; i < test.ranks; i++)
        read_from(&w, i, 0, 8);
    uint64_t self = counter(w.win, "self"), far = counter(w.win, fabric);
    uint64_t local = counter(w.win, shared);
    for (int i = 0; i < test.ranks; i++) {
        int target = (test.rank + i) % test.ranks;
        uint64_t *count = &reads[i == 0 ? 0 : near(target) ? 1 : 2];
        for (int s = 0; s < SIZES; s++) {
            read_from(&w, target, 0, sizes[s]);
            read_from(&w, target, (BYTES - sizes[s]) / UNIT * UNIT, sizes[s]);
            *count += 2;
        }
        for (int k = 0; k < MANY; k++)
            MPI_Get(got + k * SMALL, SMALL, MPI_BYTE, target,
                    (MPI_Aint)(k * 4096 / UNIT), SMALL, MPI_BYTE, w.win);
        *count += MANY;
        MPI_Win_flush(target, w.win);
        bool right = true;
        for (int k = 0; k < MANY; k++)
            right &=
                pattern_is(got + k * SMALL, (unsigned)target, (size_t)k * 4096, SMALL);
        CHECK(right, "many reads of rank %d land by one flush", target);
    }
    MPI_Win_unlock_all(w.win);
    COUNTED(w.win, "self", self + (mapped ? 0 : reads[0]),
            "a rank's own part is copied (%s)", kind_names[kind]);
    COUNTED(w.win, shared, local + (mapped ? 0 : reads[1]),
            "inside a node reads go by shared memory (%s)", kind_names[kind]);
    COUNTED(w.win, fabric, far + reads[2], "between nodes by %s (%s)", fabric,
            kind_names[kind]);
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&w);
}

/* Rank 0 makes no MPI call until it has been read: reads that wait for it never end. */
static void busy_target(void)
{
    struct test_window w = window_open(MPI_COMM_WORLD, KIND_CREATE, BYTES, UNIT, NULL);
    pattern_fill(w.base, (unsigned)test.rank, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    char file[256];
    snprintf(file, sizeof file, "%s/busy", getenv("ORIEL_TEST_FOLDER"));
    if (test.rank == 0) {
        double start = MPI_Wtime();
        volatile double sum = 0;
        bool read = false;
        while (!read && MPI_Wtime() - start < 20) {
            for (int i = 0; i < 1000000; i++)
                sum += i;
            read = access(file, F_OK) == 0;
        }
        (void)sum;
        CHECK(read, "the reads ended while the target computed");
    } else if (test.rank == test.ranks - 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, w.win);
        for (int i = 0; i < 20; i++)
            read_from(&w, 0, 0, 8);
        read_from(&w, 0, 0, 1 << 20);
        MPI_Win_unlock(0, w.win);
        FILE *done = fopen(file, "w");
        NEED(done, "%s can be written", file);
        fclose(done);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (test.rank == test.ranks - 1)
        COUNTED(w.win, fabric, 21, "reads of a busy rank are redirected");
    window_close(&w);
}

int main(int argc, char **argv)
{
    fabric = argc > 1 ? argv[1] : "ofi";
    test_start(3);
    find_nodes();
    NEED(test.layer, "the layer is loaded");
    got = malloc(BYTES);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        all_pairs((enum kind)kind);
    busy_target();
    free(got);
    free(nodes);
    return test_end();
}
