#!/usr/bin/env bash
# Install what is missing, build, and show real MPI programs natively and with Oriel.
#
#   bench/demo.sh [build folder]        (default: build)
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:-$top/build}
log=$(mktemp -t oriel-demo-build.XXXXXX)

quietly() {
    if ! "$@" >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        echo "demo.sh: this failed: $*; all of its output is in $log" >&2
        exit 1
    fi
}

echo "Oriel: reads of MPI windows, natively and with Oriel"
if ! "$top/cmake/install-packages.sh" build apps >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "demo.sh: not all packages could be installed; going on with what is there" >&2
fi
echo "building in $build ..."
generator=()
if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then
    generator=(-G Ninja)
fi
quietly cmake -S "$top" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DORIEL_TESTS=OFF
quietly cmake --build "$build" -j "$(nproc)"
rm -f "$log"
exec python3 "$top/bench/demo/demo.py" --build "$build"
