# Install rules, pkg-config files and the CMake package: oriel::oriel,
# oriel::pmpi-mpich, oriel::pmpi-openmpi, and each with -static.

set(oriel_exported oriel oriel-static ${oriel_layers})
install(TARGETS ${oriel_exported} EXPORT oriel-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT oriel-targets NAMESPACE oriel::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/oriel)
foreach(target IN LISTS oriel_exported)
    get_target_property(name ${target} EXPORT_NAME)
    if(NOT name)
        set(name ${target})
    endif()
    add_library(oriel::${name} ALIAS ${target})
endforeach()

set(oriel_headers include/oriel.h include/oriel_mpi.h)
foreach(header IN LISTS oriel_headers)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${header}")
        install(FILES "${PROJECT_SOURCE_DIR}/${header}" TYPE INCLUDE)
    endif()
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" TYPE DOC)

configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/oriel-config.cmake.in"
    "${PROJECT_BINARY_DIR}/generated/oriel-config.cmake"
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/oriel)
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/generated/oriel-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/oriel-config.cmake"
              "${PROJECT_BINARY_DIR}/generated/oriel-config-version.cmake"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/oriel)

# pkg-config: paths follow the file, so that a moved tree still works.
cmake_path(SET oriel_pc_dir NORMALIZE "/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH oriel_pc_prefix "${oriel_pc_dir}" "/")
string(REGEX REPLACE "/$" "" oriel_pc_prefix "${oriel_pc_prefix}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/oriel.pc.in"
               "${PROJECT_BINARY_DIR}/generated/oriel.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/generated/oriel.pc"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(mpi IN LISTS ORIEL_MPIS)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/oriel-pmpi.pc.in"
                   "${PROJECT_BINARY_DIR}/generated/oriel-pmpi-${mpi}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/generated/oriel-pmpi-${mpi}.pc"
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
