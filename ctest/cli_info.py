"""cli.info: engines, layers, launchers and checks are told, with reasons."""

import json
import os
import re
import shutil

from cli_common import BUILD, Folder, MPIS, ORIEL, TOP, check, clean_env, finish
from cli_common import oriel, run


def engines():
    with open(os.path.join(TOP, "transports", "engines.def"), encoding="utf-8") as file:
        return re.findall(r"^ORIEL_ENGINE\((\w+)\)", file.read(), re.M)


def main():
    done = oriel("info", "--json")
    state = json.loads(done.out)
    check([e["name"] for e in state["engines"]] == engines(), "all engines", state)
    check(all(e["usable"] or e["why_not"] for e in state["engines"]),
          "an engine works, or the reason is told", state)
    for layer in state["layers"]:
        is_built = layer["mpi"] in MPIS
        check(bool(layer["path"]) == is_built and layer["loads"] == is_built,
              f"the layer for {layer['mpi']} is {'there' if is_built else 'not there'}",
              layer)
    checks = {c["name"]: c for c in state["checks"]}
    check({"mapped", "cma", "arena", "ptrace-scope", "files"} <= set(checks),
          "the machine is looked at", state)
    check(all(c["detail"] and c["meaning"] for c in checks.values()), "in words", state)
    check(done.code == (0 if state["useful"] else 1), "the exit code says it", done)
    check(state["useful"] == (any(e["usable"] for e in state["engines"]) and
                              any(x["loads"] for x in state["layers"])),
          "useful is an engine and a layer", state)

    text = oriel("info")
    check(text.code == done.code and all(e in text.out for e in engines()) and
          "cma" in text.out and text.out.startswith("oriel " + state["version"]),
          "the text says the same", text)

    # A launcher is recognized by what it says of itself.
    folder = Folder()
    with folder as name:
        folder.script("mpirun", "echo 'mpirun (Open MPI) 9.9'")
        folder.script("mpiexec", "echo 'HYDRA build details:'")
        folder.script("srun", "echo never asked >&2; exit 1")
        env = clean_env(PATH=name)
        found = json.loads(oriel("info", "--json", env=env).out)["launchers"]
        check({x["name"]: x["mpi"] for x in found} ==
              {"mpirun": "openmpi", "mpiexec": "mpich", "srun": "unknown"},
              "launchers are told apart", found)

    # Moved to a place without layers: nothing to redirect with.
    with Folder() as name:
        os.makedirs(os.path.join(name, "bin"))
        os.makedirs(os.path.join(name, "lib"))
        moved = shutil.copy(ORIEL, os.path.join(name, "bin", "oriel"))
        env = clean_env(LD_LIBRARY_PATH=os.path.join(BUILD, "lib"))
        lone = run(moved, "info", "--json", env=env)
        found = [x["path"] for x in json.loads(lone.out)["layers"] if x["path"]]
        check(all(name not in path for path in found), "no layer is made up", lone)
        if not found:
            check(lone.code == 1, "without a layer the exit code is 1", lone)
            lone = run(moved, "run", "--mpi", "mpich", "--", "true", env=env)
            check(lone.code == 1 and "liboriel-pmpi-mpich.so" in lone.err and
                  os.path.join(name, "lib") in lone.err,
                  "a missing layer is named, and where it was looked for", lone)
            broken = os.path.join(name, "lib", "liboriel-pmpi-mpich.so")
            with open(broken, "w", encoding="utf-8") as file:
                file.write("no library")
            lone = run(moved, "info", "--json", env=env)
            layer = json.loads(lone.out)["layers"][0]
            check(layer["path"] == broken and not layer["loads"] and layer["why_not"],
                  "a layer that does not load is told, with the reason", lone)
    finish()


main()
