! Reads rows at random from the memory of other images, and times that: first while
! all images read, then while all but the first compute and call nothing.
!
! A coarray program as users write them; it knows nothing of Oriel, nor of MPI. Of each
! read OpenCoarrays makes MPI_Win_lock, MPI_Get and MPI_Win_unlock.
program rows
    use iso_fortran_env, only: int64, real64
    implicit none
    integer, parameter :: words = 64, many = 20000, checked = 2000, timed = 20000
    real(real64), parameter :: busy_s = 2.0_real64
    real(real64), allocatable :: store(:, :)[:]
    real(real64) :: row(words), us, longest, start
    integer :: i, j, wrong, from, which
    integer(int64) :: seed

    allocate (store(words, many)[*])
    do i = 1, many
        store(:, i) = [(content(this_image(), i, j), j=1, words)]
    end do
    seed = this_image()
    wrong = 0
    sync all

    do i = 1, checked
        call choose(from, which)
        row(:) = store(:, which)[from]
        if (any(row /= [(content(from, which, j), j=1, words)])) wrong = wrong + 1
    end do
    sync all

    start = seconds()
    do i = 1, timed
        call choose(from, which)
        row(:) = store(:, which)[from]
    end do
    us = (seconds() - start) / timed * 1e6_real64
    sync all

    longest = 0
    if (this_image() == 1) then
        call read_for(busy_s)
    else
        call compute_for(busy_s)
    end if
    sync all
    if (this_image() == 1) then
        print '(3(a, i0), 2(a, f0.3))', 'images=', num_images(), ' rows=', checked, &
            ' wrong=', wrong, ' us=', us, ' longest_ms=', longest * 1e3_real64
    end if

contains

    real(real64) function seconds()
        integer(int64) :: now, rate
        call system_clock(now, rate)
        seconds = real(now, real64) / real(rate, real64)
    end function

    pure real(real64) function content(owner, row, word)
        integer, intent(in) :: owner, row, word
        content = owner * 1e9_real64 + row * 1e3_real64 + word
    end function

    ! Another image and one of its rows, the same sequence in every run.
    subroutine choose(image, row)
        integer, intent(out) :: image, row
        seed = mod(seed * 48271_int64, 2147483647_int64)
        image = 1 + mod(this_image() + int(mod(seed, int(num_images() - 1, int64))), &
                        num_images())
        row = 1 + int(mod(seed, int(many, int64)))
    end subroutine

    subroutine read_for(duration)
        real(real64), intent(in) :: duration
        real(real64) :: finish, before
        finish = seconds() + duration
        do
            before = seconds()
            call choose(from, which)
            row(:) = store(:, which)[from]
            longest = max(longest, seconds() - before)
            if (seconds() > finish) exit
        end do
    end subroutine

    subroutine compute_for(duration)
        real(real64), intent(in) :: duration
        real(real64) :: finish, sum
        integer :: k
        finish = seconds() + duration
        sum = 0
        do while (seconds() < finish)
            do k = 1, 10000
                sum = sum + sqrt(real(k, real64))
            end do
        end do
        if (sum < 0) print *, sum ! or a compiler leaves the work out
    end subroutine
end program
