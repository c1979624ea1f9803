#!/usr/bin/env bash
# What the layer exports and needs, and that no RMA call of the MPI library was
# forgotten: each is wrapped or stands in the list below with the reason why not.
#
#   place_symbols.sh mpich|openmpi
. "$(dirname "$0")/place_lib.sh"
mpi=$1
need_mpi "$mpi"
layer=$(layer_file "$mpi")

# The functions of wrappers.def for this MPI, by the preprocessor.
printf '#include <mpi.h>\n#define ORIEL_WRAP(n, a, w) @wrap MPI_##n\n%s\n' \
    '#include "pmpi/wrappers.def"' |
    "$(mpicc_of "$mpi")" -E -P -I"$source_dir" -x c - | tr -d ' ' |
    sed -n 's/^.*@wrapMPI_/MPI_/p' | sort -u >"$work/wrapped"
check "wrappers.def lists functions" has "$work/wrapped" '^MPI_Get$'

nm -D --defined-only "$layer" | awk '{print $3}' | sed 's/@.*//' | sort -u >"$work/exports"
grep '^MPI_' "$work/exports" >"$work/exports.mpi"
check "exactly the MPI_* functions of wrappers.def are exported" \
    diff "$work/wrapped" "$work/exports.mpi"
check "beside them only names of our own" \
    [ -z "$(grep -vE '^(MPI_|oriel_)' "$work/exports")" ]
readelf -d "$layer" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' >"$work/needed"
check "no MPI library is needed at load time" lacks "$work/needed" 'libmpi'
check "liboriel is" has "$work/needed" '^liboriel\.so'
if [ -z "${ORIEL_TEST_SANITIZE:-}" ]; then
    grep -vE '^(liboriel|libc|libdl|libpthread|ld-linux)' "$work/needed" >"$work/others"
    check "nothing else is needed" is_empty "$work/others"
fi

# Calls that pass through unseen, and why that is right.
sort -u >"$work/passed" <<'LIST'
MPI_Get_address
MPI_Get_count
MPI_Get_count_c
MPI_Get_elements
MPI_Get_elements_c
MPI_Get_elements_x
MPI_Get_library_version
MPI_Get_processor_name
MPI_Get_version
MPI_Win_attach
MPI_Win_call_errhandler
MPI_Win_create_errhandler
MPI_Win_create_keyval
MPI_Win_delete_attr
MPI_Win_detach
MPI_Win_f2c
MPI_Win_free_keyval
MPI_Win_get_errhandler
MPI_Win_get_group
MPI_Win_get_name
MPI_Win_set_attr
MPI_Win_set_errhandler
MPI_Win_set_info
MPI_Win_set_name
MPI_Win_shared_query
MPI_Win_shared_query_c
LIST
# Not RMA at all: Get_address .. Get_version. Act on the native window, which every
# Oriel window is: errhandler, keyval, attr, name, group. Dynamic windows are never
# redirected: attach, detach. Win_set_info cannot change what was agreed at creation.
# A handle that comes back by Win_f2c went out by Win_c2f. Win_shared_query answers for
# shared windows, which are native, and gives the same error for others: place_calls
# prints it, and the native line is compared.
program=$work/calls
compile "$mpi" place_calls.c "$program"
library=$(ldd "$program" | sed -n 's/^\tlibmpi\(ch\)\?\.so[^ ]* => \([^ ]*\) .*/\2/p' |
    head -n 1)
nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//' |
    grep -E '^MPI_(Win_|R?[Gg]et|R?[Pp]ut|R?[Aa]cc|Fetch|Compare_and|Alloc_mem|Free_mem)' |
    grep -vE '_fn$' | sort -u >"$work/rma"
check "the library has RMA calls" has "$work/rma" '^MPI_Rget$'
sort -u "$work/wrapped" "$work/passed" | comm -23 "$work/rma" - >"$work/forgotten"
check "no RMA call of the library was forgotten" is_empty "$work/forgotten"
show "$work/forgotten"
comm -12 "$work/wrapped" "$work/passed" >"$work/both"
check "none is in both lists" is_empty "$work/both"
show "$work/both"

# All of them, with extensions and big counts, under the preload.
[ -z "${ORIEL_TEST_SANITIZE:-}" ] || finish
ranks "$mpi" 2 LD_BIND_NOW=1 -- "$program"
check_right "natively"
mv "$work/out" "$work/expected"
for rules in all none all:access=fenced; do
    ranks "$mpi" 2 LD_BIND_NOW=1 "ORIEL_WINDOWS=$rules" "LD_PRELOAD=$layer" -- "$program"
    check_right "ORIEL_WINDOWS=$rules"
    check "ORIEL_WINDOWS=$rules: it prints what it prints natively" \
        diff "$work/expected" "$work/out"
    check "ORIEL_WINDOWS=$rules: nothing is said" is_empty "$work/err"
    show "$work/err"
done
finish
