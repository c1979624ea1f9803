! Field cases A23 and A24 with mpif.h: windows, reads and sentinels from Fortran.
program fortran_h
    implicit none
    include 'mpif.h'
    integer, parameter :: n = 1000
    integer :: source(n), got(n), absolute(4)
    common /data/ source, got, absolute
    integer :: rank, ranks, target, win, error, i, wrong, all_wrong, kind_of_read, lengths(1)
    integer :: type
    integer(kind=MPI_ADDRESS_KIND) :: bytes, at, addresses(1)

    call mpi_init(error)
    call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
    call mpi_comm_size(MPI_COMM_WORLD, ranks, error)
    target = mod(rank + 1, ranks)
    do i = 1, n
        source(i) = 100000 * rank + i
    end do
    wrong = 0
    bytes = 4 * n
    call mpi_win_create(source, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
    do kind_of_read = 1, 3
        got = -1
        at = 0
        if (kind_of_read == 1) call mpi_win_fence(0, win, error)
        if (kind_of_read == 2) call mpi_win_lock(MPI_LOCK_SHARED, target, 0, win, error)
        if (kind_of_read == 3) call mpi_win_lock_all(0, win, error)
        call mpi_get(got, n, MPI_INTEGER, target, at, n, MPI_INTEGER, win, error)
        if (kind_of_read == 1) call mpi_win_fence(MPI_MODE_NOSUCCEED, win, error)
        if (kind_of_read == 2) call mpi_win_unlock(target, win, error)
        if (kind_of_read == 3) call mpi_win_unlock_all(win, error)
        do i = 1, n
            if (got(i) /= 100000 * target + i) wrong = wrong + 1
        end do
    end do

    ! MPI_BOTTOM is an address of Fortran's own; the type holds absolute addresses.
    absolute = -1
    call mpi_get_address(absolute, addresses(1), error)
    lengths(1) = 4
    call mpi_type_create_hindexed(1, lengths, addresses, MPI_INTEGER, type, error)
    call mpi_type_commit(type, error)
    at = 10
    call mpi_win_lock(MPI_LOCK_SHARED, target, 0, win, error)
    call mpi_get(MPI_BOTTOM, 1, type, target, at, 4, MPI_INTEGER, win, error)
    call mpi_win_unlock(target, win, error)
    call mpi_type_free(type, error)
    do i = 1, 4
        if (absolute(i) /= 100000 * target + 10 + i) wrong = wrong + 1
    end do

    ! An update and a read after it: an elided lock or a clean target would show.
    call mpi_win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win, error)
    at = n - 1
    i = 4242 + rank
    call mpi_put(i, 1, MPI_INTEGER, target, at, 1, MPI_INTEGER, win, error)
    call mpi_win_flush(target, win, error)
    call mpi_get(got, 1, MPI_INTEGER, target, at, 1, MPI_INTEGER, win, error)
    call mpi_win_unlock(target, win, error)
    if (got(1) /= 4242 + rank) wrong = wrong + 1

    call mpi_barrier(MPI_COMM_WORLD, error)
    call mpi_win_free(win, error)
    if (win /= MPI_WIN_NULL) wrong = wrong + 1
    call mpi_allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0) print *, 'wrong', all_wrong
    call mpi_finalize(error)
    if (all_wrong /= 0) stop 1
end program fortran_h
