/* core.vni: which Slingshot VNI two processes share, and what is said when none. */
#define _GNU_SOURCE 1

#include "core/vni.h"

#include "check.h"

#include <errno.h>
#include <string.h>

static struct oriel_vni_list list_of(const char *text)
{
    struct oriel_vni_list list = {.n = 0};
    CHECK(oriel_vni_parse(text, &list) == 0, "'%s' is understood",
          text ? text : "NULL");
    return list;
}

static void test_parse(void)
{
    static const char *const bad[] = {
        "x", "0", "65536", "1,", ",1", "1,,2", "-1", "1 2", "99999999999999999999"};
    struct oriel_vni_list list = list_of("1310,1271:9,1310");
    CHECK(list.n == 3 && list.ids[0] == 1310 && list.ids[1] == 1271 && list.ids[2] == 9,
          "in order, each once");
    CHECK(list_of(NULL).n == 0 && list_of("").n == 0, "nothing is no VNI");
    CHECK(list_of("65535").ids[0] == 65535, "up to the last");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(oriel_vni_parse(bad[i], &list) == -EINVAL && list.n == 3,
              "'%s' is refused, and the list kept", bad[i]);
    CHECK(oriel_vni_parse("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", &list) == -E2BIG,
          "no more than there is room for");
}

static void test_common(void)
{
    char why[ORIEL_VNI_WHY_BYTES] = "";
    struct oriel_vni_list publisher = list_of("1310,1271"),
                          reader = list_of("1322,1271");
    struct oriel_vni_list same = list_of("1271,1310"), none = list_of("");
    uint16_t vni = 0;
    CHECK(oriel_vni_prefer(&publisher, &vni, why) == 0 && vni == 1271, "the job's");
    CHECK(oriel_vni_common(&publisher, &reader, &vni, why) == 0 && vni == 1271,
          "two steps meet on it");
    CHECK(oriel_vni_common(&publisher, &same, &vni, why) == 0 && vni == 1271,
          "by the publisher's order");
    vni = 7;
    reader = list_of("1322");
    CHECK(oriel_vni_common(&publisher, &reader, &vni, why) == -ENOENT && vni == 7 &&
              strstr(why, "1310,1271") && strstr(why, "1322") &&
              strstr(why, "--network=single_node_vni,job_vni"),
          "both lists and the cure: %s", why);
    CHECK(oriel_vni_common(&publisher, &none, &vni, why) == -ENOENT &&
              strstr(why, "none"),
          "%s", why);
    CHECK(oriel_vni_prefer(&none, &vni, why) == -ENOENT &&
              strstr(why, "--network=single_node_vni,job_vni"),
          "%s", why);
    setenv("SLINGSHOT_VNIS", "42,43", 1);
    struct oriel_vni_list own;
    CHECK(oriel_vni_own(&own) == 0 && own.n == 2 && own.ids[1] == 43,
          "of this process");
}

static void test_service(void)
{
    uint32_t id = 0;
    CHECK(oriel_vni_service("cxi0,cxi1,cxi2", "5,6,7", "cxi1", &id) == 0 && id == 6,
          "at the device's place (%u)", (unsigned)id);
    CHECK(oriel_vni_service("cxi0,cxi1", "5,6", "cxi", &id) == -ENOENT,
          "the whole name");
    CHECK(oriel_vni_service("cxi0,cxi1", "5", "cxi1", &id) == -EINVAL, "none for it");
    CHECK(oriel_vni_service("cxi0", "x", "cxi0", &id) == -EINVAL, "no number");
    CHECK(oriel_vni_service(NULL, "5", "cxi0", &id) == -ENOENT, "no list");
    CHECK(oriel_vni_service("cxi0", NULL, "cxi0", &id) == -ENOENT, "no services");
    CHECK(id == 6, "failures change nothing");
}

static void test_explain(void)
{
    char why[ORIEL_VNI_WHY_BYTES] = "kept";
    CHECK(!oriel_vni_explain("tcp;ofi_rxm", "fi_domain", -ENOSYS, why) &&
              !oriel_vni_explain("cxi", "fi_domain", -ENOMEM, why) &&
              !oriel_vni_explain(NULL, "fi_domain", -ENOSYS, why) &&
              strcmp(why, "kept") == 0,
          "nothing is said of what is not known");
    CHECK(oriel_vni_explain("cxi", "fi_domain", -38, why) && strstr(why, "fi_domain") &&
              strstr(why, "-38") && strstr(why, "single_node_vni") &&
              strstr(why, "--network=single_node_vni,job_vni"),
          "cause and cure: %s", why);
}

int main(void)
{
    test_parse();
    test_common();
    test_service();
    test_explain();
    return check_done();
}
