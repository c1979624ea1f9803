"""Runs MPI programs that nobody here wrote, natively and with Oriel preloaded."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MPIS = ("mpich", "openmpi")
SKIP = 77
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclasses.dataclass
class Result:
    """How a run ended."""
    code: int | None  # None: did not end in time and was stopped
    output: str  # both streams
    seconds: float


class Mpi:
    """One MPI: its launcher, and Oriel's layer for it in a build directory."""

    def __init__(self, name, build=None):
        build = build or os.environ.get("ORIEL_TEST_BUILD", "build")
        given = os.environ.get(f"ORIEL_TEST_MPIEXEC_{name}")
        self.name = name
        self.launcher = given or shutil.which(f"mpiexec.{name}")
        self.layer = os.path.join(os.path.abspath(build), "lib",
                                  f"liboriel-pmpi-{name}.so")

    def missing(self, native_only=False):
        """What is not there to run programs; empty if nothing."""
        if os.environ.get("ORIEL_TEST_SANITIZE"):
            return "a build without sanitizers"
        if not self.launcher:
            return f"mpiexec.{self.name}"
        return "" if native_only or os.path.exists(self.layer) else self.layer

    def command(self, ranks, argv, preload):
        """mpiexec for argv; what is preloaded is preloaded in the ranks only."""
        if self.name == "openmpi":
            words = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
            # Where ranks outnumber cores, those that wait must give way.
            many = ranks > len(os.sched_getaffinity(0))
            words += ["--mca", "mpi_yield_when_idle", "1"] if many else []
            words += ["-x", f"LD_PRELOAD={preload}"] if preload else []
        else:
            words = ["-genv", "LD_PRELOAD", preload] if preload else []
        return [self.launcher, *words, "-n", str(ranks), *argv]

    def run(self, ranks, argv, limit_s, cwd, variables=None, preload=""):
        """Run argv on so many ranks; stops it after limit_s."""
        return run_command(self.command(ranks, argv, preload), limit_s, cwd, variables)

    def run_oriel(self, ranks, argv, limit_s, cwd, variables=None, preload=""):
        """The same under Oriel, all windows served. Returns (Result, report or
        None): the report is None where the program never came to finalize."""
        with tempfile.TemporaryDirectory(prefix="oriel-apps-") as folder:
            path = os.path.join(folder, "stats.json")
            env = {"ORIEL_WINDOWS": "all", "ORIEL_STATS": f"json:{path}",
                   "ORIEL_STATS_SAMPLE": "0", **(variables or {})}
            both = f"{self.layer}:{preload}" if preload else self.layer
            result = self.run(ranks, argv, limit_s, cwd, env, both)
            if not os.path.exists(path):
                return result, None
            with open(path, encoding="utf-8") as file:
                return result, json.load(file)


def run_command(words, limit_s, cwd, variables=None):
    """Run a command without the caller's ORIEL_ variables. Returns a Result."""
    env = {k: v for k, v in os.environ.items()
           if k != "LD_PRELOAD" and not k.startswith("ORIEL_")}
    env.update(variables or {})
    start = time.monotonic()
    with tempfile.TemporaryFile() as file:
        with subprocess.Popen(words, env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                              stdout=file, stderr=subprocess.STDOUT) as process:
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
                stop(process)
        seconds = time.monotonic() - start
        file.seek(0)
        return Result(code, file.read().decode(errors="replace"), seconds)


def descendants(pid):
    """pid and all processes below it, as /proc shows them now."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8",
                          errors="replace") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue  # ended meanwhile
            children.setdefault(parent, []).append(int(entry))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def stop(process):
    """End a launcher and its ranks: asked first, then made to. Ranks have process
    groups of their own, so the launcher's group would not reach them."""
    below = descendants(process.pid)[1:]
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
    for pid in below:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def redirected(report):
    """Reads that Oriel served, or found served by a native mapping already."""
    return report["totals"]["redirected"] + sum(
        window["native"].get("already-mapped", 0) for window in report["windows"])


def report_faults(report):
    """What does not add up in a report; empty if all does."""
    totals, faults = report["totals"], []
    if totals["gets"] != totals["redirected"] + totals["native"]:
        faults.append(f"gets are not redirected + native: {totals}")
    for window in report["windows"]:
        native = sum(window["native"].values())
        served = sum(window["engines"].values())
        if (window["gets"], window["redirected"]) != (served + native, served):
            faults.append(f"window {window['index']} does not add up: {window}")
    for key in ("gets", "redirected"):
        if totals[key] != sum(window[key] for window in report["windows"]):
            faults.append(f"{key}: the windows' sum is not the total")
    return faults


def skip(reason):
    """End this test as skipped."""
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def tail(text, lines=6):
    """The end of an output, indented, for a message."""
    return "\n".join("    | " + line for line in text.rstrip().splitlines()[-lines:])
