/*
 * wrap.h - the wrappers behind the entries: wrap_Get has MPI_Get's prototype.
 */
#ifndef ORIEL_PMPI_WRAP_H
#define ORIEL_PMPI_WRAP_H

#include <mpi.h>

#define ORIEL_WRAP(name, arguments, when) __typeof__(PMPI_##name) wrap_##name;
#include "pmpi/wrappers.def"
#undef ORIEL_WRAP

#endif
