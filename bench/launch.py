"""Starts the bench programs under an MPI, natively or with Oriel preloaded."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading

TIMEOUT_S, END_S = 300, 20
LAST = '{"gets"'  # what the program prints last
MPIS = ("mpich", "openmpi")
# UCX is MPICH's way here, and an engine's.
NETWORK = {"UCX_TLS": "tcp,self"}
OPENMPI_NETWORK = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "osc",
                   "^ucx"]


class Failed(Exception):
    """A program did not end well; the text says how."""


class Launcher:
    """One MPI and one build directory."""

    def __init__(self, mpi, build):
        self.mpi = mpi
        self.program = os.path.join(build, "bin", f"oriel-bench-{mpi}")
        self.layer = os.path.join(build, "lib", f"liboriel-pmpi-{mpi}.so")
        self.mpiexec = _cached(build, f"ORIEL_{mpi}_MPIEXEC") or shutil.which(
            f"mpiexec.{mpi}")

    def missing(self):
        """What is not there to run natively; empty if nothing."""
        if not os.path.exists(self.program):
            return self.program
        return "" if self.mpiexec else f"mpiexec.{self.mpi}"

    def has_layer(self):
        """Whether the layer of this MPI was built."""
        return os.path.exists(self.layer)

    def _command(self, contexts, variables, network=False, bound=True):
        """mpiexec for one rank of each command in contexts."""
        pairs = sorted(variables.items())
        if len(os.sched_getaffinity(0)) == 1:
            bound = False
        bind = ["--bind-to", "core" if bound else "none"]
        if self.mpi == "openmpi":
            front = ["--allow-run-as-root", "--oversubscribe", *bind]
            if network:
                front += OPENMPI_NETWORK
            each = [word for key, value in pairs for word in ("-x", f"{key}={value}")]
        else:
            front = bind + [w for key, value in pairs for w in ("-genv", key, value)]
            each = []
        words = [self.mpiexec, *front]
        for i, context in enumerate(contexts):
            words += [":"] * (i > 0) + ["-n", "1", *each, *context]
        return words

    def _variables(self, layer, folder):
        if not layer:
            return {}
        return {
            "LD_PRELOAD": self.layer,
            "ORIEL_STATS": f"json:{os.path.join(folder, 'stats.json')}",
            # Counting is on, timing of samples is not: that would show in the figures.
            "ORIEL_STATS_SAMPLE": "0",
        }

    def run(self, arguments, layer, more=None, network=False, bound=True):
        """Returns (objects that rank 0 printed, counters of the layer or None).

        more: variables. network: the MPI library uses TCP, as between two nodes.
        bound: each rank has a core of its own."""
        with tempfile.TemporaryDirectory(prefix="oriel-bench-") as folder:
            variables = self._variables(layer, folder) | (more or {})
            if network:
                variables |= NETWORK
            context = [self.program, "--json", *arguments]
            objects = _objects(_output(
                self._command([context] * 2, variables, network, bound)))
            stats = None
            path = os.path.join(folder, "stats.json")
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    stats = json.load(file)
            return objects, stats

    def count(self, arguments, layer, read):
        """Run rank 0 under callgrind. Returns [(op, calls, profile)], where profile
        is what read(path) made of that op's dump."""
        with tempfile.TemporaryDirectory(prefix="oriel-bench-") as folder:
            out = os.path.join(folder, "callgrind.out")
            plain = [self.program, "--json", "overhead", *arguments]
            tool = ["valgrind", "--tool=callgrind", "--toggle-collect=count_*",
                    "--dump-after=phase_run*", f"--callgrind-out-file={out}"]
            variables = self._variables(layer, folder)
            variables.pop("ORIEL_STATS", None)
            text = _output(self._command([tool + plain, plain], variables))
            ops = [item for entry in _objects(text) for item in entry.items()
                   if item[0].startswith("MPI_")]
            return [(op, calls, read(f"{out}.{i}"))
                    for i, (op, calls) in enumerate(ops, 1)]


def _cached(build, name):
    """The value of a variable in the build's CMake cache, or None."""
    try:
        with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
            match = re.search(rf"^{name}:\w+=(.*)$", file.read(), re.MULTILINE)
    except OSError:
        return None
    found = match and match[1]
    return found if found and not found.endswith("-NOTFOUND") else None


def _output(command):
    """Standard output of a command that must succeed. One that has printed all, and
    then does not come to an end, has: MPI_Finalize of MPICH 4.0.2 over UCX's tcp hangs
    now and then, without Oriel as well (1 of 40)."""
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    lines, late = [], threading.Event()
    with tempfile.TemporaryFile("w+", errors="replace") as errors, subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
            text=True, errors="replace", env=environment) as process:

        def end():
            """Asked to end, mpiexec takes the ranks with it; killed, it might not."""
            late.set()
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()

        timer = threading.Timer(TIMEOUT_S, end)
        timer.start()
        for line in process.stdout:
            lines.append(line)
            if line.startswith(LAST):
                timer.cancel()
                timer = threading.Timer(END_S, end)
                timer.start()
        process.wait()
        timer.cancel()
        errors.seek(0)
        text = "".join(lines)
        if late.is_set() and not any(line.startswith(LAST) for line in lines):
            raise Failed(f"no end after {TIMEOUT_S} s: {' '.join(command)}")
        if process.returncode and not late.is_set():
            raise Failed(f"exit {process.returncode}: {' '.join(command)}\n" +
                         "\n".join((text + errors.read()).splitlines()[-12:]))
    return text


def _objects(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]
