#!/usr/bin/env bash
# Python: mpi4py, whose extension module opens libmpi with RTLD_LOCAL, and ctypes, with
# functions from the handle of libmpi and from the whole process.
. "$(dirname "$0")/place_lib.sh"
need_plain_build

python=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import mpi4py' 2>/dev/null && { python=$candidate; break; }
done
if [ -n "$python" ]; then
    # mpi4py is built for one MPI; what it is linked to decides.
    module=$("$python" -c 'import importlib.util as u, os, glob
folder = u.find_spec("mpi4py").submodule_search_locations[0]
print(glob.glob(os.path.join(folder, "MPI*.so"))[0])')
    mpi=openmpi
    ldd "$module" | grep -q libmpich && mpi=mpich
    if has_mpi "$mpi" && [ -e "$(layer_file "$mpi")" ]; then
        ranks "$mpi" 2 X=1 -- "$python" "$here/place_mpi4py.py"
        check_right "mpi4py natively"
        ranks "$mpi" 2 ORIEL_WINDOWS=all "ORIEL_STATS=json:$work/report" \
            "LD_PRELOAD=$(layer_file "$mpi")" -- "$python" "$here/place_mpi4py.py"
        check_right "mpi4py"
        check "mpi4py: reads were redirected" [ "$(reported redirected)" -gt 0 ]
        check "mpi4py: nothing is said" is_empty "$work/err"
        check "mpi4py: the report says the same" python3 - "$work/report" \
            "$(reported gets)" "$(reported redirected)" <<'PY'
import json, sys
totals = json.load(open(sys.argv[1]))["totals"]
print(totals)
sys.exit(not (totals["gets"] == int(sys.argv[2]) and
              totals["redirected"] == int(sys.argv[3]) and
              totals["redirected"] + totals["native"] == totals["gets"]))
PY
        show "$work/err"
    fi
else
    echo "no mpi4py here"
fi

for mpi in mpich openmpi; do
    has_mpi "$mpi" && [ -e "$(layer_file "$mpi")" ] || continue
    library=libmpi.so.40
    [ "$mpi" = mpich ] && library=libmpich.so.12
    for how in handle process; do
        ranks "$mpi" 2 ORIEL_WINDOWS=all "LD_PRELOAD=$(layer_file "$mpi")" -- \
            python3 "$here/place_ctypes.py" "$library" "$how"
        [ "$code" -eq 77 ] && { cat "$work/out"; continue; }
        check_right "$mpi, ctypes by $how"
        check "$mpi, ctypes by $how: nothing is said" is_empty "$work/err"
        show "$work/err"
        [ "$how" = handle ] || check "$mpi, ctypes by $how: reads were redirected" \
            [ "$(reported redirected)" -gt 0 ]
    done
done
finish
