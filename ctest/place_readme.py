"""The README says what the sources say.

place_readme.py           check
place_readme.py --write   bring the generated tables up to date

Between "<!-- NAME -->" and "<!-- end -->" stands what is printed here: `variables` by
`oriel config --markdown`, `paths` and `reasons` from core/stats.def. Also: every ORIEL_*
name and every path in README.md and docs/developing.md exists.
"""
import os
import re
import subprocess
import sys

SOURCE = os.environ.get("ORIEL_TEST_SOURCE") or os.path.join(os.path.dirname(__file__), "..")
BUILD = os.environ.get("ORIEL_TEST_BUILD") or os.path.join(SOURCE, "build")
PAGES = ["README.md", "docs/developing.md"]
failures = 0


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def check(ok, sentence):
    global failures
    if not ok:
        failures += 1
        print("not so:", sentence, file=sys.stderr)


def variables():
    command = [os.path.join(BUILD, "bin", "oriel"), "config", "--markdown"]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def counters(macro, title):
    found = re.findall(macro + r'\(\w+,\s*"([^"]+)",\s*"([^"]+)"\)',
                       re.sub(r'"\s*\n\s*"', "", read("core/stats.def")))
    lines = [f"| {title} | meaning |", "|---|---|"]
    return "\n".join(lines + [f"| `{name}` | {text} |" for name, text in found]) + "\n"


def tables():
    return {"variables": variables(), "paths": counters("ORIEL_PATH", "path"),
            "reasons": counters("ORIEL_NATIVE", "reason")}


def check_tables(write):
    text = before = read("README.md")
    for name, table in tables().items():
        pattern = re.compile(rf"(<!-- {name} -->\n)(.*?)(<!-- end -->)", re.S)
        match = pattern.search(text)
        check(match, f"README.md has the marks of the table '{name}'")
        if match and not write:
            check(match.group(2) == table, f"README.md's table '{name}' is what the "
                  "sources give; ctest/place_readme.py --write makes it so")
        text = pattern.sub(lambda m, table=table: m.group(1) + table + m.group(3), text)
    if write and text != before:
        with open(os.path.join(SOURCE, "README.md"), "w", encoding="utf-8") as file:
            file.write(text)


def known_names():
    """Variables, and ORIEL_* names that the build and the sources define."""
    names = set(re.findall(r"^\| `(ORIEL_\w+)`", variables(), re.M))
    for folder in ("core", "pmpi", "include", "cmake", "ctest", "transports", "tools"):
        for root, _, files in os.walk(os.path.join(SOURCE, folder)):
            for file in files:
                if file.endswith((".h", ".def", ".cmake", ".txt")):
                    names |= set(re.findall(r"\bORIEL_\w+", read(os.path.join(root, file))))
    names |= set(re.findall(r"\bORIEL_\w+", read("CMakeLists.txt")))
    return names


def check_names():
    names = known_names()
    for page in PAGES:
        text = read(page)
        for name in sorted(set(re.findall(r"\bORIEL_[A-Z0-9_]+\b", text))):
            check(name in names, f"{page} names {name}, which exists")
        for path in sorted(set(re.findall(
                r"`((?:core|pmpi|transports|include|bench|ctest|cmake|tools|docs)/[\w./-]+)`",
                text))):
            check(os.path.exists(os.path.join(SOURCE, path)), f"{page} names {path}, which "
                  "exists")
        for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
            if "://" not in link:
                check(os.path.exists(os.path.join(SOURCE, os.path.dirname(page), link)),
                      f"{page} links to {link}, which exists")


if not os.path.exists(os.path.join(BUILD, "bin", "oriel")):
    print("skipped: no bin/oriel in", BUILD)
    sys.exit(77)
check_tables("--write" in sys.argv)
check_names()
print("failures:", failures)
sys.exit(failures != 0)
