# place_lib.sh - what the place_* and relink_* scripts share; source it first.
#
# Programs are compiled here as a user would, with the plain wrapper of each MPI, so
# that nothing of the project's own build settings gets into them.
set -u

source_dir=${ORIEL_TEST_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
build_dir=${ORIEL_TEST_BUILD:-$source_dir/build}
here=$source_dir/ctest
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
checks=0
failures=0

skip() {
    echo "skipped: $*"
    exit 77
}

# check "what must be so" COMMAND...
check() {
    local sentence=$1
    shift
    checks=$((checks + 1))
    if ! "$@"; then
        failures=$((failures + 1))
        echo "not so: $sentence  [$*]" >&2
        return 1
    fi
}

# Show what a command said, when a check about it failed.
show() {
    for file in "$@"; do
        [ -s "$file" ] && sed "s|^|    ${file##*/}: |" "$file" >&2
    done
    return 0
}

finish() {
    [ "$checks" -gt 0 ] || { echo "no check was made" >&2; exit 1; }
    echo "$checks checks, $failures failed"
    [ "$failures" -eq 0 ]
    exit $?
}

is_empty() { [ ! -s "$1" ]; }
has() { grep -qE -- "$2" "$1"; }
lacks() { ! grep -qE -- "$2" "$1"; }
equal() { [ "$1" = "$2" ]; }
same_text() { cmp -s "$1" "$2"; }

other_mpi() { [ "$1" = mpich ] && echo openmpi || echo mpich; }
mpi_title() { [ "$1" = mpich ] && echo MPICH || echo "Open MPI"; }
layer_file() { echo "$build_dir/lib/liboriel-pmpi-$1.so"; }

has_mpi() {
    case " ${ORIEL_TEST_MPIS:-mpich openmpi} " in
    *" $1 "*) return 0 ;;
    esac
    return 1
}

need_mpi() {
    for kind in "$@"; do
        has_mpi "$kind" || skip "no $kind here"
        [ -e "$(layer_file "$kind")" ] || skip "no $(layer_file "$kind")"
    done
}

# These tests put libraries where nobody expected them; a sanitizer's runtime, which
# must come first in every process, leaves too little of that.
need_plain_build() {
    [ -z "${ORIEL_TEST_SANITIZE:-}" ] || skip "not in sanitizer builds"
}

mpicc_of() { local name=ORIEL_TEST_MPICC_$1; echo "${!name:-mpicc.$1}"; }
mpiexec_of() { local name=ORIEL_TEST_MPIEXEC_$1; echo "${!name:-mpiexec.$1}"; }

# compile MPI SOURCE OUTPUT [flags...]: a program, or with -shared a library.
compile() {
    local mpi=$1 source=$2 output=$3
    shift 3
    "$(mpicc_of "$mpi")" -std=c11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wpedantic -Werror \
        "$here/$source" -o "$output" "$@" -ldl -pthread ||
        { echo "cannot compile $source for $mpi" >&2; exit 1; }
}

compile_library() {
    local mpi=$1 source=$2 output=$3
    shift 3
    compile "$mpi" "$source" "$output" -shared -fPIC "$@"
}

# Options of a launcher for n ranks on this machine, one word a line.
launch_args() {
    printf '%s\n' -n "$2"
    [ "$1" = openmpi ] || return 0
    # Ranks poll; on a busy machine they must give way to each other.
    printf '%s\n' --oversubscribe --bind-to none --mca mpi_yield_when_idle 1
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# ranks MPI N [NAME=value...] -- PROGRAM...: output in $work/out and $work/err, result
# in $code; the variables reach the ranks only. A bound stands in for "never a hang"; it is
# generous, since ranks poll and the machine may be busy.
ranks() {
    local mpi=$1 n=$2 vars=() pair
    shift 2
    while [ "$1" != -- ]; do
        vars+=("$1")
        shift
    done
    shift
    local args
    mapfile -t args < <(launch_args "$mpi" "$n")
    for pair in "${vars[@]}"; do
        if [ "$mpi" = openmpi ]; then args+=(-x "$pair"); else
            args+=(-genv "${pair%%=*}" "${pair#*=}"); fi
    done
    code=0
    timeout -k 5 "${bound_s:-240}" "$(mpiexec_of "$mpi")" "${args[@]}" "$@" \
        >"$work/out" 2>"$work/err" </dev/null || code=$?
}

# The number after NAME= in the program's own report, 0 when there is none.
reported() {
    local value
    value=$(sed -n "s/^.*\b$1=\([0-9]*\).*/\1/p" "${2:-$work/out}" | head -n 1)
    echo "${value:-0}"
}

# What a run of place_reads must look like in every place.
check_right() {
    check "$1: the program ends well (exit code $code)" equal "$code" 0
    check "$1: every byte is right" has "$work/out" '^all reads right$'
    [ "$code" -eq 0 ] || show "$work/out" "$work/err"
}

check_redirected() {
    check_right "$1"
    check "$1: reads were redirected ($(reported redirected))" \
        [ "$(reported redirected)" -gt 0 ]
    check "$1: the MPI library served fewer reads than the program made" \
        [ "$(reported below)" -lt "$(reported gets)" ]
}

check_native() {
    check_right "$1"
    check "$1: no read was redirected" equal "$(reported redirected)" 0
}
