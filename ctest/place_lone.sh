#!/usr/bin/env bash
# Only some ranks load Oriel: the job ends within a bound and says why, whichever rank
# lacks the layer and whatever the program does first.
#
#   place_lone.sh mpich|openmpi
. "$(dirname "$0")/place_lib.sh"
mpi=$1
need_mpi "$mpi"
need_plain_build

program=$work/lone
compile "$mpi" place_lone.c "$program"
loaded=(env ORIEL_TIMEOUT_S=3 ORIEL_WINDOWS=all "LD_PRELOAD=$(layer_file "$mpi")"
    "$program")
plain=("$program")
options=()
[ "$mpi" = openmpi ] && options=(--oversubscribe --bind-to none --mca mpi_yield_when_idle 1)

# One program a rank, after each other: launch "first" RANK...; RANK is loaded or plain.
launch() {
    local first=$1 line=() rank
    shift
    for rank in "$@"; do
        local -n program_of_rank=$rank
        line+=(${line:+:} -n 1 "${program_of_rank[@]}" "$first")
    done
    code=0
    timeout -k 5 120 "$(mpiexec_of "$mpi")" "${options[@]}" "${line[@]}" \
        >"$work/out" 2>"$work/err" </dev/null || code=$?
}

for first in barrier bcast allreduce window message compute; do
    for order in "loaded plain" "plain loaded"; do
        launch "$first" $order
        check "$first, $order: it ends ($code)" [ "$code" -ne 124 -a "$code" -ne 137 ]
        check "$first, $order: it ends as an error" [ "$code" -ne 0 ]
        check "$first, $order: it says why" has "$work/err" \
            'not all ranks load Oriel: use oriel run' || show "$work/out" "$work/err"
    done
done
launch barrier loaded loaded plain loaded
check "one of four: it ends ($code)" [ "$code" -ne 124 -a "$code" -ne 0 ]
check "one of four: it says why" has "$work/err" \
    'not all ranks load Oriel: use oriel run' || show "$work/out" "$work/err"

# And none of that where all ranks load it, also when one comes late.
launch window loaded loaded
check "all ranks: the program ends by itself ($code)" equal "$code" 0
late=(env ORIEL_TIMEOUT_S=30 ORIEL_WINDOWS=all "LD_PRELOAD=$(layer_file "$mpi")"
    bash -c "sleep 2; exec $program \"\$0\"")
launch window loaded late
check "one rank late: the program ends by itself ($code)" equal "$code" 0
check "one rank late: nothing is said" is_empty "$work/err"
show "$work/err"

# Whatever a rank wants, the windows work as long as the layer is everywhere.
none=(env ORIEL_TIMEOUT_S=20 ORIEL_WINDOWS=none "LD_PRELOAD=$(layer_file "$mpi")"
    "$program")
broken=(env ORIEL_TIMEOUT_S=20 ORIEL_CMA=perhaps "LD_PRELOAD=$(layer_file "$mpi")"
    "$program")
for other in none broken; do
    launch window loaded "$other"
    check "rank 1 $other: the program ends by itself ($code)" equal "$code" 0
    launch window "$other" loaded
    check "rank 0 $other: the program ends by itself ($code)" equal "$code" 0
done
finish
