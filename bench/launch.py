"""Starts the bench programs under an MPI, natively or with Oriel preloaded."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

TIMEOUT_S = 300
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
    """Standard output of a command that must succeed."""
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace",
                          env=environment) as process:
        try:
            out, err = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired as late:
            # Asked to end, mpiexec takes the ranks with it; killed, it might not.
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            raise Failed(f"no end after {TIMEOUT_S} s: {' '.join(command)}") from late
    if process.returncode:
        raise Failed(f"exit {process.returncode}: {' '.join(command)}\n"
                     + "\n".join((out + err).splitlines()[-12:]))
    return out


def _objects(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]
