/*
 * forward.c - variables on a launcher's command line.
 */
#define _GNU_SOURCE 1

#include "tools/forward.h"

#include "tools/layers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char preload[] = "LD_PRELOAD";
static const char preload_is[] = "LD_PRELOAD=";
enum { PRELOAD_IS_BYTES = sizeof preload_is - 1 };

static void add_environment(const struct oriel_forward_what *what,
                            struct oriel_forward *out)
{
    for (size_t i = 0; i < what->chosen->n; i++)
        oriel_words_add(&out->environment, what->chosen->items[i]);
    char *value = oriel_layers_preload(what->layer, getenv(preload));
    oriel_words_addf(&out->environment, "%s%s", preload_is, value);
    free(value);
}

/* One variable as the launcher wants it. */
static void add_pair(struct oriel_words *command, enum oriel_launcher_kind kind,
                     const char *pair)
{
    if (kind == ORIEL_LAUNCHER_OPENMPI) {
        oriel_words_add(command, "-x");
        oriel_words_add(command, pair);
        return;
    }
    size_t bytes = strcspn(pair, "=");
    oriel_words_add(command, "-genv");
    oriel_words_addf(command, "%.*s", (int)bytes, pair);
    oriel_words_add(command, pair + bytes + 1);
}

static void add_pairs(struct oriel_words *command, enum oriel_launcher_kind kind,
                      const struct oriel_forward_what *what)
{
    for (size_t i = 0; i < what->inherited->n; i++)
        add_pair(command, kind, what->inherited->items[i]);
    for (size_t i = 0; i < what->chosen->n; i++)
        add_pair(command, kind, what->chosen->items[i]);
    char *value = oriel_layers_preload(what->layer, getenv(preload));
    char *pair = oriel_text("%s%s", preload_is, value);
    add_pair(command, kind, pair);
    free(pair);
    free(value);
}

/* The options of the user's that set LD_PRELOAD come after ours and would win: they
 * get the layer as well. Returns the words used up, 0 for an option of another kind. */
static size_t add_users_preload(struct oriel_words *command,
                                enum oriel_launcher_kind kind, char *const words[],
                                size_t n, const char *layer)
{
    const char *option = words[0] + strspn(words[0], "-");
    char *value;
    if (kind == ORIEL_LAUNCHER_OPENMPI) {
        if (n < 2 || strcmp(option, "x") != 0) return 0;
        if (strcmp(words[1], preload) == 0) return 2; /* ours has that value in it */
        if (strncmp(words[1], preload_is, PRELOAD_IS_BYTES) != 0) return 0;
        value = oriel_layers_preload(layer, words[1] + PRELOAD_IS_BYTES);
        oriel_words_add(command, words[0]);
        oriel_words_addf(command, "%s%s", preload_is, value);
        free(value);
        return 2;
    }
    if (n < 3 || (strcmp(option, "genv") != 0 && strcmp(option, "env") != 0) ||
        strcmp(words[1], preload) != 0)
        return 0;
    value = oriel_layers_preload(layer, words[2]);
    oriel_words_add(command, words[0]);
    oriel_words_add(command, preload);
    oriel_words_add(command, value);
    free(value);
    return 3;
}

static void add_app(struct oriel_words *command, enum oriel_launcher_kind kind,
                    char *const argv[], struct oriel_launcher_app app,
                    const char *layer)
{
    for (size_t i = app.first; i < app.end;) {
        size_t used = 0;
        if (i < app.program)
            used = add_users_preload(command, kind, argv + i, app.program - i, layer);
        if (used == 0) {
            /* An option's values are copied with it: none is taken for an option. */
            size_t values = i < app.program ? oriel_launcher_values(kind, argv[i]) : 0;
            for (used = 0; used <= values && i + used < app.end; used++)
                oriel_words_add(command, argv[i + used]);
        }
        i += used;
    }
}

static void add_apps(const struct oriel_launcher *launcher, char *const argv[],
                     const struct oriel_forward_what *what, struct oriel_words *command)
{
    for (size_t i = 0; i < launcher->n; i++) {
        if (i > 0) oriel_words_add(command, ":");
        /* Open MPI's -x is for one part only, Hydra's -genv for all. */
        if (i == 0 || launcher->kind == ORIEL_LAUNCHER_OPENMPI)
            add_pairs(command, launcher->kind, what);
        add_app(command, launcher->kind, argv, launcher->apps[i], what->layer);
    }
}

static bool has_list(const char *list, const char *name)
{
    size_t bytes = strlen(name);
    for (const char *at = list; *at != '\0';) {
        size_t item = strcspn(at, ",");
        if (item == bytes && strncmp(at, name, bytes) == 0) return true;
        at += item + (at[item] == ',');
    }
    return false;
}

/* "--export=A,B" leaves out what it does not name: name ours. */
static int add_export(struct oriel_words *command, const char *list,
                      const struct oriel_forward *forward)
{
    if (strcmp(list, "NONE") == 0 || strcmp(list, "NIL") == 0) return -ENOTSUP;
    char *names = oriel_text("%s", list);
    for (size_t i = 0; !has_list(list, "ALL") && i < forward->environment.n; i++) {
        const char *pair = forward->environment.items[i];
        char *more = oriel_text("%s,%.*s", names, (int)strcspn(pair, "="), pair);
        free(names);
        names = more;
    }
    oriel_words_addf(command, "--export=%s", names);
    free(names);
    return 0;
}

/* srun's ranks get its environment, if --export or SLURM_EXPORT_ENV does not say
 * otherwise. */
static int add_srun(const struct oriel_launcher *launcher, char *const argv[],
                    struct oriel_forward *out)
{
    static const char export_is[] = "--export=";
    struct oriel_launcher_app app = launcher->apps[0];
    bool is_said = false;
    for (size_t i = app.first; i < app.end; i++) {
        const char *list = NULL;
        if (i < app.program && strncmp(argv[i], export_is, sizeof export_is - 1) == 0)
            list = argv[i] + sizeof export_is - 1;
        else if (i + 1 < app.program && strcmp(argv[i], "--export") == 0)
            list = argv[++i];
        if (!list) {
            if (i == app.program && !is_said)
                oriel_words_add(&out->command, "--export=ALL");
            oriel_words_add(&out->command, argv[i]);
            continue;
        }
        is_said = true;
        int rc = add_export(&out->command, list, out);
        if (rc) return rc;
    }
    return 0;
}

static bool uses_env_list(char *const argv[], size_t argc)
{
    static const char name[] = "mca_base_env_list";
    if (getenv("OMPI_MCA_mca_base_env_list")) return true;
    for (size_t i = 0; i < argc; i++)
        if (strcmp(argv[i], name) == 0) return true;
    return false;
}

int oriel_forward_build(const struct oriel_launcher *launcher, char *const argv[],
                        size_t argc, const struct oriel_forward_what *what,
                        struct oriel_forward *out, const char **why_out)
{
    int rc = 0;
    *out = (struct oriel_forward){0};
    if (launcher->kind == ORIEL_LAUNCHER_OPENMPI && uses_env_list(argv, argc)) {
        *why_out = "Open MPI does not take -x together with mca_base_env_list";
        return -ENOTSUP;
    }
    for (size_t i = 0; launcher->kind != ORIEL_LAUNCHER_NONE && i <= launcher->at; i++)
        oriel_words_add(&out->command, argv[i]);
    switch (launcher->kind) {
    case ORIEL_LAUNCHER_OPENMPI:
    case ORIEL_LAUNCHER_HYDRA:
        add_apps(launcher, argv, what, &out->command);
        break;
    case ORIEL_LAUNCHER_SRUN:
        add_environment(what, out);
        rc = add_srun(launcher, argv, out);
        if (rc) *why_out = "--export=NONE keeps every variable from the ranks";
        break;
    default:
        add_environment(what, out);
        for (size_t i = out->command.n; i < argc; i++)
            oriel_words_add(&out->command, argv[i]);
        break;
    }
    if (rc) oriel_forward_fini(out);
    return rc;
}

void oriel_forward_fini(struct oriel_forward *forward)
{
    oriel_words_fini(&forward->command);
    oriel_words_fini(&forward->environment);
}
