! Field cases A23 and A24 with `use mpi`: a window that MPI allocates, and requests.
program fortran_mod
    use, intrinsic :: iso_c_binding
    use mpi
    implicit none
    integer, parameter :: n = 1000
    integer, pointer :: source(:)
    integer, target :: got(n)
    integer :: rank, ranks, target_rank, win, error, i, wrong, all_wrong, request
    integer(kind=MPI_ADDRESS_KIND) :: bytes, at
    type(c_ptr) :: base

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    target_rank = mod(rank + 1, ranks)
    wrong = 0
    bytes = 4 * n
    call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, error)
    call c_f_pointer(base, source, [n])
    do i = 1, n
        source(i) = 100000 * rank + i
    end do
    call MPI_Barrier(MPI_COMM_WORLD, error)

    call MPI_Win_lock_all(0, win, error)
    got = -1
    do i = 1, n
        at = i - 1
        call MPI_Get(got(i), 1, MPI_INTEGER, target_rank, at, 1, MPI_INTEGER, win, error)
    end do
    call MPI_Win_flush(target_rank, win, error)
    do i = 1, n
        if (got(i) /= 100000 * target_rank + i) wrong = wrong + 1
    end do
    got = -1
    at = 0
    call MPI_Rget(got, n, MPI_INTEGER, target_rank, at, n, MPI_INTEGER, win, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    do i = 1, n
        if (got(i) /= 100000 * target_rank + i) wrong = wrong + 1
    end do
    call MPI_Win_unlock_all(win, error)
    if (request /= MPI_REQUEST_NULL) wrong = wrong + 1

    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Win_free(win, error)
    if (win /= MPI_WIN_NULL) wrong = wrong + 1
    call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0) print *, 'wrong', all_wrong
    call MPI_Finalize(error)
    if (all_wrong /= 0) stop 1
end program fortran_mod
