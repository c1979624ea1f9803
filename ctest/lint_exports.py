"""lint.exports: the libraries show what they should, and no more.

A layer: the MPI_* of pmpi/wrappers.def, as that MPI's mpi.h gives them, and
oriel_*. liboriel: oriel_*. No layer needs libmpi, or a shell under the preload
would load it. The static layers define the same MPI_*.
"""

import os
import re
import subprocess
import sys

from lint_files import TOP, finish

BUILD = os.environ["ORIEL_TEST_BUILD"]
MPIS = os.environ.get("ORIEL_TEST_MPIS", "").split()


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def wanted(mpi):
    """The MPI_* names of wrappers.def with this MPI's headers."""
    source = ('#include <mpi.h>\n#define ORIEL_WRAP(name, n, when) @@name\n'
              '#include "pmpi/wrappers.def"\n')
    text = run(os.environ[f"ORIEL_TEST_MPICC_{mpi}"], "-E", "-P", "-I", TOP, "-x", "c",
               "-", text=source)
    return {"MPI_" + name for name in re.findall(r"@@\s*(\w+)", text)}


def defined(path, *options):
    lines = run("nm", *options, "--defined-only", path).split("\n")
    fields = [line.split() for line in lines]
    return {f[2].split("@")[0] for f in fields if len(f) == 3 and f[1].isupper()}


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", path))


def check_layer(mpi):
    path = f"{BUILD}/lib/liboriel-pmpi-{mpi}.so"
    want, have = wanted(mpi), defined(path, "-D")
    for name in sorted(want - have):
        yield f"{path}: {name} is missing"
    for name in sorted(have - want):
        if not name.startswith("oriel_"):
            yield f"{path}: shows {name}"
    for name in needed(path):
        if re.match(r"lib(mpi|mpich|open-rte|open-pal|pmpi)", name):
            yield f"{path}: needs {name}"
    if not any(name.startswith("liboriel.so.") for name in needed(path)):
        yield f"{path}: does not need liboriel"
    archive = f"{BUILD}/lib/liboriel-pmpi-{mpi}.a"
    for name in sorted(want - defined(archive)):
        yield f"{archive}: {name} is missing"


def main():
    problems = []
    path = f"{BUILD}/lib/liboriel.so"
    for name in sorted(defined(path, "-D")):
        if not name.startswith("oriel_"):
            problems.append(f"{path}: shows {name}")
    for name in sorted(defined(f"{BUILD}/lib/liboriel.a")):
        if not re.match(r"oriel_|_*(asan|odr|ubsan|tsan)", name):
            problems.append(f"liboriel.a: {name} is not named oriel_*")
    for mpi in MPIS:
        problems += check_layer(mpi)
    return finish(problems, f"liboriel, {' '.join(MPIS)}")


if __name__ == "__main__":
    sys.exit(main())
