/* core.nic_broken: trees that no kernel would make. Whatever lies there, a NIC or none
 * is chosen, without a crash or a wait; what is still right is still used. */
#define _GNU_SOURCE 1

#include "core/nic.h"
#include "core/sysfs.h"

#include "nic_tree.h"

static void use_tree(const char *name)
{
    char root[200];
    static int count;
    snprintf(root, sizeof root, "%s/%d-%s", tree_top, count++, name);
    tree_make(name, root);
}

/* The name that CPU 20 takes by what is there. */
static const char *choose(void)
{
    static struct oriel_nic_choice choice;
    const struct oriel_config config = {.nic = "", .nic_map = "", .sysfs = tree_root};
    struct oriel_nic_place place = {.cpu = 20, .local_rank = 0, .gpu = 0};
    oriel_cpus_add(&place.cpus, 20);
    memset(&choice, 0, sizeof choice);
    int rc = oriel_nic_choose(&config, &place, &choice);
    CHECK(rc == 0 && choice.reason[0], "there is an answer (%d)", rc);
    return choice.name;
}
#define CHOSEN(expected, ...) CHECK(strcmp(choose(), expected) == 0, __VA_ARGS__)

static void fill(const char *name, const char *text)
{
    tree_remove(name);
    tree_file(name, "%s", text);
}

static void test_missing(void)
{
    static const char *const parts[] = {
        "devices/system/cpu/cpu20",
        "devices/system/cpu/online",
        "devices/system/cpu",
        "devices/system/node/node0/distance",
        "devices/system/node",
        "bus",
        "class/cxi",
    };
    use_tree("frontier");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        tree_remove(parts[i]);
        CHOSEN("hsn1", "without %s", parts[i]);
    }
    tree_remove("class");
    CHOSEN("", "without classes");
    strcat(tree_root, "/not-there");
    CHOSEN("", "without a tree");
}

static void test_garbage(void)
{
    static const char *const files[] = {
        "devices/system/cpu/online",
        "devices/system/cpu/cpu20/topology/package_cpus_list",
        "devices/system/cpu/cpu16/cache/index3/level",
        "devices/system/cpu/cpu16/cache/index3/shared_cpu_list",
        "devices/system/node/node1/cpulist",
        "devices/system/node/node1/distance",
        "class/net/hsn1/speed",
        "class/net/hsn1/type",
        "class/cxi/cxi1/device/numa_node",
        "class/cxi/cxi1/device/vendor",
        "class/cxi/cxi1/device/class",
    };
    static const char *const texts[] = {
        "",
        "x",
        "-",
        "-7",
        "0-",
        "9-0",
        "0-99999999999999999999",
        "1e9",
        "999999999999999999999999",
        "0x10",
        "\x01\x7f\xff\xfe",
        "10 10",
        "%n%s%d",
        "4294967296",
        "-2147483649",
    };
    use_tree("frontier");
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        char right[256] = "";
        oriel_sysfs_text(tree_root, files[f], right, sizeof right);
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
            tree_file(files[f], "%s", texts[t]);
            CHOSEN("hsn1", "'%s' in %s", texts[t], files[f]);
        }
        tree_file(files[f], "%s", right);
    }
    tree_file("class/net/hsn1/operstate", "dowm\ndown");
    CHECK(choose()[0], "an unknown state is not up, and another is found");
}

static void test_long(void)
{
    enum { BYTES = 1 << 20 };
    char *text = malloc(BYTES + 1);
    REQUIRE(text, "there is memory");
    use_tree("frontier");
    for (size_t i = 0; i < BYTES; i++)
        text[i] = "1,"[i % 2];
    text[BYTES] = '\0';
    fill("devices/system/node/node1/cpulist", text);
    CHOSEN("hsn1", "a list of a megabyte");
    fill("class/cxi/cxi1/device/local_cpulist", text);
    CHECK(choose()[0], "a list of a megabyte at a NIC");
    use_tree("frontier");
    memset(text, '9', BYTES);
    fill("class/cxi/cxi1/device/local_cpulist", text);
    CHOSEN("hsn1", "a number of a megabyte: its NUMA node tells");
    fill("devices/system/node/node0/distance", text);
    CHOSEN("hsn1", "a distance of a megabyte");
    free(text);
    char name[PATH_MAX];
    for (int bytes = 60; bytes <= 250; bytes++) {
        char interface[300];
        memset(interface, 'n', (size_t)bytes);
        interface[bytes] = '\0';
        snprintf(name, sizeof name, "class/net/%s/device/numa_node", interface);
        tree_file(name, "1");
        snprintf(name, sizeof name, "class/cxi/%s/device/numa_node", interface);
        tree_file(name, "1");
        snprintf(name, sizeof name, "class/infiniband/%s/ports/%s/state", interface,
                 interface);
        tree_file(name, "4: ACTIVE");
    }
    CHECK(choose()[0], "names that no device has");
}

static void test_links(void)
{
    use_tree("frontier");
    tree_link("class/net/loop", "class/net/loop");
    tree_link("class/net/one", "class/net/two");
    tree_link("class/net/two", "class/net/one");
    tree_link("class/net/self/device", "class/net/self");
    tree_link("class/cxi/loop", "class/cxi/loop");
    tree_link("devices/system/node/node9", "devices/system/node/node9");
    tree_link("bus/pci/devices/0000:ff:00.0", "bus/pci/devices/0000:ff:00.0");
    tree_link("class/net/up/device", "class/../../../../../../../../../../etc");
    CHOSEN("hsn1", "links in circles and out of the tree");
    tree_remove("class/net/hsn1");
    tree_remove("class/cxi/cxi1");
    tree_link("class/net/hsn1", "class/net/hsn1");
    CHECK(choose()[0], "the NIC itself is a circle, and another is found");
}

static void test_kinds(void)
{
    char path[PATH_MAX];
    use_tree("frontier");
    tree_remove("class/net/hsn1/operstate");
    tree_path(path, "class/net/hsn1/operstate");
    REQUIRE(mkfifo(path, 0600) == 0, "there is a pipe");
    CHOSEN("hsn1", "a pipe instead of a file: no wait");
    tree_remove("devices/system/node/node1/distance");
    tree_file("devices/system/node/node1/distance/folder", "x");
    CHOSEN("hsn1", "a folder instead of a file");
    tree_remove("class/infiniband");
    tree_file("class/infiniband", "no folder");
    CHOSEN("hsn1", "a file instead of a folder");
    tree_file("devices/system/node/node99999999999/cpulist", "20");
    tree_file("devices/system/node/node-1/cpulist", "20");
    tree_file("devices/system/node/node255/cpulist", "20");
    tree_file("devices/system/node/node256/cpulist", "20");
    CHOSEN("hsn1", "NUMA nodes with odd numbers");
}

static void test_many(void)
{
    char name[64];
    use_tree("frontier");
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "veth%d", i);
        tree_interface(name, NULL, "up", 10000);
    }
    CHOSEN("hsn1", "among 500 virtual interfaces");
}

int main(void)
{
    tree_top_make();
    test_missing();
    test_garbage();
    test_long();
    test_links();
    test_kinds();
    test_many();
    tree_top_remove();
    return check_done();
}
