#define _GNU_SOURCE

#include "transports/ofi_nic.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64 };

/* The offer's IP address, or NULL. */
static const struct sockaddr *address_of(const struct fi_info *info)
{
    const struct sockaddr *address = info->src_addr;

    if (!address || info->src_addrlen < sizeof(struct sockaddr_in)) return NULL;
    if (info->addr_format != FI_SOCKADDR_IN && info->addr_format != FI_SOCKADDR_IN6 &&
        info->addr_format != FI_SOCKADDR)
        return NULL;
    if (address->sa_family == AF_INET) return address;
    return address->sa_family == AF_INET6 &&
                   info->src_addrlen >= sizeof(struct sockaddr_in6)
               ? address
               : NULL;
}

/* Where the bytes of an IP address are. */
static const void *address_bytes(const struct sockaddr *address, size_t *n_out)
{
    if (address->sa_family == AF_INET) {
        *n_out = sizeof(struct in_addr);
        return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    }
    *n_out = sizeof(struct in6_addr);
    return &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    size_t n;
    const void *bytes = address_bytes(a, &n);

    return a->sa_family == b->sa_family && memcmp(bytes, address_bytes(b, &n), n) == 0;
}

static bool is_loopback(const struct sockaddr *address)
{
    size_t n;
    const void *bytes = address_bytes(address, &n);

    if (address->sa_family == AF_INET) return *(const unsigned char *)bytes == 127;
    return IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)bytes);
}

static bool is_link_local(const struct sockaddr *address)
{
    size_t n;
    const unsigned char *bytes = address_bytes(address, &n);

    if (address->sa_family == AF_INET) return bytes[0] == 169 && bytes[1] == 254;
    return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

static const char *domain_of(const struct fi_info *info)
{
    return info->domain_attr->name ? info->domain_attr->name : "";
}

/* The kernel's name of the interface with the offer's address; else the domain's. */
static void interface_of(const struct fi_info *info, char out[NAME_BYTES])
{
    const struct sockaddr *address = address_of(info);
    struct ifaddrs *all = NULL;

    snprintf(out, NAME_BYTES, "%s", domain_of(info));
    if (!address || getifaddrs(&all) != 0) return;
    for (struct ifaddrs *at = all; at; at = at->ifa_next) {
        if (!at->ifa_addr || at->ifa_addr->sa_family != address->sa_family ||
            !same_address(at->ifa_addr, address))
            continue;
        snprintf(out, NAME_BYTES, "%s", at->ifa_name);
        break;
    }
    freeifaddrs(all);
}

static void address_text(const struct fi_info *info, char out[INET6_ADDRSTRLEN])
{
    const struct sockaddr *address = address_of(info);
    size_t n;

    out[0] = '\0';
    if (address)
        inet_ntop(address->sa_family, address_bytes(address, &n), out,
                  INET6_ADDRSTRLEN);
}

/* 2: up; 1: the kernel does not say; 0: down. */
static int is_up(const char *interface, const char *sysfs)
{
    char path[512], state[16] = "";
    FILE *file;

    snprintf(path, sizeof path, "%s/class/net/%s/operstate", sysfs, interface);
    file = fopen(path, "re");
    if (!file) return 1;
    if (fscanf(file, "%15s", state) != 1) state[0] = '\0';
    fclose(file);
    if (strcmp(state, "up") == 0) return 2;
    return strcmp(state, "down") == 0 || strcmp(state, "lowerlayerdown") == 0 ? 0 : 1;
}

/* "mlx5_0" is also the name of its domain "mlx5_0-rdm". */
static bool is_called(const struct fi_info *info, const char *interface,
                      const char *nic)
{
    const char *domain = domain_of(info);
    const char *device =
        info->nic && info->nic->device_attr && info->nic->device_attr->name
            ? info->nic->device_attr->name
            : "";
    char address[INET6_ADDRSTRLEN];
    size_t n = strlen(nic);

    address_text(info, address);
    return strcmp(interface, nic) == 0 || strcmp(device, nic) == 0 ||
           strcmp(address, nic) == 0 ||
           (strncmp(domain, nic, n) == 0 && (domain[n] == '\0' || domain[n] == '-'));
}

void oriel_ofi_nic_want(struct oriel_ofi_want *out, const struct oriel_config *config,
                        bool is_device, char *why, size_t why_bytes)
{
    struct oriel_nic_place place;

    out->name = config->nic;
    out->sysfs = config->sysfs;
    oriel_nic_place_own(&place);
    place.use = is_device ? ORIEL_NIC_USE_DEVICE : ORIEL_NIC_USE_INTERFACE;
    if (oriel_nic_choose(config, &place, &out->near) == 0) {
        /* "gpu" names a way to choose. */
        if (strcmp(out->name, "gpu") == 0) out->name = "";
        return;
    }
    /* It may still be a name that only libfabric knows, or an address. */
    snprintf(why, why_bytes, "%s", out->near.reason);
    memset(&out->near, 0, sizeof out->near);
}

static bool is_near(const struct fi_info *info, const char *interface,
                    const struct oriel_nic_choice *near)
{
    return (*near->interface && strcmp(interface, near->interface) == 0) ||
           (*near->device && is_called(info, interface, near->device));
}

int oriel_ofi_nic_rank(const struct fi_info *info, const struct oriel_ofi_want *want)
{
    const struct sockaddr *address = address_of(info);
    char interface[NAME_BYTES];
    bool near;
    int rank = 0;

    interface_of(info, interface);
    near = is_near(info, interface, &want->near);
    if (*want->name && !near && !is_called(info, interface, want->name)) return -1;
    if (want->prefix && strncmp(interface, want->prefix, strlen(want->prefix)) != 0)
        return -1;
    if (near) rank += 32;
    if (!address) return rank;
    if (address->sa_family == AF_INET) rank += 1;
    if (is_loopback(address)) return rank;
    if (!is_link_local(address)) rank += 2;
    return 4 + rank + 4 * is_up(interface, want->sysfs);
}

void oriel_ofi_nic_text(const struct fi_info *info, char *out, size_t out_bytes)
{
    char interface[NAME_BYTES], address[INET6_ADDRSTRLEN];

    interface_of(info, interface);
    address_text(info, address);
    snprintf(out, out_bytes, "%s%s%s", interface, *address ? ", " : "", address);
}

void oriel_ofi_nic_list(const struct fi_info *list, char *out, size_t out_bytes)
{
    size_t length = 0;

    if (out_bytes) out[0] = '\0';
    for (; list && length < out_bytes; list = list->next) {
        char interface[NAME_BYTES];

        interface_of(list, interface);
        if (strstr(out, interface)) continue;
        length += (size_t)snprintf(out + length, out_bytes - length, "%s%s",
                                   length ? ", " : "there is ", interface);
    }
}
