# What this build has in it, at the end of configuring.

message(STATUS "")
message(STATUS "Oriel ${PROJECT_VERSION}")
message(STATUS "  build type     ${CMAKE_BUILD_TYPE}, ${CMAKE_C_COMPILER_ID} "
               "${CMAKE_C_COMPILER_VERSION}")
if(ORIEL_SANITIZE)
    message(STATUS "  sanitizer      ${ORIEL_SANITIZE}")
endif()
foreach(mpi IN ITEMS mpich openmpi)
    if(mpi IN_LIST ORIEL_MPIS)
        message(STATUS "  layer ${mpi}: version ${ORIEL_${mpi}_VERSION}, "
                       "${ORIEL_${mpi}_MPICC}, ${ORIEL_${mpi}_MPIEXEC}")
    else()
        message(STATUS "  layer ${mpi}: none, no mpicc of it was found")
    endif()
endforeach()
message(STATUS "  engines        node (self, mapped, cma)")
message(STATUS "  found, unused  libfabric ${oriel_libfabric}, ucx ${oriel_ucx}, "
               "hwloc ${oriel_hwloc}")
message(STATUS "  tests          ${ORIEL_TESTS}")
message(STATUS "  install to     ${CMAKE_INSTALL_PREFIX}")
message(STATUS "")
