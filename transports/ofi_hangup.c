#define _GNU_SOURCE

#include "transports/ofi_hangup.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Address and port; scopes and flow labels may differ. */
static bool is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
    const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

    if (a->ss_family != b->ss_family) return false;
    if (a->ss_family == AF_INET)
        return a4->sin_port == b4->sin_port &&
               a4->sin_addr.s_addr == b4->sin_addr.s_addr;
    return a->ss_family == AF_INET6 && a6->sin6_port == b6->sin6_port &&
           memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof a6->sin6_addr) == 0;
}

int oriel_ofi_hangup(const void *address, size_t address_bytes)
{
    struct sockaddr_storage wanted = {0};
    struct dirent *entry;
    DIR *folder;
    int count = 0;

    if (address_bytes > sizeof wanted) return 0;
    memcpy(&wanted, address, address_bytes);
    folder = opendir("/proc/self/fd");
    if (!folder) return 0;
    while ((entry = readdir(folder)) != NULL) {
        struct sockaddr_storage peer = {0};
        socklen_t bytes = sizeof peer;
        int fd = atoi(entry->d_name);

        if (getpeername(fd, (struct sockaddr *)&peer, &bytes) != 0) continue;
        if (is_same(&peer, &wanted) && shutdown(fd, SHUT_RDWR) == 0) count++;
    }
    closedir(folder);
    return count;
}
