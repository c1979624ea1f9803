"""Reads callgrind profiles: which instructions a preloaded layer added to a call.

The layer's own instructions are those of its shared objects, plus what it calls in
other libraries, less the MPI library's own entry (a function named PMPI_* or MPI_*
outside the layer). That is exact and does not depend on how often the MPI library
polled; the difference of two runs' totals does.
"""

import re

LAYER = "liboriel"
ENTRY = re.compile(r"P?MPI_[A-Z]")
LOOK_UP = re.compile(r"hash|look.?up|find|search|jen|table", re.IGNORECASE)


class Profile:
    """One dump of callgrind: costs by function, and calls out of the layer."""

    def __init__(self, lines):
        self.own = {}  # (object, function) -> instructions in the function itself
        self.out = {}  # (object, function) -> inclusive, called by the layer outside
        self._names = {}
        self._read(lines)

    def _name(self, kind, text):
        """Resolve '(3) name' and '(3)'."""
        match = re.match(r"\((\d+)\)(?: (.*))?$", text)
        if not match:
            return text
        key = (kind, match[1])
        if match[2]:
            self._names[key] = match[2]
        return self._names.get(key, "?")

    def _read(self, lines):
        where = {"ob": "?", "fn": "?"}
        callee, called = {}, False
        for line in lines:
            field, equals, value = line.rstrip("\n").partition("=")
            if equals and field in ("ob", "fn"):
                where[field] = self._name(field, value)
            elif equals and field in ("cob", "cfn"):
                callee[field[1:]] = self._name(field[1:], value)
            elif equals and field == "calls":
                called = True
            elif line[:1].isdigit() or line[:1] in "+-*":
                cost = int(line.split()[1])
                if called:
                    self._call(where, {"ob": where["ob"], **callee}, cost)
                    callee, called = {}, False
                else:
                    key = (where["ob"], where["fn"])
                    self.own[key] = self.own.get(key, 0) + cost

    def _call(self, caller, callee, cost):
        inside = LAYER in caller["ob"]
        if inside and LAYER not in callee["ob"] and not ENTRY.match(callee["fn"]):
            key = (callee["ob"], callee["fn"])
            self.out[key] = self.out.get(key, 0) + cost

    def total(self):
        """All instructions that were counted."""
        return sum(self.own.values())

    def added(self):
        """Instructions of the layer, and of what it called beside the MPI library."""
        layer = sum(n for (ob, _), n in self.own.items() if LAYER in ob)
        return layer + sum(self.out.values())

    def functions(self):
        """Names of the functions in added()."""
        layer = {fn for (ob, fn) in self.own if LAYER in ob}
        return sorted(layer | {fn for (_, fn) in self.out})

    def look_ups(self):
        """Those of functions() that by their name look something up."""
        return [fn for fn in self.functions() if LOOK_UP.search(fn)]


def read(path):
    """The profile in a file."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return Profile(file)
