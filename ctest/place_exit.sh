#!/usr/bin/env bash
# Programs that end without MPI_Win_free end as they do natively: the same exit code,
# in bounded time, nothing said, nothing left.
#
#   place_exit.sh mpich|openmpi
. "$(dirname "$0")/place_lib.sh"
mpi=$1
need_mpi "$mpi"
need_plain_build

program=$work/exit
compile "$mpi" place_exit.c "$program"
mkdir "$work/cwd"
cd "$work/cwd" || exit 1
for way in finalize epoch exit return abort; do
    ranks "$mpi" 2 X=1 -- "$program" "$way"
    native=$code
    [ "$native" -ne 124 ] || { echo "$way: hangs natively, left out"; continue; }
    ranks "$mpi" 2 ORIEL_WINDOWS=all "ORIEL_STATS=json:$work/report.$way" \
        "LD_PRELOAD=$(layer_file "$mpi")" -- "$program" "$way"
    # MPICH 4.0.2 on UCX aborts in MPI_Finalize while windows are left, by itself.
    check "$way: ends as natively (native $native, here $code)" \
        [ "$code" -eq "$native" -o "$code" -eq 0 ]
    check "$way: every byte was right" has "$work/out" '^all reads right$'
    check "$way: reads were redirected" [ "$(reported redirected)" -gt 0 ]
    check "$way: Oriel says nothing" lacks "$work/err" '^oriel'
    [ "$code" -eq "$native" ] || echo "$way: native $native, here $code"
done
for way in finalize epoch; do
    check "$way: the windows that were not freed are in the report" \
        has "$work/report.$way" '"redirected": *[1-9]'
done
check "no file was left" [ -z "$(ls -A "$work/cwd" | grep -v '^core')" ]
finish
