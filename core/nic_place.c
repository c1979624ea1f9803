/*
 * nic_place.c - where this process runs, by the kernel and by its launcher.
 */
#define _GNU_SOURCE 1

#include "core/nic.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* The number that a variable starts with, such as 8 in "8(x2),4"; -1 for none. */
static int leading_number(const char *variable)
{
    const char *value = getenv(variable);
    if (!value || *value < '0' || *value > '9') return -1;
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    return errno || number > 1000000 ? -1 : (int)number;
}

static int first_number(const char *const *variables)
{
    for (; *variables; variables++) {
        int number = leading_number(*variables);
        if (number >= 0) return number;
    }
    return -1;
}

void oriel_nic_place_own(struct oriel_nic_place *out)
{
    /* Slurm's come last: a batch script has them too, and hands them down to what an
     * mpirun of it starts. */
    static const char *const ranks[] = {"MPI_LOCALRANKID",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "MV2_COMM_WORLD_LOCAL_RANK",
                                        "MPICH_LOCAL_RANK",
                                        "PALS_LOCAL_RANKID",
                                        "PMI_LOCAL_RANK",
                                        "FLUX_TASK_LOCAL_ID",
                                        "SLURM_LOCALID",
                                        NULL};
    static const char *const sizes[] = {
        "MPI_LOCALNRANKS",           "OMPI_COMM_WORLD_LOCAL_SIZE",
        "MV2_COMM_WORLD_LOCAL_SIZE", "MPICH_LOCAL_SIZE",
        "PALS_LOCAL_SIZE",           "PMI_LOCAL_SIZE",
        "SLURM_STEP_TASKS_PER_NODE", NULL};
    static const char *const gpus[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                       "CUDA_VISIBLE_DEVICES", NULL};
    memset(out, 0, sizeof *out);
    oriel_cpus_allowed(&out->cpus); /* an empty set says that they are not known */
    out->cpu = sched_getcpu();
    out->local_rank = first_number(ranks);
    out->local_size = first_number(sizes);
    out->gpu = first_number(gpus);
    out->devices = getenv("SLINGSHOT_DEVICES");
    if (out->devices && *out->devices == '\0') out->devices = NULL;
}
