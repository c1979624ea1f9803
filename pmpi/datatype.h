/*
 * datatype.h - MPI datatypes as layouts.
 *
 * Basic types are found in a table made at start (they are never freed, so their
 * handles are never reused). A derived type is flattened at first use and kept in
 * an attribute of the type itself: it goes when the type goes, whoever frees it
 * and in whatever language.
 */
#ifndef ORIEL_PMPI_DATATYPE_H
#define ORIEL_PMPI_DATATYPE_H

#include "core/span.h"

#include <mpi.h>

/* Fill the table of basic types and make the keyval.
 *
 *   comm    of this process alone, with MPI_ERRORS_RETURN; must live until fini.
 *           A derived type is checked on it, so that no handler of the program's
 *           runs; MPI_COMM_NULL: only predefined types have layouts
 * Returns 0; -EIO when MPI refuses the keyval
 * Call while MPI is initialised; again only after fini.
 */
int oriel_datatype_init(MPI_Comm comm);
void oriel_datatype_fini(void);

/* The type's layout, or NULL when Oriel does not flatten it: uncommitted or invalid
 * handles, distributed arrays, too many pieces, MPI_DATATYPE_NULL. Such a type goes to
 * the native call, which then says what it natively says: no error handler of the
 * program's is called here. (A handle that makes the library crash crashes here.)
 *
 * Threads: any. Owns: the layout lives as long as the type. Hot path: some nanoseconds;
 * some microseconds at a derived type's first use. */
const struct oriel_layout *oriel_datatype_layout(MPI_Datatype type);

#endif
