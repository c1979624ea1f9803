/*
 * oriel_bench.c - oriel-bench without MPI: what a read costs here with nothing
 * around it. A child process holds the memory, this one reads it.
 */
#define _GNU_SOURCE
#include "bench/bare.h"
#include "bench/options.h"
#include "bench/row.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
    "usage: oriel-bench [options] [get_latency]\n"
    "\n"
    "Reads another process's memory on this node, without MPI and without Oriel:\n"
    "what the node engine's paths cost at best. The ways take turns in short\n"
    "batches; shown are medians, and the median ratio of the first to the other.\n"
    "  cma     process_vm_readv from the other process's private memory\n"
    "  memcpy  from memory that both processes have mapped\n"
    "\n"
    "  -m, --size LIST      bytes: min:max by powers of two, or a,b,c (8:4M)\n"
    "  -t, --seconds S      time for each row (0.5)\n"
    "  -b, --batch-us US    shortest batch that is timed (150)\n"
    "  -j, --json           one JSON object a line\n"
    "  -h, --help           this text\n"
    "      --version\n"
    "\n"
    "For MPI windows, natively and redirected: mpirun -n 2 oriel-bench-<mpi> --help\n";

/* A copy of this process that keeps its memory readable until it is killed. */
static pid_t holder_create(void)
{
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent)
            pause();
        _exit(0);
    }
    return child;
}

static void measure(const struct bench_options *options, struct bench_bare *cma,
                    struct bench_bare *copy)
{
    struct bench_way ways[] = {
        {.name = "cma", .run = bench_bare_cma, .context = cma},
        {.name = "memcpy", .run = bench_bare_memcpy, .context = copy},
    };
    bench_row_heads(options->json, ways, 2);
    for (size_t i = 0; i < options->n_sizes; ++i) {
        cma->bytes = copy->bytes = options->sizes[i];
        for (int k = 0; k < 2; ++k) {
            memset(cma->local, 0, cma->bytes);
            ways[k].run(ways[k].context, 1);
            if (bench_pattern_check(cma->local, cma->bytes, 0) != cma->bytes)
                bench_die("%s read wrong bytes", ways[k].name);
        }
        struct bench_series series;
        int error = bench_series_run(ways, 2, &options->plan, &series);
        if (error) bench_die("%s", strerror(-error));
        struct bench_row row = {"get_latency", cma->bytes, ways, &series};
        bench_row_print(options->json, &row);
    }
}

int main(int argc, char **argv)
{
    struct bench_options options = {
        .test = "get_latency",
        .plan = {.seconds = 0.5, .batch_us = 150},
    };
    bench_sizes_parse("8:4M", &options);
    enum bench_parsed parsed = bench_options_parse(argc, argv, usage, true, &options);
    if (parsed != BENCH_RUN) return parsed == BENCH_STOP_OK ? EXIT_SUCCESS : 2;
    if (strcmp(options.test, "get_latency") != 0) {
        fprintf(stderr, "oriel-bench: no test '%s' without MPI; try --help\n",
                options.test);
        return 2;
    }
    size_t most = 0;
    for (size_t i = 0; i < options.n_sizes; ++i)
        most = options.sizes[i] > most ? options.sizes[i] : most;
    char *own = bench_memory_create(most, 0);
    char *shared = bench_memory_create(most, 1);
    char *local = bench_memory_create(most, 0);
    pid_t holder = own && shared && local ? holder_create() : -1;
    if (holder < 0) bench_die("no memory or no process: %s", strerror(errno));
    /* Untouched since the fork they would be one set of pages; writing here leaves
     * the child the old ones. */
    bench_pattern_fill(own, most);
    struct bench_bare cma = {.remote = own, .local = local, .pid = holder};
    struct bench_bare copy = {.remote = shared, .local = local};
    measure(&options, &cma, &copy);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    bench_memory_destroy(own, most);
    bench_memory_destroy(shared, most);
    bench_memory_destroy(local, most);
    return EXIT_SUCCESS;
}
