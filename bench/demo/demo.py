"""Shows real MPI programs natively and with Oriel, side by side.

    demo.py [--build DIR] [--limit SECONDS]

bench/demo.sh installs and builds first. Ends with 1 if an answer was wrong with Oriel,
or nothing was redirected where it should be.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "ctest"))
# pylint: disable=wrong-import-position
import apps_mpi4py  # noqa: E402
import apps_nwchem  # noqa: E402
from apps_common import Mpi, run_command, tail  # noqa: E402

FENCED = "all:access=fenced"


class Stage:
    """Runs one program each way and prints a line for each run."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.oriel = os.path.join(options.build, "bin", "oriel")
        self.faults = []  # sentences

    def title(self, number, text, *notes):
        """The heading of a part."""
        print(f"\n{number}. {text}")
        for note in notes:
            print(f"   {note}")

    def run(self, label, command, answer, windows=None, variables=None):
        """One run. answer(output) is (what to show, a number or None), or None
        where the program gave no right answer. Returns the number."""
        report, words = None, command
        path = os.path.join(self.folder, "stats.json")
        if windows:
            words = [self.oriel, "run", f"--stats=json:{path}", "--windows", windows,
                     "--", *command]
        print(f"   {label:29}", end="", flush=True)
        result = run_command(words, self.options.limit, self.folder, variables)
        found = answer(result.output) if result.code == 0 else None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            os.unlink(path)
        print(f"{self.said(result, found):41}{served(report)}", flush=True)
        if windows and (not found or not report or not report["totals"]["redirected"]):
            self.faults.append(f"{label}: no right answer, or no read was redirected")
            print(tail(result.output))
        return found[1] if found else None

    @staticmethod
    def said(result, found):
        """What to show of a run."""
        if result.code is None:
            return f"no answer, stopped after {result.seconds:.0f} s"
        return found[0] if found else f"wrong answer, {result.seconds:.1f} s"


def served(report):
    """How many reads Oriel took."""
    if not report:
        return ""
    totals = report["totals"]
    return f"{totals['redirected']:,} of {totals['gets']:,} Gets redirected"


def times(slow, fast):
    """How many times faster, in words."""
    if not slow or not fast:
        return "-"
    return f"{slow / fast:.0f} times" if slow > 2 * fast else f"{slow / fast:.1f} times"


def show_nwchem(stage, number):
    """The energy of a water molecule. This and its siblings return a sentence for
    the end, empty where there is nothing to compare; None where left out."""
    mpi, program = Mpi("mpich", stage.options.build), shutil.which("nwchem.mpich")
    if mpi.missing() or not program:
        return None
    with open(os.path.join(stage.folder, "water.nw"), "w", encoding="utf-8") as file:
        file.write(apps_nwchem.INPUT)

    def answer(output):
        found = re.search(r"Total SCF energy\s*=\s*(-[\d.]+)", output)
        wall = re.search(r"wall:\s*([\d.]+)s\s*$", output, re.MULTILINE)
        if not found or abs(float(found[1]) - apps_nwchem.HARTREE) > 1e-6:
            return None
        return (f"{float(found[1]):.6f} Hartree, right"
                + (f", {wall[1]} s" if wall else "")), 1.0

    stage.title(number, "NWChem, the energy of a water molecule (MPICH, 2 ranks)",
                "MPICH 4.0.2 reads wrong bytes from windows that are not 16-byte aligned;",
                "those on Oriel's memory are aligned. The right answer is -75.983974.")
    command, atomic = mpi.command(2, [program, "water.nw"], ""), {"ARMCI_RMA_ATOMICITY": "0"}
    native = stage.run("natively", command, answer, variables=atomic)
    if stage.run("with Oriel", command, answer, "all", atomic) and not native:
        return "NWChem, which did not converge, finds the right energy."
    return "NWChem gives the same answer both ways."


def show_transpose(stage, number):
    """OpenCoarrays' test of a distributed transpose, as packaged."""
    mpi = Mpi("mpich", stage.options.build)
    program = glob.glob("/usr/lib/*/open-coarrays/mpich/bin/OpenCoarrays-*-tests/"
                        "coarray_distributed_transpose")
    if mpi.missing() or not program:
        return None

    def answer(output):
        found = re.search(r"test passed:\s+tran_time\s+([\d.]+)", output)
        return found and (f"right, {found[1]} s of transposing", float(found[1]))

    stage.title(number, "OpenCoarrays, transposing a distributed array (MPICH, 2 images)",
                "Each element is read by lock, Get, unlock. A native lock needs the other",
                "rank's help; where data changes only between barriers, Oriel may leave it out.")
    command = mpi.command(2, program[:1], "")
    native = stage.run("natively", command, answer)
    stage.run("with Oriel", command, answer, "all")
    fast = stage.run("with Oriel, access=fenced", command, answer, FENCED)
    if native and fast:
        return f"A transposition is {times(native, fast)} as fast."
    return f"A transposition that went wrong natively is right, in {fast} s."


def compiled_rows(stage, mpi):
    """The coarray program rows, compiled for this MPI; None without a compiler."""
    compiler = shutil.which(f"caf.{mpi.name}")
    if mpi.missing() or not compiler:
        return None
    out = os.path.join(stage.folder, f"rows-{mpi.name}")
    done = subprocess.run([compiler, "-O2", "-o", out, os.path.join(HERE, "rows.f90")],
                          cwd=stage.folder, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"   rows.f90 does not compile for {mpi.name}:\n{tail(done.stderr)}")
    return None if done.returncode else out


def show_busy(stage, number):
    """A coarray program that reads while the owner of the data computes."""
    mpi = Mpi("mpich", stage.options.build)
    program = compiled_rows(stage, mpi)
    if not program:
        return None

    def answer(output):
        found = re.search(r"wrong=0 us=([\d.]+) longest_ms=([\d.]+)", output)
        return found and (f"right, {float(found[1]):.2f} us a row, longest "
                          f"{float(found[2]):.1f} ms", float(found[2]))

    stage.title(number, "Coarrays, reading rows while their owner computes for 2 s (MPICH)",
                "The owner calls nothing meanwhile; a native lock waits until it does.")
    command = mpi.command(2, [program], "")
    native = stage.run("natively", command, answer)
    fast = stage.run("with Oriel, access=fenced", command, answer, FENCED)
    if native and fast:
        return f"A read from a busy owner took {native:.0f} ms and takes {fast:.1f} ms."
    return ""


def show_mpi4py(stage, number):
    """An mpi4py program that fetches random rows."""
    python, version, name = apps_mpi4py.find_python()
    if not python:
        return None
    mpi = Mpi(name, stage.options.build)
    if mpi.missing():
        return None

    def answer(output):
        found = re.search(r"wrong=0 us=([\d.]+)", output)
        return found and (f"right, {float(found[1]):.1f} us a row", float(found[1]))

    title = {"openmpi": "Open MPI", "mpich": "MPICH"}[name]
    stage.title(number, f"Python, fetching samples at random (mpi4py {version} on {title})",
                "As the loaders of training jobs do: lock, Get a row of 3 KB, unlock. Of each",
                "time some 2 us are Python's own.")
    command = mpi.command(2, [python, os.path.join(HERE, "rows.py")], "")
    native = stage.run("natively", command, answer)
    fast = stage.run("with Oriel, access=fenced", command, answer, FENCED)
    if native and fast:
        return f"A Python loader on {title} fetches samples {times(native, fast)} as fast."
    return ""


PARTS = ((show_nwchem, "NWChem on MPICH (Debian: nwchem-mpich)"),
         (show_transpose, "OpenCoarrays on MPICH (Debian: libcoarrays-mpich-dev)"),
         (show_busy, "coarrays on MPICH (Debian: libcoarrays-mpich-dev, gfortran)"),
         (show_mpi4py, "mpi4py (Debian: python3-mpi4py)"))


def conclude(stage, sentences):
    """The last lines."""
    command = os.path.relpath(stage.oriel)
    if stage.faults or not sentences:
        print("\nFAILED: " + ("; ".join(stage.faults) or "no program to show"))
        return 1
    print("\nIn short, without a change to any of these programs:")
    for sentence in sentences:
        print(f"  - {sentence}")
    print(f"Your own:  {command} run --stats -- mpirun -n 4 ./program\n"
          "At its end it prints how many reads were redirected, and why others were not.")
    return 0


def main():
    """All parts that can run here."""
    parser = argparse.ArgumentParser(description="Oriel beside the MPI library alone")
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--limit", type=float, default=60, help="seconds a run")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load average {load:.1f}"
          + (": other work disturbs these times" if load > 0.5 else ""))
    sentences, number = [], 1
    with tempfile.TemporaryDirectory(prefix="oriel-demo-") as folder:
        stage = Stage(options, folder)
        for show, what in PARTS:
            sentence = show(stage, number)
            if sentence is None:
                print(f"\nLeft out here: {what}")
                continue
            number += 1
            sentences += [sentence] if sentence else []
    return conclude(stage, sentences)


if __name__ == "__main__":
    sys.exit(main())
