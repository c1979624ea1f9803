#!/usr/bin/env python3
"""ORIEL_STATS: the report's numbers add up to the calls that a program made.

    mpi_stats.py mpich|openmpi

The program mpi_counts makes a known number of reads (see there).
"""
import json
import os
import re
import subprocess
import sys
import tempfile

MPI = sys.argv[1]
BUILD = os.environ["ORIEL_TEST_BUILD"]
SOURCE = os.environ["ORIEL_TEST_SOURCE"]
failed = 0


def check(good, sentence):
    global failed
    if not good:
        failed += 1
        print(f"not so: {sentence}")


def run(stats, *arguments):
    command = [
        "bash", f"{SOURCE}/ctest/mpirun.sh", "--mpi", MPI, "-n", "4",
        "--preload", f"{BUILD}/lib/liboriel-pmpi-{MPI}.so", "-x", f"ORIEL_STATS={stats}",
        "--", f"{BUILD}/ctest/mpi_counts_{MPI}", *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    check(done.returncode == 0,
          f"the program ends well with ORIEL_STATS={stats}: {done.stderr}")
    return done


def allocated():
    """Window 3: Open MPI maps it itself."""
    if MPI == "openmpi":
        return {}, {"already-mapped": 24}, 0
    return {"mapped": 24}, {}, 24 * 8


def expected_windows():
    engines, native, size = allocated()
    half = (4, "create", 2, {"cma": 4}, {}, 4 * 16)
    return [
        (0, "create", 4, {"self": 12, "cma": 40},
         {"proc-null": 8, "empty": 16, "dirty": 4}, 40 * 100 + 12 * 8),
        (1, "create", 4, {"mapped": 28}, {"no-epoch": 12}, 28 * 64),
        (3, "allocate", 4, engines, native, size),
        half, half,
    ]


def nonzero(counters):
    return {name: count for name, count in counters.items() if count}


def check_windows(report):
    wanted = expected_windows()
    windows = report["windows"]
    check(len(windows) == len(wanted),
          f"{len(wanted)} windows are reported, not {len(windows)}")
    for window, (index, kind, ranks, engines, native, size) in zip(windows, wanted):
        name = f"window {index}"
        check(window["index"] == index, f"{name}: its index is {window['index']}")
        check(window["kind"] == kind, f"{name}: its kind is {window['kind']}")
        check(window["ranks"] == ranks, f"{name}: it has {window['ranks']} ranks")
        check(nonzero(window["engines"]) == engines,
              f"{name}: engines {window['engines']} are {engines}")
        check(nonzero(window["native"]) == native,
              f"{name}: native {window['native']} is {native}")
        check(window["bytes"] == size, f"{name}: bytes {window['bytes']} are {size}")
        check(window["redirected"] == sum(window["engines"].values()),
              f"{name}: the engines add up")
        check(window["gets"] == window["redirected"] + sum(window["native"].values()),
              f"{name}: redirected and native add up to all")


def check_totals(report):
    wanted = expected_windows()
    redirected = sum(sum(row[3].values()) for row in wanted)
    native = sum(sum(row[4].values()) for row in wanted)
    totals = report["totals"]
    check(totals["redirected"] == redirected, f"redirected: {totals}, not {redirected}")
    check(totals["native"] == native, f"native: {totals}, not {native}")
    check(totals["gets"] == redirected + native, f"gets: {totals}")
    check(totals["bytes"] == sum(row[5] for row in wanted), f"bytes: {totals}")


def check_text(text):
    wanted = expected_windows()
    numbers = {
        "gets": sum(sum(row[3].values()) + sum(row[4].values()) for row in wanted),
        "redirected": sum(sum(row[3].values()) for row in wanted),
    }
    for name, number in numbers.items():
        check(re.search(rf"^\s*{name}\s+{number}\b", text, re.MULTILINE),
              f"the text says {name} {number}:\n{text}")


def main():
    with tempfile.TemporaryDirectory(prefix="oriel-test-") as folder:
        path = os.path.join(folder, "report.json")
        cases = [()] if MPI == "mpich" else [(), ("leave",)]
        for arguments in cases:  # MPICH 4.0.2 aborts when a window is not freed
            done = run("json:" + path, *arguments)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            os.remove(path)
            check_windows(report)
            check_totals(report)
            check(report["ranks"] == 4 and report["whole_job"], "it is of the whole job")
            check("oriel" not in done.stderr, f"and silent: {done.stderr}")
        done = run("text")
        check_text(done.stderr)
        check(done.stderr.count("oriel 0") + done.stderr.count("oriel 1") == 1,
              "one rank prints it, once")
        text = os.path.join(folder, "report.txt")
        run("text:" + text)
        with open(text, encoding="utf-8") as file:
            check_text(file.read())
        done = run("json:" + os.path.join(folder, "missing", "report.json"))
        check("ORIEL_STATS" in done.stderr, "a report that cannot be written is named")
        done = run("xml")
        check("ORIEL_STATS" in done.stderr, "a format that is not known is named")
    print(f"{failed} failures")
    return failed != 0


sys.exit(main())
