#!/usr/bin/env bash
# A program on a serial stand-in for MPI (MPI_* without PMPI_*), under each layer: it
# must run as it does alone.
. "$(dirname "$0")/place_lib.sh"
need_plain_build
cc=${ORIEL_TEST_CC:-cc}
"$cc" -shared -fPIC -DSTUB "$here/place_stub.c" -o "$work/libstub.so" || exit 1
"$cc" "$here/place_stub.c" -o "$work/program" -L"$work" -lstub -Wl,-rpath,"$work" ||
    exit 1
for mpi in mpich openmpi; do
    has_mpi "$mpi" || continue
    code=0
    LD_PRELOAD=$(layer_file "$mpi") ORIEL_WINDOWS=all "$work/program" \
        >"$work/out" 2>"$work/err" || code=$?
    check "$mpi layer: the program ends well (exit code $code)" equal "$code" 0
    check "$mpi layer: its own answer is there" has "$work/out" '^size 1$'
    check "$mpi layer: one line at most is said" [ "$(wc -l <"$work/err")" -le 1 ]
    show "$work/err"
done
finish
