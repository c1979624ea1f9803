"""lint.size: files under 400 lines (450 is an error), 88 columns, 100 in scripts."""

import sys

from lint_files import finish, read, tree

SOURCES = (".c", ".h", ".def", ".py", ".sh", ".cmake", "CMakeLists.txt")


def main():
    problems = []
    files = [p for p in tree() if p.endswith(SOURCES)]
    for path in files:
        text = read(path)
        lines = text.split("\n")
        if len(lines) > 450:
            problems.append(f"{path}: {len(lines)} lines")
        elif len(lines) > 400:
            print(f"note: {path}: {len(lines)} lines, 400 are enough")
        for number, line in enumerate(lines, 1):
            if len(line) > (88 if path.endswith((".c", ".h")) else 100):
                problems.append(f"{path}:{number}: {len(line)} columns")
            if line != line.rstrip() or "\t" in line:
                problems.append(f"{path}:{number}: blanks at the end, or a tab")
        if text and not text.endswith("\n"):
            problems.append(f"{path}: the last line has no end")
    return finish(problems, f"{len(files)} files")


if __name__ == "__main__":
    sys.exit(main())
