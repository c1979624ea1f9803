"""The files of the tree, for the lints: what git tracks, else what is there."""

import os
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def walk():
    for folder, folders, names in os.walk(TOP):
        folders[:] = [f for f in folders if f != ".git" and not f.startswith("build")]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), TOP)


def tree():
    """Paths relative to the top, sorted; without files that were deleted."""
    git = subprocess.run(["git", "-c", "safe.directory=*", "-C", TOP, "ls-files", "-z"],
                         capture_output=True, check=False)
    paths = [p for p in git.stdout.decode().split("\0") if p] or list(walk())
    return sorted(p for p in paths if os.path.isfile(os.path.join(TOP, p)))


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def finish(problems, what):
    for problem in problems:
        print(problem)
    print(f"{what}: {len(problems)} problems")
    return 1 if problems else 0
