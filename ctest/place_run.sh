#!/usr/bin/env bash
# Variables that do not reach the ranks, and the command that brings them there: an
# empty environment, a launcher that is given none, a plain mpiexec line.
#
#   place_run.sh mpich|openmpi
. "$(dirname "$0")/place_lib.sh"
mpi=$1
need_mpi "$mpi"
need_plain_build
oriel=$build_dir/bin/oriel
[ -x "$oriel" ] || skip "no $oriel"

program=$work/reads
compile "$mpi" place_reads.c "$program"
mapfile -t args < <(launch_args "$mpi" 2)
launcher=$(command -v "$(mpiexec_of "$mpi")")
minimal=(env -i PATH=/usr/bin:/bin OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)

launch() {
    code=0
    timeout 240 "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
}
launch env "LD_PRELOAD=$(layer_file "$mpi")" ORIEL_WINDOWS=all "${minimal[@]}" \
    "$launcher" "${args[@]}" "$program"
check_native "an emptied environment"

# No compilation of place_below here: the ranks' environment is what is tested.
redirected() {
    check_right "$1"
    check "$1: reads were redirected" [ "$(reported redirected)" -gt 0 ]
    check "$1: nothing else is said" is_empty "$work/err"
    show "$work/err"
}
launch "${minimal[@]}" "$oriel" run -- "$launcher" "${args[@]}" "$program"
redirected "oriel run in an emptied environment"
# Only our variables: without its own, Open MPI takes each rank for a job of one.
launch "$oriel" run -- "$launcher" "${args[@]}" env -u LD_PRELOAD -u ORIEL_WINDOWS \
    "$oriel" exec -- "$program"
redirected "oriel exec behind a launcher whose variables are lost"
launch "$oriel" run --windows none -- "$launcher" "${args[@]}" "$program"
check_native "oriel run --windows none"

# MPMD: both parts of the line get the layer.
first=(-n 1 "$program")
options=()
[ "$mpi" = openmpi ] && options=(--oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
launch "$oriel" run -- "$launcher" "${options[@]}" "${first[@]}" : "${first[@]}"
redirected "oriel run with two parts of a line"
finish
