#!/usr/bin/env bash
# lint.tidy: clang-tidy on every source of the product, once, with .clang-tidy's checks.
set -eu

if ! command -v clang-tidy >/dev/null; then
    echo "skipped: no clang-tidy"
    exit 77
fi
cd "$ORIEL_TEST_SOURCE"
mapfile -t files < <(python3 - "$ORIEL_TEST_BUILD/compile_commands.json" <<'PY'
import json, os, sys
here = os.path.realpath(os.getcwd())
names = {os.path.realpath(c["file"]) for c in json.load(open(sys.argv[1]))}
print("\n".join(sorted(n for n in names if os.path.relpath(n, here).split("/")[0] in
                       ("core", "transports", "pmpi", "tools", "bench"))))
PY
)
printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "$(nproc)" \
    clang-tidy -p "$ORIEL_TEST_BUILD" --quiet 2>&1 |
    { grep -vE '^[0-9]+ warnings? (generated|treated)' || true; }
status=("${PIPESTATUS[@]}")
echo "${#files[@]} files"
[ "${status[1]}" -eq 0 ]
