/*
 * leak_usage.h - what this process holds of things that leak.
 */
#ifndef ORIEL_CTEST_LEAK_USAGE_H
#define ORIEL_CTEST_LEAK_USAGE_H

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

enum leak_item {
    LEAK_RESIDENT,
    LEAK_ADDRESSES,
    LEAK_MAPPINGS,
    LEAK_DESCRIPTORS,
    LEAK_THREADS,
    LEAK_ITEMS
};

/* The slack is for what allocators round up, not for a leak a round. */
static const struct {
    const char *name;
    long slack;
} leak_items[LEAK_ITEMS] = {
    {"resident kB", 400}, {"address space in kB", 8192},
    {"mappings", 8},      {"descriptors", 0},
    {"threads", 0},
};

struct leak_usage {
    long value[LEAK_ITEMS];
};

static inline long leak_count_entries(const char *folder)
{
    long n = 0;
    DIR *dir = opendir(folder);
    while (dir && readdir(dir))
        n++;
    if (dir) closedir(dir);
    return n;
}

static inline long leak_count_lines(const char *path)
{
    long n = 0;
    FILE *file = fopen(path, "r");
    for (int c; file && (c = getc(file)) != EOF;)
        n += c == '\n';
    if (file) fclose(file);
    return n;
}

static inline void leak_usage_read(struct leak_usage *out)
{
    char line[256];
    memset(out, 0, sizeof *out);
    malloc_trim(0);
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "VmRSS: %ld", &out->value[LEAK_RESIDENT]);
        sscanf(line, "VmSize: %ld", &out->value[LEAK_ADDRESSES]);
    }
    if (file) fclose(file);
    out->value[LEAK_MAPPINGS] = leak_count_lines("/proc/self/maps");
    out->value[LEAK_DESCRIPTORS] = leak_count_entries("/proc/self/fd");
    out->value[LEAK_THREADS] = leak_count_entries("/proc/self/task");
}

static inline struct leak_usage leak_usage_minus(const struct leak_usage *a,
                                                 const struct leak_usage *b)
{
    struct leak_usage d;
    for (int i = 0; i < LEAK_ITEMS; i++)
        d.value[i] = a->value[i] - b->value[i];
    return d;
}

#endif
