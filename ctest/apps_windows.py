"""An mpi4py program on windows, as users write them; it knows nothing of Oriel.

Windows of each kind (on memory of Python's, on MPI.Alloc_mem, by Win.Allocate), read
by Get and Rget under lock, lock_all and fence, with plain and derived datatypes. The
bytes change between rounds; each that arrives is compared with what its owner stored.
Prints the number of reads, and ends with 1 if a byte was wrong.
"""

import array
import sys

from mpi4py import MPI

WORDS = 6000  # 8-byte integers in a window; not a multiple of a page
ROUNDS = 3
ROW, COLUMNS = 60, 100  # the same window seen as a matrix
comm = MPI.COMM_WORLD


def value(owner, round_, index):
    """What owner stores at index in this round; differs in every byte that matters."""
    return (owner + 1) << 48 | (round_ + 1) << 32 | index * 2654435761 & 0xFFFFFFFF


class Reader:
    """One window, and what was read from it."""

    def __init__(self, win, memory):
        self.win, self.words = win, memory.cast("B").cast("q")
        self.gets = self.wrong = 0
        self.round = 0

    def store(self, round_):
        """This rank's next values, by plain stores."""
        self.round = round_
        for i in range(WORDS):
            self.words[i] = value(comm.rank, round_, i)

    def check(self, got, target, indices):
        """Compare a read with what target stored at those indices."""
        self.gets += 1
        expected = [value(target, self.round, i) for i in indices]
        if list(got) != expected:
            self.wrong += 1
            bad = next(i for i, pair in enumerate(zip(got, expected))
                       if pair[0] != pair[1])
            print(f"rank {comm.rank}: from {target}, round {self.round}: word {bad} of "
                  f"{len(expected)} is {got[bad]:#x}, not {expected[bad]:#x}",
                  flush=True)

    def plain(self, target, first, count, request=False):
        """Start a read of words; returns what to check once it has landed."""
        got = array.array("q", bytes(8 * count))
        where = (first, count, MPI.INT64_T)
        if request:
            self.win.Rget([got, MPI.INT64_T], target, where).Wait()
        else:
            self.win.Get([got, MPI.INT64_T], target, where)
        return got, target, range(first, first + count)

    def derived(self, target, datatype, indices):
        """The same through a datatype at the target; dense at the origin."""
        datatype.Commit()
        got = array.array("q", bytes(8 * len(indices)))
        self.win.Get([got, MPI.INT64_T], target, (0, 1, datatype))
        datatype.Free()
        return got, target, indices

    def scattered(self, target):
        """Dense at the target, every third word at the origin."""
        count = 40
        datatype = MPI.INT64_T.Create_vector(count, 1, 3).Commit()
        got = array.array("q", bytes(8 * 3 * count))
        self.win.Get([got, 1, datatype], target, (7, count, MPI.INT64_T))
        datatype.Free()
        return got, target, range(7, 7 + count)


def under_locks(reader, target):
    """One lock a read, then one lock_all for many."""
    win = reader.win
    for first, count in ((0, 1), (1, 3), (5, 64), (511, 513), (0, WORDS),
                         (WORDS - 1, 1)):
        win.Lock(target, MPI.LOCK_SHARED)
        read = reader.plain(target, first, count)
        win.Unlock(target)
        reader.check(*read)
    win.Lock_all()
    for first, count in ((2, 1), (100, 8), (1000, 5000)):
        read = reader.plain(target, first, count)
        win.Flush(target)
        reader.check(*read)
        reader.check(*reader.plain(target, first, count, request=True))
    reads = [reader.plain(t, 17 * t, 33) for t in range(comm.size)]
    win.Flush_all()
    for read in reads:
        reader.check(*read)
    win.Unlock_all()


def by_datatypes(reader, target):
    """Columns, blocks and rectangles of the window seen as a matrix."""
    word = MPI.INT64_T
    column = [row * COLUMNS for row in range(ROW)]
    blocks = [(3, 2), (700, 50), (90, 1), (5900, 100)]
    indexed = [i for first, n in blocks for i in range(first, first + n)]
    part = [row * COLUMNS + c for row in range(4, 12) for c in range(10, 60)]
    struct = [1, 2, 3, 4000, 4001]
    win = reader.win
    win.Lock_all()
    reads = [
        reader.derived(target, word.Create_vector(ROW, 1, COLUMNS), column),
        reader.derived(target, word.Create_indexed([n for _, n in blocks],
                                                   [first for first, _ in blocks]),
                       indexed),
        reader.derived(target, word.Create_subarray([ROW, COLUMNS], [8, 50], [4, 10]),
                       part),
        reader.derived(target, MPI.Datatype.Create_struct([3, 2], [8, 32000],
                                                          [word, word]), struct),
        reader.derived(target, word.Create_contiguous(300), range(300)),
    ]
    strided = reader.scattered(target)
    win.Flush(target)
    win.Unlock_all()
    for read in reads:
        reader.check(*read)
    got, target, indices = strided
    reader.check(got[::3], target, indices)


def under_fences(reader, target):
    """Reads of many sizes in one fence epoch."""
    reader.win.Fence()
    reads = [reader.plain(target, 10 * i, 1 + 13 * i) for i in range(20)]
    reader.win.Fence()
    for read in reads:
        reader.check(*read)


def exercise(win, memory):
    """All reads of one window. Returns (reads, wrong ones), of this rank."""
    reader = Reader(win, memory)
    for round_ in range(ROUNDS):
        win.Fence()
        reader.store(round_)
        win.Fence()
        for step in range(comm.size):
            target = (comm.rank + step) % comm.size
            under_fences(reader, target)
        win.Fence(MPI.MODE_NOSUCCEED)
        for step in range(comm.size):
            target = (comm.rank + step) % comm.size
            under_locks(reader, target)
            by_datatypes(reader, target)
        comm.Barrier()
    win.Free()
    return reader.gets, reader.wrong


def main():
    """The three kinds of windows, one after the other."""
    size = 8 * WORDS
    own = memoryview(bytearray(size))
    results = [exercise(MPI.Win.Create(own, 8, MPI.INFO_NULL, comm), own)]

    memory = MPI.Alloc_mem(size)
    results.append(exercise(MPI.Win.Create(memory, 8, MPI.INFO_NULL, comm),
                            memoryview(memory)))
    MPI.Free_mem(memory)

    win = MPI.Win.Allocate(size, 8, MPI.INFO_NULL, comm)
    results.append(exercise(win, memoryview(win.tomemory())))

    gets = comm.allreduce(sum(gets for gets, _ in results))
    wrong = comm.allreduce(sum(wrong for _, wrong in results))
    if comm.rank == 0:
        print(f"gets={gets} wrong={wrong}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
