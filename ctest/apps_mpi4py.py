"""apps.mpi4py: an mpi4py program on windows, natively and under Oriel.

Runs apps_windows.py with the Python whose mpi4py is there, on the MPI that mpi4py was
built for. Every byte must be right both ways, Oriel must have counted as many reads as
the program made, and those on created windows must have been redirected.

    apps_mpi4py.py [--build DIR] [--ranks N] [--limit SECONDS]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

from apps_common import TOP, Mpi, redirected, report_faults, skip, tail

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apps_windows.py")
# The program's three windows, in its order.
KINDS = ["create", "create", "allocate"]
# A clean environment: a virtual one, or a version manager's, has no mpi4py of Debian's.
PYTHONS = ("/usr/bin/python3", "python3")
ASK = ("import mpi4py, sys; from mpi4py import MPI; sys.stdout.write(mpi4py.__version__ "
       "+ '|' + MPI.Get_library_version().splitlines()[0])")


def find_python():
    """(interpreter with mpi4py, mpi4py's version, name of its MPI), or Nones."""
    for python in PYTHONS:
        try:
            done = subprocess.run([python, "-c", ASK], capture_output=True, text=True,
                                  check=False, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and "|" in done.stdout:
            version, library = done.stdout.split("|", 1)
            return python, version, "openmpi" if "Open MPI" in library else "mpich"
    return None, None, None


def gets_of(result):
    """The reads that the program says it made, or None."""
    found = re.search(r"^gets=(\d+) wrong=0$", result.output, re.MULTILINE)
    return int(found[1]) if found and result.code == 0 else None


def check(report, gets):
    """Sentences about what is wrong with the report; prints a line a window."""
    if report is None:
        yield "Oriel wrote no report"
        return
    yield from report_faults(report)
    if report["totals"]["gets"] != gets:
        yield f"Oriel counted {report['totals']['gets']} reads of {gets}"
    windows = report["windows"]
    if [window["kind"] for window in windows] != KINDS:
        yield f"windows {[window['kind'] for window in windows]}, not {KINDS}"
    for window in windows:
        ways = {**window["engines"], **window["native"]}
        print(f"  {window['kind']:9} {window['gets']:6} reads: "
              + ", ".join(f"{n} {way}" for way, n in ways.items()))
        if window["kind"] == "create" and window["redirected"] < window["gets"] * 0.9:
            yield f"window {window['index']}: {window['redirected']} of " \
                  f"{window['gets']} reads redirected"
    if redirected(report) < report["totals"]["gets"] * 0.9:
        yield f"{redirected(report)} reads of {gets} served"


def main():
    """Natively, then under Oriel."""
    parser = argparse.ArgumentParser(description="mpi4py under Oriel")
    parser.add_argument("--build", default=os.environ.get(
        "ORIEL_TEST_BUILD", os.path.join(TOP, "build")))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120, help="seconds a run")
    options = parser.parse_args()
    python, version, name = find_python()
    if not python:
        skip("no mpi4py")
    mpi = Mpi(name, options.build)
    if mpi.missing():
        skip(f"no {mpi.missing()}")
    argv, faults = [python, PROGRAM], []
    with tempfile.TemporaryDirectory(prefix="oriel-mpi4py-") as folder:
        native = mpi.run(options.ranks, argv, options.limit, folder)
        oriel, report = mpi.run_oriel(options.ranks, argv, options.limit, folder)
    print(f"mpi4py {version} on {name}, {options.ranks} ranks")
    for how, result in (("natively", native), ("Oriel", oriel)):
        if gets_of(result) is None:
            print(tail(result.output, 12))
            faults.append(f"{how}: wrong bytes, or it did not end well")
        else:
            print(f"  {how:9} {gets_of(result):6} reads, all right, "
                  f"{result.seconds:.1f} s")
    if gets_of(oriel) != gets_of(native):
        faults.append("the program did not make the same reads")
    faults += check(report, gets_of(oriel))
    print("\n".join(f"FAILED: {text}" for text in faults) or "all is well")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
