"""Neighborhood collectives of mpi4py, of which each result is compared with what the senders must have sent: a ring of all
processes, in both directions, with sizes that change, and Python objects."""
from array import array
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, n = world.rank, world.size
left, right = (rank - 1) % n, (rank + 1) % n
ring = world.Create_dist_graph_adjacent([left, right], [right, left])
ring.name = "a ring of Python"
wrong = 0

for k in range(20):
    to_right, to_left = (rank + k) % 7, (rank + k) % 5
    from_left, from_right = (left + k) % 7, (right + k) % 5
    out = array("d", [rank + k] * to_right + [-rank - k] * to_left)
    expected = array("d", [left + k] * from_left + [-right - k] * from_right)
    came = array("d", [0.5] * len(expected))
    sent = [out, ([to_right, to_left], [0, to_right]), MPI.DOUBLE]
    received = [came, ([from_left, from_right], [0, from_left]), MPI.DOUBLE]
    if k % 2 == 0:
        ring.Neighbor_alltoallv(sent, received)
    else:
        MPI.Request.Waitall([ring.Ineighbor_alltoallv(sent, received), world.Ibarrier()])
    wrong += came != expected

wrong += ring.neighbor_allgather(("object", rank)) != [("object", left), ("object", right)]
wrong += ring.neighbor_alltoall([[rank], {rank: "left"}]) != [[left], {right: "left"}]
ring.Free()
wrong = world.allreduce(int(wrong))
if rank == 0:
    print("ok" if wrong == 0 else f"{wrong} wrong")
