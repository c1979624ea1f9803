/*
 * nic_tree.h - builds trees that look like sysfs, of nodes as they are publicly
 * described: how many cores, NUMA nodes and NICs. Which NIC hangs on which NUMA node is
 * an example. Nothing of it is a copy of a real tree.
 */
#ifndef ORIEL_CTEST_NIC_TREE_H
#define ORIEL_CTEST_NIC_TREE_H

#include "check.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char tree_root[PATH_MAX - 1024];

/* A folder for the trees: in memory where it can be, since they are thousands of files
 * and disks are slow on busy machines. tree_top_remove removes it. */
static char tree_top[64];
static void tree_top_make(void)
{
    strcpy(tree_top, "/dev/shm/oriel-nic-XXXXXX");
    if (mkdtemp(tree_top)) return;
    strcpy(tree_top, "/tmp/oriel-nic-XXXXXX");
    REQUIRE(mkdtemp(tree_top), "there is a folder for the trees");
}

static void tree_top_remove(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", tree_top);
    if (system(command) != 0) printf("left behind: %s\n", tree_top);
}

static void tree_folders(char *path)
{
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') continue;
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
}

static void tree_path(char out[PATH_MAX], const char *name)
{
    snprintf(out, PATH_MAX, "%s/%s", tree_root, name);
    tree_folders(out);
}

__attribute__((format(printf, 2, 3))) static void tree_file(const char *name,
                                                            const char *format, ...)
{
    char path[PATH_MAX];
    tree_path(path, name);
    FILE *file = fopen(path, "w");
    REQUIRE(file, "the tree's file %s can be written (%d)", path, errno);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputc('\n', file);
    fclose(file);
}

/* A link to another place of the tree, relative as the kernel makes them. */
static void tree_link(const char *name, const char *target)
{
    char path[PATH_MAX], up[PATH_MAX] = "";
    tree_path(path, name);
    for (const char *at = name; *at; at++)
        if (*at == '/') strcat(up, "../");
    strcat(up, target);
    unlink(path);
    REQUIRE(symlink(up, path) == 0, "the tree's link %s can be made (%d)", path, errno);
}

static void tree_remove(const char *name)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s/%s'", tree_root, name);
    REQUIRE(system(command) == 0, "%s can be removed from the tree", name);
}

struct tree_cpus {
    int cores, threads, packages, numa, l3;
};

/* CPUs of the i-th of n equal parts: "0-7,64-71". */
static const char *tree_part(const struct tree_cpus *cpus, int i, int n)
{
    static char list[256];
    int size = cpus->cores / n, used = 0;
    for (int t = 0; t < cpus->threads; t++) {
        int first = t * cpus->cores + i * size;
        used += size > 1 ? snprintf(list + used, sizeof list - (size_t)used, "%s%d-%d",
                                    t ? "," : "", first, first + size - 1)
                         : snprintf(list + used, sizeof list - (size_t)used, "%s%d",
                                    t ? "," : "", first);
    }
    return list;
}

static void tree_make_cpus(const struct tree_cpus *cpus)
{
    char name[128];
    tree_file("devices/system/cpu/online", "0-%d", cpus->cores * cpus->threads - 1);
    for (int cpu = 0; cpu < cpus->cores * cpus->threads; cpu++) {
        int core = cpu % cpus->cores;
        snprintf(name, sizeof name,
                 "devices/system/cpu/cpu%d/topology/package_cpus_list", cpu);
        tree_file(
            name, "%s",
            tree_part(cpus, core / (cpus->cores / cpus->packages), cpus->packages));
        snprintf(name, sizeof name, "devices/system/cpu/cpu%d/cache/index3/level", cpu);
        tree_file(name, "3");
        snprintf(name, sizeof name,
                 "devices/system/cpu/cpu%d/cache/index3/shared_cpu_list", cpu);
        tree_file(name, "%s",
                  tree_part(cpus, core / (cpus->cores / cpus->l3), cpus->l3));
    }
    for (int a = 0; a < cpus->numa; a++) {
        char row[512] = "";
        for (int b = 0; b < cpus->numa; b++) {
            int per_package = cpus->numa / cpus->packages;
            bool is_near = per_package > 0 && a / per_package == b / per_package;
            snprintf(row + strlen(row), sizeof row - strlen(row), "%s%d", b ? " " : "",
                     a == b    ? 10
                     : is_near ? 12
                               : 32);
        }
        snprintf(name, sizeof name, "devices/system/node/node%d/cpulist", a);
        tree_file(name, "%s", tree_part(cpus, a, cpus->numa));
        snprintf(name, sizeof name, "devices/system/node/node%d/distance", a);
        tree_file(name, "%s", row);
    }
}

/* A PCI function on a NUMA node; -1 none, and then all CPUs are called local. */
static void tree_pci(const struct tree_cpus *cpus, const char *path, int numa,
                     const char *vendor, const char *class)
{
    char name[512];
    const char *address = strrchr(path, '/') + 1;
    snprintf(name, sizeof name, "devices/%s/numa_node", path);
    tree_file(name, "%d", numa);
    snprintf(name, sizeof name, "devices/%s/local_cpulist", path);
    tree_file(name, "%s",
              numa < 0 ? tree_part(cpus, 0, 1) : tree_part(cpus, numa, cpus->numa));
    snprintf(name, sizeof name, "devices/%s/vendor", path);
    tree_file(name, "%s", vendor);
    snprintf(name, sizeof name, "devices/%s/class", path);
    tree_file(name, "%s", class);
    char target[512];
    snprintf(name, sizeof name, "bus/pci/devices/%s", address);
    snprintf(target, sizeof target, "devices/%s", path);
    tree_link(name, target);
}

/* An interface; path NULL for a virtual one. */
static void tree_interface(const char *interface, const char *path, const char *state,
                           int speed)
{
    char at[512], name[600];
    if (path)
        snprintf(at, sizeof at, "devices/%s/net/%s", path, interface);
    else
        snprintf(at, sizeof at, "devices/virtual/net/%s", interface);
    snprintf(name, sizeof name, "%s/operstate", at);
    tree_file(name, "%s", state);
    snprintf(name, sizeof name, "%s/type", at);
    tree_file(name, "%d", strcmp(interface, "lo") == 0 ? 772 : 1);
    snprintf(name, sizeof name, "%s/speed", at);
    tree_file(name, "%d", speed);
    if (path) {
        char target[512];
        snprintf(name, sizeof name, "%s/device", at);
        snprintf(target, sizeof target, "devices/%s", path);
        tree_link(name, target);
    }
    snprintf(name, sizeof name, "class/net/%s", interface);
    tree_link(name, at);
}

/* A device of class cxi or infiniband; layer and rate only for the latter. */
static void tree_device(const char *class, const char *device, const char *path,
                        const char *state, const char *layer, const char *rate)
{
    char at[512], name[600], target[512];
    snprintf(at, sizeof at, "devices/%s/%s/%s", path, class, device);
    snprintf(name, sizeof name, "%s/device", at);
    snprintf(target, sizeof target, "devices/%s", path);
    tree_link(name, target);
    if (layer) {
        snprintf(name, sizeof name, "%s/ports/1/state", at);
        tree_file(name, "%s", state);
        snprintf(name, sizeof name, "%s/ports/1/link_layer", at);
        tree_file(name, "%s", layer);
        snprintf(name, sizeof name, "%s/ports/1/rate", at);
        tree_file(name, "%s", rate);
    }
    snprintf(name, sizeof name, "class/%s/%s", class, device);
    tree_link(name, at);
}

/* A Slingshot NIC: hsn<i> and cxi<i>, with a GPU behind the same bridge, or without. */
static void tree_slingshot(const struct tree_cpus *cpus, int i, int numa, bool has_gpus)
{
    char path[256], name[16];
    int bus = 0xc0 - 0x20 * numa;
    snprintf(path, sizeof path, "pci0000:%02x/0000:%02x:01.1/0000:%02x:00.0", bus, bus,
             bus + 16 + i);
    tree_pci(cpus, path, numa, "0x17db", "0x020000");
    snprintf(name, sizeof name, "hsn%d", i);
    tree_interface(name, path, "up", 200000);
    snprintf(name, sizeof name, "cxi%d", i);
    tree_device("cxi", name, path, NULL, NULL, NULL);
    for (int g = 0; has_gpus && g < 2; g++) {
        snprintf(path, sizeof path, "pci0000:%02x/0000:%02x:01.1/0000:%02x:00.0", bus,
                 bus, bus + 1 + g);
        tree_pci(cpus, path, numa, "0x1002", "0x038000");
    }
}

static void tree_common(const struct tree_cpus *cpus)
{
    tree_make_cpus(cpus);
    tree_interface("lo", NULL, "unknown", -1);
    tree_interface("docker0", NULL, "up", -1);
    tree_interface("veth12ab", NULL, "up", 10000);
    tree_file("class/net/bonding_masters", "%s", "");
}

/* 64 cores with 2 threads, 8 L3 groups, 4 NUMA nodes, 4 NICs, 8 GPU halves. */
static void tree_frontier(void)
{
    static const struct tree_cpus cpus = {64, 2, 1, 4, 8};
    static const int numa_of_nic[] = {3, 1, 0, 2};
    tree_common(&cpus);
    for (int i = 0; i < 4; i++)
        tree_slingshot(&cpus, i, numa_of_nic[i], true);
    tree_pci(&cpus, "pci0000:e0/0000:e0:02.0/0000:e2:00.0", 0, "0x8086", "0x020000");
    tree_interface("nmn0", "pci0000:e0/0000:e0:02.0/0000:e2:00.0", "up", 1000);
}

/* One socket with 64 cores in 4 NUMA nodes, 4 NICs, 4 GPUs. */
static void tree_perlmutter_gpu(void)
{
    static const struct tree_cpus cpus = {64, 2, 1, 4, 8};
    tree_common(&cpus);
    for (int i = 0; i < 4; i++) {
        char path[128];
        tree_slingshot(&cpus, i, 3 - i, false);
        int bus = 0xc0 - 0x20 * (3 - i);
        snprintf(path, sizeof path, "pci0000:%02x/0000:%02x:03.1/0000:%02x:00.0", bus,
                 bus, bus + 1);
        tree_pci(&cpus, path, 3 - i, "0x10de", "0x030200");
    }
}

/* Two sockets with 64 cores in 4 NUMA nodes each, one NIC. */
static void tree_perlmutter_cpu(void)
{
    static const struct tree_cpus cpus = {128, 2, 2, 8, 16};
    tree_common(&cpus);
    tree_slingshot(&cpus, 0, 1, false);
}

/* Two NUMA nodes with two NICs each. */
static void tree_pairs(void)
{
    static const struct tree_cpus cpus = {32, 1, 2, 2, 2};
    tree_common(&cpus);
    for (int i = 0; i < 4; i++)
        tree_slingshot(&cpus, i, i / 2, false);
}

/* An InfiniBand cluster's node: a slow Ethernet port, two HCAs, one of them down. */
static void tree_infiniband(void)
{
    static const struct tree_cpus cpus = {16, 1, 2, 2, 2};
    static const char ethernet[] = "pci0000:00/0000:00:1c.0/0000:03:00.0";
    static const char first[] = "pci0000:16/0000:16:02.0/0000:18:00.0";
    static const char second[] = "pci0000:ae/0000:ae:02.0/0000:af:00.0";
    tree_common(&cpus);
    tree_pci(&cpus, ethernet, 0, "0x8086", "0x020000");
    tree_interface("eno1", ethernet, "up", 1000);
    tree_pci(&cpus, first, 0, "0x15b3", "0x020700");
    tree_interface("ib0", first, "down", -1);
    tree_device("infiniband", "mlx5_0", first, "4: ACTIVE", "InfiniBand",
                "200 Gb/sec (4X HDR)");
    tree_pci(&cpus, second, 1, "0x15b3", "0x020700");
    tree_interface("ib1", second, "down", -1);
    tree_device("infiniband", "mlx5_1", second, "1: DOWN", "InfiniBand",
                "10 Gb/sec (4X SDR)");
}

/* A virtual machine: one port behind virtio, no NUMA node known. */
static void tree_single(void)
{
    static const struct tree_cpus cpus = {4, 1, 1, 1, 1};
    static const char function[] = "pci0000:00/0000:00:03.0";
    char name[128];
    tree_common(&cpus);
    tree_pci(&cpus, function, -1, "0x1af4", "0x020000");
    snprintf(name, sizeof name, "%s/virtio0", function);
    tree_interface("eth0", name, "up", -1);
}

static const struct {
    const char *name;
    void (*make)(void);
} trees[] = {
    {"frontier", tree_frontier},
    {"perlmutter-gpu", tree_perlmutter_gpu},
    {"perlmutter-cpu", tree_perlmutter_cpu},
    {"pairs", tree_pairs},
    {"infiniband", tree_infiniband},
    {"single", tree_single},
};

/* Build one under the folder, which need not exist. */
static void tree_make(const char *name, const char *root)
{
    snprintf(tree_root, sizeof tree_root, "%s", root);
    mkdir(root, 0700);
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
        if (strcmp(trees[i].name, name) != 0) continue;
        trees[i].make();
        return;
    }
    REQUIRE(false, "there is a tree '%s'", name);
}

#endif
