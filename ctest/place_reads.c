/*
 * place_reads.c - an MPI program that reads windows, for the place.* and relink.*
 * scripts.
 *
 *   place_reads [rounds [after]]
 *
 * after: what happens when the reads are done, before MPI_Finalize
 *   helpers   system(), popen() and fork, as programs do that call other programs
 *   threads   print how many threads this process has
 */
#include "place_reads.h"

#include <dirent.h>
#include <sys/wait.h>

static int count_entries(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    while (dir && readdir(dir))
        n++;
    if (dir) closedir(dir);
    return n - 2;
}

static int run_helpers(void)
{
    int failed = 0;
    for (int i = 0; i < 20; i++) {
        failed += system("true") != 0;
        char line[64] = "";
        FILE *pipe = popen("echo from a helper", "r");
        failed += !pipe || !fgets(line, sizeof line, pipe) || pclose(pipe) != 0;
        failed += strcmp(line, "from a helper\n") != 0;
        pid_t child = fork();
        if (child == 0) exit(0); /* with the exit handlers, on purpose */
        int status = 1;
        failed += waitpid(child, &status, 0) != child || status != 0;
    }
    printf("helpers failed=%d\n", failed);
    return failed != 0;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 80;
    const char *after = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    int failed = reads_run(rounds);
    if (strcmp(after, "helpers") == 0) {
        failed |= run_helpers();
        failed |= reads_run(rounds); /* and the windows work as before */
    }
    if (strcmp(after, "threads") == 0)
        printf("threads=%d\n", count_entries("/proc/self/task"));
    MPI_Finalize();
    return failed;
}
