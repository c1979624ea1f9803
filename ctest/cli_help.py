"""cli.help: the command explains itself, and its mistakes are told with the cure."""

from cli_common import Folder, ORIEL, check, clean_env, finish, oriel, run

COMMANDS = ["run", "exec", "config", "info", "nics", "help"]

# words, exit code, what stderr must say
MISTAKES = [
    ([], 2, ["usage: oriel COMMAND"]),
    (["confg"], 2, ["'confg'", "did you mean 'config'"]),
    (["--verson"], 2, ["--verson"]),
    (["mpirun", "-n", "2", "x"], 2, ["oriel run -- mpirun"]),
    (["./program"], 2, ["oriel run -- ./program"]),
    (["help", "rum"], 2, ["did you mean 'run'"]),
    (["help", "run", "exec"], 2, ["one command"]),
    (["run"], 2, ["no program was given", "oriel run -- mpirun"]),
    (["run", "--"], 2, ["no program was given"]),
    (["exec", "--"], 2, ["no program was given"]),
    (["run", "-n", "4", "./program"], 2, ["'-n'", "oriel run -- mpirun -n"]),
    (["run", "--np", "4", "./program"], 2, ["oriel run -- mpirun --np"]),
    (["run", "--widows=all", "x"], 2, ["did you mean '--windows'"]),
    (["run", "--windows"], 2, ["'--windows' needs a value"]),
    (["run", "--strict=1", "x"], 2, ["takes no value"]),
    (["run", "--stats", "json", "--", "x"], 2, ["--stats=json"]),
    (["run", "--stats=xml", "x"], 2, ["ORIEL_STATS=xml", "text|json"]),
    (["run", "--windows", "most", "x"], 2, ["ORIEL_WINDOWS=most", "annotated"]),
    (["run", "--engines", "node+warp", "x"], 2, ["'warp'"]),
    (["run", "--mpi", "lam", "x"], 2, ["mpich or openmpi", "lam"]),
    (["run", "--set", "x"], 2, ["NAME=VALUE"]),
    (["run", "--set", "timeout=3", "x"], 2, ["ORIEL_TIMEOUT_S"]),
    (["run", "--set", "timeout_s=3x", "x"], 2, ["ORIEL_TIMEOUT_S=3x", "seconds"]),
    (["run", "--layer", "/no/such.so", "x"], 2, ["/no/such.so"]),
    (["exec", "-x", "y"], 2, ["'-x'"]),
    (["config", "timeout"], 2, ["did you mean 'ORIEL_TIMEOUT_S'"]),
    (["config", "--jason"], 2, ["did you mean '--json'"]),
    (["info", "more"], 2, ["'more'"]),
    (["nic"], 2, ["did you mean 'nics'"]),
]


def main():
    done = oriel("--version")
    check(done.code == 0 and done.out.startswith("oriel ") and
          done.out.count("\n") == 1 and not done.err, "--version is one line", done)
    done = oriel("--help")
    check(done.code == 0 and all(f"  {c} " in done.out for c in COMMANDS) and
          not done.err, "--help lists every command", done)
    for command in COMMANDS:
        page = oriel("help", command)
        check(page.code == 0 and page.out.startswith(f"usage: oriel {command}"),
              f"{command} has a page", page)
        check(max(map(len, page.out.splitlines())) <= 80,
              f"the page of {command} fits a terminal", page)
    for command in COMMANDS[:5]:
        page = oriel(command, "--help")
        check(page.code == 0 and page.out == oriel("help", command).out,
              f"{command} --help is that page", page)
    check("usage: oriel exec" not in oriel("exec", "--", "cat", "--help").out,
          "--help behind -- is the program's")
    for words, code, texts in MISTAKES:
        done = oriel(*words)
        check(done.code == code and not done.out and all(t in done.err for t in texts),
              f"'oriel {' '.join(words)}' ends with {code} and says {texts}", done)
    with Folder() as folder:
        full = run("sh", "-c", f"{ORIEL} --help > /dev/full", cwd=folder)
        check(full.code == 1 and "stdout" in full.err, "a full disk is an error", full)
    done = oriel("exec", "--layer", "/etc/passwd", "--", "no-such-cmd")
    check(done.code == 127 and "no-such-cmd" in done.err, "not found is 127", done)
    done = oriel("run", "--layer", "/etc/passwd", "--", "/etc/passwd", env=clean_env())
    check(done.code == 126 and "/etc/passwd" in done.err, "not executable is 126", done)
    finish()


main()
