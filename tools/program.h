/*
 * program.h - what a program file is, and which MPI it uses.
 */
#ifndef ORIEL_PROGRAM_H
#define ORIEL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* As in the names of the layers. */
enum oriel_mpi {
    ORIEL_MPI_UNKNOWN,
    ORIEL_MPI_MPICH,
    ORIEL_MPI_OPENMPI,
    ORIEL_MPI_COUNT
};
/* "mpich", "openmpi"; for people "MPICH", "Open MPI". [0]: "unknown". */
extern const char *const oriel_mpi_names[ORIEL_MPI_COUNT];
extern const char *const oriel_mpi_titles[ORIEL_MPI_COUNT];

/* The file that the shell would run for this word. Returns false when there is none;
 * out then is untouched. */
bool oriel_program_find(const char *word, char *out, size_t out_bytes);

enum oriel_program_kind {
    ORIEL_PROGRAM_OTHER,   /* a script, or no program at all */
    ORIEL_PROGRAM_DYNAMIC, /* a preload reaches it */
    ORIEL_PROGRAM_STATIC,  /* no dynamic loader: a preload cannot reach it */
};
struct oriel_program {
    enum oriel_program_kind kind;
    enum oriel_mpi mpi;
    char library[128]; /* "libmpich.so.12": how mpi is known; empty when it is not */
};
/* Look at the file and at what its own dynamic loader finds for it, as ldd does; the
 * program itself is not run. */
void oriel_program_inspect(const char *path, struct oriel_program *out);

/* Run a command without this process's LD_PRELOAD and collect what it prints, cut to
 * fit; its errors are dropped unless with_errors. Returns its exit code; -errno. */
int oriel_program_output(char *const argv[], bool with_errors, char *out,
                         size_t out_bytes);

#endif
