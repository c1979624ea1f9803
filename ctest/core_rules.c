/* core.rules: ORIEL_WINDOWS and the info keys. */
#include "core/rules.h"

#include "check.h"

#include <errno.h>
#include <string.h>

static struct oriel_rules *parse(const char *text)
{
    struct oriel_rules *rules = NULL;
    char message[200] = "";
    int error = oriel_rules_parse(text, &rules, message, sizeof message);
    CHECK(error == 0, "'%s' is accepted: %s", text, message);
    return rules;
}

static struct oriel_wish ask(const char *text, bool annotated, uint64_t index,
                             uint64_t bytes)
{
    struct oriel_rules *rules = parse(text);
    struct oriel_wish wish;
    oriel_rules_apply(rules, annotated, index, bytes, &wish);
    oriel_rules_destroy(rules);
    return wish;
}

static void test_selectors(void)
{
    CHECK(!ask("annotated", false, 0, 1).serve, "nobody asked for this one");
    CHECK(!ask("", false, 0, 1).serve, "an empty value is the default");
    CHECK(ask("all", false, 0, 1).serve, "all selects it");
    CHECK(ask("#3", false, 3, 1).serve, "by its number");
    CHECK(!ask("#3", false, 4, 1).serve, "and no other");
    CHECK(ask("bytes>=1M", false, 0, 1 << 20).serve, "by its size");
    CHECK(!ask("bytes>=1M", false, 0, (1 << 20) - 1).serve, "not a smaller one");
    CHECK(ask("#1;#2", false, 2, 1).serve, "by any of several rules");
    CHECK(ask("#1;", false, 1, 1).serve, "a last separator is harmless");
    CHECK(!ask("all;#2:offload=false", false, 2, 1).serve, "the last word wins");
    CHECK(ask("all;#2:offload=false", false, 1, 1).serve, "where it applies");
}

static void test_keys(void)
{
    struct oriel_wish wish = ask("all:access=fenced", false, 0, 1);
    CHECK(wish.serve && wish.access == ORIEL_ACCESS_FENCED, "access is taken over");
    wish = ask("annotated:access=immutable", true, 0, 1);
    CHECK(!wish.serve && wish.access == ORIEL_ACCESS_IMMUTABLE,
          "'annotated' leaves serving to the window's own keys");
    wish = ask("#0:offload=node:access=immutable", false, 0, 1);
    CHECK(oriel_order_set(&wish.engines) == 1u << ORIEL_ENGINE_ID_node,
          "engines by name");
    CHECK(wish.access == ORIEL_ACCESS_IMMUTABLE, "and a second key");
}

static void refused(const char *text, const char *says)
{
    struct oriel_rules *rules = NULL;
    char message[200] = "";
    CHECK(oriel_rules_parse(text, &rules, message, sizeof message) == -EINVAL,
          "'%s' is refused", text);
    CHECK(rules == NULL, "and gives no rules");
    CHECK(strstr(message, says) != NULL, "the message on '%s' names '%s': %s", text,
          says, message);
}

static void test_bad(void)
{
    refused("everything", "everything");
    refused("#", "#");
    refused("#1x", "#1x");
    refused("bytes>=", "bytes>=");
    refused("bytes>=12parsecs", "bytes>=12parsecs");
    refused("all:access", "access");
    refused("all:access=sometimes", "sometimes");
    refused("all:offload=warp", "warp");
    refused("all:offload=", "offload");
    refused("all:speed=high", "speed");
    refused("all;none", "none");
}

static void test_reach(void)
{
    struct oriel_rules *rules = parse("none");
    CHECK(oriel_rules_none(rules) && !oriel_rules_reach_all(rules), "none is none");
    oriel_rules_destroy(rules);
    rules = parse("annotated:access=fenced");
    CHECK(!oriel_rules_none(rules) && !oriel_rules_reach_all(rules),
          "annotated reaches no window without a key");
    oriel_rules_destroy(rules);
    rules = parse("annotated;#7");
    CHECK(oriel_rules_reach_all(rules), "a number may be any window's");
    oriel_rules_destroy(rules);
    oriel_rules_destroy(NULL);
}

int main(void)
{
    test_selectors();
    test_keys();
    test_bad();
    test_reach();
    return check_done();
}
