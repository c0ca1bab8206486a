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
  if (PMPI_Dist_graph_neighbors_count(comm, &nin, &nout, &weighted) != MPI_SUCCESS || !allocate(neighbors, nin, nout))
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

/* ---- The order of blocks between two processes ------------------------------------------------------------------ */

sfpmpi_order_t sfpmpi_neighbors_order[SFPMPI_FORMS][SFPMPI_KINDS];

#define NBLOCKS 4

/* The forms of a function, with arguments in parentheses. */
#define CALL(form, function, ...)                                                                                      \
  ((form) == SFPMPI_BLOCKING      ? PMPI_Neighbor_##function(__VA_ARGS__)                                              \
   : (form) == SFPMPI_NONBLOCKING ? PMPI_Ineighbor_##function(__VA_ARGS__, &request)                                   \
                                  : sfpmpi_own.Neighbor_##function##_init(__VA_ARGS__, MPI_INFO_NULL, &request))

static void exchange_with_itself(sfpmpi_form_t form, sfpmpi_kind_t kind, MPI_Comm comm, const int *to, int *from)
{
  const int counts[NBLOCKS] = {1, 1, 1, 1}, places[NBLOCKS] = {0, 1, 2, 3};
  const MPI_Aint offsets[NBLOCKS] = {0, sizeof(int), 2 * sizeof(int), 3 * sizeof(int)};
  const MPI_Datatype types[NBLOCKS] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
  MPI_Request request = MPI_REQUEST_NULL;
  if (kind == SFPMPI_SAME)
    (void)CALL(form, alltoall, to, 1, MPI_INT, from, 1, MPI_INT, comm);
  else if (kind == SFPMPI_V)
    (void)CALL(form, alltoallv, to, counts, places, MPI_INT, from, counts, places, MPI_INT, comm);
  else
    (void)CALL(form, alltoallw, to, counts, offsets, types, from, counts, offsets, types, comm);
  if (form == SFPMPI_PERSISTENT_FORM)
    (void)PMPI_Start(&request);
  if (form != SFPMPI_BLOCKING)
    (void)PMPI_Wait(&request, MPI_STATUS_IGNORE);
  if (form == SFPMPI_PERSISTENT_FORM)
    (void)PMPI_Request_free(&request);
}

/* Calls each function once, in two periodic dimensions of this process alone. */
static void try_all(void)
{
  static bool tried;
  const int ones[2] = {1, 1}, to[NBLOCKS] = {0, 1, 2, 3};
  MPI_Comm comm;
  if (tried || PMPI_Cart_create(MPI_COMM_SELF, 2, ones, ones, 0, &comm) != MPI_SUCCESS)
    return;
  tried = true;
  for (sfpmpi_form_t form = SFPMPI_BLOCKING; form < SFPMPI_FORMS; form++)
    for (sfpmpi_kind_t kind = SFPMPI_SAME; kind < SFPMPI_KINDS; kind++) {
      int from[NBLOCKS] = {1, 0, 3, 2};
      exchange_with_itself(form, kind, comm, to, from);
      sfpmpi_neighbors_order[form][kind] = from[0] == 0             ? SFPMPI_AS_SENT
                                           : from[0] == NBLOCKS - 1 ? SFPMPI_REVERSED
                                                                    : SFPMPI_STANDARD;
    }
  (void)PMPI_Comm_free(&comm);
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

/* Place i among the blocks to be received, in that order. */
static int place(const sfpmpi_neighbors_t *neighbors, sfpmpi_order_t order, int i)
{
  if (order == SFPMPI_REVERSED)
    return neighbors->nin - 1 - i;
  return order == SFPMPI_STANDARD && neighbors->cartesian ? i ^ 1 : i;
}

/* The k-th block from a rank, in that order, is the k-th time that ranks has it. Returns whether a rank is there
 * several times. */
static bool number_by(const sfpmpi_neighbors_t *neighbors, sfpmpi_order_t order, int *number, const int *ranks)
{
  bool several = false;
  for (int i = 0; i < neighbors->nin; i++) {
    int block = place(neighbors, order, i), rank = neighbors->in[block], earlier = 0, leaf = 0;
    number[block] = -1;
    if (rank == MPI_PROC_NULL)
      continue;
    for (int k = 0; k < i; k++)
      earlier += neighbors->in[place(neighbors, order, k)] == rank;
    several = several || earlier > 0;
    while (ranks[leaf] != rank || earlier-- > 0)
      leaf++;
    number[block] = leaf;
  }
  return several;
}

int sfpmpi_neighbors_number_in(const sfpmpi_neighbors_t *neighbors, int *const number[SFPMPI_ORDERS], int *ranks)
{
  int n = 0;
  bool several = false;
  for (int i = 0; i < neighbors->nin; i++) {
    int rank = neighbors->in[place(neighbors, SFPMPI_STANDARD, i)];
    if (rank != MPI_PROC_NULL)
      ranks[n++] = rank;
  }
  for (sfpmpi_order_t order = SFPMPI_STANDARD; order < SFPMPI_ORDERS; order++)
    several = number_by(neighbors, order, number[order], ranks);
  if (several)
    try_all();
  return n;
}
