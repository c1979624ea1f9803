/* core.window: the table of windows, and reaching targets. */
#include "core/window.h"

#include "core/route.h"

#include "check.h"

#include <string.h>

enum { MANY = 3000 };

static struct oriel_window *make(void)
{
    struct oriel_window_spec spec = {.n = 1, .rules = {true, true, true, false}};
    struct oriel_region *exposed[ORIEL_ENGINE_COUNT] = {0};
    struct oriel_row *rows = calloc(1, sizeof *rows);
    struct oriel_window *window = oriel_window_create(&spec, rows, NULL, exposed);
    REQUIRE(window, "a window is created");
    return window;
}

/* Handles as MPI libraries give them: small integers with a tag, or pointers. */
static uintptr_t key_of(size_t i, int style)
{
    return style ? 0x7f0012340000u + i * 0x1c0 : 0xa0000000u + i;
}

static void test_table(int style)
{
    static struct oriel_window *windows[MANY];
    CHECK(oriel_window_find(key_of(0, style)) == NULL, "an empty table finds nothing");
    for (size_t i = 0; i < MANY; i++) {
        windows[i] = make();
        CHECK(oriel_window_insert(windows[i], key_of(i, style)) == 0, "it goes in");
    }
    size_t found = 0;
    for (size_t i = 0; i < MANY; i++)
        found += oriel_window_find(key_of(i, style)) == windows[i];
    CHECK(found == MANY, "each is found by its handle (%zu)", found);
    for (size_t i = 0; i < MANY; i += 2)
        oriel_window_remove(windows[i]);
    found = 0;
    for (size_t i = 0; i < MANY; i++)
        found += oriel_window_find(key_of(i, style)) != 0;
    CHECK(found == MANY / 2, "half are left (%zu)", found);
    CHECK(oriel_window_find(key_of(1, style)) == windows[1], "the right half");
    /* Handles are reused at once. */
    for (int round = 0; round < 20000; round++) {
        oriel_window_insert(windows[0],
                            key_of((size_t)round % MANY & ~(size_t)1, style));
        oriel_window_remove(windows[0]);
    }
    CHECK(oriel_window_find(key_of(1, style)) == windows[1],
          "after many reuses as well");
    for (size_t i = 0; i < MANY; i++) {
        oriel_window_remove(windows[i]);
        oriel_window_destroy(windows[i]);
    }
    CHECK(oriel_window_any() == NULL, "the table is empty again");
}

static void test_engines(void)
{
    struct oriel_order order, all = oriel_order_all();
    const char *bad = NULL;
    CHECK(oriel_order_parse("", &order, &bad) == 0 && !order.chosen &&
              oriel_order_set(&order) == ORIEL_ENGINES_ALL,
          "no names mean all engines");
    CHECK(oriel_order_parse("node+node+self", &order, &bad) == 0 && order.chosen &&
              order.n == 1 && order.id[0] == ORIEL_ENGINE_ID_node,
          "an engine by name, once");
    CHECK(oriel_order_parse("self", &order, &bad) == 0 && order.n == 0,
          "self needs no engine");
    CHECK(oriel_order_parse("node+warp", &order, &bad) < 0 && strcmp(bad, "warp") == 0,
          "an unknown name is pointed at");
    struct oriel_order last = {.chosen = true, .n = 1, .id = {ORIEL_ENGINE_COUNT - 1}};
    order = oriel_order_for(&last, &all);
    CHECK(order.n == 1 && order.id[0] == ORIEL_ENGINE_COUNT - 1,
          "a window's choice wins");
    order = oriel_order_for(&all, &last);
    CHECK(order.n == 1 && order.chosen, "where it has none, the process's does");
    order = oriel_order_among(&last, 0);
    CHECK(order.n == 0, "engines that may not be used are left out");
    CHECK(oriel_engines_open(ORIEL_ENGINES_ALL) != 0, "the node engine opens");
    oriel_engines_close();
    CHECK(oriel_engine_opened(ORIEL_ENGINE_ID_node) == NULL, "and closes");
}

int main(void)
{
    test_table(0);
    test_table(1);
    test_engines();
    return check_done();
}
