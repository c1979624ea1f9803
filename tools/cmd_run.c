/*
 * cmd_run.c - `oriel run` and `oriel exec`: a program with the layer that fits its MPI.
 */
#define _GNU_SOURCE 1

#include "core/config.h"
#include "tools/choose.h"
#include "tools/forward.h"
#include "tools/launcher.h"
#include "tools/layers.h"
#include "tools/settings.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS_HELP                                                                   \
    "options:\n"                                                                       \
    "  --windows RULES    which windows are served (ORIEL_WINDOWS); without it and\n"  \
    "                     without the variable: all\n"                                 \
    "  --engines NAMES    engines that may be used, joined by '+' (ORIEL_ENGINES)\n"   \
    "  --stats[=FORMAT]   print counters at the end: text (default), json,\n"          \
    "                     text:PATH or json:PATH (ORIEL_STATS)\n"                      \
    "  --strict           an error where a window cannot be served (ORIEL_STRICT)\n"   \
    "  --set NAME=VALUE   any other ORIEL_ variable; the prefix may be left out\n"     \
    "  --mpi MPI          mpich or openmpi, where the program does not show it\n"      \
    "  --layer PATH       the layer itself\n"                                          \
    "  --dry-run, --print\n"                                                           \
    "                     print the command that would run, and end\n"                 \
    "  -v, --verbose      say what was found; the ranks say what they decide\n"        \
    "  -h, --help         show this\n"

static const char run_help[] =
    "usage: oriel run [OPTIONS] [--] LAUNCHER [ARGUMENTS] PROGRAM [ARGUMENTS]\n"
    "       oriel run [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Run an MPI program with its window reads served by Oriel. The launcher is\n"
    "mpirun or mpiexec (of MPICH and its relatives, or of Open MPI), srun, or\n"
    "another that passes its environment on. The layer is chosen by the MPI that\n"
    "the program loads; it and the ORIEL_ variables are given to the ranks, not to\n"
    "the launcher, where the launcher has options for that.\n"
    "\n" OPTIONS_HELP "\n"
    "examples:\n"
    "  oriel run -- mpirun -n 4 ./program\n"
    "  oriel run --stats --windows 'bytes>=1M' -- srun -n 64 ./program input\n"
    "  oriel run --mpi openmpi -- mpirun -n 4 python3 reader.py\n";

static const char exec_help[] =
    "usage: oriel exec [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Become one program with its window reads served by Oriel. Placed between a\n"
    "launcher and its program it works where variables do not reach the ranks.\n"
    "\n" OPTIONS_HELP "\n"
    "examples:\n"
    "  mpirun -n 4 oriel exec -- ./program\n"
    "  env -i /usr/bin/mpirun -n 4 /usr/bin/oriel exec --stats -- ./program\n";

enum {
    OPT_WINDOWS = 256,
    OPT_ENGINES,
    OPT_STATS,
    OPT_STRICT,
    OPT_SET,
    OPT_MPI,
    OPT_LAYER,
    OPT_DRY,
};
static const struct option long_options[] = {
    {"windows", required_argument, NULL, OPT_WINDOWS},
    {"engines", required_argument, NULL, OPT_ENGINES},
    {"stats", optional_argument, NULL, OPT_STATS},
    {"strict", no_argument, NULL, OPT_STRICT},
    {"set", required_argument, NULL, OPT_SET},
    {"mpi", required_argument, NULL, OPT_MPI},
    {"layer", required_argument, NULL, OPT_LAYER},
    {"dry-run", no_argument, NULL, OPT_DRY},
    {"print", no_argument, NULL, OPT_DRY},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct request {
    const char *command; /* "run" or "exec" */
    struct oriel_words chosen;
    struct oriel_choice_request choice;
    bool is_dry;
    bool is_verbose;
};

static int take_mpi(struct request *request, const char *value)
{
    for (int mpi = 1; mpi < ORIEL_MPI_COUNT; mpi++) {
        if (strcmp(value, oriel_mpi_names[mpi]) != 0) continue;
        request->choice.mpi = (enum oriel_mpi)mpi;
        return 0;
    }
    return oriel_usage_error(request->command, "--mpi is mpich or openmpi, not '%s'",
                             value);
}

static int take_option(struct request *request, int option, const char *value)
{
    struct oriel_words *chosen = &request->chosen;
    const char *command = request->command;
    switch (option) {
    case OPT_WINDOWS:
        return oriel_settings_add(chosen, command, "ORIEL_WINDOWS", value);
    case OPT_ENGINES:
        return oriel_settings_add(chosen, command, "ORIEL_ENGINES", value);
    case OPT_STATS:
        return oriel_settings_add_stats(chosen, command, value ? value : "text");
    case OPT_STRICT:
        return oriel_settings_add(chosen, command, "ORIEL_STRICT", "on");
    case OPT_SET:
        return oriel_settings_add_pair(chosen, command, value);
    case OPT_MPI:
        return take_mpi(request, value);
    case OPT_LAYER:
        request->choice.layer = value;
        return 0;
    case OPT_DRY:
        request->is_dry = true;
        return 0;
    default:
        request->is_verbose = true;
        return 0;
    }
}

/* `oriel run -n 4 ./program`: an option of the launcher's in our place. */
static int refuse(const struct request *request, int result, const char *word)
{
    bool is_launchers = (word[1] != '-' && word[1] != 'v' && word[1] != 'h') ||
                        oriel_launcher_values(ORIEL_LAUNCHER_OPENMPI, word) > 0;
    if (result == '?' && is_launchers && strcmp(request->command, "run") == 0)
        return oriel_usage_error("run",
                                 "no option '%s'; the launcher's options follow it: "
                                 "oriel run -- mpirun %s ...",
                                 word, word);
    return oriel_option_error(request->command, result, word, long_options);
}

/* Returns 0 and the first word of the command in optind; an exit code. */
static int parse_options(struct request *request, int argc, char **argv)
{
    opterr = 0;
    for (;;) {
        int before = optind;
        int option = getopt_long(argc, argv, "+:vh", long_options, NULL);
        if (option == -1) break;
        const char *word = argv[before];
        if (option == '?' || option == ':') return refuse(request, option, word);
        int rc = take_option(request, option, optarg);
        if (rc) return rc;
    }
    if (optind == argc)
        return oriel_usage_error(
            request->command, "no program was given: oriel %s -- %s", request->command,
            strcmp(request->command, "run") == 0 ? "mpirun -n 4 ./program"
                                                 : "./program");
    /* `--stats json` would take json for the program. */
    if (optind > 1 && strcmp(argv[optind - 1], "--stats") == 0 &&
        oriel_settings_is_stats(argv[optind]))
        return oriel_usage_error(request->command, "write --stats=%s", argv[optind]);
    return 0;
}

static int show(const struct oriel_forward *forward)
{
    for (size_t i = 0; i < forward->environment.n; i++) {
        const char *pair = forward->environment.items[i];
        size_t bytes = strcspn(pair, "=") + 1;
        char *value = oriel_quoted(pair + bytes);
        printf("%.*s%s ", (int)bytes, pair, value);
        free(value);
    }
    for (size_t i = 0; i < forward->command.n; i++) {
        char *word = oriel_quoted(forward->command.items[i]);
        printf("%s%s", i ? " " : "", word);
        free(word);
    }
    putchar('\n');
    return oriel_stdout_done();
}

static int execute(const struct oriel_forward *forward)
{
    char **argv = forward->command.items;
    for (size_t i = 0; i < forward->environment.n; i++)
        putenv(forward->environment.items[i]);
    execvp(argv[0], argv);
    int error = errno;
    oriel_complain("%s: %s", argv[0],
                   error == ENOENT && !strchr(argv[0], '/') ? "no such command"
                                                            : strerror(error));
    return error == ENOENT ? ORIEL_EXIT_NOT_FOUND : ORIEL_EXIT_NOT_EXECUTED;
}

static int launch(struct request *request, const struct oriel_launcher *launcher,
                  char **argv, size_t argc)
{
    char layer[PATH_MAX];
    struct oriel_forward forward;
    struct oriel_words inherited = {0};
    const char *why = "";
    int rc = oriel_choice_make(&request->choice, launcher, argv, layer, sizeof layer);
    if (rc) return rc;
    oriel_settings_inherited(&inherited, &request->chosen);
    struct oriel_forward_what what = {
        .layer = layer, .chosen = &request->chosen, .inherited = &inherited};
    if (oriel_forward_build(launcher, argv, argc, &what, &forward, &why)) {
        oriel_complain("%s. Put 'oriel exec --' in front of the program instead: "
                       "%s ... oriel exec -- PROGRAM",
                       why, argv[launcher->at]);
        oriel_words_fini(&inherited);
        return ORIEL_EXIT_FAILED;
    }
    rc = request->is_dry ? show(&forward) : execute(&forward);
    oriel_forward_fini(&forward);
    oriel_words_fini(&inherited);
    return rc;
}

static int run_or_exec(const char *command, int argc, char **argv)
{
    struct request request = {.command = command};
    struct oriel_launcher launcher;
    int rc = parse_options(&request, argc, argv);
    if (!rc) {
        size_t words = (size_t)(argc - optind);
        argv += optind;
        request.choice.is_verbose = request.is_verbose;
        request.choice.command = command;
        rc = oriel_settings_complete(&request.chosen, request.is_verbose);
        if (!rc && strcmp(command, "exec") == 0)
            oriel_launcher_none(words, &launcher);
        else if (!rc && oriel_launcher_parse(argv, words, &launcher))
            rc = oriel_usage_error(command, "more than %d parts between ':'",
                                   ORIEL_LAUNCHER_APPS_MAX);
        if (!rc) rc = launch(&request, &launcher, argv, words);
    }
    oriel_words_fini(&request.chosen);
    return rc;
}

static int run_run(int argc, char **argv)
{
    return run_or_exec("run", argc, argv);
}

static int run_exec(int argc, char **argv)
{
    return run_or_exec("exec", argc, argv);
}

const struct oriel_command oriel_command_run = {
    "run", "run an MPI program with its window reads served", run_help, run_run};
const struct oriel_command oriel_command_exec = {
    "exec", "become one program with its reads served; for use behind a launcher",
    exec_help, run_exec};
