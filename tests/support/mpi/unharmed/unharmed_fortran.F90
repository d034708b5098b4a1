! Fortran programs: by `use mpi`, by mpif.h, by `use mpi_f08` (macro WAY_MPI, WAY_MPIF, WAY_F08), and, with
! C_CALLS, with a part in C that makes most of the calls.

program unharmed_fortran
#if defined(WAY_F08)
  use mpi_f08
#elif defined(WAY_MPI)
  use mpi
#endif
  use, intrinsic :: iso_c_binding
  implicit none
#if defined(WAY_MPIF)
  include 'mpif.h'
#endif
  interface
    subroutine own_open() bind(c)
    end subroutine
    subroutine own_count() bind(c)
    end subroutine
    subroutine own_place(of, among) bind(c)
      import c_int
      integer(c_int), value :: of, among
    end subroutine
    subroutine own_tell(number) bind(c)
      import c_int
      integer(c_int), value :: number
    end subroutine
    subroutine c_calls() bind(c)
    end subroutine
  end interface
  integer :: rank, ranks, error, round, given(1), all(1), total

  call own_open()
  call own_count()
  call MPI_Init(error)
  call own_count()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call own_count()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call own_place(rank, ranks)
#if defined(C_CALLS)
  call c_calls()
#endif
  total = 0
  do round = 1, 20
    given(1) = rank + round
    call own_count()
    call MPI_Allreduce(given, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call own_count()
    call MPI_Barrier(MPI_COMM_WORLD, error)
    total = total + all(1)
  end do
  call own_tell(total)
  call own_count()
  call MPI_Finalize(error)
end program
