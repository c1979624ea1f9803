/*
 * cmd_config.c - `oriel config`: every variable.
 */
#define _GNU_SOURCE 1

#include "core/config.h"
#include "core/json.h"
#include "core/nearest.h"
#include "tools/settings.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: oriel config [--json | --markdown] [NAME...]\n"
    "\n"
    "Show the ORIEL_ variables: the value that a run would see here, where it comes\n"
    "from, the default, and the meaning. A value that is not understood is marked,\n"
    "and the exit code is then 1. A NAME limits the list; its ORIEL_ may be left\n"
    "out.\n"
    "\n"
    "options:\n"
    "  --json      an object with the list \"variables\"\n"
    "  --markdown  a table of names, defaults and meanings, without values\n"
    "  -h, --help  show this\n";

/* A variable as it stands. */
struct setting {
    const struct oriel_config_row *row;
    bool is_set;       /* not empty in the environment */
    const char *value; /* that counts: of the environment, else the default */
    char *fault;       /* owned; NULL: the value is good */
};

static struct setting read_setting(size_t i)
{
    struct setting setting = {.row = oriel_config_row(i)};
    const char *value = getenv(setting.row->variable);
    setting.is_set = value && *value != '\0';
    setting.value = setting.is_set ? value : setting.row->value_default;
    setting.fault = setting.is_set ? oriel_settings_fault(i, value) : NULL;
    return setting;
}

/* Lines of at most 80 columns, indented. */
static void put_wrapped(const char *text, int indent)
{
    int column = 0;
    for (const char *word = text + strspn(text, " "); *word != '\0';) {
        int bytes = (int)strcspn(word, " ");
        if (column > 0 && column + 1 + bytes > 80) {
            putchar('\n');
            column = 0;
        }
        column += column == 0 ? printf("%*s%.*s", indent, "", bytes, word)
                              : printf(" %.*s", bytes, word);
        word += bytes;
        word += strspn(word, " ");
    }
    putchar('\n');
}

static void put_text(const struct setting *setting)
{
    const struct oriel_config_row *row = setting->row;
    const char *fallback = row->value_default[0] ? row->value_default : "not set";
    printf("%s", row->variable);
    if (setting->is_set)
        printf(" = %s   (from the environment; default: %s)\n", setting->value,
               fallback);
    else if (row->value_default[0])
        printf(" = %s   (default)\n", setting->value);
    else
        printf("   (not set)\n");
    if (setting->fault) {
        char *text =
            oriel_text("NOT UNDERSTOOD: %s. Nothing is redirected.", setting->fault);
        put_wrapped(text, 4);
        free(text);
    }
    put_wrapped(row->meaning, 4);
    if (strcmp(row->type, "choice") == 0)
        printf("    takes: %s\n", row->unit);
    else if (row->unit[0])
        printf("    type: %s, in %s\n", row->type, row->unit);
    else
        printf("    type: %s\n", row->type);
}

static void put_json(struct oriel_json *json, const struct setting *setting)
{
    const struct oriel_config_row *row = setting->row;
    oriel_json_object(json, NULL);
    oriel_json_text(json, "variable", row->variable);
    oriel_json_text(json, "value", setting->value);
    oriel_json_text(json, "source", setting->is_set ? "environment" : "default");
    oriel_json_flag(json, "valid", !setting->fault);
    if (setting->fault) oriel_json_text(json, "fault", setting->fault);
    oriel_json_text(json, "default", row->value_default);
    oriel_json_text(json, "type", row->type);
    oriel_json_text(json, "unit", row->unit);
    oriel_json_text(json, "meaning", row->meaning);
    oriel_json_end(json);
}

/* A bar would end the table's cell. */
static void put_cell(const char *text)
{
    for (; *text != '\0'; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

static void put_markdown(const struct setting *setting)
{
    const struct oriel_config_row *row = setting->row;
    bool is_choice = strcmp(row->type, "choice") == 0;
    printf("| `%s` | ", row->variable);
    if (row->value_default[0]) printf("`%s`", row->value_default);
    printf(" | ");
    put_cell(row->meaning);
    if (is_choice) {
        printf(": `");
        put_cell(row->unit);
        printf("`");
    } else if (strcmp(row->type, "flag") == 0) {
        printf(": `on`, `off`");
    } else if (strcmp(row->type, "level") == 0) {
        printf(": `error`, `warn`, `info`, `debug`");
    } else if (row->unit[0]) {
        printf(" (%s)", row->unit);
    }
    printf(" |\n");
}

enum form { FORM_TEXT, FORM_JSON, FORM_MARKDOWN };

static bool is_named(const char *variable, char *const names[], int n)
{
    for (int i = 0; i < n; i++)
        if (strcasecmp(variable, names[i]) == 0 ||
            strcasecmp(variable + strlen("ORIEL_"), names[i]) == 0)
            return true;
    return n == 0;
}

static int list(enum form form, char *const names[], int n)
{
    struct oriel_json json;
    bool is_good = true, is_first = true;
    oriel_json_begin(&json, stdout);
    if (form == FORM_JSON) {
        oriel_json_object(&json, NULL);
        oriel_json_array(&json, "variables");
    }
    if (form == FORM_MARKDOWN)
        printf("| variable | default | meaning |\n|---|---|---|\n");
    for (size_t i = 0; i < oriel_config_count(); i++) {
        struct setting setting = read_setting(i);
        if (is_named(setting.row->variable, names, n)) {
            is_good = is_good && !setting.fault;
            if (form == FORM_TEXT && !is_first) putchar('\n');
            if (form == FORM_TEXT) put_text(&setting);
            if (form == FORM_JSON) put_json(&json, &setting);
            if (form == FORM_MARKDOWN) put_markdown(&setting);
            is_first = false;
        }
        free(setting.fault);
    }
    if (form == FORM_JSON) {
        oriel_json_end(&json);
        oriel_json_end(&json);
    }
    int rc = oriel_stdout_done();
    return rc ? rc : is_good ? 0 : ORIEL_EXIT_FAILED;
}

static int unknown_name(const char *word)
{
    enum { MOST = 256 };
    const char *names[MOST];
    size_t prefix = strlen("ORIEL_");
    size_t n = oriel_config_count() < MOST ? oriel_config_count() : MOST;
    for (size_t i = 0; i < n; i++)
        names[i] = oriel_config_row(i)->variable + prefix;
    size_t i = oriel_nearest(
        strncasecmp(word, "ORIEL_", prefix) == 0 ? word + prefix : word, names, n);
    if (i == n) return oriel_usage_error("config", "no variable '%s'", word);
    return oriel_usage_error("config", "no variable '%s'; did you mean '%s'?", word,
                             oriel_config_row(i)->variable);
}

static int check_names(char *const names[], int n)
{
    for (int k = 0; k < n; k++) {
        bool is_known = false;
        for (size_t i = 0; i < oriel_config_count() && !is_known; i++)
            is_known = is_named(oriel_config_row(i)->variable, names + k, 1);
        if (!is_known) return unknown_name(names[k]);
    }
    return 0;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"markdown", no_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    enum form form = FORM_TEXT;
    opterr = 0;
    for (;;) {
        int option = getopt_long(argc, argv, ":h", options, NULL);
        if (option == -1) break;
        if (option == '?' || option == ':')
            return oriel_option_error("config", option, argv[optind - 1], options);
        form = option == 'j' ? FORM_JSON : option == 'm' ? FORM_MARKDOWN : form;
    }
    int rc = check_names(argv + optind, argc - optind);
    if (rc) return rc;
    if (form == FORM_TEXT && argc == optind) oriel_config_warn_unknown();
    return list(form, argv + optind, argc - optind);
}

const struct oriel_command oriel_command_config = {
    "config", "show the ORIEL_ variables, their values and meanings", help, run};
