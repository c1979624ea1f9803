/*
 * launcher.c - mpirun and its relatives.
 */
#define _GNU_SOURCE 1

#include "tools/launcher.h"

#include "tools/words.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Options whose values stand in words of their own, without the leading dashes. What
 * is not listed takes none; a value of an option that is missing here is skipped as
 * long as it is not the name of a program. */
static const char *const openmpi_one[] = {"n",
                                          "np",
                                          "c",
                                          "x",
                                          "H",
                                          "N",
                                          "host",
                                          "hostfile",
                                          "machinefile",
                                          "default-hostfile",
                                          "map-by",
                                          "bind-to",
                                          "rank-by",
                                          "wdir",
                                          "wd",
                                          "path",
                                          "prefix",
                                          "npernode",
                                          "npersocket",
                                          "am",
                                          "tune",
                                          "rf",
                                          "rankfile",
                                          "timeout",
                                          "output-filename",
                                          "ompi-server",
                                          "report-pid",
                                          "report-uri",
                                          "report-events",
                                          "app",
                                          "cpu-set",
                                          "cpu-list",
                                          "cpus-per-proc",
                                          "cpus-per-rank",
                                          "personality",
                                          "stdin",
                                          "xterm",
                                          "slot-list",
                                          "max-restarts",
                                          "dvm",
                                          "server-wait-time",
                                          "max-vm-size",
                                          "runtime-options",
                                          "output",
                                          "input",
                                          "display",
                                          "rankfile",
                                          "parseable",
                                          "session-dir",
                                          NULL};
static const char *const openmpi_two[] = {"mca",     "gmca",    "omca", "pmca",
                                          "prtemca", "pmixmca", NULL};
static const char *const hydra_one[] = {"n",
                                        "np",
                                        "f",
                                        "hosts",
                                        "host",
                                        "wdir",
                                        "configfile",
                                        "launcher",
                                        "launcher-exec",
                                        "bootstrap",
                                        "bootstrap-exec",
                                        "rmk",
                                        "topolib",
                                        "bind-to",
                                        "map-by",
                                        "membind",
                                        "demux",
                                        "iface",
                                        "ppn",
                                        "perhost",
                                        "genvlist",
                                        "envlist",
                                        "genvexcl",
                                        "machinefile",
                                        "prepend-pattern",
                                        "outfile-pattern",
                                        "errfile-pattern",
                                        "outfile",
                                        "errfile",
                                        "path",
                                        "localhost",
                                        "usize",
                                        "s",
                                        "gpus-per-proc",
                                        "gpu-subdevs-per-proc",
                                        "order-nodes",
                                        "nameserver",
                                        "pmi-args",
                                        "ckpoint-interval",
                                        "ckpoint-prefix",
                                        "ckpointlib",
                                        "hostfile",
                                        NULL};
static const char *const hydra_two[] = {"genv", "env", NULL};
static const char *const srun_one[] = {"A",
                                       "B",
                                       "c",
                                       "C",
                                       "d",
                                       "D",
                                       "e",
                                       "G",
                                       "i",
                                       "J",
                                       "L",
                                       "m",
                                       "M",
                                       "n",
                                       "N",
                                       "o",
                                       "p",
                                       "q",
                                       "r",
                                       "S",
                                       "t",
                                       "T",
                                       "w",
                                       "x",
                                       "account",
                                       "accel-bind",
                                       "acctg-freq",
                                       "bb",
                                       "begin",
                                       "chdir",
                                       "cluster-constraint",
                                       "clusters",
                                       "comment",
                                       "constraint",
                                       "core-spec",
                                       "cores-per-socket",
                                       "cpu-bind",
                                       "cpu-freq",
                                       "cpus-per-gpu",
                                       "cpus-per-task",
                                       "deadline",
                                       "dependency",
                                       "distribution",
                                       "epilog",
                                       "error",
                                       "exclude",
                                       "export",
                                       "extra-node-info",
                                       "gid",
                                       "gpu-bind",
                                       "gpu-freq",
                                       "gpus",
                                       "gpus-per-node",
                                       "gpus-per-socket",
                                       "gpus-per-task",
                                       "gres",
                                       "gres-flags",
                                       "hint",
                                       "input",
                                       "job-name",
                                       "jobid",
                                       "licenses",
                                       "mail-type",
                                       "mail-user",
                                       "mcs-label",
                                       "mem",
                                       "mem-bind",
                                       "mem-per-cpu",
                                       "mem-per-gpu",
                                       "mincpus",
                                       "mpi",
                                       "msg-timeout",
                                       "network",
                                       "nodefile",
                                       "nodelist",
                                       "nodes",
                                       "ntasks",
                                       "ntasks-per-core",
                                       "ntasks-per-gpu",
                                       "ntasks-per-node",
                                       "ntasks-per-socket",
                                       "open-mode",
                                       "output",
                                       "partition",
                                       "power",
                                       "priority",
                                       "profile",
                                       "prolog",
                                       "qos",
                                       "relative",
                                       "reservation",
                                       "signal",
                                       "slurmd-debug",
                                       "sockets-per-node",
                                       "switches",
                                       "task-epilog",
                                       "task-prolog",
                                       "threads-per-core",
                                       "time",
                                       "time-min",
                                       "uid",
                                       "wait",
                                       "wckey",
                                       NULL};

static bool is_listed(const char *const *list, const char *name)
{
    for (; *list; list++)
        if (strcmp(*list, name) == 0) return true;
    return false;
}

size_t oriel_launcher_values(enum oriel_launcher_kind kind, const char *option)
{
    const char *name = option + strspn(option, "-");
    switch (kind) {
    case ORIEL_LAUNCHER_OPENMPI:
        return is_listed(openmpi_two, name) ? 2 : is_listed(openmpi_one, name);
    case ORIEL_LAUNCHER_HYDRA:
        return is_listed(hydra_two, name) ? 2 : is_listed(hydra_one, name);
    case ORIEL_LAUNCHER_SRUN:
        return is_listed(srun_one, name);
    default:
        return 0;
    }
}

enum oriel_mpi oriel_launcher_mpi(enum oriel_launcher_kind kind)
{
    return kind == ORIEL_LAUNCHER_OPENMPI ? ORIEL_MPI_OPENMPI
           : kind == ORIEL_LAUNCHER_HYDRA ? ORIEL_MPI_MPICH
                                          : ORIEL_MPI_UNKNOWN;
}

/* Commands that run the one that follows them. */
static bool is_front(const char *name)
{
    static const char *const names[] = {
        "env",    "time",    "timeout", "nice", "nohup",  "ionice", "setsid",
        "stdbuf", "taskset", "numactl", "chrt", "strace", NULL};
    return is_listed(names, oriel_base_name(name));
}

/* Starts programs that inherit its environment. */
static bool is_inheriting(const char *name)
{
    static const char *const names[] = {"jsrun", "aprun", "flux", "palsrun",
                                        "lrun",  "ibrun", NULL};
    return is_listed(names, name);
}

/* mpirun, mpiexec, mpirun.openmpi, mpiexec.hydra, orterun, prterun, prun. */
static bool is_mpirun(const char *name)
{
    return strncmp(name, "mpirun", 6) == 0 || strncmp(name, "mpiexec", 7) == 0 ||
           strcmp(name, "orterun") == 0 || strcmp(name, "prterun") == 0 ||
           strcmp(name, "prun") == 0;
}

static enum oriel_launcher_kind ask_version(const char *path)
{
    static char text[1 << 16];
    char *argv[] = {(char *)(size_t)path, "--version", NULL};
    if (oriel_program_output(argv, true, text, sizeof text) < 0)
        return ORIEL_LAUNCHER_OTHER;
    if (strstr(text, "Open MPI") || strstr(text, "OpenRTE") || strstr(text, "PRTE") ||
        strstr(text, "PRRTE"))
        return ORIEL_LAUNCHER_OPENMPI;
    if (strcasestr(text, "HYDRA") || strstr(text, "Intel(R) MPI"))
        return ORIEL_LAUNCHER_HYDRA;
    return ORIEL_LAUNCHER_OTHER;
}

enum oriel_launcher_kind oriel_launcher_recognize(const char *name, char *path_out)
{
    char real[PATH_MAX];
    const char *base = oriel_base_name(name);
    bool is_srun = strcmp(base, "srun") == 0;
    if (!is_srun && !is_inheriting(base) && !is_mpirun(base))
        return ORIEL_LAUNCHER_NONE;
    if (!oriel_program_find(name, path_out, PATH_MAX)) return ORIEL_LAUNCHER_NONE;
    if (is_srun) return ORIEL_LAUNCHER_SRUN;
    if (is_inheriting(base)) return ORIEL_LAUNCHER_OTHER;
    const char *last = realpath(path_out, real) ? oriel_base_name(real) : base;
    if (strcmp(last, "orterun") == 0 || strcmp(last, "prterun") == 0)
        return ORIEL_LAUNCHER_OPENMPI;
    if (strcmp(last, "mpiexec.hydra") == 0) return ORIEL_LAUNCHER_HYDRA;
    return ask_version(path_out);
}

/* The program of one part: the first word that is neither an option nor the value of
 * one. A word that is no command is taken for the value of an unlisted option, unless
 * nothing better follows. */
static size_t find_program(char *const argv[], struct oriel_launcher_app app,
                           enum oriel_launcher_kind kind)
{
    char path[PATH_MAX];
    size_t first_word = app.end;
    for (size_t i = app.first; i < app.end; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--") == 0) return i + 1;
        if (word[0] == '-') {
            i += oriel_launcher_values(kind, word);
            continue;
        }
        if (oriel_program_find(word, path, sizeof path)) return i;
        if (first_word == app.end) first_word = i;
    }
    return first_word;
}

static int split_apps(char *const argv[], size_t argc, struct oriel_launcher *out)
{
    bool has_parts =
        out->kind == ORIEL_LAUNCHER_OPENMPI || out->kind == ORIEL_LAUNCHER_HYDRA;
    size_t first = out->at + 1;
    out->n = 0;
    for (size_t i = first; i <= argc; i++) {
        if (i < argc && !(has_parts && strcmp(argv[i], ":") == 0)) continue;
        if (out->n == ORIEL_LAUNCHER_APPS_MAX) return -E2BIG;
        struct oriel_launcher_app app = {.first = first, .program = i, .end = i};
        app.program = find_program(argv, app, out->kind);
        out->apps[out->n++] = app;
        first = i + 1;
    }
    return 0;
}

void oriel_launcher_none(size_t argc, struct oriel_launcher *out)
{
    *out = (struct oriel_launcher){
        .kind = ORIEL_LAUNCHER_NONE, .n = 1, .apps = {{.end = argc}}};
}

int oriel_launcher_parse(char *const argv[], size_t argc, struct oriel_launcher *out)
{
    char path[PATH_MAX];
    size_t last = is_front(argv[0]) ? argc : 1;
    for (size_t i = 0; i < last; i++) {
        enum oriel_launcher_kind kind = oriel_launcher_recognize(argv[i], path);
        if (kind == ORIEL_LAUNCHER_NONE) continue;
        *out = (struct oriel_launcher){
            .kind = kind, .mpi = oriel_launcher_mpi(kind), .at = i};
        return split_apps(argv, argc, out);
    }
    oriel_launcher_none(argc, out);
    return 0;
}
