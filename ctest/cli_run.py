"""cli.run.<mpi>: `oriel run` and `oriel exec` with a real launcher and program."""

import json
import os
import sys

from cli_common import Folder, MPIS, ORIEL, RUNTIME, SANITIZE, TOP, check, clean_env
from cli_common import finish, oriel, run, skip

GETS = 1000
MPI = sys.argv[1]
TITLE = {"mpich": "MPICH", "openmpi": "Open MPI"}
LAUNCHER = os.environ.get(f"ORIEL_TEST_MPIEXEC_{MPI}", f"mpiexec.{MPI}")
EXTRA = ["--oversubscribe"] if MPI == "openmpi" else []


def env(**more):
    """A sanitizer's runtime must already be there when the layer is loaded."""
    if RUNTIME:
        more.setdefault("LD_PRELOAD", RUNTIME)
    return clean_env(**more)


def launch(n, *command):
    return [LAUNCHER, *EXTRA, "-n", n, *command]


def ranks_of(done):
    return sorted(line for line in done.out.splitlines() if line.startswith("rank "))


def expected(n, preloaded="preloaded"):
    return [f"rank {i} of {n}: 0 bad, {preloaded}" for i in range(n)]


def check_stats(path, n, what):
    try:
        with open(path, encoding="utf-8") as file:
            totals = json.load(file)["totals"]
    except (OSError, ValueError) as error:
        check(False, f"{what}: there are counters", error)
        return
    check(totals["gets"] == n * GETS and totals["redirected"] == n * GETS,
          f"{what}: every read was redirected", totals)
    os.remove(path)


def test_run(folder, program):
    stats = os.path.join(folder, "stats.json")
    done = oriel("run", f"--stats=json:{stats}", "--", *launch(2, program), env=env())
    check(done.code == 0 and ranks_of(done) == expected(2), "two ranks read", done)
    check_stats(stats, 2, "run")
    done = oriel("run", "--stats=json:stats.json", "--", *launch(2, program), env=env(),
                 cwd=folder)
    check(done.code == 0, "a relative path works", done)
    check_stats(stats, 2, "relative path")
    done = oriel("run", "--stats", "--", *launch(1, program), ":", "-n", 1, program,
                 env=env())
    check(done.code == 0 and ranks_of(done) == expected(2) and
          "redirected" in done.err, "two parts are one job", done)
    done = oriel("run", "--windows", "none", f"--stats=json:{stats}", "--",
                 *launch(2, program), env=env())
    check(done.code == 0 and ranks_of(done) == expected(2), "none is none", done)
    if os.path.exists(stats):
        with open(stats, encoding="utf-8") as file:
            check(json.load(file)["totals"]["redirected"] == 0, "none is redirected")
        os.remove(stats)
    done = oriel("run", "--", *launch(2, program, "fail"), env=env())
    check(done.code == 3, "the ranks' exit code is ours", done)
    done = oriel("run", "-v", "--", *launch(2, program), env=env())
    check(TITLE[MPI] in done.err and f"liboriel-pmpi-{MPI}.so" in done.err,
          "-v says what was chosen", done)


def test_exec(folder, program):
    stats = os.path.join(folder, "stats.json")
    option = f"--stats=json:{stats}"
    done = run(*launch(2, ORIEL, "exec", option, "--", program), env=env())
    check(done.code == 0 and ranks_of(done) == expected(2), "exec in each rank", done)
    check_stats(stats, 2, "exec")
    lean = {k: v for k, v in env().items() if k.startswith(("OMPI_", "ASAN", "LD_"))}
    lean["PATH"] = "/usr/bin:/bin"
    done = run("/usr/bin/env", "-i", *[f"{k}={v}" for k, v in lean.items()],
               *launch(2, ORIEL, "exec", option, "--", program), env=env())
    check(done.code == 0 and ranks_of(done) == expected(2), "behind env -i", done)
    check_stats(stats, 2, "env -i")
    done = oriel("run", option, "--", "env", "-u", "FOO", *launch(2, program),
                 env=env())
    check(done.code == 0 and ranks_of(done) == expected(2), "run with env", done)
    check_stats(stats, 2, "run with env")
    if MPI == "mpich":  # Open MPI 4.1.4 makes no windows in a world of one process
        done = oriel("run", option, "--", program, env=env())
        check(done.code == 0 and ranks_of(done) == expected(1), "no launcher", done)
        check_stats(stats, 1, "without launcher")


def test_choice(folder, program):
    """Where the program is found, and what is said when it is not."""
    preload = f"liboriel-pmpi-{MPI}.so"
    for words in (["nice", "-n", "1", program], ["env", "A=b", program]):
        done = oriel("run", "--print", "--", "sh", "-c", "x", *words)
        check(done.code == 0 and preload in done.out,
              f"the program behind {words[0]} decides", done)
    done = oriel("run", "--print", "--", *launch(2, "sh", "script"))
    check(done.code == 0 and preload in done.out, "for a script the launcher decides",
          done)
    done = oriel("run", "--print", "--mpi", MPI, "--", "sh", "script")
    check(done.code == 0 and preload in done.out, "--mpi decides", done)
    if len(MPIS) > 1:
        done = oriel("run", "--print", "--", "sh", "script")
        check(done.code == 2 and "--mpi mpich" in done.err, "else it is asked for",
              done)
        other = next(m for m in MPIS if m != MPI)
        launcher = os.environ.get(f"ORIEL_TEST_MPIEXEC_{other}", f"mpiexec.{other}")
        done = oriel("run", "--print", "--", launcher, "-n", "2", program)
        check(f"is {TITLE[other]}'s" in done.err and preload in done.out,
              "the other MPI's launcher is warned of", done)
    static = os.path.join(folder, "static")
    with open(static + ".c", "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    compiler = os.environ.get("ORIEL_TEST_CC", "cc")
    if run(compiler, "-static", "-o", static, static + ".c").code == 0:
        done = oriel("run", "--print", "--", *launch(2, static))
        check("linked statically" in done.err, "a static program is warned of", done)


def test_launcher_alone(folder):
    """Where the launcher has options for variables, it is not preloaded itself."""
    script = FOLDER.script("sh-program", 'echo "rank $LD_PRELOAD"; '
                           'tr "\\0" "\\n" < /proc/$PPID/environ | grep ORIEL_ | '
                           'sed "s/^/parent /"')
    done = oriel("run", "--", *launch(1, script), env=env())
    check(f"liboriel-pmpi-{MPI}" in done.out and "parent" not in done.out,
          "the variables are the ranks' alone", done)
    check(not os.path.exists(os.path.join(folder, "core")), "nothing dumped core")


def main():
    if MPI not in MPIS:
        skip(f"no {MPI}")
    if SANITIZE == "thread":
        skip("ThreadSanitizer cannot follow the MPI library's own threads")
    program = os.path.join(FOLDER.name, "program")
    mpicc = os.environ.get(f"ORIEL_TEST_MPICC_{MPI}", f"mpicc.{MPI}")
    done = run(mpicc, "-o", program, os.path.join(TOP, "ctest", "cli_run.c"))
    if not check(done.code == 0, "the program is compiled", done):
        return
    native = run(*launch(2, program))
    check(native.code == 0 and ranks_of(native) == expected(2, "not preloaded"),
          "it runs natively", native)
    test_run(FOLDER.name, program)
    test_exec(FOLDER.name, program)
    test_choice(FOLDER.name, program)
    test_launcher_alone(FOLDER.name)


FOLDER = Folder()
with FOLDER:
    main()
finish()
