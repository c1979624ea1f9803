/*
 * config.c - the ORIEL_* variables: one table from config.def, one parser a type.
 */
#define _GNU_SOURCE 1

#include "core/config.h"

#include "core/nearest.h"
#include "core/value.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "ORIEL_";
enum { PREFIX_BYTES = sizeof prefix - 1 };

enum { LOG_SENTENCE_BYTES = 1024 };

/* Every variable's name. config.def gives it in lower case, and the preprocessor
 * cannot change that: name_variables does, once. */
static struct {
#define ORIEL_CONF(field, type, value, unit, meaning)                                  \
    char field[sizeof "ORIEL_" #field];
#include "core/config.def"
#undef ORIEL_CONF
} names = {
#define ORIEL_CONF(field, type, value, unit, meaning) "ORIEL_" #field,
#include "core/config.def"
#undef ORIEL_CONF
};

struct field {
    struct oriel_config_row row;
    size_t offset; /* in struct oriel_config */
    enum oriel_value_type type;
};

static const struct field fields[] = {
#define ORIEL_CONF(field, type, value, unit, meaning)                                  \
    {{names.field, #type, value, unit, meaning},                                       \
     offsetof(struct oriel_config, field),                                             \
     ORIEL_VALUE_##type},
#include "core/config.def"
#undef ORIEL_CONF
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static pthread_once_t names_once = PTHREAD_ONCE_INIT;

static void name_variables(void)
{
    char *all = (char *)&names;
    for (size_t i = 0; i < sizeof names; i++)
        if (all[i] >= 'a' && all[i] <= 'z') all[i] = (char)(all[i] - 'a' + 'A');
}

static bool is_text(const struct field *field)
{
    return field->type == ORIEL_VALUE_text || field->type == ORIEL_VALUE_choice;
}

/* A default is checked by core.config rather than at run time; one that is empty
 * leaves a text empty and a number 0. */
static void set_default(struct oriel_config *config, const struct field *field)
{
    void *out = (char *)config + field->offset;
    const char *value = field->row.value_default;
    if (is_text(field))
        *(const char **)out = value;
    else
        oriel_value_parse(field->type, value, field->row.unit, out);
}

static void set_defaults(struct oriel_config *config)
{
    memset(config, 0, sizeof *config);
    for (size_t i = 0; i < FIELDS; i++)
        set_default(config, &fields[i]);
}

static void say_bad(size_t i, const char *value, int error)
{
    char expected[LOG_SENTENCE_BYTES];
    oriel_config_expected(i, expected, sizeof expected);
    oriel_log(ORIEL_LOG_ERROR, "%s=%.200s is %s: it takes %s; nothing is redirected",
              fields[i].row.variable, value,
              error == -ERANGE ? "out of range" : "not understood", expected);
}

/* Returns 0; -ENOMEM. */
static int read_field(struct oriel_config *config, size_t i)
{
    const struct field *field = &fields[i];
    const char *value = getenv(field->row.variable);
    if (!value || *value == '\0') return 0;
    int rc = oriel_config_check(i, value);
    if (rc) {
        say_bad(i, value, rc);
        config->broken = true;
        return 0;
    }
    void *out = (char *)config + field->offset;
    if (!is_text(field))
        return oriel_value_parse(field->type, value, field->row.unit, out);
    char *copy = strdup(value);
    if (!copy) return -ENOMEM;
    *(const char **)out = copy;
    return 0;
}

static int read_fields(struct oriel_config *out)
{
    struct oriel_config config;
    pthread_once(&names_once, name_variables);
    set_defaults(&config);
    for (size_t i = 0; i < FIELDS; i++) {
        int rc = read_field(&config, i);
        if (rc) {
            oriel_config_fini(&config);
            return rc;
        }
    }
    *out = config;
    return 0;
}

/* The same variables usually reach every rank, and one warning is enough. */
static bool is_first_rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                            "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *rank = getenv(variables[i]);
        if (rank) return strcmp(rank, "0") == 0;
    }
    return true;
}

static bool is_known(const char *name, size_t bytes)
{
    /* What the project's own tests tell their scripts; what UCX itself reads. */
    static const char *const others[] = {"ORIEL_TEST_", "ORIEL_UCX_"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0) return true;
    for (size_t i = 0; i < FIELDS; i++)
        if (strlen(fields[i].row.variable) == bytes &&
            strncmp(fields[i].row.variable, name, bytes) == 0)
            return true;
    return false;
}

/* Append "NAME" or "NAME (did you mean KNOWN?)". Returns the length, at most room. */
static size_t list_unknown(char *list, size_t room, const char *name, size_t bytes)
{
    const char *known[FIELDS];
    for (size_t i = 0; i < FIELDS; i++)
        known[i] = fields[i].row.variable + PREFIX_BYTES;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(bytes - PREFIX_BYTES),
             name + PREFIX_BYTES);
    size_t i = oriel_nearest(word, known, FIELDS);
    int added = i < FIELDS ? snprintf(list, room, "%.*s (did you mean %s?)", (int)bytes,
                                      name, fields[i].row.variable)
                           : snprintf(list, room, "%.*s", (int)bytes, name);
    return added < 0 ? 0 : (size_t)added < room ? (size_t)added : room;
}

void oriel_config_warn_unknown(void)
{
    char list[LOG_SENTENCE_BYTES] = "";
    size_t used = 0, n = 0;
    pthread_once(&names_once, name_variables);
    for (char **entry = environ; entry && *entry; entry++) {
        size_t bytes = strcspn(*entry, "=");
        if (strncmp(*entry, prefix, PREFIX_BYTES) != 0 || is_known(*entry, bytes))
            continue;
        if (n++ > 0 && used + 2 < sizeof list) {
            memcpy(list + used, ", ", 3);
            used += 2;
        }
        used += list_unknown(list + used, sizeof list - used, *entry, bytes);
    }
    if (n > 0 && is_first_rank())
        oriel_log(ORIEL_LOG_WARN,
                  "unknown variable%s %s; 'oriel config' lists those that exist",
                  n > 1 ? "s" : "", list);
}

int oriel_config_init(struct oriel_config *out)
{
    int rc = read_fields(out);
    if (!rc) oriel_config_warn_unknown();
    return rc;
}

void oriel_config_fini(struct oriel_config *config)
{
    for (size_t i = 0; config && i < FIELDS; i++) {
        if (!is_text(&fields[i])) continue;
        const char **text = (const char **)(void *)((char *)config + fields[i].offset);
        if (*text != fields[i].row.value_default) free((void *)(uintptr_t)*text);
        *text = fields[i].row.value_default;
    }
}

static struct oriel_config process_config;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;

static void read_process_config(void)
{
    if (read_fields(&process_config)) {
        set_defaults(&process_config);
        process_config.broken = true;
        oriel_log(ORIEL_LOG_ERROR,
                  "no memory for the configuration; nothing is redirected");
        return;
    }
    oriel_log_set_level(process_config.log);
    oriel_config_warn_unknown();
}

const struct oriel_config *oriel_config_get(void)
{
    pthread_once(&process_once, read_process_config);
    return &process_config;
}

size_t oriel_config_count(void)
{
    return FIELDS;
}

const struct oriel_config_row *oriel_config_row(size_t i)
{
    pthread_once(&names_once, name_variables);
    return i < FIELDS ? &fields[i].row : NULL;
}

int oriel_config_check(size_t i, const char *value)
{
    if (i >= FIELDS) return -EINVAL;
    if (*value == '\0') return 0;
    union {
        const char *text;
        bool flag;
        double seconds;
        uint64_t count;
        enum oriel_log_level level;
    } ignored;
    return oriel_value_parse(fields[i].type, value, fields[i].row.unit, &ignored);
}

void oriel_config_expected(size_t i, char *out, size_t out_bytes)
{
    if (i < FIELDS)
        oriel_value_expected(fields[i].type, fields[i].row.unit, out, out_bytes);
    else
        snprintf(out, out_bytes, "nothing");
}
