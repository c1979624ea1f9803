! Field cases A23 and A24 with `use mpi_f08`: handles are types, sentinels are checked.
program fortran_f08
    use, intrinsic :: iso_c_binding
    use mpi_f08
    implicit none
    integer, parameter :: n = 1000
    integer, target, asynchronous :: source(n), got(n)
    integer :: rank, ranks, target_rank, i, wrong, all_wrong, kind_of_read
    integer(kind=MPI_ADDRESS_KIND) :: bytes, at
    type(MPI_Win) :: win
    type(MPI_Info) :: info
    type(MPI_Datatype) :: type

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    target_rank = mod(rank + 1, ranks)
    wrong = 0
    do i = 1, n
        source(i) = 100000 * rank + i
    end do
    bytes = 4 * n
    do kind_of_read = 1, 2
        if (kind_of_read == 1) then
            call MPI_Win_create(source, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
        else
            call MPI_Info_create(info)
            call MPI_Info_set(info, 'oriel_offload', 'true')
            call MPI_Win_create(source, bytes, 4, info, MPI_COMM_WORLD, win)
            call MPI_Info_free(info)
        end if
        got = -1
        at = 0
        call MPI_Win_fence(0, win)
        call MPI_Get(got, n, MPI_INTEGER, target_rank, at, n, MPI_INTEGER, win)
        call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
        do i = 1, n
            if (got(i) /= 100000 * target_rank + i) wrong = wrong + 1
        end do

        ! Every other element, through a type.
        got = -1
        call MPI_Type_vector(n / 2, 1, 2, MPI_INTEGER, type)
        call MPI_Type_commit(type)
        call MPI_Win_lock(MPI_LOCK_SHARED, target_rank, 0, win)
        call MPI_Get(got, n / 2, MPI_INTEGER, target_rank, at, 1, type, win)
        call MPI_Win_unlock(target_rank, win)
        call MPI_Type_free(type)
        do i = 1, n / 2
            if (got(i) /= 100000 * target_rank + 2 * i - 1) wrong = wrong + 1
        end do
        call MPI_Barrier(MPI_COMM_WORLD)
        call MPI_Win_free(win)
        if (win /= MPI_WIN_NULL) wrong = wrong + 1
    end do
    call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) print *, 'wrong', all_wrong
    call MPI_Finalize()
    if (all_wrong /= 0) stop 1
end program fortran_f08
