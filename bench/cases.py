"""The figures that Oriel is to reach, and how each is measured."""

from dataclasses import dataclass, field

ALL_SIZES = "8,64,512,4K,16K,64K,256K,1M,4M"
QUICK_SIZES = ("8", "4K", "64K", "1M")


@dataclass(frozen=True)
class Target:
    """One limit. what: 'us' (time of Oriel), 'native' or 'bare' (ratio to that)."""

    what: str
    limit: float
    text: str

    def value(self, row):
        """(figure, low end of its 95 % interval) in a row; None if it has none. A time
        has no interval: it drifts with the machine, unlike a ratio."""
        if self.what == "us":
            time = row["ways"]["mpi"]["median_ns"] / 1e3
            return time, time
        ratio = row["ratios"].get(f"mpi/{self.what}")
        return (ratio["paired"], ratio["low"]) if ratio else None


@dataclass(frozen=True)
class Case:
    """One test with the targets of each MPI; '' is for those not named."""

    name: str
    title: str
    arguments: list
    sizes: str
    targets: dict = field(default_factory=dict)
    # How reads must be served for the row to count; '' if that is not asked.
    served: dict = field(default_factory=lambda: {"": "redirected"})

    def of(self, table, mpi):
        """The entry of a table for an MPI."""
        return table.get(mpi, table.get("", None))


NOT_SLOWER = Target("native", 1.0, "<= 1.00x native")
# A Get on these is one system call; a larger one may be split to beat the bare call.
NEAR_BARE = Target("bare", 1.15, "<= 1.15x bare")
LOCK_NEAR_BARE = Target("bare", 1.3, "<= 1.30x bare")
LOCK_MAPPED = Target("us", 0.15, "<= 0.15 us")
LIFE = Target("native", 1.5, "<= 1.50x native")

CASES = [
    Case("allocate", "Win_allocate, Get+flush",
         ["get_latency", "-k", "allocate"], "8",
         {"mpich": [Target("us", 0.12, "<= 0.12 us"),
                    Target("native", 1 / 12, ">= 12x faster")],
          "openmpi": [NOT_SLOWER]},
         # Open MPI's own are mapped on the node; Oriel leaves them alone.
         {"": "redirected", "openmpi": "already-mapped"}),
    Case("create", "Win_create, Get+flush",
         ["get_latency", "-k", "create"], ALL_SIZES,
         {"": [NEAR_BARE, NOT_SLOWER]}),
    Case("mapped", "Alloc_mem+Win_create, Get+flush",
         ["get_latency", "-k", "alloc_mem"], "64K,256K,1M,4M",
         {"": [Target("bare", 1.1, "<= 1.10x bare")]}),
    Case("lock-cma-nocheck", "Win_create, lock NOCHECK, Get, unlock",
         ["get_latency", "-k", "create", "-s", "lock", "--nocheck"], "8,4K,64K",
         {"": [LOCK_NEAR_BARE]}),
    Case("lock-cma-fenced", "Win_create fenced, lock, Get, unlock",
         ["get_latency", "-k", "create", "-s", "lock", "-a", "fenced"], "8,4K,64K",
         {"": [LOCK_NEAR_BARE]}),
    Case("lock-mapped-nocheck", "Alloc_mem, lock NOCHECK, Get, unlock",
         ["get_latency", "-k", "alloc_mem", "-s", "lock", "--nocheck"], "8",
         {"": [LOCK_MAPPED]}),
    Case("lock-mapped-fenced", "Alloc_mem fenced, lock, Get, unlock",
         ["get_latency", "-k", "alloc_mem", "-s", "lock", "-a", "fenced"], "8",
         {"": [LOCK_MAPPED]}),
    Case("vector", "Win_create, 4096 x 8 B, stride 64",
         ["get_strided", "-k", "create"], "32K",
         {"": [Target("native", 1.0, "< native")]}),
    Case("unannotated", "unannotated Win_create, Get+flush",
         ["get_latency", "-k", "create", "-o", "none"], "8", {"": []},
         {"": ""}),
    Case("life-annotated", "Win_create+Win_free, annotated",
         ["win_create", "-k", "create"], "1M", {"": [LIFE]}, {"": ""}),
    Case("life-mapped", "Win_create+Win_free, Alloc_mem, annotated",
         ["win_create", "-k", "alloc_mem"], "1M", {"": [LIFE]}, {"": ""}),
    Case("life-unannotated", "Win_create+Win_free, unannotated",
         ["win_create", "-k", "create", "-o", "none"], "1M", {"": [LIFE]}, {"": ""}),
]

# A native median in a run with Oriel that is so much above the one without says that
# the machine was busy, and the row nothing.
DISTURBED = 1.3

# Instructions that the layer may add to one call on a window nobody annotated.
COUNT_NAME = "overhead"
COUNT_LIMIT = 25
