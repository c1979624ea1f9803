"""lint.paths: nothing in the tree names the place where it was written.

Absolute paths are the system's, links are in documents only, nothing points above
the top of the tree, and no note about unfinished work is left behind.
"""

import os
import re
import socket
import sys

from lint_files import TOP, finish, read, tree

SYSTEM = ("bin boot dev etc lib lib64 opt proc run sbin sys tmp usr var "
          "path scratch home data nonexistent").split()
ABSOLUTE = re.compile(r"(?<![\w.>}$*)\"'/:~\]-])/([a-z][\w.-]*)/[\w.$-]")
NOTES = re.compile(r"\b(%s)\b" % "|".join(("TO" "DO", "FIX" "ME", "X" "XX")))
LINK = re.compile(r"\bhttps?://(?!127\.0\.0\.1|localhost)")
ABOVE = re.compile(r"(?<![\w./}$])((?:\.\./)+)\w")


def check(path, text, host):
    depth = path.count("/")
    for number, line in enumerate(text.split("\n"), 1):
        where = f"{path}:{number}: "
        for folder in ABSOLUTE.findall(line):
            if folder not in SYSTEM:
                yield where + f"absolute path /{folder}/..."
        if NOTES.search(line):
            yield where + "a note about unfinished work"
        if LINK.search(line) and not path.endswith(".md"):
            yield where + "a link outside the documents"
        above = ABOVE.search(line)
        if above and above.group(1).count("../") > depth and not path.endswith(".cmake"):
            yield where + "a path above the top of the tree"
        if host and re.search(rf"\b{re.escape(host)}\b", line):
            yield where + "the name of this machine"


def main():
    host = socket.gethostname()
    if len(host) < 5 or host in ("localhost", "debian"):
        host = ""  # too common a word to look for
    files = [p for p in tree() if p != os.path.relpath(__file__, TOP)]
    problems = []
    for path in files:
        problems += check(path, read(path), host)
    return finish(problems, f"{len(files)} files")


if __name__ == "__main__":
    sys.exit(main())
