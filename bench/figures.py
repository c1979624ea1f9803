#!/usr/bin/env python3
"""Measures every figure that Oriel is to reach and prints one table.

Builds nothing: it runs the programs of a build directory, natively and under the
preload, on this node. README.md beside this file says how to read the table.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys

import callgrind
import cases
import launch

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = {"case": 42, "size": 5, "process": 8, "noise": 6, "native": 8, "oriel": 8,
           "bare": 8, "/native": 7, "/bare": 7, "served": 14, "target": 28,
           "verdict": 0}
LEFT = {"case", "served", "target", "verdict"}


def first_line(command):
    """First line that a command prints, or '' if it cannot run."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=20,
                                check=False)
    except OSError:
        return ""
    return (result.stdout.splitlines() or [""])[0].strip()


def cpu_model():
    """The CPU's name as the kernel gives it."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        match = re.search(r"^model name\s*:\s*(.*)$", file.read(), re.MULTILINE)
    return match[1] if match else platform.machine()


def machine(build):
    """What the figures depend on, and what else was going on."""
    return {
        "host": platform.node(),
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "oriel": first_line([os.path.join(build, "bin", "oriel-bench"), "--version"]),
        "source": first_line(["git", "-C", HERE, "describe", "--always", "--dirty"]),
        "variables": {key: value for key, value in sorted(os.environ.items())
                      if key.startswith("ORIEL_")},
        "load_before": [round(x, 2) for x in os.getloadavg()],
    }


def size_text(size):
    """4096 as '4K'."""
    for shift, unit in ((20, "M"), (10, "K")):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def served_by(stats, gets):
    """How the layer's own counters say that the Gets were served."""
    if not stats:
        return "", "not loaded: it left no counters"
    ways, reasons = {}, {}
    for window in stats["windows"]:
        for table, key in ((ways, "engines"), (reasons, "native")):
            for name, n in window.get(key, {}).items():
                if n:
                    table[name] = table.get(name, 0) + n
    counted = sum(ways.values()) + sum(reasons.values())
    if counted != gets:
        return "", f"{counted} Gets counted of {gets} made"
    # Reads native for one reason in a thousand are the first of an epoch, or such.
    main = [f"{n}" for n, count in sorted(ways.items()) if count > gets / 1000]
    main += [n for n, count in sorted(reasons.items()) if count > gets / 1000]
    return "+".join(main), ""


def judge(targets, row):
    """'met', 'missed: ...' or 'near: ...': over the limit, but not surely so."""
    missed, near = [], []
    for target in targets:
        value = target.value(row)
        if value is None or value[0] <= target.limit:
            continue
        unit = " us" if target.what == "us" else f"x {target.what}"
        (near if value[1] <= target.limit else missed).append(f"{value[0]:.3g}{unit}")
    if missed:
        return "missed: " + ", ".join(missed + near)
    return "near: " + ", ".join(near) if near else "met"


def time_text(row, way):
    """Median of a way in microseconds."""
    if not row or way not in row["ways"]:
        return "-"
    return f"{row['ways'][way]['median_ns'] / 1e3:.4g}"


def ratio_text(row, way):
    """Paired ratio of Oriel to a way."""
    ratio = row and row["ratios"].get(f"mpi/{way}")
    return f"{ratio['paired']:.3f}" if ratio else "-"


class Table:
    """Rows as they come, on the terminal and for --json."""

    def __init__(self, columns=None):
        self.rows = []
        self.columns = columns or COLUMNS

    def line(self, cells):
        """Print one line."""
        texts = ((str(cells.get(c, "")), c, width)
                 for c, width in self.columns.items())
        print("  ".join(text.ljust(width) if c in LEFT else text.rjust(width)
                        for text, c, width in texts).rstrip(), flush=True)

    def head(self, mpi, library):
        """Start the part of one MPI."""
        print(f"\n{mpi}: {library}; times in us, medians")
        self.line({c: c for c in self.columns})

    def add(self, cells, record):
        """One row: what is shown, and what --json gets besides."""
        self.line(cells)
        self.rows.append({**record, "verdict": cells["verdict"],
                          "served": cells["served"], "target": cells["target"]})


def find_row(objects, size):
    """The measured row of a size, or None."""
    return next((o for o in objects if o.get("bytes") == size), None)


def note_of(objects, name):
    """A note that the program printed, or ''."""
    return next((o[name] for o in objects if name in o), "")


def disturbed(targets, row, alone):
    """Whether the native reads of a run were slower than they are in a process alone:
    a target that lost its core answers late, and any ratio to that flatters Oriel."""
    native = row["ways"]["native"]["median_ns"]
    reference = alone["ways"]["native"]["median_ns"]
    slow = native > cases.DISTURBED * reference
    return slow and any(target.what == "native" for target in targets)


def verdict_of(case, mpi, row, alone, served, wrong):
    """Met or missed, or why the row proves nothing."""
    if row is None:
        return "layer not built"
    wanted = case.of(case.served, mpi)
    if wanted and wrong:
        return f"void: {wrong}"
    if wanted == "already-mapped" and served != wanted:
        return f"void: served as {served}"
    if wanted == "redirected" and served not in ("cma", "mapped", "self"):
        return f"missed: native, {served}"
    targets = case.of(case.targets, mpi)
    verdict = judge(targets, row) if targets else "-"
    if not verdict.startswith("missed") and disturbed(targets, row, alone):
        return "disturbed: native is faster alone"
    return verdict


def run_case(case, launcher, options, table):
    """All sizes of one case."""
    sizes = [s for s in case.sizes.split(",")
             if not options.quick or s in cases.QUICK_SIZES]
    arguments = [*case.arguments, "-m", ",".join(sizes or [case.sizes]),
                 "-t", str(options.seconds)]
    process, _ = launcher.run(arguments, layer=False)
    objects, stats = [], None
    if launcher.has_layer():
        objects, stats = launcher.run(arguments, layer=True)
    served, wrong = served_by(stats, note_of(objects, "gets"))
    if not case.of(case.served, launcher.mpi):
        served = ""
    targets = case.of(case.targets, launcher.mpi)
    for size in (o["bytes"] for o in process if "bytes" in o):
        alone, row = find_row(process, size), find_row(objects, size)
        cells = {
            "case": case.title, "size": size_text(size),
            "process": time_text(alone, "mpi"), "noise": ratio_text(alone, "native"),
            "native": time_text(row, "native"),
            "oriel": time_text(row, "mpi"), "bare": time_text(row or alone, "bare"),
            "/native": ratio_text(row, "native"), "/bare": ratio_text(row, "bare"),
            "served": served, "target": ", ".join(t.text for t in targets),
            "verdict": verdict_of(case, launcher.mpi, row, alone, served, wrong),
        }
        table.add(cells, {"mpi": launcher.mpi, "case": case.name, "bytes": size,
                          "bare": note_of(objects or process, "bare"),
                          "process": alone, "run": row})


def count_row(situation, op, calls, alone, layered):
    """Cells and record for one call, counted without and with the layer."""
    target = f"<= {cases.COUNT_LIMIT} added"
    if situation == "alone":
        target += ", no look-up"
    native = alone.total() / calls
    cells = {"case": f"unannotated {op}, {situation}", "size": "instr",
             "process": f"{native:.0f}",
             "target": target, "verdict": "layer not built"}
    record = {"case": cases.COUNT_NAME, "op": op, "situation": situation,
              "calls": calls, "native": native}
    if layered:
        added = layered.added() / calls
        look_ups = layered.look_ups() if situation == "alone" else []
        bad = added > cases.COUNT_LIMIT or look_ups
        cells["oriel"] = f"+{added:.4g}"
        cells["verdict"] = ", ".join(
            [f"missed: {added:.4g} added" if bad else "met", *look_ups])
        record.update(added=added, total_difference=layered.total() / calls - native,
                      functions=layered.functions(), look_ups=look_ups)
    return cells, record


def run_counts(launcher, options, table):
    """Instructions added to calls on a window that nobody annotated: alone in its
    process, and beside a window that is redirected."""
    if not shutil.which("valgrind"):
        print("overhead: skipped, there is no valgrind")
        return
    calls = ["-n", "50" if options.quick else "200"]
    alone = launcher.count(calls, False, callgrind.read)
    for situation, more in (("alone", []), ("beside", ["--beside"])):
        layered = [None] * len(alone)
        if launcher.has_layer():
            counted = launcher.count(calls + more, True, callgrind.read)
            layered = [profile for _, _, profile in counted]
        for (op, n, profile), with_layer in zip(alone, layered):
            cells, record = count_row(situation, op, n, profile, with_layer)
            cells.setdefault("served", "")
            table.add(cells, {"mpi": launcher.mpi, **record})


def run_mpi(launcher, options, table):
    """Everything for one MPI. Returns the number of cases that failed to run."""
    objects, _ = launcher.run(["win_create", "-n", "1", "-m", "8"], layer=False)
    table.head(launcher.mpi, note_of(objects, "library"))
    failed = 0
    chosen = [c for c in cases.CASES if re.search(options.only, c.name)]
    for case in chosen:
        try:
            run_case(case, launcher, options, table)
        except launch.Failed as error:
            failed += 1
            print(f"{case.title}: FAILED: {error}", flush=True)
    if re.search(options.only, cases.COUNT_NAME):
        try:
            run_counts(launcher, options, table)
        except launch.Failed as error:
            failed += 1
            print(f"overhead: FAILED: {error}", flush=True)
    return failed


def parse(description, names):
    """The command line."""
    parser = argparse.ArgumentParser(description=description,
                                     epilog="cases: " + ", ".join(names))
    parser.add_argument("mpi", nargs="*", metavar="mpich|openmpi",
                        help="which MPI (default: all that were built)")
    parser.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build"),
                        help="build directory (default: build)")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases to run")
    parser.add_argument("--seconds", type=float, default=0.6,
                        help="time for each row (default: 0.6)")
    parser.add_argument("--quick", action="store_true",
                        help="fewer sizes, 0.15 s a row: to see that it runs")
    parser.add_argument("--json", metavar="FILE", help="also write all of it as JSON")
    parser.add_argument("--strict", action="store_true",
                        help="exit with 1 when a figure is missed")
    options = parser.parse_args()
    wrong = [mpi for mpi in options.mpi if mpi not in launch.MPIS]
    if wrong:
        parser.error(f"'{wrong[0]}' is not one of {', '.join(launch.MPIS)}")
    if options.quick:
        options.seconds = min(options.seconds, 0.15)
    options.build = os.path.abspath(options.build)
    return options


def run_all(options, tables, run_one):
    """Run, print, write; returns the exit code. run_one(launcher) fills the tables for
    one MPI and returns the number of cases that failed to run."""
    wanted = options.mpi or launch.MPIS
    launchers = [launch.Launcher(mpi, options.build) for mpi in wanted]
    ready = [one for one in launchers if not one.missing()]
    for one in launchers:
        if one.missing() and (options.mpi or not ready):
            print(f"{one.mpi}: {one.missing()} is not there; build first, or give "
                  "--build DIR", file=sys.stderr)
    if not ready or (options.mpi and len(ready) < len(launchers)):
        return 2
    about = machine(options.build)
    print(", ".join(f"{key} {value}" for key, value in about.items() if value))
    if about["load_before"][0] > 0.5:
        print("The machine is not idle: these figures are not final.")
    failed = sum(run_one(one) for one in ready)
    about["load_after"] = [round(x, 2) for x in os.getloadavg()]
    rows = [row for table in tables for row in table.rows]
    verdicts = [row["verdict"].partition(":")[0] for row in rows]
    print(f"\nload after {about['load_after']}; " + ", ".join(
        f"{verdicts.count(v)} {v}" for v in sorted(set(verdicts) - {"-"})))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": about, "rows": rows}, file, indent=1)
            file.write("\n")
    bad = "void" in verdicts or (options.strict and "missed" in verdicts)
    return 1 if failed or bad else 0


def main():
    """All cases; returns the exit code."""
    names = [*(case.name for case in cases.CASES), cases.COUNT_NAME]
    options = parse("Measure the figures that Oriel is to reach, in one run.", names)
    table = Table()
    return run_all(options, [table], lambda one: run_mpi(one, options, table))


if __name__ == "__main__":
    sys.exit(main())
