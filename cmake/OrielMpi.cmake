# Find each MPI implementation on this machine, by its compiler wrapper.
#
# FindMPI finds one MPI; here several live side by side, so the wrappers are asked:
# mpicc.mpich and mpicc.openmpi (Debian's names), else whatever mpicc is. Sets
#
#   ORIEL_MPIS                 the kinds found, of: mpich openmpi
#   ORIEL_<kind>_MPICC         its wrapper
#   ORIEL_<kind>_MPIEXEC       its launcher, or ...-NOTFOUND
#   ORIEL_<kind>_VERSION       as the wrapper prints it
# and the targets oriel-mpi-<kind>, with its include folders and nothing to link, for
# the layer, and oriel-mpilib-<kind>, with its libraries as well, for programs.

set(ORIEL_MPICC "" CACHE STRING
    "MPI compiler wrappers to use, separated by ';'; empty: those in PATH")

# Say what kind of MPI a wrapper belongs to; empty when it is unknown.
function(oriel_mpi_probe mpicc kind_out version_out)
    set(kind "")
    set(version "")
    execute_process(COMMAND ${mpicc} --showme:version
                    OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE failed)
    if(NOT failed AND text MATCHES "Open MPI v?([0-9][^ \n]*)")
        set(kind openmpi)
        set(version ${CMAKE_MATCH_1})
    else()
        execute_process(COMMAND ${mpicc} -v
                        OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE failed)
        set(names "MPICH|MVAPICH2?|Intel\\(R\\) MPI")
        if(text MATCHES "(${names})[^\n]* version ([0-9][^ \n]*)")
            set(kind mpich)
            set(version ${CMAKE_MATCH_2})
        endif()
    endif()
    set(${kind_out} "${kind}" PARENT_SCOPE)
    set(${version_out} "${version}" PARENT_SCOPE)
endfunction()

# The -I and -D flags of a wrapper, as an interface target.
function(oriel_mpi_target kind mpicc)
    if(kind STREQUAL "openmpi")
        execute_process(COMMAND ${mpicc} --showme:compile OUTPUT_VARIABLE text
                        OUTPUT_STRIP_TRAILING_WHITESPACE)
    else()
        execute_process(COMMAND ${mpicc} -show OUTPUT_VARIABLE text
                        OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
    separate_arguments(flags UNIX_COMMAND "${text}")
    set(dirs ${flags})
    list(FILTER dirs INCLUDE REGEX "^-I.")
    list(TRANSFORM dirs REPLACE "^-I" "")
    set(defines ${flags})
    list(FILTER defines INCLUDE REGEX "^-D.")
    add_library(oriel-mpi-${kind} INTERFACE)
    target_include_directories(oriel-mpi-${kind} SYSTEM INTERFACE ${dirs})
    target_compile_options(oriel-mpi-${kind} INTERFACE ${defines})
    set(ORIEL_${kind}_INCLUDE_DIRS "${dirs}" PARENT_SCOPE)

    # For programs: what the wrapper links, as well.
    if(kind STREQUAL "openmpi")
        execute_process(COMMAND ${mpicc} --showme:link OUTPUT_VARIABLE text
                        OUTPUT_STRIP_TRAILING_WHITESPACE)
        separate_arguments(flags UNIX_COMMAND "${text}")
    endif()
    set(link ${flags})
    list(FILTER link INCLUDE REGEX "^-([lL]|Wl,|pthread)")
    add_library(oriel-mpilib-${kind} INTERFACE)
    target_link_libraries(oriel-mpilib-${kind} INTERFACE oriel-mpi-${kind} ${link})
endfunction()

set(ORIEL_MPIS "")
if(ORIEL_PMPI)
    set(candidates ${ORIEL_MPICC})
    if(NOT candidates)
        foreach(name IN ITEMS mpicc.mpich mpicc.openmpi mpicc)
            find_program(ORIEL_FOUND_${name} ${name})
            mark_as_advanced(ORIEL_FOUND_${name})
            if(ORIEL_FOUND_${name})
                list(APPEND candidates "${ORIEL_FOUND_${name}}")
            endif()
        endforeach()
    endif()
    foreach(name IN LISTS candidates)
        unset(mpicc)
        find_program(mpicc NAMES "${name}" NO_CACHE REQUIRED)
        oriel_mpi_probe("${mpicc}" kind version)
        if(kind STREQUAL "")
            message(STATUS "${mpicc}: not an MPI that Oriel knows, left out")
        elseif(NOT kind IN_LIST ORIEL_MPIS)
            list(APPEND ORIEL_MPIS ${kind})
            set(ORIEL_${kind}_MPICC "${mpicc}")
            set(ORIEL_${kind}_VERSION "${version}")
            cmake_path(GET mpicc PARENT_PATH dir)
            find_program(ORIEL_${kind}_MPIEXEC
                NAMES mpiexec.${kind} mpirun.${kind} mpiexec mpirun HINTS "${dir}")
            oriel_mpi_target(${kind} "${mpicc}")
        endif()
    endforeach()
endif()
