# Compiler settings and output folders, for every target of the project.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

get_property(oriel_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT oriel_multi_config)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

# What every source sees: paths from the top, and warnings. A source that needs GNU
# calls defines _GNU_SOURCE itself.
add_library(oriel-settings INTERFACE)
target_include_directories(oriel-settings INTERFACE
    "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include"
    "${PROJECT_BINARY_DIR}/generated")
target_compile_definitions(oriel-settings INTERFACE
    ORIEL_HAVE_OFI=${ORIEL_HAVE_OFI} ORIEL_HAVE_UCX=${ORIEL_HAVE_UCX})
target_compile_options(oriel-settings INTERFACE
    -Wall -Wextra -Wpedantic -Wstrict-prototypes)

if(ORIEL_SANITIZE STREQUAL "address")
    set(oriel_sanitize_flags -fsanitize=address,undefined -fno-omit-frame-pointer
        -fno-sanitize-recover=undefined)
elseif(ORIEL_SANITIZE STREQUAL "thread")
    set(oriel_sanitize_flags -fsanitize=thread -fno-omit-frame-pointer)
elseif(ORIEL_SANITIZE)
    message(FATAL_ERROR "ORIEL_SANITIZE=${ORIEL_SANITIZE}: address, thread or empty")
endif()
if(ORIEL_SANITIZE)
    target_compile_options(oriel-settings INTERFACE ${oriel_sanitize_flags})
    target_link_options(oriel-settings INTERFACE ${oriel_sanitize_flags})
    # The runtime must be the first library of a process, also of one that was not
    # built here and gets ours by LD_PRELOAD.
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        set(oriel_runtime "libasan.so")
        if(ORIEL_SANITIZE STREQUAL "thread")
            set(oriel_runtime "libtsan.so")
        endif()
        execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${oriel_runtime}
                        OUTPUT_VARIABLE ORIEL_SANITIZE_RUNTIME
                        OUTPUT_STRIP_TRAILING_WHITESPACE)
        file(REAL_PATH "${ORIEL_SANITIZE_RUNTIME}" ORIEL_SANITIZE_RUNTIME)
    endif()
else()
    # A symbol that nothing provides is an error at link time, not in the user's job.
    set(oriel_defs_flags "LINKER:-z,defs")
endif()
