/* core.nic_map: lists of CPUs, and the text of ORIEL_NIC_MAP: how it is read, refused
 * and used where the topology is hidden. */
#define _GNU_SOURCE 1

#include "core/cpus.h"
#include "core/log.h"
#include "core/nic_map.h"

#include "nic_tree.h"

static struct oriel_config config = {.nic = "", .nic_map = "", .sysfs = tree_root};
static struct oriel_nic_choice choice;

static void check_list(const char *text, const char *expected)
{
    char out[100] = "";
    struct oriel_cpus set;
    REQUIRE(oriel_cpus_parse(text, strlen(text), &set, NULL) == 0, "%s is read", text);
    size_t bytes = oriel_cpus_format(&set, out, sizeof out);
    CHECK(strcmp(out, expected) == 0 && bytes == strlen(expected), "%s is %s, not %s",
          text, expected, out);
}

static void test_lists(void)
{
    static const struct {
        const char *text;
        int error;
        size_t at;
    } bad[] = {{"x", -EINVAL, 0},
               {"1-", -EINVAL, 2},
               {"1,", -EINVAL, 1},
               {"3-1", -EINVAL, 2},
               {"1,,2", -EINVAL, 2},
               {"1;2", -EINVAL, 1},
               {"-1", -EINVAL, 0},
               {"0-8192", -ERANGE, 2},
               {"1 2", -EINVAL, 1},
               {"0x3", -EINVAL, 1},
               {"5,9999999999999999999999", -ERANGE, 2}};
    check_list("0-7,64-71", "0-7,64-71");
    check_list(" 3,2,1,0,9\n", "0-3,9");
    check_list("", "");
    check_list("63,64,8191", "63-64,8191");
    check_list("0-8191", "0-8191");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct oriel_cpus set;
        size_t at = 99;
        int rc = oriel_cpus_parse(bad[i].text, strlen(bad[i].text), &set, &at);
        CHECK(rc == bad[i].error && at == bad[i].at, "'%s' is refused at %zu, with %d",
              bad[i].text, at, rc);
    }
    struct oriel_cpus set;
    char out[6];
    oriel_cpus_parse("100-200,300", 11, &set, NULL);
    CHECK(oriel_cpus_format(&set, out, sizeof out) == 11 && strcmp(out, "100-2") == 0,
          "a list is cut to fit: %s", out);
    CHECK(oriel_cpus_count(&set) == 102 && oriel_cpus_next(&set, 201) == 300 &&
              oriel_cpus_next(&set, 301) == -1 && !oriel_cpus_has(&set, -1) &&
              !oriel_cpus_has(&set, 1L << 40),
          "a set is asked");
}

/* Is it read, and printed as expected? */
static void check_map(const char *text, const char *expected)
{
    char out[400] = "", why[400] = "";
    struct oriel_nic_map map;
    int rc = oriel_nic_map_parse(text, &map, why, sizeof why);
    CHECK(rc == 0, "%s is read: %s", text, why);
    if (rc) return;
    FILE *file = fmemopen(out, sizeof out, "w");
    oriel_nic_map_print(&map, file);
    fclose(file);
    CHECK(strcmp(out, expected) == 0, "%s is %s, not %s", text, expected, out);
    oriel_nic_map_fini(&map);
}

static void test_good(void)
{
    check_map("0-7,64-71=hsn0;8-15=hsn1", "0-7,64-71=hsn0;8-15=hsn1");
    check_map("hsn0=0-15,64-79;hsn1=16-31", "0-15,64-79=hsn0;16-31=hsn1");
    check_map(" 0-3=a+b ; 4=c ;", "0-3=a+b;4=c");
    check_map("0=a;1=a;2=b", "0-1=a;2=b");
    check_map("0-3=a;0-3=b;2-5=c", "0-3=a+b;2-5=c");
    check_map("0=mlx5_0:1;1=bond0.12", "0=mlx5_0:1;1=bond0.12");
}

static void test_bad(void)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "at character 1: the map is empty"},
        {";;", "the map is empty"},
        {"0-7", "at character 1, '0-7': there is no '='"},
        {"0-7=hsn0;8-15", "at character 10, '8-15': there is no '='"},
        {"0-7=hsn0;8-x=hsn1", "at character 12, 'x=hsn1': this is no list of CPUs"},
        {"0-7=", "at character 5: the name of a NIC is missing"},
        {"=hsn0", "at character 1, '=hsn0': the CPUs are missing"},
        {"0-7=hsn0+", "at character 10: the name of a NIC is missing"},
        {"0-7=hsn0,hsn1", "at character 9, ',hsn1': a NIC has no such name"},
        {"0-7=hsn0=x", "at character 9, '=x': a NIC has no such name"},
        {"0-9999=a", "at character 3, '9999=a': no CPU has a number above 8191"},
        {"a=b", "at character 1, 'a=b': this is no list of CPUs"},
        {"hsn0:0-7", "there is no '='"},
    };
    char why[400];
    struct oriel_nic_map map;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int rc = oriel_nic_map_parse(bad[i].text, &map, why, sizeof why);
        CHECK(rc == -EINVAL && strstr(why, bad[i].says) &&
                  strstr(why, "0-7,64-71=hsn0;8-15=hsn1"),
              "'%s' is refused: %s", bad[i].text, why);
    }
    char longest[200] = "0=";
    memset(longest + 2, 'a', 64);
    CHECK(oriel_nic_map_parse(longest, &map, why, sizeof why) == -EINVAL,
          "a name that no NIC can have: %s", why);
    longest[2 + 63] = '\0';
    CHECK(oriel_nic_map_parse(longest, &map, why, sizeof why) == 0, "the longest: %s",
          why);
    oriel_nic_map_fini(&map);
}

static struct oriel_nic_place place_on(const char *cpus, int rank)
{
    struct oriel_nic_place place = {.cpu = -1, .local_rank = rank, .gpu = -1};
    REQUIRE(oriel_cpus_parse(cpus, strlen(cpus), &place.cpus, NULL) == 0, "a list");
    return place;
}

static const char *name_on(const char *cpus, int rank)
{
    struct oriel_nic_place place = place_on(cpus, rank);
    memset(&choice, 0, sizeof choice);
    int rc = oriel_nic_choose(&config, &place, &choice);
    CHECK(rc == 0, "a NIC is chosen (%d, %s)", rc, choice.reason);
    return choice.name;
}

/* As inside a nested step: interfaces, but not where they are; or nothing at all. */
static void test_hidden(void)
{
    char root[100];
    snprintf(root, sizeof root, "%s/hidden", tree_top);
    tree_make("frontier", root);
    tree_remove("devices/pci0000:60");
    tree_remove("devices/pci0000:80");
    tree_remove("devices/pci0000:a0");
    tree_remove("devices/pci0000:c0");
    config.nic_map = "0-15,64-79=hsn2;16-31,80-95=hsn1;32-47,96-111=hsn3;48-63=hsn0";
    CHECK(strcmp(name_on("20", 0), "hsn1") == 0 &&
              strstr(choice.reason, "ORIEL_NIC_MAP"),
          "the map is used: %s, %s", choice.name, choice.reason);
    config.nic_map = "";
    tree_remove("class/net/nmn0");
    for (int rank = 0; rank < 8; rank++) {
        char expected[8];
        snprintf(expected, sizeof expected, "hsn%d", rank % 4);
        CHECK(strcmp(name_on("20", rank), expected) == 0 &&
                  strstr(choice.reason, "unknown places"),
              "without a map by local rank: %s, %s", choice.name, choice.reason);
    }
    CHECK(strcmp(name_on("20", -1), "hsn0") == 0 && strstr(choice.reason, "the first"),
          "or the first that is usable: %s, %s", choice.name, choice.reason);
    tree_remove("class");
    tree_remove("devices");
    CHECK(name_on("20", 0)[0] == '\0', "nothing at all is no error: %s", choice.reason);
    config.nic_map = "0-15=hsn2;16-31=hsn1;32=mlx5_0";
    CHECK(strcmp(name_on("20", 0), "hsn1") == 0 && strcmp(choice.device, "cxi1") == 0 &&
              choice.kind == ORIEL_NIC_CXI,
          "the map is believed: %s %s", choice.name, choice.device);
    CHECK(strcmp(name_on("32", 0), "mlx5_0") == 0 &&
              strcmp(choice.device, "mlx5_0") == 0 && choice.interface[0] == '\0',
          "a device is known by its name");
    config.nic = "enp3s0";
    CHECK(strcmp(name_on("32", 0), "enp3s0") == 0 &&
              strcmp(choice.interface, "enp3s0") == 0,
          "a forced one is believed as well");
    config.nic = "";
}

/* Send stderr to a file in the folder, and back; what was printed goes to seen. */
static char seen[4096];
static int stderr_saved, sink;
static void capture_begin(void)
{
    char path[100];
    snprintf(path, sizeof path, "%s/stderr-XXXXXX", tree_top);
    sink = mkstemp(path);
    REQUIRE(sink >= 0, "there is a file for stderr");
    stderr_saved = dup(STDERR_FILENO);
    dup2(sink, STDERR_FILENO);
}
static void capture_end(void)
{
    dup2(stderr_saved, STDERR_FILENO);
    ssize_t got = pread(sink, seen, sizeof seen - 1, 0);
    seen[got < 0 ? 0 : got] = '\0';
    close(stderr_saved);
    close(sink);
}

/* The first choice of the process is told, as is a map that is of no use, each once. */
static void test_log(void)
{
    char root[100];
    snprintf(root, sizeof root, "%s/log", tree_top);
    tree_make("frontier", root);
    oriel_log_set_level(ORIEL_LOG_INFO);
    capture_begin();
    name_on("0-127", 5);
    name_on("0-127", 6);
    capture_end();
    CHECK(strcmp(seen, "oriel: NIC hsn1: CPUs 0-127: one of 4 equally near, by local "
                       "rank 5\n") == 0,
          "the choice is told: %s", seen);
    config.nic_map = "0=hsn9";
    capture_begin();
    name_on("0-127", 5);
    name_on("0-127", 6);
    capture_end();
    const char *told = strstr(seen, "ORIEL_NIC_MAP is of no use here");
    CHECK(told && !strstr(told + 1, "ORIEL_NIC_MAP") &&
              strstr(told, "oriel nics --env"),
          "a map of no use is told, with the cure: %s", seen);
    oriel_log_set_level(ORIEL_LOG_WARN);
    config.nic_map = "";
}

static void test_other_node(void)
{
    char root[100];
    struct oriel_nic_place place = place_on("20", 0);
    snprintf(root, sizeof root, "%s/other", tree_top);
    tree_make("frontier", root);
    config.nic_map = "0-127=hsn9";
    CHECK(strcmp(name_on("20", 0), "hsn1") == 0,
          "a map of another node is passed over");
    config.nic_map = "0-15=hsn0";
    CHECK(strcmp(name_on("20", 0), "hsn1") == 0, "or one without our CPUs");
    config.nic_map = "0-63=hsn0+hsn9";
    CHECK(strcmp(name_on("20", 1), "hsn0") == 0, "what is not here is left out of it");
    tree_file("class/net/hsn0/operstate", "down");
    config.nic_map = "0-63=hsn0+hsn3";
    CHECK(strcmp(name_on("20", 0), "hsn3") == 0, "so is what is down");
    config.nic_map = "0-15=hsn0;16-x=hsn1";
    CHECK(oriel_nic_choose(&config, &place, &choice) == -EINVAL &&
              strstr(choice.reason, "ORIEL_NIC_MAP is not understood at character 14"),
          "a bad map is an error: %s", choice.reason);
}

/* Opens an object of hwloc's XML; the caller closes it. */
static void put_object(FILE *file, const char *type, int index, const char *cpus,
                       const char *node, const char *more)
{
    static int gp_index;
    fprintf(file,
            "<object type=\"%s\" os_index=\"%d\" cpuset=\"%s\" complete_cpuset=\"%s\" "
            "nodeset=\"%s\" complete_nodeset=\"%s\" gp_index=\"%d\"%s>\n",
            type, index, cpus, cpus, node, node, ++gp_index, more);
}

/* A package with a NUMA node, two cores, and two interfaces of one PCI function. */
static void put_package(FILE *file, int p)
{
    static const char *const bits[] = {"0x1", "0x2", "0x4", "0x8"};
    const char *cpus = p ? "0xc" : "0x3", *node = p ? "0x2" : "0x1";
    put_object(file, "Package", p, cpus, node, "");
    put_object(file, "NUMANode", p, cpus, node, " local_memory=\"1000000\"");
    fprintf(file, "</object>\n");
    for (int c = 2 * p; c < 2 * p + 2; c++) {
        put_object(file, "Core", c, bits[c], node, "");
        put_object(file, "PU", c, bits[c], node, "");
        fprintf(file, "</object>\n</object>\n");
    }
    fprintf(file,
            "<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"0-1\" depth=\"0\" "
            "bridge_pci=\"0000:[%02x-%02x]\">\n"
            "<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"0000:%02x:00.0\" "
            "pci_type=\"0200 [17db:0501] [17db:0501] 00\" pci_link_speed=\"0\">\n",
            100 + 10 * p, 16 * p, 16 * p + 15, 101 + 10 * p, 16 * p + 1);
    for (int i = 0; i < 2; i++)
        fprintf(file,
                "<object type=\"OSDev\" gp_index=\"%d\" name=\"hsn%d\" "
                "osdev_type=\"2\"/>\n",
                102 + 10 * p + i, 2 * p + i);
    fprintf(file, "</object>\n</object>\n</object>\n");
}

static void save_topology(const char *path)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file, "the topology can be written");
    fprintf(file, "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
                  "<topology version=\"2.0\">\n");
    put_object(file, "Machine", 0, "0xf", "0x3",
               " allowed_cpuset=\"0xf\" allowed_nodeset=\"0x3\"");
    put_package(file, 0);
    put_package(file, 1);
    fprintf(file, "</object>\n</topology>\n");
    fclose(file);
}

/* Places that sysfs does not tell, and NICs that it does not show, by a saved topology.
 */
static void test_hwloc(void)
{
    char root[100], path[PATH_MAX];
    struct oriel_node *node;
    snprintf(root, sizeof root, "%s/hwloc", tree_top);
    tree_make("pairs", root);
    tree_remove("devices/pci0000:c0");
    tree_remove("devices/pci0000:a0");
    tree_remove("class/cxi");
    config.nic_map = "";
    tree_path(path, "saved.xml");
    save_topology(path);
    CHECK(strcmp(name_on("2", 1), "hsn1") == 0, "without hwloc: %s", choice.name);
    setenv("HWLOC_XMLFILE", path, 1);
    REQUIRE(oriel_node_read(tree_root, &node) == 0, "the node is read");
    bool has_hwloc = node->used_hwloc;
    oriel_node_destroy(node);
    if (!has_hwloc) {
        printf("not tested: hwloc is not there\n");
        return;
    }
    CHECK(strcmp(name_on("2", 0), "hsn2") == 0 && strstr(choice.reason, "hwloc"),
          "hwloc tells where they are: %s, %s", choice.name, choice.reason);
    CHECK(strcmp(name_on("0-1", 1), "hsn1") == 0, "%s", choice.name);
    tree_remove("class/net");
    CHECK(strcmp(name_on("0-1", 0), "hsn0") == 0 &&
              strcmp(name_on("3", 0), "hsn2") == 0,
          "also NICs that sysfs does not show: %s", choice.name);
    unsetenv("HWLOC_XMLFILE");
}

int main(void)
{
    tree_top_make();
    test_log();
    test_lists();
    test_good();
    test_bad();
    test_hidden();
    test_other_node();
    test_hwloc();
    tree_top_remove();
    return check_done();
}
