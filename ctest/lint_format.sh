#!/usr/bin/env bash
# lint.format: every C file is as clang-format leaves it; `--fix` makes it so.
set -eu
cd "$(dirname "$0")/.."

if ! command -v clang-format >/dev/null; then
    echo "skipped: no clang-format"
    exit 77
fi
mapfile -t files < <(PYTHONPATH=ctest python3 -c '
from lint_files import tree
print("\n".join(p for p in tree() if p.endswith((".c", ".h"))))')
if [ "${1:-}" = --fix ]; then
    clang-format -i "${files[@]}"
else
    clang-format --dry-run -Werror "${files[@]}"
fi
echo "${#files[@]} files, $(clang-format --version)"
