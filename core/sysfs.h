/*
 * sysfs.h - reads the small files and links of sysfs, or of a tree that looks like it.
 *
 * Nothing that lies there is believed: what is missing, is no plain file, or cannot be
 * read is an error number, and never a wait.
 */
#ifndef ORIEL_SYSFS_H
#define ORIEL_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

struct oriel_cpus;

/* The first line of <root>/<path>, without the blanks at its end, cut to fit.
 * Returns 0; -errno. */
int oriel_sysfs_text(const char *root, const char *path, char *out, size_t out_bytes);

/* A decimal number, and nothing behind it. Returns 0; -errno; -EINVAL. */
int oriel_sysfs_number(const char *root, const char *path, long *out);

/* A list such as "0-7,64-71". Returns 0; -errno; -EINVAL; -ERANGE; -E2BIG. */
int oriel_sysfs_cpus(const char *root, const char *path, struct oriel_cpus *out);

/* Is there something, be it a link that leads nowhere? */
bool oriel_sysfs_exists(const char *root, const char *path);

/* Where <root>/<path> really lies, from the root on: "devices/pci0000:00/...".
 * Returns 0; -errno; -EXDEV outside the root; -ENAMETOOLONG. */
int oriel_sysfs_resolve(const char *root, const char *path, char *out,
                        size_t out_bytes);

/* The names in a folder, numbers in them in the order of their values, without those
 * that start with a dot. The caller frees them with oriel_sysfs_names_free.
 * Returns how many; -errno. */
int oriel_sysfs_names(const char *root, const char *path, char ***out);
void oriel_sysfs_names_free(char **names, int n);

#endif
