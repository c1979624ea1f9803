#!/usr/bin/env bash
# libmpi opened with RTLD_LOCAL: by a host through a plugin (redirected), and with every
# function taken from the handle by dlsym (cannot be redirected, must be harmless).
#
#   place_local.sh mpich|openmpi
. "$(dirname "$0")/place_lib.sh"
mpi=$1
need_mpi "$mpi"
need_plain_build

"${ORIEL_TEST_CC:-cc}" -Wall -Wextra "$here/place_host.c" -o "$work/host" -ldl || exit 1
compile_library "$mpi" place_plugin.c "$work/plugin.so"
ranks "$mpi" 2 ORIEL_WINDOWS=all "LD_PRELOAD=$(layer_file "$mpi")" -- \
    "$work/host" "$work/plugin.so"
check_right "a plugin with its own libmpi"
check "a plugin with its own libmpi: reads were redirected" \
    [ "$(reported redirected)" -gt 0 ]
check "nothing is said" is_empty "$work/err"
show "$work/err"

wrong=$(other_mpi "$mpi")
if has_mpi "$wrong"; then
    ranks "$mpi" 2 ORIEL_WINDOWS=all "LD_PRELOAD=$(layer_file "$wrong")" -- \
        "$work/host" "$work/plugin.so"
    check_native "a plugin under the wrong layer"
    check "the message is there" has "$work/err" \
        "built for $(mpi_title "$wrong"), found $(mpi_title "$mpi")"
fi

library=$(ldd "$work/plugin.so" |
    sed -n 's/^\t\(libmpi\(ch\)\?\.so\.[0-9]*\) .*/\1/p')
flags=$("$(mpicc_of "$mpi")" -show | tr ' ' '\n' | grep '^-I')
"${ORIEL_TEST_CC:-cc}" -std=c11 $flags "$here/place_dlopen.c" -o "$work/dlopen" -ldl ||
    exit 1
ranks "$mpi" 2 ORIEL_WINDOWS=all "LD_PRELOAD=$(layer_file "$mpi")" -- \
    "$work/dlopen" "$library"
[ "$code" -eq 77 ] && { cat "$work/out"; finish; }
check_right "functions taken by dlsym from the handle"
check "nothing is said" is_empty "$work/err"
show "$work/err"
finish
