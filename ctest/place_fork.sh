#!/usr/bin/env bash
# Children of a process with redirected windows: their stores stay their own, their
# end takes nothing from the parent.
#
#   place_fork.sh mpich|openmpi
. "$(dirname "$0")/place_lib.sh"
mpi=$1
need_mpi "$mpi"
need_plain_build

program=$work/fork
compile "$mpi" place_fork.c "$program"
ranks "$mpi" 2 ORIEL_WINDOWS=all "LD_PRELOAD=$(layer_file "$mpi")" -- "$program" 100
check_right "created windows, 100 rounds of 3 workers"
check "reads were redirected" [ "$(reported redirected)" -gt 0 ]
check "every worker saw the parent's bytes and ended well" \
    equal "$(reported workers_bad)" 0
check "no descriptor was leaked" equal "$(reported fds)" 0
check "nothing was said" is_empty "$work/err"
show "$work/out" "$work/err"

# MPI_Win_allocate on Oriel's memory is private to a child, too. Open MPI's is its own.
[ "$mpi" = mpich ] || finish
ranks "$mpi" 2 ORIEL_WINDOWS=all ORIEL_TAKEOVER=always \
    "LD_PRELOAD=$(layer_file "$mpi")" -- "$program" 20 allocate
check_right "allocated windows that were taken over"
check "all three kinds are redirected" equal "$(reported redirected)" "$(reported gets)"
check "every worker saw the parent's bytes and ended well" \
    equal "$(reported workers_bad)" 0
show "$work/out" "$work/err"
finish
