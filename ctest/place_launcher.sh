#!/usr/bin/env bash
# The preload in the launcher's own environment, so that it is in the launcher, its
# helpers, a shell in between, and the ranks.
#
#   place_launcher.sh mpich|openmpi
. "$(dirname "$0")/place_lib.sh"
mpi=$1
need_mpi "$mpi"
need_plain_build

program=$work/reads
compile "$mpi" place_reads.c "$program"
compile_library "$mpi" place_below.c "$work/below.so"
mapfile -t args < <(launch_args "$mpi" 2)

launch() {
    code=0
    timeout 240 env "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
}
preload=$(layer_file "$mpi"):$work/below.so
launch "LD_PRELOAD=$preload" ORIEL_WINDOWS=all "$(mpiexec_of "$mpi")" "${args[@]}" \
    "$program"
check_redirected "the launcher under the preload"
check "the launcher says nothing more" is_empty "$work/err"
show "$work/err"

launch "LD_PRELOAD=$preload" ORIEL_WINDOWS=all "$(mpiexec_of "$mpi")" "${args[@]}" \
    bash -c "env >/dev/null; ls / >/dev/null; exec $program"
check_redirected "a shell between the launcher and the program"
check "nobody says anything more" is_empty "$work/err"
show "$work/err"

launch "LD_PRELOAD=$preload" ORIEL_WINDOWS=all "$(mpiexec_of "$mpi")" "${args[@]}" \
    "$program" 40 helpers
check_redirected "a program that calls others by system, popen and fork"
check "these end well" has "$work/out" 'helpers failed=0'
check "and silently" is_empty "$work/err"
show "$work/err"

launch "LD_PRELOAD=$preload" ORIEL_WINDOWS=all ORIEL_STATS=text \
    "$(mpiexec_of "$mpi")" "${args[@]}" hostname
check "the launcher runs a program without MPI (exit code $code)" equal "$code" 0
check "nothing is said about it" is_empty "$work/err"
check "nothing is printed but its own" equal "$(sort -u "$work/out")" "$(hostname)"
show "$work/err"
finish
