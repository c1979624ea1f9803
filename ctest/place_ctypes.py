"""MPI called by ctypes.

place_ctypes.py LIBRARY handle    functions from LIBRARY's own handle (RTLD_LOCAL)
place_ctypes.py LIBRARY process   LIBRARY loaded globally, functions by name from the
                                  whole process, where a preloaded library comes first
"""
import ctypes
import sys

name, how = sys.argv[1:3]
try:
    library = ctypes.CDLL(name, mode=ctypes.RTLD_LOCAL if how == "handle"
                          else ctypes.RTLD_GLOBAL)
except OSError as error:
    print("skipped:", error)
    sys.exit(77)
mpi = library if how == "handle" else ctypes.CDLL(None)

if "libmpich" in name:
    handle = ctypes.c_int
    world, no_info, integer = (handle(x) for x in (0x44000000, 0x1C000000, 0x4C000405))
else:
    handle = ctypes.c_void_p
    world, no_info, integer = (
        handle(ctypes.addressof(ctypes.c_char.in_dll(library, symbol)))
        for symbol in ("ompi_mpi_comm_world", "ompi_mpi_info_null", "ompi_mpi_int"))
LOCK_SHARED = 235 if "libmpich" in name else 2

mpi.MPI_Init(None, None)
rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
rank, size = rank.value, size.value

COUNT = 1024
memory = (ctypes.c_int * COUNT)(*(rank * 10000 + i for i in range(COUNT)))
win = handle()
aint = ctypes.c_ssize_t
mpi.MPI_Win_create(memory, aint(ctypes.sizeof(memory)), 4, no_info, world,
                   ctypes.byref(win))
mpi.MPI_Win_fence(0, win)
wrong, gets, target = 0, 0, (rank + 1) % size
got = (ctypes.c_int * 16)()
for first in range(0, 512, 16):
    mpi.MPI_Win_lock(LOCK_SHARED, target, 0, win)
    mpi.MPI_Get(got, 16, integer, target, aint(first), 16, integer, win)
    mpi.MPI_Win_unlock(target, win)
    gets += 1
    wrong += list(got) != [target * 10000 + first + i for i in range(16)]
mpi.MPI_Win_fence(0, win)

redirected = ctypes.c_uint64(0)
try:
    ctypes.CDLL(None).oriel_mpi_counter(win, b"redirected", ctypes.byref(redirected))
except AttributeError:
    pass
mpi.MPI_Win_free(ctypes.byref(win))
mpi.MPI_Finalize()
if rank == 0:
    print(f"gets={gets} redirected={redirected.value} wrong={wrong} below=0")
    print("reads wrong" if wrong else "all reads right", flush=True)
sys.exit(wrong != 0)
