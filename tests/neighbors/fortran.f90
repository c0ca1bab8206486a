! Neighbourhood collectives of a Fortran program by "use mpi": each result is compared with what the senders must have
! sent. A ring of all processes, in both directions.
program neighbors
  use mpi
  implicit none
  integer, parameter :: most = 50
  integer :: comm, graph, rank, n, code, k, failures, all_failures, left, right
  integer :: requests(3), statuses(MPI_STATUS_SIZE, 3), indices(3), ndone, token, out_types(2), in_types(2)
  integer :: counts(2), displs(2), in_counts(2), in_displs(2)
  integer(kind=MPI_ADDRESS_KIND) :: out_places(2), in_places(2)
  double precision :: out(2 * most), in(2 * most)
  integer :: one, got(2), which
  logical :: done

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, n, code)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, (/n/), (/.true./), .false., comm, code)
  call MPI_Cart_shift(comm, 0, 1, left, right, code)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, (/left, right/), MPI_UNWEIGHTED, 2, (/right, left/), &
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, code)
  call MPI_Comm_set_name(graph, "a ring", code)
  failures = 0

  ! All processes hand over their number.
  call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, got, 1, MPI_INTEGER, comm, code)
  call expect(code == MPI_SUCCESS .and. got(1) == left .and. got(2) == right, "allgather")
  one = rank
  got = -1
  call MPI_Ineighbor_allgather(one, 1, MPI_INTEGER, got, 1, MPI_INTEGER, graph, requests(1), code)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, code)
  call expect(requests(1) == MPI_REQUEST_NULL .and. got(1) == left .and. got(2) == right, "ineighbor_allgather")

  ! Sizes that change: to the right mod(rank + k, most) values, to the left one more.
  do k = 1, 20
    counts = (/mod(rank + k, most), mod(rank + k, most) + 1/)
    displs = (/0, most/)
    in_counts = (/mod(left + k, most), mod(right + k, most) + 1/)
    in_displs = (/most, 0/)
    out(1:most) = 1000d0 * rank + k
    out(most + 1:) = -1000d0 * rank - k
    in = 0
    call MPI_Neighbor_alltoallv(out, counts, displs, MPI_DOUBLE_PRECISION, in, in_counts, in_displs, &
                                MPI_DOUBLE_PRECISION, graph, code)
    call expect_both(1000d0 * left + k, -1000d0 * right - k, "alltoallv")

    ! The same by alltoallw with absolute addresses, begun among messages, and completed together. Open MPI 4.1 converts
    ! as many datatypes as there are processes, not neighbours.
    if (n == 1) cycle
    in = 0
    call MPI_Get_address(out(1), out_places(1), code)
    call MPI_Get_address(out(most + 1), out_places(2), code)
    call MPI_Get_address(in(most + 1), in_places(1), code)
    call MPI_Get_address(in(1), in_places(2), code)
    out_types = MPI_DOUBLE_PRECISION
    in_types = MPI_DOUBLE_PRECISION
    token = -1
    call MPI_Irecv(token, 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD, requests(1), code)
    call MPI_Ineighbor_alltoallw(MPI_BOTTOM, counts, out_places, out_types, MPI_BOTTOM, in_counts, in_places, &
                                 in_types, graph, requests(2), code)
    one = rank + k
    call MPI_Isend(one, 1, MPI_INTEGER, right, 5, MPI_COMM_WORLD, requests(3), code)
    if (mod(k, 3) == 0) then
      call MPI_Waitall(3, requests, statuses, code)
      call expect(statuses(MPI_SOURCE, 1) == left, "status of the message")
    else if (mod(k, 3) == 1) then
      done = .false.
      do while (.not. done)
        call MPI_Testall(3, requests, done, MPI_STATUSES_IGNORE, code)
      end do
    else
      ndone = 0
      do while (ndone /= MPI_UNDEFINED)
        call MPI_Waitsome(3, requests, ndone, indices, MPI_STATUSES_IGNORE, code)
      end do
    end if
    call expect(token == left + k, "message")
    call expect(all(requests == MPI_REQUEST_NULL), "requests")
    call MPI_Get_address(in, in_places(1), code)  ! or the compiler might keep values of it
    call expect_both(1000d0 * left + k, -1000d0 * right - k, "alltoallw")
  end do

  ! The index of a completed request counts from 1.
  call MPI_Ineighbor_alltoall(out, 1, MPI_DOUBLE_PRECISION, in, 1, MPI_DOUBLE_PRECISION, graph, requests(2), code)
  requests(1) = MPI_REQUEST_NULL
  requests(3) = MPI_REQUEST_NULL
  call MPI_Waitany(3, requests, which, MPI_STATUS_IGNORE, code)
  call expect(which == 2, "index of MPI_Waitany")
  call MPI_Comm_free(graph, code)
  call MPI_Comm_free(comm, code)

  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  if (rank == 0 .and. all_failures == 0) print '(a)', "ok"
  call MPI_Finalize(code)
  if (all_failures > 0) stop 1

contains

  subroutine expect(so, what)
    logical, intent(in) :: so
    character(len=*), intent(in) :: what
    if (so) return
    print '(a,i0,2a)', "rank ", rank, ": wrong: ", what
    failures = failures + 1
  end subroutine

  subroutine expect_both(from_left, from_right, what)
    double precision, intent(in) :: from_left, from_right
    character(len=*), intent(in) :: what
    call expect(all(in(most + 1:most + in_counts(1)) == from_left) .and. all(in(most + in_counts(1) + 1:) == 0) .and. &
                all(in(1:in_counts(2)) == from_right) .and. all(in(in_counts(2) + 1:most) == 0), what)
  end subroutine
end program
