/* Neighbours in topologies of MPI: see neighbors.h. The thread that creates a communicator. */
#include "client/adapters/pmpi/neighbors.h"

#include <stdlib.h>

#include "client/adapters/pmpi/functions.h"

/* ---- Neighbours -------------------------------------------------------------------------------------------------- */

static bool allocate(sfpmpi_neighbors_t *neighbors, int nin, int nout)
{
  neighbors->nin = nin;
  neighbors->nout = nout;
  neighbors->in = calloc((size_t)nin + 1, sizeof *neighbors->in);
  neighbors->out = calloc((size_t)nout + 1, sizeof *neighbors->out);
  return neighbors->in != NULL && neighbors->out != NULL;
}

static bool find_cartesian(MPI_Comm comm, sfpmpi_neighbors_t *neighbors)
{
  int ndims;
  if (PMPI_Cartdim_get(comm, &ndims) != MPI_SUCCESS || !allocate(neighbors, 2 * ndims, 2 * ndims))
    return false;
  neighbors->cartesian = true;
  for (int d = 0; d < ndims; d++) {
    int *pair = &neighbors->in[2 * d];
    if (PMPI_Cart_shift(comm, d, 1, &pair[0], &pair[1]) != MPI_SUCCESS)
      return false;
    neighbors->out[2 * d] = pair[0];
    neighbors->out[2 * d + 1] = pair[1];
  }
  return true;
}

static bool find_of_graph(MPI_Comm comm, sfpmpi_neighbors_t *neighbors)
{
  int rank, n;
  if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || PMPI_Graph_neighbors_count(comm, rank, &n) != MPI_SUCCESS ||
      !allocate(neighbors, n, n))
    return false;
  return PMPI_Graph_neighbors(comm, rank, n, neighbors->in) == MPI_SUCCESS &&
         PMPI_Graph_neighbors(comm, rank, n, neighbors->out) == MPI_SUCCESS;
}

static bool find_of_dist_graph(MPI_Comm comm, sfpmpi_neighbors_t *neighbors)
{
  int nin, nout, weighted;
  if (PMPI_Dist_graph_neighbors_count(comm, &nin, &nout, &weighted) != MPI_SUCCESS ||
      !allocate(neighbors, nin, nout))
    return false;
  int *weights = calloc((size_t)nin + (size_t)nout + 1, sizeof *weights);
  bool found = weights != NULL && PMPI_Dist_graph_neighbors(comm, nin, neighbors->in, weights, nout, neighbors->out,
                                                            weights + nin) == MPI_SUCCESS;
  free(weights);
  return found;
}

bool sfpmpi_neighbors_find(MPI_Comm comm, sfpmpi_neighbors_t *neighbors_p)
{
  int topology;
  bool found = false;
  sfpmpi_neighbors_t neighbors = {.nin = 0};
  if (PMPI_Topo_test(comm, &topology) != MPI_SUCCESS)
    return false;
  if (topology == MPI_CART)
    found = find_cartesian(comm, &neighbors);
  else if (topology == MPI_GRAPH)
    found = find_of_graph(comm, &neighbors);
  else if (topology == MPI_DIST_GRAPH)
    found = find_of_dist_graph(comm, &neighbors);
  if (found)
    *neighbors_p = neighbors;
  else
    sfpmpi_neighbors_free(&neighbors);
  return found;
}

void sfpmpi_neighbors_free(sfpmpi_neighbors_t *neighbors)
{
  free(neighbors->in);
  free(neighbors->out);
}

/* ---- What this MPI does with both neighbours the same ------------------------------------------------------------ */

static void exchange_with_itself(sfpmpi_form_t form, MPI_Comm comm, const int *to, int *from)
{
  MPI_Request request = MPI_REQUEST_NULL;
  if (form == SFPMPI_BLOCKING) {
    (void)PMPI_Neighbor_alltoall(to, 1, MPI_INT, from, 1, MPI_INT, comm);
  } else if (form == SFPMPI_NONBLOCKING) {
    (void)PMPI_Ineighbor_alltoall(to, 1, MPI_INT, from, 1, MPI_INT, comm, &request);
    (void)PMPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    (void)SFPMPI_PERSISTENT_P(Neighbor_alltoall_init)(to, 1, MPI_INT, from, 1, MPI_INT, comm, MPI_INFO_NULL, &request);
    (void)PMPI_Start(&request);
    (void)PMPI_Wait(&request, MPI_STATUS_IGNORE);
    (void)PMPI_Request_free(&request);
  }
}

/* Whether the block in the negative direction arrives as the one from the positive direction. */
static bool crosses(sfpmpi_form_t form)
{
  static int known[SFPMPI_FORMS]; /* 1 + result */
  const int one = 1, to[2] = {1, 2};
  int from[2] = {2, 1};
  MPI_Comm comm;
  if (known[form] == 0 && PMPI_Cart_create(MPI_COMM_SELF, 1, &one, &one, 0, &comm) == MPI_SUCCESS) {
    exchange_with_itself(form, comm, to, from);
    known[form] = 1 + (from[0] == 2);
    (void)PMPI_Comm_free(&comm);
  }
  return known[form] != 1;
}

/* ---- Numbers of blocks ------------------------------------------------------------------------------------------- */

int sfpmpi_neighbors_number_out(const sfpmpi_neighbors_t *neighbors, int *number, int *ranks)
{
  int n = 0;
  for (int j = 0; j < neighbors->nout; j++) {
    number[j] = neighbors->out[j] == MPI_PROC_NULL ? -1 : n;
    if (number[j] >= 0)
      ranks[n++] = neighbors->out[j];
  }
  return n;
}

/* As the standard has it: in Cartesian topologies the pairs of a dimension are exchanged. */
static int number_crossed(const sfpmpi_neighbors_t *neighbors, int *number, int *ranks)
{
  int n = 0;
  for (int i = 0; i < neighbors->nin; i++) {
    int block = neighbors->cartesian ? i ^ 1 : i, rank = neighbors->in[block];
    number[block] = rank == MPI_PROC_NULL ? -1 : n;
    if (rank != MPI_PROC_NULL)
      ranks[n++] = rank;
  }
  return n;
}

/* The k-th block from a rank is the k-th time that ranks has it. */
static void number_in_order(const sfpmpi_neighbors_t *neighbors, int *number, const int *ranks)
{
  for (int i = 0; i < neighbors->nin; i++) {
    int rank = neighbors->in[i], earlier = 0, leaf = 0;
    number[i] = -1;
    if (rank == MPI_PROC_NULL)
      continue;
    for (int k = 0; k < i; k++)
      earlier += neighbors->in[k] == rank;
    while (ranks[leaf] != rank || earlier-- > 0)
      leaf++;
    number[i] = leaf;
  }
}

static bool has_equal_pairs(const sfpmpi_neighbors_t *neighbors)
{
  for (int i = 0; i < neighbors->nin; i += 2)
    if (neighbors->in[i] == neighbors->in[i + 1] && neighbors->in[i] != MPI_PROC_NULL)
      return true;
  return false;
}

int sfpmpi_neighbors_number_in(const sfpmpi_neighbors_t *neighbors, int *const number[SFPMPI_FORMS], int *ranks)
{
  int n = 0;
  bool matters = neighbors->cartesian && has_equal_pairs(neighbors);
  for (sfpmpi_form_t form = SFPMPI_BLOCKING; form < SFPMPI_FORMS; form++) {
    n = number_crossed(neighbors, number[form], ranks);
    if (matters && !crosses(form))
      number_in_order(neighbors, number[form], ranks);
  }
  return n;
}
