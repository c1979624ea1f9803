#!/usr/bin/env bash
# Field case G1: one rank in a user namespace of its own, as a container gives one. The
# kernel refuses it the other's memory; it reads over TCP, and one line says why.
#
#   place_namespace.sh mpich
#
# (Open MPI 4.1.4 makes no window across user namespaces, natively.)
. "$(dirname "$0")/place_lib.sh"
mpi=$1
need_mpi "$mpi"
need_plain_build
unshare --user --map-root-user true 2>/dev/null || skip "no user namespaces here"

program=$build_dir/ctest/mpi_rget_$mpi
ours=(env UCX_TLS=tcp,self ORIEL_WINDOWS=all "ORIEL_STATS=json:$work/stats"
    "LD_PRELOAD=$(layer_file "$mpi")" "$program")
code=0
timeout 100 "$(mpiexec_of "$mpi")" -n 1 "${ours[@]}" : \
    -n 1 unshare --user --map-root-user "${ours[@]}" \
    >"$work/out" 2>"$work/err" </dev/null || code=$?
check "the program's bytes and counters are right ($code)" equal "$code" 0
check "some reads went over the fabric" grep -Eq '"(ofi|ucx)": *[1-9]' "$work/stats"
check "the reason is told" has "$work/err" "another user namespace"
check "once" equal "$(grep -c 'another user namespace' "$work/err")" 1
show "$work/out" "$work/err"
finish
