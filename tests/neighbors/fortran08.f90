! Neighbourhood collectives of a Fortran program by "use mpi_f08": each result is compared with what the senders must
! have sent. A grid that is periodic in its first dimension only.
program neighbors
  use mpi_f08
  implicit none
  integer, parameter :: values = 300
  type(MPI_Comm) :: grid, copy
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
  integer :: rank, n, dims(2), near(4), i, k, failures, all_failures
  integer, asynchronous :: out(values, 4), in(values, 4)
  logical :: done

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  dims = 0
  call MPI_Dims_create(n, 2, dims)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, (/.true., .false./), .false., grid)
  call MPI_Comm_dup(grid, copy)
  call MPI_Cart_shift(copy, 0, 1, near(1), near(2))
  call MPI_Cart_shift(copy, 1, 1, near(3), near(4))
  failures = 0

  do k = 1, 10
    out = 100 * rank + k
    in = -1
    if (mod(k, 2) == 0) then
      call MPI_Neighbor_alltoall(out, values, MPI_INTEGER, in, values, MPI_INTEGER, copy)
    else
      call MPI_Ineighbor_alltoallv(out, (/(values, i = 1, 4)/), (/(values * i, i = 0, 3)/), MPI_INTEGER, in, &
                                   (/(values, i = 1, 4)/), (/(values * i, i = 0, 3)/), MPI_INTEGER, copy, requests(1))
      call MPI_Ibarrier(MPI_COMM_WORLD, requests(2))
      done = .false.
      do while (.not. done)
        call MPI_Test(requests(1), done, status)
      end do
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    end if
    do i = 1, 4
      if (near(i) == MPI_PROC_NULL) then
        if (any(in(:, i) /= -1)) failures = failures + 1
      else
        if (any(in(:, i) /= 100 * near(i) + k)) failures = failures + 1
      end if
    end do
  end do
  call MPI_Comm_free(copy)
  call MPI_Comm_free(grid)

  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(a)', merge("ok   ", "wrong", all_failures == 0)
  call MPI_Finalize()
  if (all_failures > 0) stop 1
end program
