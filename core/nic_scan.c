/*
 * nic_scan.c - finds the NICs of a node: interfaces of the IP stack, RDMA devices and
 * Slingshot devices, which are one NIC where they are one PCI function.
 */
#define _GNU_SOURCE 1

#include "core/nic_node.h"
#include "core/sysfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 512, TYPE_LOOPBACK = 772 };

static void copy_name(char out[ORIEL_NIC_NAME_BYTES], const char *name)
{
    snprintf(out, ORIEL_NIC_NAME_BYTES, "%s", name);
}

static bool has_file(const char *sysfs, const char *interface, const char *file)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "class/net/%s/%s", interface, file);
    return oriel_sysfs_exists(sysfs, path);
}

/* Made by software: under devices/virtual, or it shows by what it has. */
static bool is_virtual(const char *sysfs, const char *interface)
{
    char path[PATH_BYTES], real[PATH_BYTES];
    long type;
    snprintf(path, sizeof path, "class/net/%s", interface);
    if (oriel_sysfs_resolve(sysfs, path, real, sizeof real) == 0 &&
        strncmp(real, "devices/virtual/", strlen("devices/virtual/")) == 0)
        return true;
    snprintf(path, sizeof path, "class/net/%s/type", interface);
    if (oriel_sysfs_number(sysfs, path, &type) == 0 && type == TYPE_LOOPBACK)
        return true;
    return has_file(sysfs, interface, "bridge") ||
           has_file(sysfs, interface, "bonding") ||
           has_file(sysfs, interface, "tun_flags");
}

/* The first enslaved interface with a device below a bond or a bridge; its traffic is
 * what the upper one's is. */
static bool find_lower(const char *sysfs, const char *interface,
                       char out[ORIEL_NIC_NAME_BYTES])
{
    static const char prefix[] = "lower_";
    char path[PATH_BYTES], **names = NULL;
    bool is_found = false;
    snprintf(path, sizeof path, "class/net/%s", interface);
    int n = oriel_sysfs_names(sysfs, path, &names);
    for (int i = 0; i < n && !is_found; i++) {
        const char *lower = names[i] + sizeof prefix - 1;
        if (strncmp(names[i], prefix, sizeof prefix - 1) != 0 ||
            strlen(lower) >= ORIEL_NIC_NAME_BYTES)
            continue;
        is_found = has_file(sysfs, lower, "master") && has_file(sysfs, lower, "device");
        if (is_found) copy_name(out, lower);
    }
    oriel_sysfs_names_free(names, n);
    return is_found;
}

static void read_link(const char *sysfs, struct oriel_nic *nic)
{
    char path[PATH_BYTES], text[64];
    long speed;
    snprintf(path, sizeof path, "class/net/%s/operstate", nic->interface);
    /* Some drivers, and lo, never know; a tree without it tells nothing either. */
    nic->is_interface_up = oriel_sysfs_text(sysfs, path, text, sizeof text) != 0 ||
                           strcmp(text, "up") == 0 || strcmp(text, "unknown") == 0;
    snprintf(path, sizeof path, "class/net/%s/speed", nic->interface);
    if (oriel_sysfs_number(sysfs, path, &speed) == 0 && speed > 0)
        nic->speed_mbps = (uint64_t)speed;
}

static bool is_cassini(const char *sysfs, const struct oriel_locality *at)
{
    char path[PATH_BYTES + sizeof "/vendor"], text[32];
    snprintf(path, sizeof path, "%s/vendor", at->path);
    return at->path[0] && oriel_sysfs_text(sysfs, path, text, sizeof text) == 0 &&
           strtoul(text, NULL, 16) == 0x17db;
}

static void read_interface(const struct oriel_node *node, const char *sysfs,
                           const char *name, struct oriel_nic *nic)
{
    char path[PATH_BYTES], lower[ORIEL_NIC_NAME_BYTES];
    copy_name(nic->interface, name);
    copy_name(lower, name);
    nic->kind = ORIEL_NIC_ETHERNET;
    if (!has_file(sysfs, name, "device") && is_virtual(sysfs, name) &&
        !find_lower(sysfs, name, lower))
        nic->kind = ORIEL_NIC_VIRTUAL;
    nic->is_enslaved =
        nic->kind != ORIEL_NIC_VIRTUAL && has_file(sysfs, name, "master");
    snprintf(path, sizeof path, "class/net/%s/device", lower);
    if (nic->kind != ORIEL_NIC_VIRTUAL) oriel_node_locate(node, sysfs, path, &nic->at);
    if (is_cassini(sysfs, &nic->at)) nic->kind = ORIEL_NIC_CXI;
    read_link(sysfs, nic);
}

/* An RDMA device of one of the classes. */
struct device {
    const char *name;
    enum oriel_nic_kind kind;
    uint64_t speed_mbps;
    bool is_up;
};

/* "200 Gb/sec (4X HDR)" */
static uint64_t parse_rate(const char *text)
{
    char *end;
    double rate = strtod(text, &end);
    bool is_good = end != text && strncmp(end, " Gb/sec", 7) == 0;
    return is_good && rate > 0 && rate < 1e6 ? (uint64_t)(rate * 1000) : 0;
}

/* The device's best port speaks for it. */
static void read_ports(const char *sysfs, struct device *device)
{
    char path[PATH_BYTES], text[128], **ports = NULL;
    snprintf(path, sizeof path, "class/infiniband/%s/ports", device->name);
    int n = oriel_sysfs_names(sysfs, path, &ports);
    device->kind = ORIEL_NIC_INFINIBAND;
    device->is_up = n <= 0; /* not known */
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "class/infiniband/%s/ports/%.16s/state",
                 device->name, ports[i]);
        bool is_up = oriel_sysfs_text(sysfs, path, text, sizeof text) != 0 ||
                     strstr(text, "ACTIVE") != NULL;
        if (device->is_up && !is_up) continue;
        device->is_up = is_up;
        snprintf(path, sizeof path, "class/infiniband/%s/ports/%.16s/rate",
                 device->name, ports[i]);
        bool has_rate = oriel_sysfs_text(sysfs, path, text, sizeof text) == 0;
        device->speed_mbps = has_rate ? parse_rate(text) : 0;
        snprintf(path, sizeof path, "class/infiniband/%s/ports/%.16s/link_layer",
                 device->name, ports[i]);
        bool has_layer = oriel_sysfs_text(sysfs, path, text, sizeof text) == 0;
        device->kind = has_layer && strcmp(text, "Ethernet") == 0
                           ? ORIEL_NIC_ROCE
                           : ORIEL_NIC_INFINIBAND;
    }
    oriel_sysfs_names_free(ports, n);
}

static void join(struct oriel_nic *nic, const struct device *device)
{
    copy_name(nic->device, device->name);
    nic->kind = device->kind;
    nic->is_device_up = device->is_up;
    if (device->speed_mbps) nic->speed_mbps = device->speed_mbps;
}

/* One PCI function; where places are hidden, by their names: HPE numbers hsn<i> as
 * cxi<i>. */
static bool is_same(const struct oriel_nic *nic, const struct device *device,
                    const struct oriel_locality *at)
{
    if (at->path[0]) return strcmp(nic->at.path, at->path) == 0;
    return device->kind == ORIEL_NIC_CXI && !nic->at.path[0] &&
           strncmp(nic->interface, "hsn", 3) == 0 &&
           strncmp(device->name, "cxi", 3) == 0 &&
           strcmp(nic->interface + 3, device->name + 3) == 0;
}

/* Give the device to the interfaces on the same function, or make it a NIC by itself.
 */
static int add_device(struct oriel_node *node, const char *sysfs, const char *class,
                      const struct device *device)
{
    char path[PATH_BYTES];
    struct oriel_locality at;
    bool is_joined = false;
    snprintf(path, sizeof path, "class/%s/%s/device", class, device->name);
    oriel_node_locate(node, sysfs, path, &at);
    for (size_t i = 0; i < node->nics_count; i++) {
        struct oriel_nic *nic = &node->nics[i];
        if (nic->device[0] || !is_same(nic, device, &at)) continue;
        join(nic, device);
        /* The link of a Slingshot device is its interface's. */
        if (device->kind == ORIEL_NIC_CXI) nic->is_device_up = nic->is_interface_up;
        is_joined = true;
    }
    if (is_joined) return 0;
    struct oriel_nic *nic = oriel_node_add_nic(node);
    if (!nic) return -ENOMEM;
    nic->at = at;
    join(nic, device);
    return 0;
}

static int read_class(struct oriel_node *node, const char *sysfs, const char *class,
                      enum oriel_nic_kind kind)
{
    char path[PATH_BYTES], **names = NULL;
    snprintf(path, sizeof path, "class/%s", class);
    int rc = 0, n = oriel_sysfs_names(sysfs, path, &names);
    if (n < 0) return n == -ENOMEM ? n : 0;
    for (int i = 0; i < n && !rc; i++) {
        struct device device = {.name = names[i], .kind = kind, .is_up = true};
        if (strlen(names[i]) >= ORIEL_NIC_NAME_BYTES) continue;
        if (kind == ORIEL_NIC_INFINIBAND) read_ports(sysfs, &device);
        rc = add_device(node, sysfs, class, &device);
    }
    oriel_sysfs_names_free(names, n);
    return rc;
}

/* The folder also has files that are no interfaces, such as bonding_masters. */
static bool is_interface(const char *sysfs, const char *name)
{
    char path[PATH_BYTES], text[8];
    snprintf(path, sizeof path, "class/net/%s", name);
    return strlen(name) < ORIEL_NIC_NAME_BYTES &&
           oriel_sysfs_text(sysfs, path, text, sizeof text) != 0;
}

int oriel_node_read_nics(struct oriel_node *node, const char *sysfs)
{
    char **names = NULL;
    int rc = 0, n = oriel_sysfs_names(sysfs, "class/net", &names);
    if (n == -ENOMEM) return n;
    for (int i = 0; i < n && !rc; i++) {
        if (!is_interface(sysfs, names[i])) continue;
        struct oriel_nic *nic = oriel_node_add_nic(node);
        if (nic)
            read_interface(node, sysfs, names[i], nic);
        else
            rc = -ENOMEM;
    }
    oriel_sysfs_names_free(names, n);
    if (!rc) rc = read_class(node, sysfs, "cxi", ORIEL_NIC_CXI);
    if (!rc) rc = read_class(node, sysfs, "infiniband", ORIEL_NIC_INFINIBAND);
    return rc;
}
