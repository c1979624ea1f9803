/*
 * sysfs.c - reads sysfs.
 */
#define _GNU_SOURCE 1

#include "core/sysfs.h"

#include "core/cpus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files of sysfs are a page, but a list of CPUs may be longer on the largest machines.
 */
enum { FILE_BYTES = 16384 };

static int join(const char *root, const char *path, char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s/%s", root, path);
    return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Open a plain file. A pipe in a made-up tree must not block. */
static int open_plain(const char *root, const char *path)
{
    char name[PATH_MAX];
    struct stat status;
    int rc = join(root, path, name);
    if (rc) return rc;
    int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return -errno;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) return file;
    close(file);
    return -EINVAL;
}

/* Read what fits. Returns the bytes, with a zero behind them; -errno. */
static ssize_t read_file(const char *root, const char *path, char out[FILE_BYTES])
{
    int file = open_plain(root, path);
    if (file < 0) return file;
    ssize_t got = read(file, out, FILE_BYTES - 1);
    int error = errno;
    close(file);
    if (got < 0) return -error;
    out[got] = '\0';
    return got;
}

int oriel_sysfs_text(const char *root, const char *path, char *out, size_t out_bytes)
{
    char text[FILE_BYTES];
    ssize_t got = read_file(root, path, text);
    if (got < 0) return (int)got;
    text[strcspn(text, "\n")] = '\0';
    size_t bytes = strlen(text);
    while (bytes > 0 && (text[bytes - 1] == ' ' || text[bytes - 1] == '\t'))
        text[--bytes] = '\0';
    if (out_bytes > 0) {
        size_t kept = bytes < out_bytes ? bytes : out_bytes - 1;
        memcpy(out, text, kept);
        out[kept] = '\0';
    }
    return 0;
}

int oriel_sysfs_number(const char *root, const char *path, long *out)
{
    char text[64], *end;
    int rc = oriel_sysfs_text(root, path, text, sizeof text);
    if (rc) return rc;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end != '\0') return -EINVAL;
    *out = number;
    return 0;
}

int oriel_sysfs_cpus(const char *root, const char *path, struct oriel_cpus *out)
{
    char text[FILE_BYTES];
    ssize_t got = read_file(root, path, text);
    if (got < 0) return (int)got;
    if (got == FILE_BYTES - 1) return -E2BIG; /* half a list would be another list */
    return oriel_cpus_parse(text, (size_t)got, out, NULL);
}

bool oriel_sysfs_exists(const char *root, const char *path)
{
    char name[PATH_MAX];
    struct stat status;
    return join(root, path, name) == 0 && lstat(name, &status) == 0;
}

int oriel_sysfs_resolve(const char *root, const char *path, char *out, size_t out_bytes)
{
    char name[PATH_MAX], top[PATH_MAX], real[PATH_MAX];
    int rc = join(root, path, name);
    if (rc) return rc;
    if (!realpath(root, top) || !realpath(name, real)) return -errno;
    size_t bytes = strlen(top);
    if (bytes == 1) bytes = 0; /* the root of all */
    if (strncmp(real, top, bytes) != 0 || real[bytes] != '/') return -EXDEV;
    const char *rest = real + bytes + 1;
    if (strlen(rest) >= out_bytes) return -ENAMETOOLONG;
    strcpy(out, rest);
    return 0;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int oriel_sysfs_names(const char *root, const char *path, char ***out)
{
    char name[PATH_MAX];
    struct dirent **entries;
    int rc = join(root, path, name);
    if (rc) return rc;
    int n = scandir(name, &entries, is_shown, versionsort);
    if (n < 0) return -errno;
    char **names = calloc((size_t)n + 1, sizeof *names);
    bool is_good = names != NULL;
    for (int i = 0; i < n; i++) {
        if (is_good) names[i] = strdup(entries[i]->d_name);
        is_good = is_good && names[i];
        free(entries[i]);
    }
    free(entries);
    if (!is_good) {
        oriel_sysfs_names_free(names, n);
        return -ENOMEM;
    }
    *out = names;
    return n;
}

void oriel_sysfs_names_free(char **names, int n)
{
    for (int i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
}
