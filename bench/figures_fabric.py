#!/usr/bin/env python3
"""Measures reads over fabrics, on one machine, and prints them with their limits.

Builds nothing, like figures.py, whose options it has. The engines are ofi over TCP and
ucx over TCP; the MPI library below uses TCP as well, as between two nodes.
"""

import re
import statistics
import sys
from dataclasses import dataclass

import figures
import launch
from cases import Target

RXM = "tcp;ofi_rxm"
FIRST_READS, COMPUTATIONS, IDLE_S, BUSY_S = 5, 7, 60, 3
IDLE_MOST, SLOWER_MOST = 0.01, 0.03

COLUMNS = {"case": 44, "size": 5, "native": 9, "oriel": 9, "bare": 9, "/native": 7,
           "/bare": 7, "served": 7, "target": 30, "verdict": 0}
BUSY_COLUMNS = {"case": 20, "size": 5, "idle": 8, "99 %": 8, "busy": 8, "busy 99 %": 9,
                "slowest": 8, "native": 8, "served": 7, "target": 12, "verdict": 0}


@dataclass(frozen=True)
class Way:
    """One engine, how it is asked for, and its bare loop."""

    name: str
    offload: str
    bare: str = ""
    fabric: str = ""

    def arguments(self):
        """For the bench program."""
        return ["-o", self.offload] + (["--bare", self.bare] if self.bare else [])

    def variables(self):
        """For the environment."""
        return {"ORIEL_FABRIC": self.fabric} if self.fabric else {}


OFI_RXM = Way("ofi rxm", "ofi", f"ofi:{RXM}", RXM)
OFI_TCP = Way("ofi tcp", "ofi", "ofi:tcp", "tcp")
UCX = Way("ucx", "ucx", "ucx")
NODE = Way("node", "node")

NEAR_BARE = Target("bare", 1.1, "<= 1.10x bare")
NOT_SLOWER = Target("native", 1.0, "<= 1.00x native")
CHEAPER = Target("single", 1 / 5, ">= 5x cheaper than single")


class Bench:
    """One MPI."""

    def __init__(self, launcher, options, table, busy):
        self.launcher = launcher
        self.options = options
        self.table = table
        self.busy = busy

    def run(self, test, way, arguments, access="general", bound=True):
        """One program with the layer. Returns (objects, engine that served, why the
        row proves nothing)."""
        # Open MPI's locks over TCP are messages to the target; a fenced window's reads
        # do without them, and else no read is redirected that such a lock waits for.
        if self.launcher.mpi == "openmpi":
            access = "fenced"
        words = [test, "-k", "create", "-a", access, *way.arguments(), *arguments]
        objects, stats = self.launcher.run(words, True, way.variables(), True, bound)
        served, wrong = figures.served_by(stats, figures.note_of(objects, "gets"))
        wanted = "cma" if way is NODE else way.offload
        if not wrong and served != wanted:
            wrong = f"served as {served}"
        return objects, served, wrong

    def add(self, case, way, size, row, cells, targets, served, wrong):
        """A row of the table for one that the program printed."""
        verdict = f"void: {wrong}" if wrong else figures.judge(targets, row)
        if not targets and not wrong:
            verdict = "-"
        self.table.add(
            {"case": f"{case}, {way.name}", "size": figures.size_text(size),
             "served": served, "target": ", ".join(t.text for t in targets),
             "verdict": verdict, **cells},
            {"mpi": self.launcher.mpi, "case": case, "way": way.name, "bytes": size,
             "run": row})

    def latency(self, way):
        """Get and flush, beside the bare loop and native reads over TCP."""
        objects, served, wrong = self.run(
            "get_fabric", way, ["-m", "8,1M,4M", "-t", str(self.options.seconds)])
        if way is OFI_TCP and figures.note_of(objects, "bare") == RXM:
            return  # the same once more
        for row in (o for o in objects if "bytes" in o):
            targets = [NEAR_BARE]
            if self.launcher.mpi == "mpich" and row["bytes"] == 8 and way is not UCX:
                targets.append(NOT_SLOWER)
            cells = {name: figures.time_text(row, way_name)
                     for name, way_name in (("native", "native"), ("oriel", "mpi"),
                                            ("bare", "bare"))}
            cells |= {f"/{name}": figures.ratio_text(row, name)
                      for name in ("native", "bare")}
            self.add("Get+flush", way, row["bytes"], row, cells, targets, served, wrong)

    def together(self, way):
        """Many Gets and one flush; 'native' is one by one here."""
        objects, served, wrong = self.run(
            "get_together", way, ["-m", "3K", "-t", str(self.options.seconds)])
        row = figures.find_row(objects, 3072)
        single = row["ratios"]["mpi/single"]["paired"]
        cells = {"native": figures.time_text(row, "single"),
                 "oriel": figures.time_text(row, "mpi"),
                 "bare": figures.time_text(row, "bare"), "/native": f"{single:.3f}",
                 "/bare": figures.ratio_text(row, "bare")}
        targets = [CHEAPER] if way is not UCX else []
        self.add("1000 Gets, 1 flush; native: 1 by 1", way, 3072, row, cells, targets,
                 served, wrong)

    def first(self, way):
        """The first read of a process, which connects."""
        runs = []
        for _ in range(1 if self.options.quick else FIRST_READS):
            objects, served, wrong = self.run("get_first", way, ["-m", "8"], "fenced")
            runs.append(figures.find_row(objects, 8))
        times = {name: statistics.median(run[f"{name}_ns"] for run in runs) / 1e3
                 for name in ("first", "bare")}
        row = {"ways": {"mpi": {"median_ns": times["first"] * 1e3}}, "ratios": {},
               "runs": runs}
        target = Target("us", 20000, "<= 20 ms")
        self.add("first read", way, 8, row,
                 {"oriel": f"{times['first']:.0f}", "bare": f"{times['bare']:.0f}"},
                 [target] if way is not UCX else [], served, wrong)

    def target_busy(self, way):
        """Reads of a target that computes."""
        objects, served, wrong = self.run(
            "get_busy", way, ["-m", "8,1M", "-t", str(self.options.busy)])
        for row in (o for o in objects if "bytes" in o):
            idle, busy = row["idle"], row["busy"]
            bad = [text for text, value, limit in (
                ("median", busy["p50_ns"], 2 * idle["p50_ns"]),
                ("99 %", busy["p99_ns"], 2 * idle["p99_ns"] + 1e7),
                ("slowest", busy["max_ns"], 1e8)) if value > limit]
            verdict = "missed: " + ", ".join(bad) if bad else "met"
            cells = {"case": f"busy target, {way.name}",
                     "size": figures.size_text(row["bytes"]),
                     "idle": f"{idle['p50_ns'] / 1e3:.4g}",
                     "99 %": f"{idle['p99_ns'] / 1e3:.4g}",
                     "busy": f"{busy['p50_ns'] / 1e3:.4g}",
                     "busy 99 %": f"{busy['p99_ns'] / 1e3:.4g}",
                     "slowest": f"{busy['max_ns'] / 1e3:.4g}",
                     "native": f"{row['native_ns'] / 1e9:.2f} s",
                     "served": served, "target": "see README",
                     "verdict": f"void: {wrong}" if wrong else verdict}
            self.busy.add(cells, {"mpi": self.launcher.mpi, "case": "busy",
                                  "way": way.name, "run": row})

    def idle(self, way):
        """The service thread at rest, and a computation on every core beside it."""
        way = Way(way.name, way.offload, "", way.fabric)
        times = [10] if self.options.quick else [IDLE_S] + [4] * COMPUTATIONS
        runs = []
        for seconds in times:
            objects, served, wrong = self.run("idle", way, ["-t", str(seconds)],
                                              bound=False)
            runs.append(next(o for o in objects if "share" in o))
        row = {"share": runs[0]["share"], "slower": statistics.median(
            run["before"] / run["after"] - 1 for run in runs[-COMPUTATIONS:])}
        for case, value, limit in (
                ("idle thread, of a core", row["share"], IDLE_MOST),
                ("slower computation", row["slower"], SLOWER_MOST)):
            verdict = "met" if value < limit else f"missed: {100 * value:.2f} %"
            if row["share"] < 0:
                verdict = "void: no service thread was found"
            self.table.add(
                {"case": f"{case}, {way.name}", "oriel": f"{100 * value:.3f} %",
                 "served": served, "target": f"< {100 * limit:.0f} %",
                 "verdict": f"void: {wrong}" if wrong else verdict},
                {"mpi": self.launcher.mpi, "case": case, "way": way.name, "run": row})


CASES = {
    "latency": (Bench.latency, [OFI_RXM, OFI_TCP, UCX]),
    "together": (Bench.together, [OFI_RXM, UCX]),
    "first": (Bench.first, [OFI_RXM, UCX]),
    "idle": (Bench.idle, [OFI_RXM, UCX]),
    "busy": (Bench.target_busy, [OFI_RXM, UCX, NODE]),
}


def run_mpi(launcher, options, table, busy):
    """Everything for one MPI. Returns the number of cases that failed to run."""
    if not launcher.has_layer():
        print(f"{launcher.mpi}: the layer is not built", flush=True)
        return 1
    bench = Bench(launcher, options, table, busy)
    objects, _ = launcher.run(["win_create", "-n", "1", "-m", "8"], False, None, True)
    failed = 0
    head = table
    library = figures.note_of(objects, "library")
    for name, (case, ways) in CASES.items():
        if not re.search(options.only, name):
            continue
        if head is table or name == "busy":
            (busy if name == "busy" else table).head(launcher.mpi, library)
            head = None
        for way in ways:
            try:
                case(bench, way)
            except launch.Failed as error:
                absent = "was built without it" in str(error)
                failed += not absent
                print(f"{name}, {way.name}: " +
                      ("not built" if absent else f"FAILED: {error}"), flush=True)
    return failed


def main():
    """All cases; returns the exit code."""
    options = figures.parse("Measure reads over fabrics, on one machine.", CASES)
    options.busy = min(BUSY_S, 10 * options.seconds) if options.quick else BUSY_S
    table, busy = figures.Table(COLUMNS), figures.Table(BUSY_COLUMNS)
    return figures.run_all(options, [table, busy],
                           lambda one: run_mpi(one, options, table, busy))


if __name__ == "__main__":
    sys.exit(main())
