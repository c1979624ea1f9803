/*
 * A window that Oriel serves answers like one that it does not: attributes,
 * MPI_Win_shared_query, group, name, info, the program's own attributes and their
 * callbacks. Info tells what came of the keys.
 */
#include "mpi_test.h"

enum { BYTES = 12345 * 8, UNIT = 8 };

static void *attribute(MPI_Win win, int keyval, int *found)
{
    void *value = NULL;
    MPI_Win_get_attr(win, keyval, &value, found);
    return value;
}

static void predefined(const struct test_window *w)
{
    int found;
    void *base = attribute(w->win, MPI_WIN_BASE, &found);
    /* MPICH 4.0.2's own answer is wrong for its own memory on all ranks but one. */
    if (test.layer || test.openmpi || w->kind != KIND_ALLOCATE)
        CHECK(base == w->base && found, "MPI_WIN_BASE is what the call returned (%s)",
              kind_names[w->kind]);
    MPI_Aint *size = attribute(w->win, MPI_WIN_SIZE, &found);
    CHECK(found && *size == (MPI_Aint)w->bytes, "MPI_WIN_SIZE is the size asked for");
    int *unit = attribute(w->win, MPI_WIN_DISP_UNIT, &found);
    CHECK(found && *unit == UNIT, "MPI_WIN_DISP_UNIT is the unit asked for");
    int *flavor = attribute(w->win, MPI_WIN_CREATE_FLAVOR, &found);
    CHECK(found && *flavor == (w->kind == KIND_ALLOCATE ? MPI_WIN_FLAVOR_ALLOCATE
                                                        : MPI_WIN_FLAVOR_CREATE),
          "MPI_WIN_CREATE_FLAVOR is that of the call (%s)", kind_names[w->kind]);
    int *model = attribute(w->win, MPI_WIN_MODEL, &found);
    CHECK(found && *model == MPI_WIN_UNIFIED, "MPI_WIN_MODEL is unified");
}

static int copies, deletes;

static int on_delete(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)win, (void)keyval, (void)extra;
    deletes += *(int *)value;
    return MPI_SUCCESS;
}

/* The program's attributes: one is set, found, and deleted by free, in order. */
static void own(struct test_window *w)
{
    static int seven = 7;
    int keyval, found;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, &copies);
    int *value = attribute(w->win, keyval, &found);
    CHECK(!found, "an attribute that was not set is not found");
    MPI_Win_set_attr(w->win, keyval, &seven);
    value = attribute(w->win, keyval, &found);
    CHECK(found && *value == 7, "an attribute that was set is found");
    deletes = 0;
    window_close(w);
    CHECK(deletes == 7, "free deletes the program's attributes, once");
    MPI_Win_free_keyval(&keyval);
}

static void group_and_name(MPI_Win win)
{
    MPI_Group group, world;
    int same, length;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Win_get_group(win, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &same);
    CHECK(same == MPI_IDENT, "the window's group is the communicator's");
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Win_set_name(win, "bay");
    MPI_Win_get_name(win, name, &length);
    CHECK(strcmp(name, "bay") == 0, "the window keeps the name that it was given");
}

/* A window that is served is no less of a window of its flavour than another. */
struct query {
    MPI_Aint size;
    int unit;
    void *base;
};

static int shared_query(MPI_Win win, int rank, struct query *out)
{
    int class;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    int error = MPI_Win_shared_query(win, rank, &out->size, &out->unit, &out->base);
    MPI_Error_class(error, &class);
    return class;
}

static void queries(enum kind kind)
{
    struct query results[2];
    int classes[2], ranks[] = {0, test.ranks - 1, MPI_PROC_NULL, test.ranks};
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        /* Open MPI 4.1.4 crashes on ranks that do not exist. */
        if (test.openmpi && ranks[i] == test.ranks) continue;
        for (int served = 0; served < 2; served++) {
            struct test_window w =
                window_open(MPI_COMM_WORLD, kind, BYTES, UNIT,
                            served ? "oriel_offload=true" : "oriel_offload=false");
            results[served] = (struct query){.size = -1};
            classes[served] = shared_query(w.win, ranks[i], &results[served]);
            if (classes[served] == MPI_SUCCESS && ranks[i] == test.rank)
                CHECK(results[served].base == w.base, "the own part is where it is");
            window_close(&w);
        }
        CHECK(classes[0] == classes[1],
              "MPI_Win_shared_query of rank %d gives class %d, natively %d (%s)",
              ranks[i], classes[1], classes[0], kind_names[kind]);
        if (classes[0] == MPI_SUCCESS)
            CHECK(results[0].size == results[1].size &&
                      results[0].unit == results[1].unit,
                  "and the same size and unit (%s)", kind_names[kind]);
    }
}

static void info_is(MPI_Win win, const char *key, const char *wanted)
{
    MPI_Info info;
    char value[128] = "";
    int found = 0;
    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, key, (int)sizeof value - 1, value, &found);
    MPI_Info_free(&info);
    if (has_counters(win))
        CHECK(found && strcmp(value, wanted) == 0, "info key %s is %s (it is '%s')",
              key, wanted, found ? value : "not there");
}

static void keys(enum kind kind)
{
    struct test_window w = window_open(MPI_COMM_WORLD, kind, BYTES, UNIT,
                                       "oriel_offload=true,oriel_access=fenced,"
                                       "no_locks=true");
    info_is(w.win, "oriel_offload", "true");
    info_is(w.win, "oriel_access", "fenced");
    info_is(w.win, "oriel_engine", "node");
    MPI_Info info = info_from("oriel_offload=true,some_key=some_value");
    CHECK(MPI_Win_set_info(w.win, info) == MPI_SUCCESS, "MPI_Win_set_info is let pass");
    info_free(&info);
    info_is(w.win, "oriel_access", "fenced");
    window_close(&w);
}

/* The least that a rank promises is what counts. */
static void least_promise(void)
{
    struct test_window w =
        window_open(MPI_COMM_WORLD, KIND_CREATE, BYTES, UNIT,
                    test.rank == 0 ? "oriel_offload=true,oriel_access=immutable"
                                   : "oriel_offload=true,oriel_access=general");
    info_is(w.win, "oriel_access", "general");
    window_close(&w);
}

int main(void)
{
    test_start(2);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct test_window w =
            window_open(MPI_COMM_WORLD, kind, BYTES, UNIT, "oriel_offload=true");
        if (kind != KIND_ALLOCATE || !test.openmpi)
            CHECK(!test.layer || is_served(w.win), "the window is served");
        predefined(&w);
        group_and_name(w.win);
        own(&w);
        queries(kind);
        keys(kind);
    }
    least_promise();
    return test_end();
}
