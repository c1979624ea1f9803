/*
 * settings.c - ORIEL_ variables that a command gives to the ranks.
 */
#define _GNU_SOURCE 1

#include "tools/settings.h"

#include "core/config.h"
#include "core/engine.h"
#include "core/nearest.h"
#include "core/nic_map.h"
#include "core/rules.h"
#include "tools/tool.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char prefix[] = "ORIEL_";
enum { PREFIX_BYTES = sizeof prefix - 1 };
/* The project's own tests; not for ranks. */
static const char tests_prefix[] = "ORIEL_TEST_";

/* Index of the variable, or the count of variables. */
static size_t find_variable(const char *name)
{
    size_t n = oriel_config_count();
    for (size_t i = 0; i < n; i++)
        if (strcmp(oriel_config_row(i)->variable, name) == 0) return i;
    return n;
}

char *oriel_settings_fault(size_t i, const char *value)
{
    const char *variable = oriel_config_row(i)->variable;
    char text[512];
    if (oriel_config_check(i, value)) {
        oriel_config_expected(i, text, sizeof text);
        return oriel_text("it takes %s", text);
    }
    if (*value == '\0') return NULL;
    if (strcmp(variable, "ORIEL_WINDOWS") == 0) {
        struct oriel_rules *rules = NULL;
        if (oriel_rules_parse(value, &rules, text, sizeof text))
            return oriel_text("%s", text);
        oriel_rules_destroy(rules);
    }
    if (strcmp(variable, "ORIEL_ENGINES") == 0) {
        struct oriel_order order;
        const char *bad = value;
        if (oriel_order_parse(value, &order, &bad))
            return oriel_text("there is no engine '%.*s'; 'oriel info' lists them",
                              (int)strcspn(bad, "+"), bad);
    }
    if (strcmp(variable, "ORIEL_NIC_MAP") == 0) {
        struct oriel_nic_map map;
        if (oriel_nic_map_parse(value, &map, text, sizeof text))
            return oriel_text("%s", text);
        oriel_nic_map_fini(&map);
    }
    return NULL;
}

static void put(struct oriel_words *words, const char *variable, const char *value)
{
    size_t bytes = strlen(variable);
    for (size_t i = 0; i < words->n; i++) {
        char *old = words->items[i];
        if (strncmp(old, variable, bytes) != 0 || old[bytes] != '=') continue;
        words->items[i] = oriel_text("%s=%s", variable, value);
        free(old);
        return;
    }
    oriel_words_addf(words, "%s=%s", variable, value);
}

static bool has(const struct oriel_words *words, const char *variable, size_t bytes)
{
    for (size_t i = 0; i < words->n; i++)
        if (strncmp(words->items[i], variable, bytes) == 0 &&
            words->items[i][bytes] == '=')
            return true;
    return false;
}

int oriel_settings_add(struct oriel_words *chosen, const char *command,
                       const char *variable, const char *value)
{
    char *fault = oriel_settings_fault(find_variable(variable), value);
    if (fault) {
        int rc = oriel_usage_error(command, "%s=%s: %s", variable, value, fault);
        free(fault);
        return rc;
    }
    put(chosen, variable, value);
    return 0;
}

static int unknown_variable(const char *command, const char *name)
{
    enum { MOST = 256 };
    const char *names[MOST];
    size_t n = oriel_config_count() < MOST ? oriel_config_count() : MOST;
    for (size_t i = 0; i < n; i++)
        names[i] = oriel_config_row(i)->variable + PREFIX_BYTES;
    size_t i = oriel_nearest(name + PREFIX_BYTES, names, n);
    return oriel_usage_error(command, "no variable %s%s%s%s; 'oriel config' lists them",
                             name, i < n ? " (did you mean " : "",
                             i < n ? oriel_config_row(i)->variable : "",
                             i < n ? "?)" : "");
}

int oriel_settings_add_pair(struct oriel_words *chosen, const char *command,
                            const char *pair)
{
    size_t bytes = strcspn(pair, "=");
    if (bytes == 0 || pair[bytes] == '\0')
        return oriel_usage_error(command, "--set takes NAME=VALUE, not '%s'", pair);
    bool is_full = strncasecmp(pair, prefix, PREFIX_BYTES) == 0;
    char *name = oriel_text("%s%.*s", is_full ? "" : prefix, (int)bytes, pair);
    for (char *at = name; *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    int rc = find_variable(name) == oriel_config_count()
                 ? unknown_variable(command, name)
                 : oriel_settings_add(chosen, command, name, pair + bytes + 1);
    free(name);
    return rc;
}

bool oriel_settings_is_stats(const char *word)
{
    return *word != '\0' && oriel_config_check(find_variable("ORIEL_STATS"), word) == 0;
}

int oriel_settings_add_stats(struct oriel_words *chosen, const char *command,
                             const char *value)
{
    char folder[PATH_MAX];
    const char *path = strchr(value, ':');
    if (!path || path[1] == '/' || path[1] == '\0' || !getcwd(folder, sizeof folder))
        return oriel_settings_add(chosen, command, "ORIEL_STATS", value);
    char *full = oriel_text("%.*s:%s/%s", (int)(path - value), value, folder, path + 1);
    int rc = oriel_settings_add(chosen, command, "ORIEL_STATS", full);
    free(full);
    return rc;
}

static bool is_set(const struct oriel_words *chosen, const char *variable)
{
    const char *value = getenv(variable);
    return has(chosen, variable, strlen(variable)) || (value && *value != '\0');
}

int oriel_settings_complete(struct oriel_words *chosen, bool is_verbose)
{
    for (size_t i = 0; i < oriel_config_count(); i++) {
        const char *variable = oriel_config_row(i)->variable;
        const char *value = getenv(variable);
        if (!value || has(chosen, variable, strlen(variable))) continue;
        char *fault = oriel_settings_fault(i, value);
        if (!fault) continue;
        oriel_complain("%s=%s: %s", variable, value, fault);
        free(fault);
        return ORIEL_EXIT_USAGE;
    }
    oriel_config_warn_unknown();
    if (!is_set(chosen, "ORIEL_WINDOWS")) put(chosen, "ORIEL_WINDOWS", "all");
    if (is_verbose && !is_set(chosen, "ORIEL_LOG")) put(chosen, "ORIEL_LOG", "info");
    return 0;
}

void oriel_settings_inherited(struct oriel_words *out, const struct oriel_words *chosen)
{
    for (char **entry = environ; *entry; entry++) {
        size_t bytes = strcspn(*entry, "=");
        if (strncmp(*entry, prefix, PREFIX_BYTES) != 0 ||
            strncmp(*entry, tests_prefix, sizeof tests_prefix - 1) == 0 ||
            (*entry)[bytes] == '\0' || (*entry)[bytes + 1] == '\0' ||
            has(chosen, *entry, bytes))
            continue;
        oriel_words_add(out, *entry);
    }
}
