#!/usr/bin/env bash
# A layer preloaded under the wrong MPI, alone and beside the right one: one clear line
# and the program's own answer, its windows native.
#
#   place_wrong.sh mpich|openmpi     the MPI of the program
. "$(dirname "$0")/place_lib.sh"
mpi=$1
wrong=$(other_mpi "$mpi")
need_mpi "$mpi" "$wrong"
need_plain_build

program=$work/reads
compile "$mpi" place_reads.c "$program"
compile_library "$mpi" place_below.c "$work/below.so"
message="built for $(mpi_title "$wrong"), found $(mpi_title "$mpi")"

# With ORIEL_STATS a serving layer would write a report.
ranks "$mpi" 2 ORIEL_WINDOWS=all "ORIEL_STATS=json:$work/report" \
    "LD_PRELOAD=$(layer_file "$wrong"):$work/below.so" -- "$program"
check_native "wrong layer"
check "the message says what was expected and what is there" has "$work/err" "$message"
check "it is said once by each process at most" \
    [ "$(grep -c oriel "$work/err")" -le 2 ]
check "nothing is reported" [ ! -e "$work/report" ]
show "$work/err"

ranks "$mpi" 2 ORIEL_WINDOWS=none "LD_PRELOAD=$(layer_file "$wrong")" -- \
    "$program" 40 threads
check_native "wrong layer, nothing asked for"
ranks "$mpi" 2 X=1 -- "$program" 40 threads
expected=$(reported threads)
ranks "$mpi" 2 ORIEL_WINDOWS=all "LD_PRELOAD=$(layer_file "$wrong")" -- \
    "$program" 40 threads
check "no thread was added" equal "$(reported threads)" "$expected"

# Both layers, either order. The one that comes first decides: if it is the right one
# the reads are redirected.
ranks "$mpi" 2 ORIEL_WINDOWS=all \
    "LD_PRELOAD=$(layer_file "$wrong"):$(layer_file "$mpi")" -- "$program"
check_right "wrong layer first, right one second"
check "the message is there" has "$work/err" "$message"
ranks "$mpi" 2 ORIEL_WINDOWS=all \
    "LD_PRELOAD=$(layer_file "$mpi"):$(layer_file "$wrong"):$work/below.so" -- "$program"
check_redirected "right layer first, wrong one second"
check "nothing is said then" is_empty "$work/err"
show "$work/err"
finish
