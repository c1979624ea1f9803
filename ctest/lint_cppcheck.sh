#!/usr/bin/env bash
# lint.cppcheck: cppcheck on the library, the layer and the programs.
set -eu

if ! command -v cppcheck >/dev/null; then
    echo "skipped: no cppcheck"
    exit 77
fi
cd "$ORIEL_TEST_SOURCE"
# Uninitialised variables are the compilers': they know open_memstream.
defines=(-DORIEL_PMPI_KIND='""' -D__x86_64__ -D__linux__)
cppcheck --quiet --std=c11 --language=c --enable=warning,performance,portability \
    --inline-suppr --error-exitcode=1 -j "$(nproc)" \
    --suppress=missingIncludeSystem --suppress=unknownMacro --suppress=toomanyconfigs \
    --suppress=uninitvar \
    --template='{file}:{line}: {severity}: {message} [{id}]' \
    -I . -I include -I "$ORIEL_TEST_BUILD/generated" "${defines[@]}" \
    core transports pmpi tools bench
echo "cppcheck: $(cppcheck --version)"
