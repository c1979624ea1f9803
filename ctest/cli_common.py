"""What the tests of the `oriel` command share."""

import os
import subprocess
import sys
import tempfile

TOP = os.environ.get("ORIEL_TEST_SOURCE",
                     os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("ORIEL_TEST_BUILD", os.path.join(TOP, "build"))
ORIEL = os.path.join(BUILD, "bin", "oriel")
MPIS = os.environ.get("ORIEL_TEST_MPIS", "mpich openmpi").split()
SANITIZE = os.environ.get("ORIEL_TEST_SANITIZE", "")
RUNTIME = os.environ.get("ORIEL_TEST_RUNTIME", "") if SANITIZE else ""

checks = 0
failures = 0


def check(truth, sentence, *seen):
    """One assertion; seen is shown when it does not hold."""
    global checks, failures
    checks += 1
    if not truth:
        failures += 1
        print(f"not so: {sentence}", file=sys.stderr)
        for item in seen:
            print("    " + str(item).rstrip().replace("\n", "\n    "), file=sys.stderr)
    return truth


def finish():
    print(f"{checks} checks, {failures} failed")
    sys.exit(1 if failures or not checks else 0)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def clean_env(**more):
    """This environment without ORIEL_ variables and launchers' traces."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("ORIEL_", "OMPI_", "PMI", "SLURM_", "LD_PRELOAD"))}
    env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    env["ASAN_OPTIONS"] = "detect_leaks=0:verify_asan_link_order=0"
    env.update(more)
    return env


class Done:
    """What a command printed, and its exit code."""

    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    def __str__(self):
        return f"exit code {self.code}\n{self.out}\n{self.err}"


def run(*command, env=None, cwd=None, timeout=100):
    done = subprocess.run([str(word) for word in command], env=env or clean_env(),
                          cwd=cwd, timeout=timeout, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    return Done(done)


def oriel(*words, **more):
    return run(ORIEL, *words, **more)


class Folder(tempfile.TemporaryDirectory):
    """A folder for one test, gone at its end."""

    def script(self, name, text):
        """An executable shell script; its path."""
        path = os.path.join(self.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(path, 0o755)
        return path
