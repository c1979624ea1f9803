"""lint.includes: who may include and call what.

pmpi -> core -> transports/transport.h. Engines see transport.h and core's base.
Only pmpi, and programs of tests and bench, include mpi.h; pmpi calls its table of
PMPI_* functions, never MPI_*. Fabric headers stay in their engine, uthash in
core/hash.h. Own header first, then ours, then the system's.
"""

import re
import sys

from lint_files import finish, read, tree

BASE = {f"core/{name}.h" for name in
        ("err", "log", "config", "stats", "hash", "span", "extent", "arena",
         "process", "scratch", "vmread", "version", "cpus", "nic", "vni")}
CONTRACT = {"transports/transport.h"}
TABLE = {"transports/engines.h", "transports/engines.def"}
FOLDERS = {
    "core": ("core/", "include/"),
    "pmpi": ("pmpi/", "core/", "include/"),
    "tools": ("tools/", "core/", "include/", "transports/"),
    "bench": ("bench/", "include/", "core/version.h"),
    "include": ("include/",),
}
MPI = ("pmpi/", "bench/", "ctest/", "include/oriel_mpi.h")
ONLY = {  # header folder or file: the one file, or files of one engine, for it
    "rdma/": "transports/ofi|bench/fabric_ofi",
    "ucp/": "transports/ucx|bench/fabric_ucx",
    "ucs/": "transports/ucx",
    "uthash.h": "core/hash",
}
ENGINES = re.findall(r"^ORIEL_ENGINE\((\w+)\)", read("transports/engines.def"), re.M)
# Names before a parenthesis that are types, not calls.
TYPES = re.compile(r"MPI_(Aint|Count|Offset|Comm|Win|Info|Datatype|Request|Status|Group|"
                   r"Op|Errhandler|Session|Fint|[A-Z_]+)$")


def strip(text):
    """Blank out comments and strings, line by line."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def includes(text):
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if found:
            yield number, found.group(1) == '"', found.group(2)


def is_allowed(path, header):
    folder = path.split("/")[0]
    if folder == "transports":  # its own parts, but not another engine's
        other = header[len("transports/"):-len(".h")] in ENGINES and (
            header != path[:-2] + ".h")
        return header in BASE or header.startswith("transports/") and not other
    if folder == "core":
        return header.startswith(FOLDERS["core"]) or header in CONTRACT | TABLE
    if folder in FOLDERS:
        return header.startswith(FOLDERS[folder]) or (
            folder == "pmpi" and header in CONTRACT | TABLE)
    return True


def check_includes(path, text):
    seen_system = False
    for number, ours, header in includes(text):
        where = f"{path}:{number}: "
        folder = path.split("/")[0]
        if header == "mpi.h" and not path.startswith(MPI):
            yield where + "mpi.h belongs to pmpi"
        for prefix, owner in ONLY.items():
            engine = owner.split("|")[0].split("/")[-1]
            shim = f"ctest/{engine}_shim.c"  # plays the library
            if (header.startswith(prefix) and path != shim and
                    not re.match(rf"({owner})(_\w+)?\.[ch]$", path)):
                yield where + f"{header} belongs to {owner}.*"
        if ours and not is_allowed(path, header):
            yield where + f"{header} is not for {folder}"
        if header.endswith(".def") or header.startswith("oriel"):
            continue  # a table, where it is expanded; what users include
        if ours and seen_system:
            yield where + f"{header} comes after a system header"
        seen_system = seen_system or not ours
    own = path[:-2] + ".h"
    first = next((h for _, ours, h in includes(text) if ours), None)
    if path.endswith(".c") and first != own and f'"{own}"' in text:
        yield f"{path}: its own header is not the first"


def check_calls(path, text):
    for number, line in enumerate(strip(text).split("\n"), 1):
        if line.lstrip().startswith("#"):
            continue
        for name in re.findall(r"\b(MPI_\w+)\s*\(", line):
            if not TYPES.match(name):
                yield f"{path}:{number}: calls {name}; use native.{name[4:]}"


def main():
    problems = []
    sources = [p for p in tree() if p.endswith((".c", ".h", ".def"))]
    for path in sources:
        text = read(path)
        problems += check_includes(path, text)
        if path.startswith("pmpi/"):
            problems += check_calls(path, text)
    return finish(problems, f"{len(sources)} files")


if __name__ == "__main__":
    sys.exit(main())
