"""An mpi4py program on windows: create, allocate, Get, Rget, lock_all, fence."""
import ctypes
import sys

from mpi4py import MPI

COUNT = 4096
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
gets = redirected = wrong = 0


def pattern(owner, kind, i):
    return (i * 2654435761 + owner * 40503 + kind * 97) >> 5 & 0x7FFFFFFF


def counter(win, name):
    """What Oriel counted on this window; 0 where it is not loaded."""
    try:
        function = ctypes.CDLL(None).oriel_mpi_counter
    except AttributeError:
        return 0
    is_int = MPI._sizeof(MPI.Win) == ctypes.sizeof(ctypes.c_int)
    handle = (ctypes.c_int if is_int else ctypes.c_void_p).from_address(MPI._addressof(win))
    value = ctypes.c_uint64(0)
    name = ctypes.c_char_p(name.encode())
    return value.value if function(handle, name, ctypes.byref(value)) == 0 else 0


def check(got, owner, kind, first):
    global gets, wrong
    gets += 1
    wrong += sum(x != pattern(owner, kind, first + i) for i, x in enumerate(got))


def run(kind, win, memory):
    global redirected
    for i in range(COUNT):
        memory[i] = pattern(rank, kind, i)
    win.Fence()
    target = (rank + 1) % size
    for turn in range(20):
        first, n = turn * 100 % (COUNT - 64), 1 + turn * 3
        got = memoryview(bytearray(4 * n)).cast("i")
        where = (first, n, MPI.INT)
        if turn % 4 == 0:
            win.Lock(target, MPI.LOCK_SHARED)
            win.Get([got, MPI.INT], target, where)
            win.Unlock(target)
        elif turn % 4 == 1:
            win.Lock_all()
            win.Get([got, MPI.INT], target, where)
            win.Flush(target)
            win.Unlock_all()
        elif turn % 4 == 2:
            win.Lock_all()
            win.Rget([got, MPI.INT], target, where).Wait()
            win.Unlock_all()
        else:
            win.Fence()
            win.Get([got, MPI.INT], target, where)
            win.Fence()
        check(got, target, kind, first)
    win.Fence()
    redirected += counter(win, "redirected")
    win.Free()


own = memoryview(bytearray(4 * COUNT)).cast("i")
run(0, MPI.Win.Create(own, 4, MPI.INFO_NULL, comm), own)

memory = MPI.Alloc_mem(4 * COUNT)
run(1, MPI.Win.Create(memory, 4, MPI.INFO_NULL, comm), memoryview(memory).cast("i"))
MPI.Free_mem(memory)

win = MPI.Win.Allocate(4 * COUNT, 4, MPI.INFO_NULL, comm)
run(2, win, memoryview(win.tomemory()).cast("i"))

gets, redirected, wrong = (comm.allreduce(x) for x in (gets, redirected, wrong))
if rank == 0:
    print(f"gets={gets} redirected={redirected} wrong={wrong} below=0")
    print("reads wrong" if wrong else "all reads right", flush=True)
sys.exit(wrong != 0)
