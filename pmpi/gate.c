#define _GNU_SOURCE
#include "pmpi/gate.h"

#include "core/log.h"
#include "pmpi/layer.h"
#include "pmpi/native.h"
#include "pmpi/wrap.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Arguments as machine words: all of MPI's are integers or pointers, which both
 * x86-64 and AArch64 pass the same way. */
typedef intptr_t word;
#define PARAMS_0 void
#define PARAMS_1 word a
#define PARAMS_2 PARAMS_1, word b
#define PARAMS_3 PARAMS_2, word c
#define PARAMS_4 PARAMS_3, word d
#define PARAMS_5 PARAMS_4, word e
#define PARAMS_6 PARAMS_5, word f
#define PARAMS_7 PARAMS_6, word g
#define PARAMS_8 PARAMS_7, word h
#define PARAMS_9 PARAMS_8, word i
#define PARAMS_10 PARAMS_9, word j
#define PARAMS_11 PARAMS_10, word k
#define PARAMS_12 PARAMS_11, word l
#define PARAMS_13 PARAMS_12, word m
#define ARGS_0
#define ARGS_1 a
#define ARGS_2 ARGS_1, b
#define ARGS_3 ARGS_2, c
#define ARGS_4 ARGS_3, d
#define ARGS_5 ARGS_4, e
#define ARGS_6 ARGS_5, f
#define ARGS_7 ARGS_6, g
#define ARGS_8 ARGS_7, h
#define ARGS_9 ARGS_8, i
#define ARGS_10 ARGS_9, j
#define ARGS_11 ARGS_10, k
#define ARGS_12 ARGS_11, l
#define ARGS_13 ARGS_12, m

/* A function of each entry's shape, and the one that an entry leads to. Relaxed
 * loads are plain moves; the targets never go away. */
#define ORIEL_WRAP(name, arguments, when)                                              \
    typedef word shape_##name(PARAMS_##arguments);                                     \
    static shape_##name first_##name;                                                  \
    static shape_##name *_Atomic entry_##name = first_##name;
#include "pmpi/wrappers.def"
#undef ORIEL_WRAP

/* The first MPI call of the process finds the library, then goes on. */
static void open_gate(void);
#define ORIEL_WRAP(name, arguments, when)                                              \
    static word first_##name(PARAMS_##arguments)                                       \
    {                                                                                  \
        open_gate();                                                                   \
        return atomic_load_explicit(&entry_##name,                                     \
                                    memory_order_acquire)(ARGS_##arguments);           \
    }
#include "pmpi/wrappers.def"
#undef ORIEL_WRAP

#define ORIEL_WRAP(name, arguments, when)                                              \
    __attribute__((visibility("default")))                                             \
    word oriel_entry_##name(PARAMS_##arguments) __asm__("MPI_" #name);                 \
    word oriel_entry_##name(PARAMS_##arguments)                                        \
    {                                                                                  \
        return atomic_load_explicit(&entry_##name,                                     \
                                    memory_order_relaxed)(ARGS_##arguments);           \
    }
#include "pmpi/wrappers.def"
#undef ORIEL_WRAP

static word missing(void)
{
    oriel_log(ORIEL_LOG_ERROR,
              "an MPI function was called that no loaded MPI library has; link the "
              "program to one, and to the one that it was compiled for");
    abort();
}

/* Where each entry leads past us; looked up once, since the gate opens and closes with
 * the first and the last window. */
#define ORIEL_WRAP(name, arguments, when) static oriel_function *past_##name;
#include "pmpi/wrappers.def"
#undef ORIEL_WRAP

/* A library without PMPI_* (a serial stub) has at least the functions themselves. */
static oriel_function *way_past(const char *name)
{
    oriel_function *function = oriel_native_symbol(name);
    if (!function) function = oriel_native_next(name + 1);
    return function ? function : (oriel_function *)missing;
}

static void find_ways_past(void)
{
#define ORIEL_WRAP(name, arguments, when) past_##name = way_past("PMPI_" #name);
#include "pmpi/wrappers.def"
#undef ORIEL_WRAP
}

#define WINDOW ORIEL_GATE_WINDOW
#define ALWAYS ORIEL_GATE_WATCH
void oriel_gate_set(enum oriel_gate gate)
{
#define ORIEL_WRAP(name, arguments, when)                                              \
    atomic_store_explicit(&entry_##name,                                               \
                          (shape_##name *)(gate >= (when)                              \
                                               ? (oriel_function *)wrap_##name         \
                                               : past_##name),                         \
                          memory_order_release);
#include "pmpi/wrappers.def"
#undef ORIEL_WRAP
}
#undef WINDOW
#undef ALWAYS

#ifdef ORIEL_PMPI_DIRECT

bool oriel_gate_hidden(void)
{
    return false; /* bound when the program was linked */
}

#else

/* By object: our own name for an entry leads to the first tool that has it. */
bool oriel_gate_hidden(void)
{
    Dl_info ours, first;
    bool hidden = false;
    if (!dladdr(&entry_Get, &ours)) return false;
#define ORIEL_WRAP(name, arguments, when)                                              \
    if (dladdr(dlsym(RTLD_DEFAULT, "MPI_" #name), &first))                             \
        hidden |= first.dli_fbase != ours.dli_fbase;
#include "pmpi/wrappers.def"
#undef ORIEL_WRAP
    return hidden;
}

#endif

static void open_gate(void)
{
    const char *found = NULL;
    enum oriel_native_state state = oriel_native_load(&found);
    find_ways_past();
    switch (state) {
    case ORIEL_NATIVE_MATCH:
        oriel_gate_set(ORIEL_GATE_WATCH);
        break;
    case ORIEL_NATIVE_OTHER:
        oriel_log(ORIEL_LOG_ERROR,
                  "this layer was built for " ORIEL_PMPI_NAME ", found %s: standing "
                  "aside, every call is native. Cure: preload the layer of that MPI, "
                  "or use 'oriel run'",
                  found);
        oriel_gate_set(ORIEL_GATE_ASIDE);
        break;
    case ORIEL_NATIVE_NONE:
        oriel_gate_set(ORIEL_GATE_ASIDE);
        break;
    }
}
