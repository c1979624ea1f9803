# Tests: one line each in ctest/CMakeLists.txt.
#
# Names say what is tested and how: core.<file>, contract.<engine>,
# mpi.<case>.np<N>.<engine>.<mpi>, cli.<case>, lint.<rule>. Exit code 77 skips.

set(oriel_test_launcher "${PROJECT_SOURCE_DIR}/ctest/mpirun.sh")

# Where the tests find what was built; also in every test's environment.
set(oriel_test_env
    "ORIEL_TEST_SOURCE=${PROJECT_SOURCE_DIR}"
    "ORIEL_TEST_BUILD=${PROJECT_BINARY_DIR}"
    "ORIEL_TEST_MPIS=$<JOIN:${ORIEL_MPIS}, >"
    "ORIEL_TEST_CC=${CMAKE_C_COMPILER}"
    "ORIEL_TEST_SANITIZE=${ORIEL_SANITIZE}"
    "ORIEL_TEST_RUNTIME=${ORIEL_SANITIZE_RUNTIME}")
foreach(mpi IN LISTS ORIEL_MPIS)
    list(APPEND oriel_test_env
        "ORIEL_TEST_MPICC_${mpi}=${ORIEL_${mpi}_MPICC}"
        "ORIEL_TEST_MPIEXEC_${mpi}=${ORIEL_${mpi}_MPIEXEC}")
endforeach()
if(ORIEL_SANITIZE STREQUAL "address")
    list(APPEND oriel_test_env "UBSAN_OPTIONS=print_stacktrace=1"
        "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/ctest/lsan.supp")
elseif(ORIEL_SANITIZE STREQUAL "thread")
    list(APPEND oriel_test_env
        "TSAN_OPTIONS=halt_on_error=1 suppressions=${PROJECT_SOURCE_DIR}/ctest/tsan.supp"
        # UCX's hooks into madvise run in threads that the sanitizer does not know yet.
        "UCX_MEM_EVENTS=no")
endif()

# An executable of the tests; assert() stays on in every build type.
function(oriel_test_program target)
    add_executable(${target} ${ARGN})
    target_compile_options(${target} PRIVATE -UNDEBUG)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/ctest")
    set_target_properties(${target} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/ctest")
endfunction()

# oriel_test(NAME core.span SOURCES core_span.c [ARGS ...] [ENV A=b ...]
#            [LABELS ...] [TIMEOUT s] [PROCESSORS n] [LIBS ...])
#
# A unit test, linked to liboriel.
function(oriel_test)
    cmake_parse_arguments(PARSE_ARGV 0 t "" "NAME;TIMEOUT;PROCESSORS"
                          "SOURCES;ARGS;ENV;LABELS;LIBS")
    string(REPLACE "." "_" target "test_${t_NAME}")
    if(NOT TARGET ${target})
        oriel_test_program(${target} ${t_SOURCES})
        target_link_libraries(${target} PRIVATE oriel ${t_LIBS} ${CMAKE_DL_LIBS})
        target_include_directories(${target} SYSTEM PRIVATE "${ORIEL_UTHASH_DIR}")
    endif()
    add_test(NAME ${t_NAME} COMMAND ${target} ${t_ARGS})
    if(ORIEL_SANITIZE STREQUAL "address" AND t_NAME MATCHES "^(contract[.])?(ofi|ucx)")
        list(APPEND t_ENV "ASAN_OPTIONS=intercept_send=0") # see mpirun.sh
    endif()
    oriel_test_properties(${t_NAME} "unit;${t_LABELS}" "${t_ENV}"
                          "${t_TIMEOUT}" "${t_PROCESSORS}")
endfunction()

# oriel_mpi_test(CASE get NP 2 ENGINE node SOURCES mpi_get.c [ARGS ...]
#                [ENV A=b ...] [MPIS mpich openmpi] [LABELS ...] [TIMEOUT s] [TSAN])
#
# A program that knows nothing of Oriel, compiled with each MPI and run under its
# layer as mpi.<case>.np<N>.<engine>.<mpi>. ENGINE becomes ORIEL_ENGINES; `native`
# runs without the layer, `any` leaves the choice to Oriel. The same SOURCES may
# serve several tests, with other NP, ENGINE, ARGS or ENV.
#
# TSAN: also run in ThreadSanitizer builds; for tests with threads.
function(oriel_mpi_test)
    cmake_parse_arguments(PARSE_ARGV 0 t "TSAN" "CASE;NP;ENGINE;TIMEOUT"
                          "SOURCES;ARGS;ENV;MPIS;LABELS")
    if(ORIEL_SANITIZE STREQUAL "thread" AND NOT t_TSAN)
        return()
    endif()
    if(NOT t_MPIS)
        set(t_MPIS mpich openmpi)
    endif()
    if(NOT t_ENGINE)
        set(t_ENGINE any)
    endif()
    foreach(mpi IN LISTS t_MPIS)
        if(NOT mpi IN_LIST ORIEL_MPIS)
            continue()
        endif()
        list(GET t_SOURCES 0 main)
        cmake_path(GET main STEM stem)
        set(target "${stem}_${mpi}")
        oriel_mpi_program(${target} ${mpi} ${t_SOURCES})
        set(env "${t_ENV}")
        if(NOT t_ENGINE MATCHES "^(native|any)$")
            list(APPEND env "ORIEL_ENGINES=${t_ENGINE}")
        endif()
        set(name "mpi.${t_CASE}.np${t_NP}.${t_ENGINE}.${mpi}")
        set(layer "${PROJECT_BINARY_DIR}/lib/liboriel-pmpi-${mpi}.so")
        if(t_ENGINE STREQUAL "native")
            set(layer "")
        endif()
        # The variables reach the ranks only: the launcher's own processes must not
        # see the preload.
        set(args "")
        foreach(pair IN LISTS env)
            string(REPLACE ";" "\\;" pair "${pair}") # rules have semicolons
            list(APPEND args -x "${pair}")
        endforeach()
        add_test(NAME ${name} COMMAND ${oriel_test_launcher} --mpi ${mpi} -n ${t_NP}
                 --preload "${layer}" ${args} -- $<TARGET_FILE:${target}> ${t_ARGS})
        # Ranks poll: a test with two of them keeps two cores busy.
        oriel_test_properties(${name} "mpi;${mpi};${t_LABELS}" ""
                              "${t_TIMEOUT}" ${t_NP})
    endforeach()
endfunction()

# oriel_mpi_program(target mpi sources...): a test program built as a user would
# with that MPI's compiler wrapper, without Oriel.
function(oriel_mpi_program target mpi)
    if(TARGET ${target})
        return()
    endif()
    oriel_test_program(${target} ${ARGN})
    target_link_libraries(${target} PRIVATE oriel-settings oriel-mpilib-${mpi}
                          Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

# oriel_script_test(NAME cli.run SCRIPT cli_run.sh [ARGS ...] [ENV ...] [LABELS ...]
#                   [TIMEOUT s] [PROCESSORS n])
#
# A script, .sh or .py. Its environment has ORIEL_TEST_SOURCE, ORIEL_TEST_BUILD,
# ORIEL_TEST_MPIS and, for each of those, ORIEL_TEST_MPICC_<mpi>,
# ORIEL_TEST_MPIEXEC_<mpi>.
function(oriel_script_test)
    cmake_parse_arguments(PARSE_ARGV 0 t "" "NAME;SCRIPT;TIMEOUT;PROCESSORS"
                          "ARGS;ENV;LABELS")
    set(script "${CMAKE_CURRENT_SOURCE_DIR}/${t_SCRIPT}")
    if(NOT EXISTS "${script}")
        message(FATAL_ERROR "${t_NAME}: there is no ${script}")
    endif()
    if(script MATCHES "\\.py$")
        set(command python3 "${script}")
    else()
        set(command bash "${script}")
    endif()
    add_test(NAME ${t_NAME} COMMAND ${command} ${t_ARGS})
    oriel_test_properties(${t_NAME} "${t_LABELS}" "${t_ENV}"
                          "${t_TIMEOUT}" "${t_PROCESSORS}")
endfunction()

# What every test has in common.
function(oriel_test_properties name labels env timeout processors)
    if(NOT timeout)
        set(timeout 120)
    endif()
    if(ORIEL_SANITIZE)
        math(EXPR timeout "3 * ${timeout}")
    endif()
    if(NOT processors)
        set(processors 1)
    endif()
    set_tests_properties(${name} PROPERTIES
        LABELS "${labels}" ENVIRONMENT "${oriel_test_env};${env}" TIMEOUT ${timeout}
        SKIP_RETURN_CODE 77 PROCESSORS ${processors})
endfunction()
