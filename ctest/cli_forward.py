"""cli.forward: the command lines that `oriel run` makes, for launchers that are faked
where they are not installed."""

import shlex

from cli_common import Folder, RUNTIME, check, clean_env, finish, oriel

LAYER = "/etc/passwd"  # any file that is there: --print runs nothing


class Case:
    """One command line, taken apart."""

    def __init__(self, words, options=(), **variables):
        env = clean_env(PATH=f"{FOLDER.name}:/usr/bin:/bin", **variables)
        self.done = oriel("run", "--layer", LAYER, "--print", *options, "--", *words,
                          env=env)
        self.words = shlex.split(self.done.out)

    def is_line(self, *words):
        return self.done.code == 0 and self.words == list(words)


def pairs(flag, *assignments, split=False):
    out = []
    for text in assignments:
        out += [flag] + (text.split("=", 1) if split else [text])
    return out


def x(*assignments):
    return pairs("-x", *assignments)


def genv(*assignments):
    return pairs("-genv", *assignments, split=True)


ALL = "ORIEL_WINDOWS=all"
PRELOAD = f"LD_PRELOAD={LAYER}"


def test_openmpi():
    ours = x(ALL, PRELOAD)
    case = Case(["ompirun", "-np", "2", "./p"])
    check(case.is_line(ALL, PRELOAD, "ompirun", "-np", "2", "./p"),
          "a command of another name is a program", case.done)
    case = Case(["mpirun", "-np", "2", "--mca", "btl", "self,vader", "./p", "-x", "1"])
    check(case.is_line("mpirun", *ours, "-np", "2", "--mca", "btl", "self,vader", "./p",
                       "-x", "1"), "-x goes in front, the program's stays", case.done)
    case = Case(["mpirun", "-n", "1", "sh", "a", ":", "-n", "1", "sh", "b"])
    check(case.is_line("mpirun", *ours, "-n", "1", "sh", "a", ":", *ours, "-n", "1",
                       "sh", "b"), "every part of a line gets them", case.done)
    case = Case(["mpirun", "-x", "LD_PRELOAD=/t.so", "-n", "1", "sh"])
    check(case.is_line("mpirun", *ours, "-x", f"LD_PRELOAD={LAYER}:/t.so", "-n", "1",
                       "sh"), "the user's -x LD_PRELOAD keeps its value", case.done)
    case = Case(["mpirun", "-x", "LD_PRELOAD", "-n", "1", "sh"], LD_PRELOAD="libm.so.6")
    check(case.is_line("mpirun", *x(ALL, f"LD_PRELOAD={LAYER}:libm.so.6"), "-n", "1",
                       "sh"), "and that of the environment", case.done)
    case = Case(["mpirun", "-x", "ORIEL_WINDOWS=none", "-n", "1", "sh"])
    check(case.words[-5:] == ["-x", "ORIEL_WINDOWS=none", "-n", "1", "sh"],
          "the user's own -x comes last and wins", case.done)
    case = Case(["mpirun", "sh"], ORIEL_STATS="text", ORIEL_WINDOWS="#0:access=fenced",
                ORIEL_TEST_MPIS="x", ORIEL_LOG="")
    variables = ["ORIEL_STATS=text", "ORIEL_WINDOWS=#0:access=fenced"]
    check(case.is_line("mpirun", *x(*variables, PRELOAD), "sh") or
          case.is_line("mpirun", *x(*reversed(variables), PRELOAD), "sh"),
          "the environment's variables go along", case.done)
    case = Case(["mpirun", "sh"], OMPI_MCA_mca_base_env_list="A=1")
    check(case.done.code == 1 and "oriel exec" in case.done.err,
          "where -x is not taken, the cure is told", case.done)
    case = Case(["env", "-i", "A=b", "mpirun", "-n", "2", "sh"])
    check(case.is_line("env", "-i", "A=b", "mpirun", *ours, "-n", "2", "sh"),
          "a launcher behind env is found", case.done)


def test_hydra():
    ours = genv(ALL, PRELOAD)
    case = Case(["mpiexec.hydra", "-n", "1", "sh", "a", ":", "-n", "1", "sh", "b"])
    check(case.is_line("mpiexec.hydra", *ours, "-n", "1", "sh", "a", ":", "-n", "1",
                       "sh", "b"), "-genv stands once, in front", case.done)
    case = Case(["mpiexec.hydra", "-genv", "LD_PRELOAD", "/t.so", "-n", "1", "-env",
                 "LD_PRELOAD", "/u.so", "sh", "-env", "LD_PRELOAD", "x"])
    check(case.is_line("mpiexec.hydra", *ours, "-genv", "LD_PRELOAD", f"{LAYER}:/t.so",
                       "-n", "1", "-env", "LD_PRELOAD", f"{LAYER}:/u.so", "sh", "-env",
                       "LD_PRELOAD", "x"), "the user's values keep theirs", case.done)
    case = Case(["mpiexec.hydra", "-genv", "A", "true", "-n", "1", "sh"])
    check(case.is_line("mpiexec.hydra", *ours, "-genv", "A", "true", "-n", "1", "sh"),
          "a value that is a command's name is no program", case.done)


def test_srun():
    case = Case(["srun", "-n", "4", "sh"], LD_PRELOAD="libm.so.6")
    check(case.is_line(ALL, f"LD_PRELOAD={LAYER}:libm.so.6", "srun", "-n", "4",
                       "--export=ALL", "sh"), "srun's ranks inherit", case.done)
    case = Case(["srun", "--export=A,B", "sh"])
    check(case.is_line(ALL, PRELOAD, "srun", "--export=A,B,ORIEL_WINDOWS,LD_PRELOAD",
                       "sh"), "a list of names gets ours", case.done)
    case = Case(["srun", "--export", "ALL,A=1", "sh"])
    check(case.is_line(ALL, PRELOAD, "srun", "--export=ALL,A=1", "sh"),
          "a list with ALL has them", case.done)
    case = Case(["srun", "--export=NONE", "sh"])
    check(case.done.code == 1 and "oriel exec" in case.done.err,
          "where nothing is passed on, the cure is told", case.done)
    case = Case(["srun", "-n4", "sh", "--export=NONE"])
    check(case.is_line(ALL, PRELOAD, "srun", "-n4", "--export=ALL", "sh",
                       "--export=NONE"), "the program's options are its own", case.done)


def test_options():
    rules = "bytes>=1M:access=fenced;#0"
    case = Case(["sh"], ["--windows", rules, "--engines", "node",
                         "--stats=json:out.json", "--strict", "--set", "poke_us=9",
                         "--set", "ORIEL_POKE_US=10"])
    values = dict(word.split("=", 1) for word in case.words[:-1])
    check(case.done.code == 0 and values["ORIEL_WINDOWS"] == rules and
          values["ORIEL_ENGINES"] == "node" and values["ORIEL_STRICT"] == "on" and
          values["ORIEL_POKE_US"] == "10", "options become variables", case.done)
    check(values["ORIEL_STATS"].startswith("json:/") and
          values["ORIEL_STATS"].endswith("/out.json"), "a path is made absolute",
          case.done)
    case = Case(["mpirun", "sh"], ["--stats"], ORIEL_STATS="json:/x")
    check("ORIEL_STATS=text" in case.words and "ORIEL_STATS=json:/x" not in case.words,
          "an option wins over the environment", case.done)
    case = Case(["sh"], ["-v"])
    check("ORIEL_LOG=info" in case.words, "-v lets the ranks talk", case.done)
    case = Case(["sh"], ["-v"], ORIEL_LOG="error")
    check("ORIEL_LOG=info" not in case.words, "unless they were told", case.done)
    case = Case(["sh"], ORIEL_TIMEOUT_S="soon")
    check(case.done.code == 2 and "ORIEL_TIMEOUT_S=soon" in case.done.err and
          "seconds" in case.done.err, "a bad variable ends it before it starts",
          case.done)
    case = Case(["sh"], LD_PRELOAD=LAYER)
    check(case.is_line(ALL, PRELOAD, "sh"), "a layer is preloaded once", case.done)
    case = Case(["sh", "it's", "a b"])
    check(case.done.out.endswith("sh 'it'\\''s' 'a b'\n"), "words are quoted",
          case.done)


def main():
    FOLDER.script("mpirun", "echo 'mpirun (Open MPI) 5.0.9'")
    FOLDER.script("mpiexec.hydra", "echo 'HYDRA build details:'")
    FOLDER.script("srun", "exit 1")
    test_openmpi()
    test_hydra()
    test_srun()
    test_options()
    if RUNTIME:
        case = Case(["sh"], LD_PRELOAD=f"{RUNTIME}:/t.so")
        check(case.is_line(ALL, f"LD_PRELOAD={RUNTIME}:{LAYER}:/t.so", "sh"),
              "a sanitizer's runtime stays first", case.done)


FOLDER = Folder()
with FOLDER:
    main()
finish()
