/*
 * datatype_unit.h - what the tests of pmpi/datatype.c share. They are linked with the
 * unit itself, without the layer.
 */
#ifndef ORIEL_CTEST_DATATYPE_UNIT_H
#define ORIEL_CTEST_DATATYPE_UNIT_H

#include "check.h"
#include "pmpi/datatype.h"
#include "pmpi/native.h"

static MPI_Comm quiet;    /* as the layer's private one */
static int handler_calls; /* of the program's error handlers */

static inline const struct oriel_layout *commit(MPI_Datatype *type)
{
    MPI_Type_commit(type);
    return oriel_datatype_layout(*type);
}

static inline int64_t extent_of(MPI_Datatype type)
{
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    return extent;
}

static void count_call(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    handler_calls++;
}

static inline void unit_start(int *argc, char ***argv)
{
    int provided;
    const char *found;
    MPI_Errhandler handler;
    MPI_Group group;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(oriel_native_load(&found) == ORIEL_NATIVE_MATCH, "this MPI, not %s", found);
    REQUIRE(provided == MPI_THREAD_MULTIPLE, "threads");
    MPI_Comm_create_errhandler(count_call, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_group(MPI_COMM_SELF, &group);
    MPI_Comm_create_group(MPI_COMM_SELF, group, 0, &quiet);
    MPI_Group_free(&group);
    MPI_Comm_set_errhandler(quiet, MPI_ERRORS_RETURN);
    REQUIRE(oriel_datatype_init(quiet) == 0, "init");
}

static inline int unit_end(void)
{
    CHECK(handler_calls == 0, "no error handler was called (%d calls)", handler_calls);
    oriel_datatype_fini();
    MPI_Comm_free(&quiet);
    MPI_Finalize();
    return check_done();
}

#endif
