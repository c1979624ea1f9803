#!/usr/bin/env bash
# Beside another PMPI tool, in both preload orders, and beside tools that hide some
# functions from Oriel.
#
#   place_tools.sh mpich|openmpi
. "$(dirname "$0")/place_lib.sh"
mpi=$1
need_mpi "$mpi"
need_plain_build

compile "$mpi" place_reads.c "$work/reads"
compile "$mpi" place_hazard.c "$work/hazard"
compile_library "$mpi" place_tool.c "$work/tool.so" "-I$source_dir"
layer=$(layer_file "$mpi")

# The tool's counts of a run, over both ranks: "name count" lines.
counts() {
    rm -f "$work"/counts.*
    ranks "$mpi" 2 ORIEL_WINDOWS=all "PLACE_TOOL_OUT=$work/counts" "LD_PRELOAD=$1" -- \
        "$work/reads"
    sort "$work"/counts.* >"$2" 2>/dev/null
}
counts "$work/tool.so" "$work/alone"
check_native "the tool alone"
check "the tool counts" has "$work/alone" '^Get [1-9]'

# A tool that is first sees every call of the program and passes it by.
counts "$work/tool.so:$layer" "$work/first"
check_right "tool, then Oriel"
check "tool first: its counts are what they are without Oriel" \
    diff "$work/alone" "$work/first"

# Oriel first: what Oriel wraps does not reach the tool, the rest does, and Oriel's own
# calls never appear.
counts "$layer:$work/tool.so" "$work/second"
check_right "Oriel, then tool"
check "Oriel first: reads were redirected" [ "$(reported redirected)" -gt 0 ]
join -a 2 "$work/alone" "$work/second" | awk 'NF != 3 || $3 > $2' >"$work/more"
check "Oriel first: no call that the program did not make" is_empty "$work/more"
show "$work/more"
grep -o 'ORIEL_WRAP([A-Za-z_]*' "$source_dir/pmpi/wrappers.def" | cut -d'(' -f2 |
    sort -u >"$work/wrapped"
join -v 1 "$work/alone" "$work/wrapped" >"$work/alone.rest"
join -v 1 "$work/second" "$work/wrapped" >"$work/second.rest"
check "Oriel first: what it does not wrap reaches the tool" \
    diff "$work/alone.rest" "$work/second.rest"

# Tools that hide a part. Oriel may serve or stand aside; the bytes must be right.
hidden() {
    local title=$1 list= name
    shift
    for name in "$@"; do list="$list TOOL($name)"; done
    compile_library "$mpi" place_tool.c "$work/part.so" "-DTOOL_LIST=$list" \
        "-I$source_dir"
    for rules in all all:access=fenced; do
        ranks "$mpi" 2 "ORIEL_WINDOWS=$rules" "LD_PRELOAD=$work/part.so:$layer" -- \
            "$work/hazard"
        check_right "hidden: $title, $rules"
    done
}
hidden "start and end" Init Init_thread Finalize
hidden "end" Finalize
hidden "updates" Put Rput Accumulate Raccumulate Get_accumulate Fetch_and_op \
    Compare_and_swap
hidden "reads" Get Rget
hidden "ends of epochs" Win_unlock Win_unlock_all Win_flush Win_flush_all
hidden "starts of epochs" Win_lock Win_lock_all
hidden "fences" Win_fence
hidden "creation" Win_create Win_allocate
hidden "created windows" Win_create
hidden "allocated windows" Win_allocate
hidden "free" Win_free
hidden "free and creation of one kind" Win_free Win_create
hidden "free and creation of the other" Win_free Win_allocate
hidden "memory given" Alloc_mem
hidden "memory taken back" Free_mem
hidden "half of both" Init Get Win_flush Win_unlock Free_mem

# Tools that nobody here wrote.
for tool in $(find /usr/lib -name libompitrace.so -o -name ompi_monitoring_prof.so); do
    [ "$mpi" = openmpi ] || continue
    ranks "$mpi" 2 "LD_PRELOAD=$tool" -- "$work/hazard"
    [ "$code" -eq 0 ] || { echo "${tool##*/} does not work here alone"; continue; }
    for order in "$tool:$layer" "$layer:$tool"; do
        ranks "$mpi" 2 ORIEL_WINDOWS=all "LD_PRELOAD=$order" -- "$work/hazard"
        check_right "$(echo "$order" | tr : '\n' | xargs -n 1 basename | paste -sd:)"
    done
done
finish
