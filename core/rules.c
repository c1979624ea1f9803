#define _GNU_SOURCE
#include "core/rules.h"

#include "core/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const oriel_key_names[ORIEL_KEY_COUNT] = {
    "oriel_offload",
    "oriel_access",
    "oriel_publish",
    "oriel_attach",
};

enum selector { SELECT_ANNOTATED, SELECT_ALL, SELECT_INDEX, SELECT_BYTES };

struct rule {
    enum selector selector;
    uint64_t number; /* index or bytes */
    char *keys;      /* "offload=node:access=fenced", inside the rules' text */
};

struct oriel_rules {
    bool none;
    size_t n;
    char *text; /* owned; the rules point into it */
    struct rule rules[];
};

static int set_offload(struct oriel_wish *wish, const char *value, char *message,
                       size_t message_bytes)
{
    const char *bad = NULL;
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) {
        wish->serve = value[0] == 't';
        wish->engines = oriel_order_all();
        return 0;
    }
    if (*value && oriel_order_parse(value, &wish->engines, &bad) == 0) {
        wish->serve = true;
        return 0;
    }
    snprintf(message, message_bytes,
             "offload=%s: expected true, false or engine names joined by '+' ('oriel "
             "info' lists them)",
             value);
    return -EINVAL;
}

static int set_access(struct oriel_wish *wish, const char *value, char *message,
                      size_t message_bytes)
{
    static const char *const names[] = {"general", "fenced", "immutable"};
    for (int i = 0; i < 3; i++)
        if (strcmp(value, names[i]) == 0) {
            wish->access = (enum oriel_access)i;
            return 0;
        }
    snprintf(message, message_bytes, "access=%s: expected general, fenced or immutable",
             value);
    return -EINVAL;
}

int oriel_wish_set(struct oriel_wish *wish, const char *key, const char *value,
                   char *message, size_t message_bytes)
{
    if (strcmp(key, "offload") == 0)
        return set_offload(wish, value, message, message_bytes);
    if (strcmp(key, "access") == 0)
        return set_access(wish, value, message, message_bytes);
    if (strcmp(key, "publish") == 0 || strcmp(key, "attach") == 0)
        snprintf(message, message_bytes,
                 "%s=%s: this version does not publish windows yet", key, value);
    else
        snprintf(message, message_bytes, "%s: no such key; known are offload, access",
                 key);
    return -EINVAL;
}

static int parse_selector(const char *text, struct rule *rule)
{
    char *end;
    if (strcmp(text, "annotated") == 0) {
        rule->selector = SELECT_ANNOTATED;
        return 0;
    }
    if (strcmp(text, "all") == 0) {
        rule->selector = SELECT_ALL;
        return 0;
    }
    if (text[0] == '#' && text[1] >= '0' && text[1] <= '9') {
        rule->selector = SELECT_INDEX;
        errno = 0;
        rule->number = strtoull(text + 1, &end, 10);
        return *end || errno ? -EINVAL : 0;
    }
    if (strncmp(text, "bytes>=", 7) == 0) {
        rule->selector = SELECT_BYTES;
        return oriel_size_parse(text + 7, &rule->number);
    }
    return -EINVAL;
}

/* Apply "key=value:key=value" to a wish; the text is left as it was. */
static int apply_keys(const char *keys, struct oriel_wish *wish, char *message,
                      size_t message_bytes)
{
    char key[16], value[128];
    while (*keys) {
        size_t length = strcspn(keys, ":");
        size_t name = strcspn(keys, "=:");
        if (name >= length || name >= sizeof key || length - name > sizeof value) {
            snprintf(message, message_bytes, "'%.*s': expected key=value", (int)length,
                     keys);
            return -EINVAL;
        }
        memcpy(key, keys, name);
        key[name] = '\0';
        memcpy(value, keys + name + 1, length - name - 1);
        value[length - name - 1] = '\0';
        int error = oriel_wish_set(wish, key, value, message, message_bytes);
        if (error) return error;
        keys += length;
        if (*keys) keys++;
    }
    return 0;
}

static int parse_rule(char *text, struct rule *rule, char *message,
                      size_t message_bytes)
{
    struct oriel_wish ignored = {0};
    size_t length = strcspn(text, ":");
    rule->keys = text + length;
    if (*rule->keys) *rule->keys++ = '\0';
    if (parse_selector(text, rule)) {
        snprintf(message, message_bytes,
                 "'%s': expected none, annotated, all, #n or bytes>=size", text);
        return -EINVAL;
    }
    return apply_keys(rule->keys, &ignored, message, message_bytes);
}

int oriel_rules_parse(const char *text, struct oriel_rules **out, char *message,
                      size_t message_bytes)
{
    size_t n = 1;
    for (const char *p = text; *p; p++)
        n += *p == ';';
    struct oriel_rules *rules = calloc(1, sizeof *rules + n * sizeof rules->rules[0]);
    if (!rules) return -ENOMEM;
    rules->text = strdup(text);
    if (!rules->text) {
        free(rules);
        return -ENOMEM;
    }
    rules->none = strcmp(text, "none") == 0;
    char *rest = rules->none ? NULL : rules->text;
    while (rest) {
        char *rule = rest;
        rest = strchr(rest, ';');
        if (rest) *rest++ = '\0';
        if (!*rule) continue; /* "a;;b", "a;" and the empty text */
        int error = parse_rule(rule, &rules->rules[rules->n++], message, message_bytes);
        if (error) {
            oriel_rules_destroy(rules);
            return error;
        }
    }
    *out = rules;
    return 0;
}

void oriel_rules_destroy(struct oriel_rules *rules)
{
    if (!rules) return;
    free(rules->text);
    free(rules);
}

bool oriel_rules_none(const struct oriel_rules *rules)
{
    return rules->none;
}

bool oriel_rules_reach_all(const struct oriel_rules *rules)
{
    for (size_t i = 0; i < rules->n; i++)
        if (rules->rules[i].selector != SELECT_ANNOTATED) return true;
    return false;
}

static bool selects(const struct rule *rule, bool annotated, uint64_t index,
                    uint64_t bytes)
{
    switch (rule->selector) {
    case SELECT_ANNOTATED:
        return annotated;
    case SELECT_ALL:
        return true;
    case SELECT_INDEX:
        return rule->number == index;
    default:
        return bytes >= rule->number;
    }
}

void oriel_rules_apply(const struct oriel_rules *rules, bool annotated, uint64_t index,
                       uint64_t bytes, struct oriel_wish *wish)
{
    char message[160];
    *wish = (struct oriel_wish){.engines = oriel_order_all()};
    for (size_t i = 0; i < rules->n; i++) {
        const struct rule *rule = &rules->rules[i];
        if (!selects(rule, annotated, index, bytes)) continue;
        /* "annotated" alone selects; what is wanted is in the window's info. */
        if (rule->selector != SELECT_ANNOTATED) wish->serve = true;
        apply_keys(rule->keys, wish, message, sizeof message);
    }
}
