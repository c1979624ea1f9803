# The libraries. Folders add their sources by oriel_core_sources and
# oriel_pmpi_sources; both take names relative to the folder.

configure_file("${PROJECT_SOURCE_DIR}/cmake/version.h.in"
               "${PROJECT_BINARY_DIR}/generated/core/version.h" @ONLY)

# liboriel: core and engines, compiled once for the shared and the static library.
add_library(oriel-objects OBJECT)
target_link_libraries(oriel-objects PUBLIC oriel-settings Threads::Threads)
target_include_directories(oriel-objects SYSTEM PUBLIC "${ORIEL_UTHASH_DIR}")

add_library(oriel SHARED $<TARGET_OBJECTS:oriel-objects>)
add_library(oriel-static STATIC $<TARGET_OBJECTS:oriel-objects>)
foreach(target IN ITEMS oriel oriel-static)
    target_link_libraries(${target}
        PUBLIC Threads::Threads $<BUILD_INTERFACE:oriel-settings>
        PRIVATE ${CMAKE_DL_LIBS})
    target_include_directories(${target} PUBLIC
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
endforeach()
set_target_properties(oriel PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/oriel.map")
# The layers use core's functions, so everything named oriel_* is visible, and
# calls inside the library are bound at link time.
target_link_options(oriel PRIVATE
    "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/oriel.map"
    "LINKER:-Bsymbolic-functions" "LINKER:-z,relro" "LINKER:-z,now" ${oriel_defs_flags})
set_target_properties(oriel-static PROPERTIES OUTPUT_NAME oriel)

function(oriel_core_sources)
    target_sources(oriel-objects PRIVATE ${ARGN})
endfunction()

# The PMPI layers: one for each MPI, shared and static. The shared one does not link
# libmpi: preloaded into a shell it must not load it. The static one calls PMPI_*
# by name.
set(oriel_layers "")
foreach(mpi IN LISTS ORIEL_MPIS)
    add_library(oriel-pmpi-${mpi} SHARED)
    add_library(oriel-pmpi-${mpi}-static STATIC)
    set_target_properties(oriel-pmpi-${mpi} PROPERTIES
        EXPORT_NAME pmpi-${mpi} C_VISIBILITY_PRESET hidden
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN"
        LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/oriel-pmpi.map")
    target_link_options(oriel-pmpi-${mpi} PRIVATE
        "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/oriel-pmpi.map"
        "LINKER:-z,relro" "LINKER:-z,now" ${oriel_defs_flags})
    target_link_libraries(oriel-pmpi-${mpi} PUBLIC oriel)
    set_target_properties(oriel-pmpi-${mpi}-static PROPERTIES
        EXPORT_NAME pmpi-${mpi}-static OUTPUT_NAME oriel-pmpi-${mpi}
        C_VISIBILITY_PRESET hidden)
    target_compile_definitions(oriel-pmpi-${mpi}-static PRIVATE ORIEL_PMPI_DIRECT)
    target_link_libraries(oriel-pmpi-${mpi}-static PUBLIC oriel-static)
    foreach(target IN ITEMS oriel-pmpi-${mpi} oriel-pmpi-${mpi}-static)
        target_link_libraries(${target}
            PRIVATE $<BUILD_INTERFACE:oriel-mpi-${mpi}> ${CMAKE_DL_LIBS})
        target_compile_definitions(${target} PRIVATE ORIEL_PMPI_KIND="${mpi}")
        target_include_directories(${target} SYSTEM PRIVATE "${ORIEL_UTHASH_DIR}")
        list(APPEND oriel_layers ${target})
    endforeach()
endforeach()

function(oriel_pmpi_sources)
    foreach(target IN LISTS oriel_layers)
        target_sources(${target} PRIVATE ${ARGN})
    endforeach()
endfunction()

# oriel_tool(<name> <sources>): a program of the installed set, without MPI.
function(oriel_tool name)
    add_executable(${name}-tool ${ARGN})
    file(RELATIVE_PATH libs "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    set(rpath "$ORIGIN/../lib" "$ORIGIN/${libs}") # build tree, installed
    list(REMOVE_DUPLICATES rpath)
    set_target_properties(${name}-tool PROPERTIES OUTPUT_NAME ${name}
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${rpath}")
    target_link_libraries(${name}-tool PRIVATE oriel ${CMAKE_DL_LIBS})
    target_link_options(${name}-tool PRIVATE "LINKER:--as-needed")
    install(TARGETS ${name}-tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# oriel_mpi_tool(<name> <sources>): a program for users, <name>-<mpi>, built with each
# MPI as they would build theirs, without Oriel.
function(oriel_mpi_tool name)
    foreach(mpi IN LISTS ORIEL_MPIS)
        set(target ${name}-${mpi})
        add_executable(${target} ${ARGN})
        target_link_libraries(${target} PRIVATE oriel-settings oriel-mpilib-${mpi})
        install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endforeach()
endfunction()
