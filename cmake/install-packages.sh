#!/usr/bin/env bash
# Install what is missing of Oriel's Debian packages (Debian 12 and 13).
#
#   install-packages.sh [build] [test] [apps]      (default: build)
#
# Asks the package manager only when something is missing, never asks the user.
# A package that the distribution does not have is named and left out; the build
# and the tests then say what they do without.
set -euo pipefail

# To configure and build; what a user needs.
build=(
    gcc libc6-dev      # the compiler
    cmake ninja-build  # the build
    pkgconf            # finds the optional libraries
    mpich libmpich-dev # mpicc.mpich, mpiexec.mpich
    openmpi-bin libopenmpi-dev # mpicc.openmpi, mpiexec.openmpi
    uthash-dev         # core/hash.h
    libfabric-dev libucx-dev libhwloc-dev # optional: fabrics and topology
)
# To run ctest/run.sh as well.
test=(
    clang clang-format clang-tidy cppcheck # the second compiler, the lints
    python3 binutils procps                # the lints and the scripts of tests
    valgrind                               # counts instructions
    iproute2                               # nodes made of namespaces
    python3-mpi4py                         # an MPI program that nobody compiles
)
# Programs that nobody here wrote, for the demo and for `ctest -L apps`.
apps=(
    gfortran                                    # compiles coarray programs
    libcoarrays-mpich-dev libcoarrays-openmpi-dev # their run-time library
    nwchem-mpich                                # quantum chemistry on ARMCI-MPI
    python3-mpi4py
)

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@" </dev/null
}

missing=()
for group in "${@:-build}"; do
    case $group in
    build) names=("${build[@]}") ;;
    test) names=("${test[@]}") ;;
    apps) names=("${apps[@]}") ;;
    *) echo "install-packages.sh: $group: build, test or apps" >&2; exit 2 ;;
    esac
    for name in "${names[@]}"; do
        is_installed "$name" || missing+=("$name")
    done
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "install-packages.sh: not Debian; install by hand: ${missing[*]}" >&2
    exit 0
fi
echo "installing: ${missing[*]}"
apt update
known=()
for name in "${missing[@]}"; do
    if [ -n "$(apt-cache madison "$name" 2>/dev/null)" ]; then
        known+=("$name")
    else
        echo "install-packages.sh: this distribution has no $name: left out" >&2
    fi
done
[ ${#known[@]} -eq 0 ] || apt install --no-install-recommends "${known[@]}"
