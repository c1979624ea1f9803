/*
 * rules.h - ORIEL_WINDOWS: which windows are served, and how.
 *
 *   none | RULE[;RULE...]
 *   RULE      SELECTOR[:key=value...]
 *   SELECTOR  annotated | all | #n | bytes>=SIZE
 *   key       offload, access, publish, attach: the info keys without "oriel_"
 *
 * Every rule that selects the window applies, the last word wins; info keys on the
 * window win over rules. A rule without an offload key says offload=true.
 */
#ifndef ORIEL_RULES_H
#define ORIEL_RULES_H

#include "core/window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is wanted of a window. */
struct oriel_wish {
    bool serve;                 /* redirect Gets */
    struct oriel_order engines; /* that may be used, best first */
    enum oriel_access access;
};

/* The keys that annotate a window; enough for messages and for Win_get_info. */
enum { ORIEL_KEY_COUNT = 4 };
extern const char *const oriel_key_names[ORIEL_KEY_COUNT]; /* "oriel_offload", ... */

/* Set one key of a wish. key without "oriel_". Returns 0; -EINVAL, and message then
 * says what is accepted. */
int oriel_wish_set(struct oriel_wish *wish, const char *key, const char *value,
                   char *message, size_t message_bytes);

struct oriel_rules;
/* Returns 0; -ENOMEM; -EINVAL, and message then names the part that is wrong. */
int oriel_rules_parse(const char *text, struct oriel_rules **out, char *message,
                      size_t message_bytes);
void oriel_rules_destroy(struct oriel_rules *rules);

/* "none": not even annotated windows are served. */
bool oriel_rules_none(const struct oriel_rules *rules);
/* Some rule may select a window that carries no info key. */
bool oriel_rules_reach_all(const struct oriel_rules *rules);

/* What the rules say of the index-th window of this process. The wish starts as not
 * served, all engines, general. annotated: it carries an oriel_ info key. */
void oriel_rules_apply(const struct oriel_rules *rules, bool annotated, uint64_t index,
                       uint64_t bytes, struct oriel_wish *wish);

#endif
