#!/usr/bin/env python3
"""ORIEL_WINDOWS rules choose windows; bad ones are named and turn redirection off.

    mpi_rules.py mpich|openmpi

The program mpi_rules tells whether each of its windows is served (see there).
"""
import os
import subprocess
import sys

MPI = sys.argv[1]
BUILD = os.environ["ORIEL_TEST_BUILD"]
SOURCE = os.environ["ORIEL_TEST_SOURCE"]

# rules, windows served, access of window 1
GOOD = [
    (None, "nnynnn", "-"),
    ("annotated", "nnynnn", "-"),
    ("none", "nnnnnn", "-"),
    ("all", "yyynny", "general"),
    ("#0", "ynynnn", "-"),
    ("#4", "nnynnn", "-"),  # a shared window has a number, but is never served
    ("#5", "nnynny", "-"),
    ("#0;#1", "yyynnn", "general"),
    ("bytes>=1M", "nyynnn", "general"),
    ("bytes>=2097152", "nyynnn", "general"),
    ("bytes>=3M", "nnynnn", "-"),
    ("bytes>=0", "yyynny", "general"),
    ("all:access=fenced", "yyynny", "fenced"),
    ("all:access=immutable;bytes>=1M:access=fenced", "yyynny", "fenced"),
    ("all:offload=false", "nnynnn", "-"),
    ("all;#0:offload=false", "nyynny", "general"),
    ("all:offload=node", "yyynny", "general"),
    ("#1:access=fenced:offload=node;annotated", "nyynnn", "fenced"),
    ("all;", "yyynny", "general"),
]

# rules, and a word that the message has to have beside the variable's name
BAD = [
    ("everything", "everything"),
    ("all:acces=fenced", "acces"),
    ("all:access=fence", "fence"),
    ("all:access", "access"),
    ("#", "#"),
    ("#x", "#x"),
    ("bytes>1M", "bytes>1M"),
    ("bytes>=1Q", "bytes>=1Q"),
    ("all:offload=nodes", "nodes"),
    ("all;none", "none"),
    ("all annotated", "all annotated"),
]


def run(rules, served, access):
    # Through env: Open MPI takes a ';' in the value of -x for a separator.
    setting = [] if rules is None else ["env", "ORIEL_WINDOWS=" + rules]
    command = [
        "bash", f"{SOURCE}/ctest/mpirun.sh", "--mpi", MPI, "-n", "2",
        "--preload", f"{BUILD}/lib/liboriel-pmpi-{MPI}.so", "--",
        *setting, f"{BUILD}/ctest/mpi_rules_{MPI}", served, access,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def main():
    failed = 0

    def check(good, sentence, output):
        nonlocal failed
        if not good:
            failed += 1
            print(f"not so: {sentence}\n{output}")

    for rules, served, access in GOOD:
        code, output = run(rules, served, access)
        check(code == 0, f"ORIEL_WINDOWS={rules} serves {served}", output)
        check("ORIEL_WINDOWS" not in output, f"{rules} is accepted silently", output)
    for rules, word in BAD:
        code, output = run(rules, "nnnnnn", "-")
        check(code == 0, f"ORIEL_WINDOWS={rules} turns redirection off", output)
        lines = [line for line in output.splitlines() if "ORIEL_WINDOWS" in line]
        check(any(word in line for line in lines),
              f"a message names ORIEL_WINDOWS and '{word}'", output)
        check(len(lines) <= 2, f"{rules}: at most one message a rank", output)
    print(f"{len(GOOD)} good rules, {len(BAD)} bad ones, {failed} failures")
    return failed != 0


sys.exit(main())
