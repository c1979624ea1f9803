#!/usr/bin/env bash
# A program relinked with the layer instead of preloaded: shared, static, and with a
# static MPI where there is one.
#
#   relink_program.sh mpich|openmpi shared|static|static-mpi
. "$(dirname "$0")/place_lib.sh"
mpi=$1
how=$2
has_mpi "$mpi" || skip "no $mpi here"
need_plain_build

lib=$build_dir/lib
program=$work/reads
case $how in
shared)
    # The program knows nothing of Oriel; only its link line does.
    compile "$mpi" place_reads.c "$program" -L"$lib" -Wl,--no-as-needed \
        "-loriel-pmpi-$mpi" -Wl,--as-needed -Wl,-rpath,"$lib"
    check "the layer is in the program" has <(readelf -d "$program") "liboriel-pmpi-$mpi"
    ;;
static)
    # -rdynamic so that the program finds the counters by name.
    compile "$mpi" place_reads.c "$program" "$lib/liboriel-pmpi-$mpi.a" "$lib/liboriel.a" \
        -DPLACE_DIRECT "-I$source_dir/include"
    check "no shared library of Oriel is in the program" \
        lacks <(readelf -d "$program") liboriel
    ;;
static-mpi)
    static=$("$(mpicc_of "$mpi")" -print-file-name=libmpi.a)
    [ "$mpi" = mpich ] && static=$("$(mpicc_of "$mpi")" -print-file-name=libmpich.a)
    [ -e "$static" ] || skip "no static library of $mpi here"
    flags=$("$(mpicc_of "$mpi")" -show | tr ' ' '\n' | grep -E '^-I')
    # What the archive needs is what the shared one is linked to.
    needed=$(readelf -d "${static%.a}.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/-l:\1/p')
    "${ORIEL_TEST_CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 $flags "$here/place_reads.c" \
        -o "$program" -DPLACE_DIRECT "-I$source_dir/include" "$lib/liboriel-pmpi-$mpi.a" \
        "$lib/liboriel.a" "$static" $needed -ldl -pthread 2>"$work/link" ||
        { show "$work/link"; skip "the static $mpi does not link"; }
    check "no MPI library is needed at run time" \
        lacks <(readelf -d "$program") 'NEEDED.*libmpi(ch)?\.so'
    ;;
*) echo "unknown way: $how" >&2; exit 2 ;;
esac

compile_library "$mpi" place_below.c "$work/below.so"
below=LD_PRELOAD=$work/below.so
# A program with PMPI_* of its own calls these, whatever is preloaded.
[ "$how" = shared ] || below=X=1
ranks "$mpi" 2 ORIEL_WINDOWS=all "$below" -- "$program"
check_redirected "relinked, $how"
check "reads were counted" [ "$(reported gets)" -gt 0 ]
check "nothing is said" is_empty "$work/err"
show "$work/err"
ranks "$mpi" 2 X=1 -- "$program"
check_native "relinked, $how, nothing annotated"

# Preloaded on top of it: harmless.
ranks "$mpi" 2 ORIEL_WINDOWS=all "LD_PRELOAD=$lib/liboriel-pmpi-$mpi.so" -- "$program"
check_right "relinked, $how, and preloaded as well"
finish
