"""Reads rows at random from the memory of other ranks, and times that.

An mpi4py program as the loaders of training jobs are: the data set lies in the ranks'
memory, and each sample is fetched by lock, Get and unlock. It knows nothing of Oriel.
"""

import random
import struct
import sys
import time

from mpi4py import MPI

ROW_BYTES, ROWS = 3072, 5000
CHECKED, TIMED = 2000, 20000
comm = MPI.COMM_WORLD


def content(owner, row):
    """The bytes of a row."""
    return struct.pack("<QQ", owner, row) * (ROW_BYTES // 16)


def choices(count):
    """(rank, row) to read: random, and the same in every run."""
    dice = random.Random(comm.rank)
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    return [(dice.choice(others), dice.randrange(ROWS)) for _ in range(count)]


def read(win, buffer, owner, row):
    """One sample."""
    win.Lock(owner, MPI.LOCK_SHARED)
    win.Get(buffer, owner, (row, ROW_BYTES, MPI.BYTE))
    win.Unlock(owner)


def main():
    """Fill, check, time."""
    memory = MPI.Alloc_mem(ROW_BYTES * ROWS)
    for row in range(ROWS):
        memory[row * ROW_BYTES:(row + 1) * ROW_BYTES] = content(comm.rank, row)
    win = MPI.Win.Create(memory, ROW_BYTES, MPI.INFO_NULL, comm)
    win.Fence()
    win.Fence(MPI.MODE_NOSUCCEED)
    sample = bytearray(ROW_BYTES)
    buffer = [sample, MPI.BYTE]
    wrong = 0
    for owner, row in choices(CHECKED):
        read(win, buffer, owner, row)
        wrong += sample != content(owner, row)
    wrong = comm.allreduce(wrong)
    samples = choices(TIMED)
    comm.Barrier()
    start = time.perf_counter()
    for owner, row in samples:
        read(win, buffer, owner, row)
    us = (time.perf_counter() - start) / TIMED * 1e6
    comm.Barrier()
    win.Free()
    MPI.Free_mem(memory)
    if comm.rank == 0:
        print(f"rows={CHECKED * comm.size} wrong={wrong} us={us:.3f}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
