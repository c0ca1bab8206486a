/* The ghost exchange of cg done by hand with MPI. One thread per rank. */
#include "common/mpi_ghosts.h"

#include <stdlib.h>

#include "common/array.h"

/* first[i] = count[0] + ... + count[i - 1]; returns the sum of all. */
static int running_sum(int n, const int *count, int *first)
{
  int sum = 0;
  for (int i = 0; i < n; i++) {
    first[i] = sum;
    sum += count[i];
  }
  return sum;
}

mpi_ghosts_t mpi_ghosts_new(int nghosts, const int32_t *ghost_rank, const int32_t *ghost_index)
{
  mpi_ghosts_t e = {0};
  MPI_Comm_size(MPI_COMM_WORLD, &e.size);
  e.send_count = array_new(e.size, sizeof *e.send_count);
  e.send_first = array_new(e.size, sizeof *e.send_first);
  e.recv_count = array_new(e.size, sizeof *e.recv_count);
  e.recv_first = array_new(e.size, sizeof *e.recv_first);
  e.request = array_new(2 * e.size, sizeof(MPI_Request));
  for (int rank = 0; rank < e.size; rank++)
    e.recv_count[rank] = 0;
  for (int k = 0; k < nghosts; k++)
    e.recv_count[ghost_rank[k]]++;
  running_sum(e.size, e.recv_count, e.recv_first);

  /* Who needs something knows what; who sends it has to be told. */
  MPI_Alltoall(e.recv_count, 1, MPI_INT, e.send_count, 1, MPI_INT, MPI_COMM_WORLD);
  e.nsend = running_sum(e.size, e.send_count, e.send_first);
  e.send_index = array_new(e.nsend, sizeof *e.send_index);
  e.send_buffer = array_new(e.nsend, sizeof *e.send_buffer);
  MPI_Alltoallv(ghost_index, e.recv_count, e.recv_first, MPI_INT32_T, e.send_index, e.send_count, e.send_first,
                MPI_INT32_T, MPI_COMM_WORLD);
  return e;
}

void mpi_ghosts_free(mpi_ghosts_t *e)
{
  free(e->send_count);
  free(e->send_first);
  free(e->recv_count);
  free(e->recv_first);
  free(e->send_index);
  free(e->send_buffer);
  free(e->request);
}

void mpi_ghosts_exchange(mpi_ghosts_t *e, const double *x, double *ghosts)
{
  int nrequests = 0;
  for (int rank = 0; rank < e->size; rank++)
    if (e->recv_count[rank] > 0)
      MPI_Irecv(ghosts + e->recv_first[rank], e->recv_count[rank], MPI_DOUBLE, rank, 0, MPI_COMM_WORLD,
                &e->request[nrequests++]);
  for (int rank = 0; rank < e->size; rank++) {
    if (e->send_count[rank] == 0)
      continue;
    for (int k = e->send_first[rank]; k < e->send_first[rank] + e->send_count[rank]; k++)
      e->send_buffer[k] = x[e->send_index[k]];
    MPI_Isend(e->send_buffer + e->send_first[rank], e->send_count[rank], MPI_DOUBLE, rank, 0, MPI_COMM_WORLD,
              &e->request[nrequests++]);
  }
  MPI_Waitall(nrequests, e->request, MPI_STATUSES_IGNORE);
}
