/*
 * choose.c - which layer fits a command line.
 */
#define _GNU_SOURCE 1

#include "tools/choose.h"

#include "tools/layers.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Words of a part that are looked at: "numactl -N 0 ./program" has its program late,
 * and each one costs a run of the dynamic loader. */
enum { LOOK_MAX = 16 };

struct finding {
    enum oriel_mpi mpi;
    char library[128]; /* that shows it */
    const char *word;  /* the program that loads it */
    bool is_static;    /* the program itself cannot be preloaded */
};

/* The first word from program on that is a program with an MPI. */
static void look(char *const argv[], struct oriel_launcher_app app, struct finding *out)
{
    char path[PATH_MAX];
    size_t last = app.program + LOOK_MAX < app.end ? app.program + LOOK_MAX : app.end;
    for (size_t i = app.program; i < last; i++) {
        struct oriel_program program;
        if (argv[i][0] == '-' || !oriel_program_find(argv[i], path, sizeof path))
            continue;
        oriel_program_inspect(path, &program);
        if (i == app.program && program.kind == ORIEL_PROGRAM_STATIC) {
            out->is_static = true;
            out->word = argv[i];
        }
        if (program.mpi == ORIEL_MPI_UNKNOWN) continue;
        *out = (struct finding){.mpi = program.mpi, .word = argv[i]};
        memcpy(out->library, program.library, sizeof out->library);
        return;
    }
}

/* Returns 0; an exit code when the parts use different MPIs. */
static int look_at_all(const struct oriel_launcher *launcher, char *const argv[],
                       struct finding *out)
{
    *out = (struct finding){0};
    for (size_t i = 0; i < launcher->n; i++) {
        struct finding part = {0};
        look(argv, launcher->apps[i], &part);
        if (part.is_static)
            oriel_complain("%s is linked statically: a preload cannot reach it, its "
                           "reads stay native. Link it with the static layer instead",
                           part.word);
        if (part.mpi == ORIEL_MPI_UNKNOWN) continue;
        if (out->mpi != ORIEL_MPI_UNKNOWN && out->mpi != part.mpi) {
            oriel_complain("%s uses %s and %s uses %s: one job has one MPI", out->word,
                           oriel_mpi_titles[out->mpi], part.word,
                           oriel_mpi_titles[part.mpi]);
            return ORIEL_EXIT_USAGE;
        }
        *out = part;
    }
    return 0;
}

/* What a launcher leaves in the environment of its ranks. */
static enum oriel_mpi mpi_of_environment(void)
{
    if (getenv("OMPI_COMM_WORLD_RANK")) return ORIEL_MPI_OPENMPI;
    if (getenv("PMI_RANK") && getenv("MPI_LOCALNRANKS")) return ORIEL_MPI_MPICH;
    return ORIEL_MPI_UNKNOWN;
}

static enum oriel_mpi choose(const struct oriel_launcher *launcher,
                             const struct finding *found, const char **why_out)
{
    if (found->mpi != ORIEL_MPI_UNKNOWN) {
        *why_out = "the program's";
        return found->mpi;
    }
    *why_out = "the launcher's";
    if (launcher->mpi != ORIEL_MPI_UNKNOWN) return launcher->mpi;
    enum oriel_mpi mpi = mpi_of_environment();
    if (mpi != ORIEL_MPI_UNKNOWN) return mpi;
    *why_out = "the only one with a layer here";
    return oriel_layers_only();
}

static int no_layer(enum oriel_mpi mpi)
{
    oriel_complain("there is no layer for %s: liboriel-pmpi-%s.so is not in",
                   oriel_mpi_titles[mpi], oriel_mpi_names[mpi]);
    const char *folder;
    for (size_t i = 0; (folder = oriel_layers_folder(i)) != NULL; i++)
        oriel_complain("  %s", folder);
    oriel_complain("build Oriel where that MPI is installed, or name the file: --layer "
                   "PATH");
    return ORIEL_EXIT_FAILED;
}

static int take_path(const char *path, char *out, size_t out_bytes)
{
    char full[PATH_MAX];
    if (!realpath(path, full) || access(full, R_OK) || strlen(full) >= out_bytes) {
        oriel_complain("--layer %s: there is no such file that can be read", path);
        return ORIEL_EXIT_USAGE;
    }
    strcpy(out, full);
    return 0;
}

int oriel_choice_make(const struct oriel_choice_request *request,
                      const struct oriel_launcher *launcher, char *const argv[],
                      char *layer_out, size_t layer_bytes)
{
    struct finding found = {0};
    const char *why = "named";
    if (request->layer) return take_path(request->layer, layer_out, layer_bytes);
    int rc = look_at_all(launcher, argv, &found);
    if (rc) return rc;
    enum oriel_mpi mpi = request->mpi;
    if (mpi == ORIEL_MPI_UNKNOWN) mpi = choose(launcher, &found, &why);
    if (mpi == ORIEL_MPI_UNKNOWN)
        return oriel_usage_error(
            request->command,
            "%s does not show which MPI it uses: say --mpi mpich or "
            "--mpi openmpi",
            argv[launcher->apps[0].program < launcher->apps[0].end
                     ? launcher->apps[0].program
                     : launcher->at]);
    if (found.mpi != ORIEL_MPI_UNKNOWN && launcher->mpi != ORIEL_MPI_UNKNOWN &&
        found.mpi != launcher->mpi)
        oriel_complain("%s is linked with %s (%s), and %s is %s's: its ranks will not "
                       "find each other",
                       found.word, oriel_mpi_titles[found.mpi], found.library,
                       argv[launcher->at], oriel_mpi_titles[launcher->mpi]);
    if (!oriel_layers_find(mpi, layer_out, layer_bytes)) return no_layer(mpi);
    if (request->is_verbose)
        oriel_complain("MPI: %s, %s%s%s; layer: %s", oriel_mpi_titles[mpi], why,
                       found.library[0] ? ", " : "", found.library, layer_out);
    return 0;
}
