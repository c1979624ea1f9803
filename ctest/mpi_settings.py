#!/usr/bin/env python3
"""Settings that differ between the ranks, and a rank whose settings are broken.

    mpi_settings.py mpich|openmpi

The program mpi_settings sets a variable on one of three ranks and checks every read.
"""
import os
import subprocess
import sys

MPI = sys.argv[1]
BUILD = os.environ["ORIEL_TEST_BUILD"]
SOURCE = os.environ["ORIEL_TEST_SOURCE"]

# rank, its setting, what becomes of reads, a word that a message must have
CASES = [
    (0, "ORIEL_WINDOWS=none", "from", None),
    (1, "ORIEL_WINDOWS=none", "from", None),
    (1, "ORIEL_WINDOWS=annotated", "from", None),
    (2, "ORIEL_WINDOWS=#0", "any", None),
    (0, "ORIEL_WINDOWS=nonsense", "both", "ORIEL_WINDOWS=nonsense"),
    (1, "ORIEL_WINDOWS=nonsense", "both", "ORIEL_WINDOWS=nonsense"),
    (1, "ORIEL_TIMEOUT_S=abc", "both", "ORIEL_TIMEOUT_S=abc"),
    (2, "ORIEL_ARENA_SEGMENT=12Q", "both", "ORIEL_ARENA_SEGMENT=12Q"),
    (1, "ORIEL_ENGINES=warp", "both", "ORIEL_ENGINES=warp"),
    (1, "ORIEL_ENGINES=node", "all", None),
    (1, "ORIEL_CMA=0", "any", None),
    (1, "ORIEL_ARENA=0", "any", None),
    (1, "ORIEL_ARENA_SEGMENT=64K", "all", None),
    (2, "ORIEL_TAKEOVER=never", "any", None),
    (0, "ORIEL_TAKEOVER=always", "all", None),
    (1, "ORIEL_STATS=text", "all", "redirected"),
    (1, "ORIEL_LOG=debug", "all", None),
    (1, "ORIEL_POKE_US=0", "all", None),
    (1, "ORIEL_STRICT=1", "all", None),
]


def run(rank, setting, expect):
    command = [
        "bash", f"{SOURCE}/ctest/mpirun.sh", "--mpi", MPI, "-n", "3",
        "--preload", f"{BUILD}/lib/liboriel-pmpi-{MPI}.so", "-x", "ORIEL_WINDOWS=all",
        "--", f"{BUILD}/ctest/mpi_settings_{MPI}", str(rank), setting, expect,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def main():
    failed = 0
    for rank, setting, expect, word in CASES:
        code, output = run(rank, setting, expect)
        if code != 0 or (word and word not in output):
            failed += 1
            print(f"not so: {setting} on rank {rank} leaves reads right ({expect})"
                  f" and is named ('{word}')\n{output}")
    print(f"{len(CASES)} settings, {failed} failures")
    return failed != 0


sys.exit(main())
