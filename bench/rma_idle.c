/*
 * rma_idle.c - what a window costs a program that does not read it: the time of the
 * service thread, and how a computation on every core fares.
 */
#define _GNU_SOURCE
#include "bench/rma_remote.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 1000, THREADS_MOST = 512, PART_S = 2 };
static const char thread_name[] = "oriel-service";

/* ---- the service thread ---- */

static bool read_line(const char *folder, const char *task, const char *file, char *out,
                      size_t bytes)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s/%s", folder, task, file);
    FILE *stream = fopen(path, "r");
    bool found = stream && fgets(out, (int)bytes, stream);
    if (stream) fclose(stream);
    return found;
}

/* ns of processor time of this process's service threads so far; -1: there is none. */
static double service_ns(void)
{
    static const char folder[] = "/proc/self/task";
    DIR *tasks = opendir(folder);
    double sum = -1;
    char line[128];
    if (!tasks) return -1;
    for (struct dirent *task; (task = readdir(tasks));) {
        if (task->d_name[0] == '.') continue;
        if (!read_line(folder, task->d_name, "comm", line, sizeof line)) continue;
        if (strncmp(line, thread_name, sizeof thread_name - 1) != 0) continue;
        if (!read_line(folder, task->d_name, "schedstat", line, sizeof line)) continue;
        sum = (sum < 0 ? 0 : sum) + strtod(line, NULL);
    }
    closedir(tasks);
    return sum;
}

/* Share of a core that the thread takes while the process sleeps. */
static double idle_share(double seconds)
{
    double from = service_ns(), start = bench_now_ns();
    struct timespec rest = {(time_t)seconds, 0};
    rest.tv_nsec = (long)(1e9 * (seconds - (double)rest.tv_sec));
    nanosleep(&rest, NULL);
    double to = service_ns();
    return from < 0 || to < 0 ? -1 : (to - from) / (bench_now_ns() - start);
}

/* ---- computing ---- */

static atomic_bool stop;

static void *compute(void *argument)
{
    uint64_t *turns = argument;
    volatile double sum = 0;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        for (int i = 1; i <= STEPS; ++i)
            sum += 1.0 / i;
        ++*turns;
    }
    (void)sum;
    return NULL;
}

/* The ranks share the node's cores. */
static int threads_each(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    n = (n + BENCH_RANKS - 1) / BENCH_RANKS;
    return n > THREADS_MOST ? THREADS_MOST : n;
}

/* Steps a second of one thread on each core, of all ranks together. */
static double rate(double seconds)
{
    static uint64_t turns[THREADS_MOST][8]; /* a cache line each */
    pthread_t threads[THREADS_MOST];
    int n = threads_each();
    double sum = 0, all;
    memset(turns, 0, sizeof turns);
    atomic_store(&stop, false);
    PMPI_Barrier(MPI_COMM_WORLD);
    double start = bench_now_ns();
    for (int i = 0; i < n; ++i)
        if (pthread_create(&threads[i], NULL, compute, turns[i]))
            bench_die("no thread can be started");
    usleep((useconds_t)(1e6 * seconds));
    atomic_store(&stop, true);
    for (int i = 0; i < n; ++i)
        pthread_join(threads[i], NULL);
    double spent = (bench_now_ns() - start) / 1e9;
    for (int i = 0; i < n; ++i)
        sum += STEPS * (double)turns[i][0];
    sum /= spent;
    PMPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

uint64_t bench_idle(const struct bench_options *options, int rank)
{
    double seconds = options->plan.seconds, before, share, most, after;
    double part = seconds < 2 * PART_S ? seconds / 2 : PART_S;
    char memory[64], here[64];
    MPI_Info info = bench_info_create(options);
    struct bench_window window;
    before = rate(part);
    bench_window_create(&bench_api_mpi, options, info, memory, sizeof memory, &window);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    if (rank == BENCH_READER) { /* so that there is a connection */
        window.api->lock_all(0, window.win);
        window.api->get(here, sizeof here, MPI_BYTE, BENCH_TARGET, 0, sizeof here,
                        MPI_BYTE, window.win);
        window.api->unlock_all(window.win);
        if (bench_pattern_check(here, sizeof here, 0) != sizeof here)
            bench_die("the read before has a wrong byte");
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    share = idle_share(seconds);
    PMPI_Allreduce(&share, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    after = rate(part);
    if (rank == BENCH_READER)
        printf(options->json
                   ? "{\"test\": \"idle\", \"share\": %.6f, \"before\": %.0f, "
                     "\"after\": %.0f}\n"
                   : "service thread: %.4f of a core; steps a second: %.0f before, "
                     "%.0f with the window\n",
               most, before, after);
    bench_window_destroy(&window);
    return 1;
}
