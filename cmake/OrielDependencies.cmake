# Libraries beside MPI. Of the fabric libraries only the headers are needed here: an
# engine opens the library when it is opened itself, so that a process which reads
# nothing over a fabric does not load one.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

find_path(ORIEL_UTHASH_DIR uthash.h DOC "Folder of uthash.h")
if(NOT ORIEL_UTHASH_DIR)
    message(FATAL_ERROR "uthash.h is missing: install uthash-dev (or uthash-devel), or "
                        "set ORIEL_UTHASH_DIR")
endif()

find_package(PkgConfig QUIET)
foreach(package IN ITEMS libfabric ucx hwloc)
    set(oriel_${package} "no")
    if(PkgConfig_FOUND)
        pkg_check_modules(ORIEL_PC_${package} QUIET ${package})
        if(ORIEL_PC_${package}_FOUND)
            set(oriel_${package} "${ORIEL_PC_${package}_VERSION}")
        endif()
    endif()
endforeach()

# ORIEL_HAVE_OFI and ORIEL_HAVE_UCX: engines that are built.
option(ORIEL_OFI "Build the ofi engine where libfabric's headers are" ON)
option(ORIEL_UCX "Build the ucx engine where UCX's headers are" ON)
set(ORIEL_HAVE_OFI 0)
set(ORIEL_HAVE_UCX 0)
if(ORIEL_OFI AND oriel_libfabric)
    set(ORIEL_HAVE_OFI 1)
endif()
if(ORIEL_UCX AND oriel_ucx)
    set(ORIEL_HAVE_UCX 1)
endif()

# ORIEL_HAVE_HWLOC: can be asked where sysfs does not tell where NICs are. The functions
# are those of hwloc 2, libhwloc.so.15.
option(ORIEL_HWLOC "Ask hwloc about NICs where its headers are" ON)
set(ORIEL_HAVE_HWLOC 0)
if(ORIEL_HWLOC AND oriel_hwloc VERSION_GREATER_EQUAL 2.0 AND oriel_hwloc VERSION_LESS 3)
    set(ORIEL_HAVE_HWLOC 1)
endif()
