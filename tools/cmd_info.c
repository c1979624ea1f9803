/*
 * cmd_info.c - `oriel info`: what this build has, and what works on this machine.
 */
#define _GNU_SOURCE 1

#include "core/config.h"
#include "core/err.h"
#include "core/json.h"
#include "core/version.h"
#include "tools/checks.h"
#include "tools/launcher.h"
#include "tools/layers.h"
#include "tools/program.h"
#include "tools/tool.h"
#include "transports/engines.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static const char help[] =
    "usage: oriel info [--json]\n"
    "\n"
    "Show the version, the engines of this build and whether they work here, the\n"
    "MPI layers and launchers that are found, and what this machine lets the\n"
    "processes of a job do with each other's memory. Run it where the job runs: a\n"
    "login node may differ from a compute node. The exit code is 1 when no engine\n"
    "works or there is no layer.\n"
    "\n"
    "options:\n"
    "  --json      the same as JSON\n"
    "  -h, --help  show this\n";

enum { WHY_BYTES = 256 };

struct engine_state {
    const char *name;
    bool is_usable;
    char why[WHY_BYTES]; /* it is not usable */
};

struct layer_state {
    enum oriel_mpi mpi;
    bool is_found, is_loadable;
    char path[PATH_MAX];
    char why[WHY_BYTES]; /* it does not load */
};

static const char *const launcher_names[] = {
    "mpirun",        "mpiexec",        "mpirun.mpich",    "mpiexec.mpich",
    "mpiexec.hydra", "mpirun.openmpi", "mpiexec.openmpi", "srun"};
enum { LAUNCHERS = sizeof launcher_names / sizeof launcher_names[0] };

struct launcher_state {
    enum oriel_launcher_kind kind;
    char path[PATH_MAX];
};

struct state {
    struct utsname system;
    struct engine_state engines[ORIEL_ENGINE_COUNT];
    struct layer_state layers[ORIEL_MPI_COUNT]; /* [0] is unused */
    struct launcher_state launchers[LAUNCHERS];
    struct oriel_check checks[ORIEL_CHECKS_MAX];
    size_t checks_count;
    bool is_useful; /* some engine and some layer */
};

static void try_engine(const struct oriel_transport *transport,
                       struct engine_state *out)
{
    struct oriel_engine *engine = NULL;
    const char *why = NULL;
    out->name = transport->name;
    int rc = transport->open(oriel_config_get(), &engine, &why);
    out->is_usable = rc == 0;
    if (rc) {
        snprintf(out->why, sizeof out->why, "%s", why ? why : oriel_strerror(rc));
        return;
    }
    transport->close(engine);
}

/* Without an MPI in this process a layer does nothing but load. */
static void try_layer(enum oriel_mpi mpi, struct layer_state *out)
{
    out->mpi = mpi;
    out->is_found = oriel_layers_find(mpi, out->path, sizeof out->path);
    if (!out->is_found) return;
    void *layer = dlopen(out->path, RTLD_NOW | RTLD_LOCAL);
    out->is_loadable = layer != NULL;
    if (layer)
        dlclose(layer);
    else
        snprintf(out->why, sizeof out->why, "%s", dlerror());
}

static void look_around(struct state *out)
{
    bool has_engine = false, has_layer = false;
    memset(out, 0, sizeof *out);
    uname(&out->system);
    /* The checks fork: before the engines take note of who this process is. */
    out->checks_count = oriel_checks_run(out->checks);
    for (int i = 0; i < ORIEL_ENGINE_COUNT; i++) {
        try_engine(oriel_engines[i], &out->engines[i]);
        has_engine = has_engine || out->engines[i].is_usable;
    }
    for (int mpi = 1; mpi < ORIEL_MPI_COUNT; mpi++) {
        try_layer((enum oriel_mpi)mpi, &out->layers[mpi]);
        has_layer = has_layer || out->layers[mpi].is_loadable;
    }
    for (int i = 0; i < LAUNCHERS; i++)
        out->launchers[i].kind =
            oriel_launcher_recognize(launcher_names[i], out->launchers[i].path);
    out->is_useful = has_engine && has_layer;
}

static const char *launcher_title(enum oriel_launcher_kind kind)
{
    enum oriel_mpi mpi = oriel_launcher_mpi(kind);
    return kind == ORIEL_LAUNCHER_SRUN ? "Slurm"
           : mpi == ORIEL_MPI_UNKNOWN  ? "not known"
                                       : oriel_mpi_titles[mpi];
}

static void put_text(const struct state *state)
{
    printf("oriel %s on %s %s, %s\n", ORIEL_VERSION, state->system.sysname,
           state->system.release, state->system.machine);
    printf("\nengines\n");
    for (int i = 0; i < ORIEL_ENGINE_COUNT; i++)
        printf("  %-16s %s%s\n", state->engines[i].name,
               state->engines[i].is_usable ? "works" : "does not work: ",
               state->engines[i].why);
    printf("\nMPI layers\n");
    for (int mpi = 1; mpi < ORIEL_MPI_COUNT; mpi++) {
        const struct layer_state *layer = &state->layers[mpi];
        printf("  %-16s %s%s%s\n", oriel_mpi_titles[mpi],
               layer->is_found ? layer->path : "not built",
               layer->why[0] ? ", does not load: " : "", layer->why);
    }
    printf("\nlaunchers\n");
    for (int i = 0; i < LAUNCHERS; i++)
        if (state->launchers[i].kind != ORIEL_LAUNCHER_NONE)
            printf("  %-16s %s (%s)\n", launcher_names[i],
                   launcher_title(state->launchers[i].kind), state->launchers[i].path);
    printf("\nthis machine\n");
    for (size_t i = 0; i < state->checks_count; i++)
        printf("  %-16s %s\n  %-16s   %s\n", state->checks[i].name,
               state->checks[i].detail, "", state->checks[i].meaning);
    if (!state->is_useful)
        printf(
            "\nNothing can be redirected here: there must be an engine that works and "
            "a layer that loads.\n");
}

static void put_json(const struct state *state)
{
    struct oriel_json json;
    oriel_json_begin(&json, stdout);
    oriel_json_object(&json, NULL);
    oriel_json_text(&json, "version", ORIEL_VERSION);
    oriel_json_text(&json, "system", state->system.sysname);
    oriel_json_text(&json, "release", state->system.release);
    oriel_json_text(&json, "machine", state->system.machine);
    oriel_json_flag(&json, "useful", state->is_useful);
    oriel_json_array(&json, "engines");
    for (int i = 0; i < ORIEL_ENGINE_COUNT; i++) {
        const struct engine_state *engine = &state->engines[i];
        oriel_json_object(&json, NULL);
        oriel_json_text(&json, "name", engine->name);
        oriel_json_flag(&json, "usable", engine->is_usable);
        oriel_json_text(&json, "why_not", engine->is_usable ? NULL : engine->why);
        oriel_json_end(&json);
    }
    oriel_json_end(&json);
    oriel_json_array(&json, "layers");
    for (int mpi = 1; mpi < ORIEL_MPI_COUNT; mpi++) {
        const struct layer_state *layer = &state->layers[mpi];
        oriel_json_object(&json, NULL);
        oriel_json_text(&json, "mpi", oriel_mpi_names[mpi]);
        oriel_json_text(&json, "path", layer->is_found ? layer->path : NULL);
        oriel_json_flag(&json, "loads", layer->is_loadable);
        oriel_json_text(&json, "why_not", layer->why[0] ? layer->why : NULL);
        oriel_json_end(&json);
    }
    oriel_json_end(&json);
    oriel_json_array(&json, "launchers");
    for (int i = 0; i < LAUNCHERS; i++) {
        const struct launcher_state *launcher = &state->launchers[i];
        if (launcher->kind == ORIEL_LAUNCHER_NONE) continue;
        oriel_json_object(&json, NULL);
        oriel_json_text(&json, "name", launcher_names[i]);
        oriel_json_text(&json, "path", launcher->path);
        oriel_json_text(&json, "mpi",
                        oriel_mpi_names[oriel_launcher_mpi(launcher->kind)]);
        oriel_json_end(&json);
    }
    oriel_json_end(&json);
    oriel_json_array(&json, "checks");
    for (size_t i = 0; i < state->checks_count; i++) {
        const struct oriel_check *check = &state->checks[i];
        oriel_json_object(&json, NULL);
        oriel_json_text(&json, "name", check->name);
        oriel_json_flag(&json, "good", check->is_good);
        oriel_json_text(&json, "detail", check->detail);
        oriel_json_text(&json, "meaning", check->meaning);
        oriel_json_end(&json);
    }
    oriel_json_end(&json);
    oriel_json_end(&json);
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static struct state state;
    bool is_json = false;
    opterr = 0;
    for (;;) {
        int option = getopt_long(argc, argv, ":h", options, NULL);
        if (option == -1) break;
        if (option == '?' || option == ':')
            return oriel_option_error("info", option, argv[optind - 1], options);
        is_json = is_json || option == 'j';
    }
    if (optind < argc)
        return oriel_usage_error("info", "'%s' is too much", argv[optind]);
    look_around(&state);
    if (is_json)
        put_json(&state);
    else
        put_text(&state);
    int rc = oriel_stdout_done();
    return rc ? rc : state.is_useful ? 0 : ORIEL_EXIT_FAILED;
}

const struct oriel_command oriel_command_info = {
    "info", "show what this build has and what works on this machine", help, run};
