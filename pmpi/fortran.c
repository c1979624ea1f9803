#define _GNU_SOURCE
#include "core/config.h"
#include "core/log.h"
#include "pmpi/layer.h"

#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(OPEN_MPI)
static const char library[] = "libmpi_mpifh";
#define UNSEEN "Open MPI's Fortran bindings call none of the functions that Oriel wraps"
#else
static const char library[] = "libmpichfort";
#define UNSEEN "MPICH's mpi_f08 calls only some of the functions that Oriel wraps"
#endif

/* Objects that the process had loaded when they were looked through last, and whether
 * the library was among them: it is asked at every window. */
static _Atomic unsigned long long looked_at;
static atomic_bool found;

static int visit(struct dl_phdr_info *info, size_t size, void *adds_out)
{
    (void)size;
    if (info->dlpi_adds == looked_at) return 1;
    *(unsigned long long *)adds_out = info->dlpi_adds;
    if (!info->dlpi_name || !strstr(info->dlpi_name, library)) return 0;
    found = true;
    return 1;
}

bool oriel_fortran_loaded(void)
{
    unsigned long long adds = 0;
    dl_iterate_phdr(visit, &adds);
    if (adds) looked_at = adds;
    return found;
}

static pid_t loaded_by;

__attribute__((constructor)) static void remember(void)
{
    loaded_by = getpid();
}

/* Of the job's ranks only one speaks; the launchers' variables tell which, since MPI
 * may never have called us. */
static bool is_first_rank(void)
{
    static const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *rank = getenv(names[i]);
        if (rank) return strcmp(rank, "0") == 0;
    }
    return true;
}

/* Windows were to be redirected, and none came or only parts of their calls did: say so
 * where Fortran explains it. mpi_f08 shows itself by an MPI_Init that nobody saw. */
__attribute__((destructor)) static void explain(void)
{
    if ((oriel_layer.created && oriel_layer.init_seen) || getpid() != loaded_by ||
        !oriel_fortran_loaded())
        return;
    const struct oriel_config *config = oriel_config_get();
    if (config->broken || strcmp(config->windows, "annotated") == 0 ||
        strcmp(config->windows, "none") == 0 || !is_first_rank())
        return;
    oriel_log(ORIEL_LOG_WARN,
              "ORIEL_WINDOWS=%s, but %s of this Fortran program passed by unseen, and "
              "its reads were native: " UNSEEN,
              config->windows,
              oriel_layer.created ? "calls" : "the windows (if it makes any)");
}
