#!/usr/bin/env bash
# Oriel as others meet it: installed, moved elsewhere, and found by pkg-config and by
# CMake's find_package, from a program built with that MPI's own wrapper.
#
#   install_use.sh mpich|openmpi
. "$(dirname "$0")/place_lib.sh"
mpi=$1
need_mpi "$mpi"
need_plain_build
command -v cmake >/dev/null || skip "no cmake"

cmake --install "$build_dir" --prefix "$work/first" >"$work/log" 2>&1 ||
    { show "$work/log"; exit 1; }
mv "$work/first" "$work/there" # nothing may remember where it was
prefix=$work/there
pc=$(find "$prefix" -name oriel.pc)
lib=$(dirname "$(dirname "$pc")")
version=$(sed -n 's/^project(oriel VERSION \([0-9.]*\).*/\1/p' \
    "$source_dir/CMakeLists.txt")

# Run the program that a way of building made.
try() {
    local how=$1 program=$2
    ranks "$mpi" 2 ORIEL_WINDOWS=all "LD_LIBRARY_PATH=$lib" -- "$program"
    check_right "$how"
    check "$how: reads were redirected" [ "$(reported redirected)" -gt 0 ]
}

check "the layer is installed" [ -e "$lib/liboriel-pmpi-$mpi.so" ]
check "the licence is installed" [ -n "$(find "$prefix" -name LICENSE)" ]
if [ -e "$prefix/bin/oriel" ]; then
    check "the command runs from its new place and says the version" \
        has <("$prefix/bin/oriel" --version) "$version"
fi

# pkg-config
if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH=$lib/pkgconfig
    check "pkg-config knows the version" \
        equal "$(pkg-config --modversion oriel)" "$version"
    compile "$mpi" place_reads.c "$work/by-pkg-config" \
        $(pkg-config --cflags --libs "oriel-pmpi-$mpi")
    try pkg-config "$work/by-pkg-config"
fi

# find_package
mkdir "$work/app"
cp "$here"/place_reads.[ch] "$work/app"
cat >"$work/app/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C)
find_package(oriel $version REQUIRED COMPONENTS $mpi)
add_compile_definitions(_GNU_SOURCE)
foreach(way IN ITEMS shared static)
    add_executable(by-\${way} place_reads.c)
endforeach()
target_link_libraries(by-shared PRIVATE oriel::pmpi-$mpi)
target_link_libraries(by-static PRIVATE oriel::pmpi-$mpi-static)
target_compile_definitions(by-static PRIVATE PLACE_DIRECT)
END
cmake -S "$work/app" -B "$work/app/build" "-DCMAKE_PREFIX_PATH=$prefix" \
    "-DCMAKE_C_COMPILER=$(mpicc_of "$mpi")" >"$work/log" 2>&1 &&
    cmake --build "$work/app/build" >>"$work/log" 2>&1 ||
    { show "$work/log"; exit 1; }
check "another major version is refused" \
    lacks <(sed "s/oriel $version/oriel 9.0/" "$work/app/CMakeLists.txt" \
        >"$work/CMakeLists.txt"
    cmake -S "$work" -B "$work/none" "-DCMAKE_PREFIX_PATH=$prefix" 2>&1) 'Build files'
try "find_package, shared" "$work/app/build/by-shared"
try "find_package, static" "$work/app/build/by-static"
check "the static one needs no library of Oriel" \
    lacks <(readelf -d "$work/app/build/by-static") liboriel
finish
