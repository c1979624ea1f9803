/*
 * rma_main.c - oriel-bench for MPI windows: plain MPI, run by 2 ranks, with or
 * without Oriel preloaded.
 */
#include "bench/rma.h"
#include "bench/row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: mpirun -n 2 oriel-bench-<mpi> [options] TEST\n"
    "\n"
    "Rank 0 reads rank 1's window. Under Oriel's preload the way 'mpi' is redirected;\n"
    "'native' is always the MPI library alone (the PMPI_* functions), 'bare' the same\n"
    "bytes by the system call or copy alone. The ways take turns in short batches;\n"
    "shown are medians, and the median ratio of mpi to each of the others.\n"
    "\n"
    "tests:\n"
    "  get_latency   one Get with its completion\n"
    "  get_strided   the same for 8-byte elements, 64 bytes apart\n"
    "  win_create    create and free a window\n"
    "  get_fabric    get_latency of a target that sleeps; native: that polls\n"
    "  get_together  many Gets and one completion, beside one each\n"
    "  get_first     the first read, which connects, and the second\n"
    "  get_busy      reads of a target that computes, beside one that sleeps\n"
    "  idle          what a window nobody reads costs: the service thread's time, and\n"
    "                a computation on every core before and after\n"
    "  overhead      calls on a window nobody annotated, to be counted by callgrind\n"
    "\n"
    "  -k, --kind K         create (malloc memory), alloc_mem, allocate\n"
    "  -s, --sync S         flush (inside lock_all), lock (lock, Get, unlock)\n"
    "      --nocheck        locks with MPI_MODE_NOCHECK\n"
    "  -a, --access A       info key oriel_access: general, fenced, immutable\n"
    "  -o, --offload O      info key oriel_offload: true, false, engines; none: no "
    "info\n"
    "      --bare B         get_fabric, get_together: beside the library alone: "
    "ofi:PROVIDER, ucx\n"
    "      --beside         overhead: keep an annotated window beside\n"
    "  -m, --size LIST      bytes: min:max by powers of two, or a,b,c (8:4M)\n"
    "  -t, --seconds S      time for each row (0.5)\n"
    "  -b, --batch-us US    shortest batch that is timed (150)\n"
    "  -n, --calls N        overhead: calls of each kind; win_create: rounds;\n"
    "                       get_together: Gets (1000)\n"
    "  -j, --json           one JSON object a line\n"
    "  -h, --help           this text\n"
    "      --version\n";

struct test {
    const char *name;
    uint64_t (*run)(const struct bench_options *options, int rank);
};

static const struct test tests[] = {
    {"get_latency", bench_get_latency},   {"get_strided", bench_get_strided},
    {"win_create", bench_win_create},     {"get_fabric", bench_get_fabric},
    {"get_together", bench_get_together}, {"get_first", bench_get_first},
    {"get_busy", bench_get_busy},         {"idle", bench_idle},
    {"overhead", bench_overhead},
};

static bool one_of(const char *value, const char *const *names)
{
    while (*names && strcmp(*names, value) != 0)
        ++names;
    return *names;
}

/* The test, or NULL after saying what is wrong. */
static const struct test *choose(const struct bench_options *options, int ranks,
                                 bool speak)
{
    static const char *const kinds[] = {"create", "alloc_mem", "allocate", NULL};
    static const char *const syncs[] = {"flush", "lock", NULL};
    const struct test *test = NULL;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i)
        if (strcmp(tests[i].name, options->test) == 0) test = &tests[i];
    const char *wrong = !test                           ? "no such test"
                        : !one_of(options->kind, kinds) ? "no such --kind"
                        : !one_of(options->sync, syncs) ? "no such --sync"
                        : ranks != BENCH_RANKS          ? "needs 2 ranks"
                                                        : NULL;
    if (wrong && speak) fprintf(stderr, "oriel-bench: %s; try --help\n", wrong);
    return wrong ? NULL : test;
}

static int run(const struct bench_options *options, int rank, int ranks)
{
    bool speak = rank == BENCH_READER;
    const struct test *test = choose(options, ranks, speak);
    if (!test) return 2;
    if (speak) {
        char version[MPI_MAX_LIBRARY_VERSION_STRING];
        int length;
        MPI_Get_library_version(version, &length);
        version[strcspn(version, "\t,\n")] = ' ';
        bench_note_print(options->json, "library", version);
    }
    uint64_t gets = test->run(options, rank);
    if (speak) bench_count_print(options->json, "gets", gets);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct bench_options options = {
        .test = "get_latency",
        .plan = {.seconds = 0.5, .batch_us = 150},
        .kind = "create",
        .sync = "flush",
        .access = "general",
        .offload = "true",
    };
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_sizes_parse("8:4M", &options);
    enum bench_parsed parsed =
        bench_options_parse(argc, argv, usage, rank == BENCH_READER, &options);
    int code = parsed == BENCH_RUN       ? run(&options, rank, ranks)
               : parsed == BENCH_STOP_OK ? EXIT_SUCCESS
                                         : 2;
    MPI_Finalize();
    return code;
}
