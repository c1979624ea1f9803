"""cli.nics: the map of NICs is shown, exported, limited and refused with the cure."""

import json
import os
import shlex

from cli_common import BUILD, Folder, check, clean_env, finish, oriel, run

MAKE = os.path.join(BUILD, "ctest", "test_core_nic")
FRONTIER = ("48-63,112-127=hsn0;16-31,80-95=hsn1;"
            "0-15,64-79=hsn2;32-47,96-111=hsn3")

# words, variables, exit code, what stderr must say
MISTAKES = [
    (["--jsn"], {}, 2, ["did you mean '--json'"]),
    (["--alocated"], {}, 2, ["did you mean '--allocated'"]),
    (["--cpus"], {}, 2, ["'--cpus' needs a value"]),
    (["--cpus", "0-x"], {}, 2, ["such as 0-7,64-71", "'0-x'", "character 3"]),
    (["--cpus", ""], {}, 2, ["such as 0-7,64-71"]),
    (["--cpus", "9000"], {}, 2, ["8191"]),
    (["--ranks", "0"], {}, 2, ["--ranks", "from 1"]),
    (["--ranks", "8x"], {}, 2, ["'8x'"]),
    (["--env=1"], {}, 2, ["takes no value"]),
    (["hsn0"], {}, 2, ["'hsn0' is too much"]),
]


def tree(folder, name):
    """Build a tree; the environment in which it is the sysfs."""
    path = os.path.join(folder, name)
    done = run(MAKE, "make", name, path)
    check(done.code == 0, f"the tree {name} is built", done)
    env = clean_env(ORIEL_SYSFS=path)
    for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                 "SLINGSHOT_DEVICES"):
        env.pop(name, None)
    return env


def nics(env, *words):
    return oriel("nics", *words, env=env)


def state(env, *words):
    return json.loads(nics(env, "--json", *words).out)


def ranks(env, n, *words):
    """For each NIC that can be used its ranks."""
    found = state(env, "--ranks", str(n), *words)["nics"]
    return {x["name"]: x["ranks"] for x in found if x["candidate"]}


def rows(text):
    return [line.split() for line in text.split("\n\n")[0].splitlines()]


def test_frontier(folder):
    env = tree(folder, "frontier")
    text = nics(env, "--ranks", "8")
    table = rows(text.out)
    check(text.code == 0 and ["hsn3", "cxi3", "cxi", "0000:93:00.0", "2", "up",
                              "32-47,96-111", "4-5"] in table, "the table has it", text)
    check([row[0] for row in table] == ["NIC", "hsn0", "hsn1", "hsn2", "hsn3", "nmn0"],
          "virtual interfaces are not shown", text)
    check(table[-1][5] == "not-used", "a slow port is there and not used", text)
    check("A process here would use hsn2: CPUs " in text.out, "so is the choice", text)

    everything = state(env)
    check(everything["map"] == FRONTIER, "the map", everything["map"])
    check(everything["choice"]["device"] == "cxi2" and everything["choice"]["valid"],
          "the choice of CPU 0", everything["choice"])
    check([g["nic"] for g in everything["gpus"]] ==
          ["hsn0", "hsn0", "hsn3", "hsn3", "hsn1", "hsn1", "hsn2", "hsn2"],
          "GPUs have their NICs", everything["gpus"])
    gpus = nics(env, "--gpu")
    check(rows(gpus.out)[1] == ["0", "0000:61:00.0", "3", "hsn0"] and
          len(rows(gpus.out)) == 9, "and their table", gpus)

    check(ranks(env, 8) == {"hsn0": [6, 7], "hsn1": [2, 3], "hsn2": [0, 1],
                            "hsn3": [4, 5]}, "8 ranks: 2 each", ranks(env, 8))
    check(ranks(env, 8, "--cpus", "0-31") ==
          {"hsn0": [], "hsn1": [4, 5, 6, 7], "hsn2": [0, 1, 2, 3], "hsn3": []},
          "of half a node: 4 each of two", ranks(env, 8, "--cpus", "0-31"))
    check(all(len(r) == 50 for r in ranks(env, 200).values()),
          "more ranks than CPUs: by local rank", ranks(env, 200))
    mpi = dict(env, SLURM_NTASKS_PER_NODE="4")
    found = state(mpi)["nics"]
    check([x["ranks"] for x in found if x["candidate"]] == [[3], [1], [0], [2]],
          "the launcher's number", found)


def test_export(folder):
    env = tree(folder, "frontier")
    line = nics(env, "--env")
    check(line.code == 0 and line.out.count("\n") == 1 and not line.err and
          shlex.split(line.out) == ["export", "ORIEL_NIC_MAP=" + FRONTIER],
          "a shell takes the line", line)
    # Where the job runs, nothing is seen: the map says it.
    hidden = run("sh", "-c", f'eval "$1"; export ORIEL_SYSFS={folder}; '
                 f'exec "$2" nics --json --cpus 32-33', "sh", line.out,
                 os.path.join(BUILD, "bin", "oriel"), env=env)
    choice = json.loads(hidden.out)["choice"]
    check(choice["name"] == "hsn3" and "ORIEL_NIC_MAP" in choice["reason"],
          "the exported map is used", hidden)
    limited = nics(env, "--env", "--cpus", "30-33,70")
    check(shlex.split(limited.out)[1] == "ORIEL_NIC_MAP=30-31=hsn1;70=hsn2;32-33=hsn3",
          "the map of some CPUs", limited)
    own = sorted(os.sched_getaffinity(0))
    allocated = state(env, "--allocated")["map"]
    check(set(allocated.split(";")) < set(FRONTIER.split(";")) or len(own) >= 128 or
          all(len(x) < 20 for x in allocated.split(";")),
          "--allocated limits it to this process's CPUs", allocated, own)
    one = run("taskset", "-c", str(own[0]), os.path.join(BUILD, "bin", "oriel"), "nics",
              "--env", "--allocated", env=env)
    if own[0] < 16:
        check(shlex.split(one.out) == ["export", f"ORIEL_NIC_MAP={own[0]}=hsn2"],
              "of one CPU", one)
    pairs = tree(folder, "pairs")
    both = nics(pairs, "--env")
    check("'0-15=hsn0+hsn1;16-31=hsn2+hsn3'" in both.out, "equal NICs share", both)
    check(ranks(pairs, 8) == {"hsn0": [0, 3], "hsn1": [1, 2], "hsn2": [4, 7],
                              "hsn3": [5, 6]}, "and their ranks", ranks(pairs, 8))


def test_others(folder):
    gpu = tree(folder, "perlmutter-gpu")
    check(ranks(gpu, 4) == {"hsn0": [3], "hsn1": [2], "hsn2": [1], "hsn3": [0]},
          "4 ranks on a GPU node: 1 each", ranks(gpu, 4))
    check([x["nic"] for x in state(gpu)["gpus"]] == ["hsn0", "hsn1", "hsn2", "hsn3"],
          "a GPU's NIC by NUMA node", state(gpu)["gpus"])
    cpu = tree(folder, "perlmutter-cpu")
    check(state(cpu)["map"] == "0-255=hsn0", "one NIC is everybody's", state(cpu)["map"])
    single = tree(folder, "single")
    found = state(single)
    check(found["map"] == "0-3=eth0" and not found["places_known"],
          "a virtual machine", found["map"])
    check(nics(single, "--gpu").code == 0, "without GPUs the list is empty")
    with Folder() as empty:
        none = nics(dict(single, ORIEL_SYSFS=empty))
        check(none.code == 1 and "none of them" in none.out, "no NIC: exit code 1", none)
        none = nics(dict(single, ORIEL_SYSFS=empty), "--env")
        check(none.code == 1 and not none.out and "no map" in none.err,
              "nothing is exported then", none)


def test_faults(folder):
    env = tree(folder, "frontier")
    for words, variables, code, texts in MISTAKES:
        done = nics(dict(env, **variables), *words)
        check(done.code == code and not done.out and all(t in done.err for t in texts),
              f"'oriel nics {' '.join(words)}' ends with {code} and says {texts}", done)
    done = nics(dict(env, ORIEL_NIC="hns1"))
    check(done.code == 1 and "did you mean hsn1?" in done.out, "a wrong ORIEL_NIC", done)
    done = nics(dict(env, ORIEL_NIC_MAP="0-7=hsn0;8-=hsn1"))
    check(done.code == 1 and "at character 12" in done.out, "a bad map", done)
    done = nics(dict(env, ORIEL_NIC_MAP="0-7=hsn0;8-=hsn1"), "--env")
    check(done.code == 0 and "export" in done.out, "a new map can be made yet", done)
    done = oriel("config", "nic_map", env=dict(env, ORIEL_NIC_MAP="0-7=hsn0;8-=hsn1"))
    check(done.code == 1 and "NOT UNDERSTOOD: at character 12" in done.out,
          "oriel config marks it", done)
    done = oriel("config", "nic_map", env=dict(env, ORIEL_NIC_MAP="0-7=hsn0"))
    check(done.code == 0, "and takes a good one", done)


def main():
    with Folder() as folder:
        test_frontier(folder)
        test_export(folder)
        test_others(folder)
        test_faults(folder)
    finish()


main()
