/*
 * layers.c - where the libraries that are preloaded lie.
 */
#define _GNU_SOURCE 1

#include "tools/layers.h"

#include "tools/words.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the build: an absolute folder, and its name below the prefix. */
#ifndef ORIEL_LIBDIR
#define ORIEL_LIBDIR "/usr/local/lib"
#endif
#ifndef ORIEL_LIBDIR_NAME
#define ORIEL_LIBDIR_NAME "lib"
#endif

enum { FOLDERS = 3 };
static char folders[FOLDERS][PATH_MAX];

/* A prefix that was moved as a whole still works: the command's own place counts. */
static void find_folders(void)
{
    char self[PATH_MAX / 2];
    size_t n = 0;
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    if (bytes > 0) {
        self[bytes] = '\0';
        for (int up = 0; up < 2; up++) {
            char *slash = strrchr(self, '/');
            if (slash) *slash = '\0';
        }
        snprintf(folders[n++], PATH_MAX, "%s/%s", self, ORIEL_LIBDIR_NAME);
        if (strcmp(ORIEL_LIBDIR_NAME, "lib") != 0)
            snprintf(folders[n++], PATH_MAX, "%s/lib", self);
    }
    if (n == 0 || strcmp(folders[0], ORIEL_LIBDIR) != 0)
        snprintf(folders[n++], PATH_MAX, "%s", ORIEL_LIBDIR);
}

const char *oriel_layers_folder(size_t i)
{
    if (folders[0][0] == '\0') find_folders();
    return i < FOLDERS && folders[i][0] != '\0' ? folders[i] : NULL;
}

bool oriel_layers_find(enum oriel_mpi mpi, char *out, size_t out_bytes)
{
    if (mpi == ORIEL_MPI_UNKNOWN) return false;
    const char *folder;
    for (size_t i = 0; (folder = oriel_layers_folder(i)) != NULL; i++) {
        char *path = oriel_text("%s/liboriel-pmpi-%s.so", folder, oriel_mpi_names[mpi]);
        bool is_found = access(path, R_OK) == 0 && strlen(path) < out_bytes;
        if (is_found) strcpy(out, path);
        free(path);
        if (is_found) return true;
    }
    return false;
}

enum oriel_mpi oriel_layers_only(void)
{
    char path[PATH_MAX];
    enum oriel_mpi only = ORIEL_MPI_UNKNOWN;
    for (int mpi = 1; mpi < ORIEL_MPI_COUNT; mpi++) {
        if (!oriel_layers_find((enum oriel_mpi)mpi, path, sizeof path)) continue;
        if (only != ORIEL_MPI_UNKNOWN) return ORIEL_MPI_UNKNOWN;
        only = (enum oriel_mpi)mpi;
    }
    return only;
}

static bool is_sanitizer(const char *path, size_t bytes)
{
    static const char *const names[] = {"libasan.so", "libtsan.so", "libclang_rt."};
    const char *base = path;
    for (const char *at = path; at < path + bytes; at++)
        if (*at == '/') base = at + 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(base, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* The loader separates entries by colons or blanks. */
static const char separators[] = ": ";

char *oriel_layers_preload(const char *layer, const char *old)
{
    if (!old || *old == '\0') return oriel_text("%s", layer);
    size_t head = 0; /* bytes of runtimes that stay first, with their separators */
    for (const char *at = old; *at != '\0';) {
        size_t bytes = strcspn(at, separators);
        if (bytes == strlen(layer) && strncmp(at, layer, bytes) == 0)
            return oriel_text("%s", old);
        size_t next = bytes + strspn(at + bytes, separators);
        if (head == (size_t)(at - old) && is_sanitizer(at, bytes)) head += next;
        at += next;
    }
    if (head == 0) return oriel_text("%s:%s", layer, old);
    const char *rest = old + head;
    return oriel_text("%.*s%s%s%s%s", (int)head, old,
                      strchr(separators, rest[-1]) ? "" : ":", layer, *rest ? ":" : "",
                      rest);
}
