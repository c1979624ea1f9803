#!/usr/bin/env bash
# lint.format: every C file is as clang-format leaves it; `--fix` makes it so.
#
# Releases of clang-format differ in details, so one of them decides: Debian 12's.
set -eu
cd "$(dirname "$0")/.."
major=14

format=
for name in "clang-format-$major" clang-format; do
    case $("$name" --version 2>/dev/null) in
    *" version $major."*) format=$name && break ;;
    esac
done
if [ -z "$format" ]; then
    echo "skipped: no clang-format of release $major"
    exit 77
fi
mapfile -t files < <(PYTHONPATH=ctest python3 -c '
from lint_files import tree
print("\n".join(p for p in tree() if p.endswith((".c", ".h"))))')
if [ "${1:-}" = --fix ]; then
    "$format" -i "${files[@]}"
else
    "$format" --dry-run -Werror "${files[@]}"
fi
echo "${#files[@]} files"
