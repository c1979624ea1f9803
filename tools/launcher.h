/*
 * launcher.h - takes a launcher's command line apart: who it is, and where the
 * programs are in it.
 */
#ifndef ORIEL_LAUNCHER_H
#define ORIEL_LAUNCHER_H

#include "tools/program.h"

#include <stdbool.h>
#include <stddef.h>

enum oriel_launcher_kind {
    ORIEL_LAUNCHER_NONE,    /* the command is the program itself, or not known */
    ORIEL_LAUNCHER_OPENMPI, /* -x NAME=value in front of each program */
    ORIEL_LAUNCHER_HYDRA,   /* -genv NAME value in front of all */
    ORIEL_LAUNCHER_SRUN,    /* --export, and its own environment */
    ORIEL_LAUNCHER_OTHER,   /* its own environment */
};

/* One part of "launcher part : part", as indices into the argv. */
struct oriel_launcher_app {
    size_t first;   /* of the part's own options */
    size_t program; /* == end when it was not found */
    size_t end;
};

enum { ORIEL_LAUNCHER_APPS_MAX = 64 };
struct oriel_launcher {
    enum oriel_launcher_kind kind;
    enum oriel_mpi mpi; /* that it starts ranks of; unknown for srun and its like */
    size_t at;          /* index of the launcher: behind env, time and the like */
    size_t n;           /* 1 or more */
    struct oriel_launcher_app apps[ORIEL_LAUNCHER_APPS_MAX];
};

/* argv has argc > 0 words. Runs the launcher with --version where its name does not
 * tell whose it is. Returns 0; -E2BIG too many parts. */
int oriel_launcher_parse(char *const argv[], size_t argc, struct oriel_launcher *out);

/* As if the command were a program, whatever its name. */
void oriel_launcher_none(size_t argc, struct oriel_launcher *out);

/* Whose launcher is the command called name, mpirun and the like? NONE when it is none
 * or is not there. path_out (PATH_MAX bytes) gets the file. */
enum oriel_launcher_kind oriel_launcher_recognize(const char *name, char *path_out);

/* The words after an option that are its values: 0, 1 or 2. */
size_t oriel_launcher_values(enum oriel_launcher_kind kind, const char *option);

/* The MPI of the ranks that such a launcher starts. */
enum oriel_mpi oriel_launcher_mpi(enum oriel_launcher_kind kind);

#endif
