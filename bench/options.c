/*
 * options.c - sizes, durations and choices from the command line.
 */
#define _GNU_SOURCE
#include "bench/options.h"
#include "core/version.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static int size_parse(const char *text, const char **end, size_t *out)
{
    char *stop;
    errno = 0;
    unsigned long long value = strtoull(text, &stop, 10);
    unsigned shift = *stop == 'K' ? 10 : *stop == 'M' ? 20 : *stop == 'G' ? 30 : 0;
    if (stop == text || errno || value == 0 || value > (SIZE_MAX >> (shift + 1)))
        return -EINVAL;
    *end = stop + (shift != 0);
    *out = (size_t)value << shift;
    return 0;
}

int bench_sizes_parse(const char *text, struct bench_options *options)
{
    options->n_sizes = 0;
    for (;; ++text) {
        size_t size, last;
        if (size_parse(text, &text, &size)) return -EINVAL;
        last = size;
        if (*text == ':' && (size_parse(text + 1, &text, &last) || last < size))
            return -EINVAL;
        for (; size <= last; size *= 2) {
            if (options->n_sizes == BENCH_SIZES_MAX) return -E2BIG;
            options->sizes[options->n_sizes++] = size;
        }
        if (*text == '\0') return 0;
        if (*text != ',') return -EINVAL;
    }
}

static int positive(const char *text, double *out)
{
    char *stop;
    *out = strtod(text, &stop);
    return *stop == '\0' && *out > 0 && *out < 1e9 ? 0 : -EINVAL;
}

static int take(int letter, const char *value, struct bench_options *options)
{
    double number = 0;
    switch (letter) {
    case 'm':
        return bench_sizes_parse(value, options);
    case 't':
        return positive(value, &options->plan.seconds);
    case 'b':
        return positive(value, &options->plan.batch_us);
    case 'n':
        if (positive(value, &number)) return -EINVAL;
        options->plan.calls = (uint64_t)number;
        return options->plan.calls ? 0 : -EINVAL;
    case 'k':
        options->kind = value;
        return 0;
    case 's':
        options->sync = value;
        return 0;
    case 'a':
        options->access = value;
        return 0;
    case 'o':
        options->offload = value;
        return 0;
    case 'R':
        options->bare = value;
        return 0;
    case 'N':
        options->nocheck = true;
        return 0;
    case 'B':
        options->beside = true;
        return 0;
    case 'j':
        options->json = true;
        return 0;
    default:
        return -EINVAL;
    }
}

enum bench_parsed bench_options_parse(int argc, char **argv, const char *usage,
                                      bool speak, struct bench_options *options)
{
    static const struct option names[] = {
        {"size", required_argument, NULL, 'm'},
        {"seconds", required_argument, NULL, 't'},
        {"batch-us", required_argument, NULL, 'b'},
        {"calls", required_argument, NULL, 'n'},
        {"kind", required_argument, NULL, 'k'},
        {"sync", required_argument, NULL, 's'},
        {"access", required_argument, NULL, 'a'},
        {"offload", required_argument, NULL, 'o'},
        {"bare", required_argument, NULL, 'R'},
        {"nocheck", no_argument, NULL, 'N'},
        {"beside", no_argument, NULL, 'B'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    opterr = speak;
    int letter;
    while ((letter = getopt_long(argc, argv, "m:t:b:n:k:s:a:o:jhV", names, NULL)) !=
           -1) {
        if (letter == 'h' || letter == 'V') {
            if (speak)
                fputs(letter == 'h' ? usage : "oriel-bench " ORIEL_VERSION "\n",
                      stdout);
            return BENCH_STOP_OK;
        }
        if (letter == '?' || take(letter, optarg, options)) {
            if (speak && letter != '?')
                fprintf(stderr, "oriel-bench: bad value '%s' for -%c\n", optarg,
                        letter);
            if (speak) fputs("oriel-bench: try --help\n", stderr);
            return BENCH_STOP_BAD;
        }
    }
    if (optind < argc) options->test = argv[optind++];
    if (optind < argc) {
        if (speak)
            fprintf(stderr, "oriel-bench: unexpected '%s'; try --help\n", argv[optind]);
        return BENCH_STOP_BAD;
    }
    return BENCH_RUN;
}
