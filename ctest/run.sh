#!/usr/bin/env bash
# Everything that must hold before a change lands, on a fresh Debian 12 or 13.
#
#   ctest/run.sh [build folder]          (default: build-ci)
#
# Stages: packages, clang, AddressSanitizer with UBSan, ThreadSanitizer, install, and
# last the gcc build with all tests and lints, so that ctest's summary closes the
# output. Exits non-zero when any stage failed.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null

top=$PWD
out=${1:-$top/build-ci}
jobs=$(nproc)
failed=()
skipped_labels='soak|fuzz|apps'
generator=()

# Run one stage; its output goes to the screen, its failure is kept for the end.
stage() {
    local name=$1 start=$SECONDS
    shift
    printf '\n=== %s\n' "$name"
    if "$@"; then
        printf '=== %s: ok, %d s\n' "$name" $((SECONDS - start))
    else
        failed+=("$name")
        printf '=== %s: FAILED, %d s\n' "$name" $((SECONDS - start))
    fi
}

# build <name> <cmake options>: configure and compile in $out/<name>.
build() {
    local name=$1
    shift
    cmake -S . -B "$out/$name" "${generator[@]}" --log-level=WARNING \
        -DCMAKE_COMPILE_WARNING_AS_ERROR=ON "$@" &&
        nice cmake --build "$out/$name" -j "$jobs"
}

# run_tests <name> <ctest options>: the tests of $out/<name>.
run_tests() {
    local name=$1
    shift
    ctest --test-dir "$out/$name" -j "$jobs" --output-on-failure --no-tests=error "$@"
}

with_clang() {
    build clang --preset clang && run_tests clang -L unit -LE "$skipped_labels|slow"
}

with_asan() {
    build asan --preset asan && run_tests asan -L 'unit|mpi' -LE "$skipped_labels|slow"
}

with_tsan() {
    build tsan --preset tsan && run_tests tsan -L 'unit|mpi' -LE "$skipped_labels|slow"
}

with_gcc() {
    build gcc --preset release
}

stage packages cmake/install-packages.sh build test
command -v ninja >/dev/null && generator=(-G Ninja)
stage "gcc build" with_gcc
stage "clang" with_clang
stage "asan+ubsan" with_asan
stage "tsan" with_tsan

if [ ${#failed[@]} -gt 0 ]; then
    printf '\nFAILED before the main tests: %s\n' "${failed[*]}"
fi
printf '\n=== gcc tests and lints\n'
run_tests gcc -LE "$skipped_labels" || exit 1
[ ${#failed[@]} -eq 0 ]
