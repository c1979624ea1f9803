# Libraries beside MPI. None of the fabric libraries is linked yet: they are looked
# for so that the summary can say what this machine offers.

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
