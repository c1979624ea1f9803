#!/usr/bin/env bash
# Windows that come and go under valgrind: no memory that Oriel lost, no invalid access
# with Oriel in the stack. The MPI libraries have findings of their own, which are left
# out.
. "$(dirname "$0")/place_lib.sh"
need_plain_build
command -v valgrind >/dev/null || skip "no valgrind"
valgrind -q true 2>/dev/null || skip "valgrind does not run here"

bound_s=800
tried=0
for mpi in mpich openmpi; do
    has_mpi "$mpi" && [ -e "$(layer_file "$mpi")" ] || continue
    compile "$mpi" place_hazard.c "$work/hazard"
    compile "$mpi" place_reads.c "$work/reads"
    for program in hazard reads; do
        rm -f "$work"/log.*
        ranks "$mpi" 2 ORIEL_WINDOWS=all OMPI_MCA_mpi_yield_when_idle=1 \
            "LD_PRELOAD=$(layer_file "$mpi")" -- \
            valgrind --leak-check=full --show-leak-kinds=definite,indirect --num-callers=30 \
            --log-file="$work/log.%p" "$work/$program" 20
        if [ "$code" -ne 0 ]; then
            # Some MPI builds use what valgrind does not know.
            ranks "$mpi" 2 OMPI_MCA_mpi_yield_when_idle=1 -- valgrind -q "$work/$program" 20
            [ "$code" -eq 0 ] || { echo "$mpi: $program fails in valgrind natively"; continue; }
            check "$mpi: $program works in valgrind as it does natively" false
            show "$work/out" "$work/err" "$work"/log.*
            continue
        fi
        tried=$((tried + 1))
        check "$mpi, $program: every byte is right" has "$work/out" '^all reads right$'
        # Blocks of a log are separated by lines with nothing but the process id.
        sed 's/^==[0-9]*== \{0,1\}//' "$work"/log.* |
            awk 'BEGIN { RS = "" } /liboriel/ && /lost|Invalid|uninitialised|Mismatched/' \
                >"$work/found"
        check "$mpi, $program: valgrind finds nothing with Oriel in it" \
            is_empty "$work/found"
        head -n 60 "$work/found" >&2
    done
done
[ "$tried" -gt 0 ] || skip "no MPI here runs in valgrind"
finish
