/*
 * options.h - the command line that the bench programs share.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "bench/series.h"

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_SIZES_MAX = 40 };

struct bench_options {
    const char *test;
    size_t sizes[BENCH_SIZES_MAX];
    size_t n_sizes;
    struct bench_plan plan;
    bool json;

    /* For the MPI program; see its usage. */
    const char *kind, *sync, *access, *offload, *bare;
    bool nocheck, beside;
};

enum bench_parsed { BENCH_RUN, BENCH_STOP_OK, BENCH_STOP_BAD };

/* Fill *options, which holds the defaults; `usage` is printed for --help, to
 * stdout. Speaks only if `speak`, so that one rank of a job does. */
enum bench_parsed bench_options_parse(int argc, char **argv, const char *usage,
                                      bool speak, struct bench_options *options);

/* "8:4M" (powers of two from 8 to 4 MiB), "8,64,4K", or one size, into
 * options->sizes. Returns 0; -EINVAL; -E2BIG. */
int bench_sizes_parse(const char *text, struct bench_options *options);

#endif
