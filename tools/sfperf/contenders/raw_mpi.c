/* Calls MPI. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/contenders/raw_mpi.h"

#include <mpi.h>
#include <stdlib.h>

#include "tools/sfperf/fail.h"
#include "tools/sfperf/results/measure.h"

double sfperf_mpi_pingpong_run(void *state, int64_t iterations)
{
  const sfperf_mpi_pingpong_t *pingpong = state;
  int other = 1 - pingpong->rank;
  double start = sfperf_now();
  for (int64_t i = 0; i < iterations; i++) {
    if (pingpong->rank == 0)
      MPI_Send(pingpong->buffer, pingpong->count, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
    MPI_Recv(pingpong->buffer, pingpong->count, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (pingpong->rank == 1)
      MPI_Send(pingpong->buffer, pingpong->count, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
  }
  return sfperf_now() - start;
}

/* One direction of the neighbourhood: the ranks there are edges with, and where their parts lie. */
typedef struct side {
  int count;
  int *ranks;
  int *lengths;
  int *starts;
} side_t;

typedef struct state {
  MPI_Comm root_to_leaf;
  MPI_Comm leaf_to_root;
  side_t leaf_side;    /* ranks whose roots my leaves are on */
  side_t root_side;    /* ranks with leaves on my roots */
  double *leaf_buffer; /* leaves in the order of leaf_order; the leaf vector itself where that is its order */
  double *root_buffer; /* roots in the order of root_index */
  const sfperf_edges_t *edges;
  sfperf_vectors_t vectors;
  bool sum;
} state_t;

static void side_init(side_t *side, int size, const int counts[], const int starts[])
{
  *side = (side_t){
      .ranks = sfperf_malloc((size_t)size * sizeof(int)),
      .lengths = sfperf_malloc((size_t)size * sizeof(int)),
      .starts = sfperf_malloc((size_t)size * sizeof(int)),
  };
  for (int rank = 0; rank < size; rank++) {
    if (counts[rank] == 0)
      continue;
    side->ranks[side->count] = rank;
    side->lengths[side->count] = counts[rank];
    side->starts[side->count] = starts[rank];
    side->count++;
  }
}

static void side_free(side_t *side)
{
  free(side->ranks);
  free(side->lengths);
  free(side->starts);
}

static MPI_Comm make_neighbors(const side_t *from, const side_t *to)
{
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, from->count, from->ranks, from->lengths, to->count, to->ranks,
                                 to->lengths, MPI_INFO_NULL, 0, &comm);
  return comm;
}

static void *create(const sfperf_task_t *task)
{
  const sfperf_edges_t *edges = task->edges;
  state_t *state = sfperf_malloc(sizeof *state);
  *state = (state_t){.edges = edges, .vectors = task->vectors, .sum = task->sum};
  side_init(&state->leaf_side, edges->size, edges->leaf_count, edges->leaf_start);
  side_init(&state->root_side, edges->size, edges->root_count, edges->root_start);
  state->root_to_leaf = make_neighbors(&state->leaf_side, &state->root_side);
  state->leaf_to_root = make_neighbors(&state->root_side, &state->leaf_side);
  state->root_buffer = sfperf_malloc((size_t)edges->nroot_leaves * sizeof(double));
  state->leaf_buffer = edges->leaf_identity ? task->vectors.leaves
                                            : sfperf_malloc((size_t)edges->leaf_start[edges->size] * sizeof(double));
  return state;
}

static void destroy(void *opaque)
{
  state_t *state = opaque;
  MPI_Comm_free(&state->root_to_leaf);
  MPI_Comm_free(&state->leaf_to_root);
  side_free(&state->leaf_side);
  side_free(&state->root_side);
  free(state->root_buffer);
  if (state->leaf_buffer != state->vectors.leaves)
    free(state->leaf_buffer);
  free(state);
}

static void exchange(MPI_Comm comm, const double *sent, const side_t *to, double *received, const side_t *from)
{
  MPI_Neighbor_alltoallv(sent, to->lengths, to->starts, MPI_DOUBLE, received, from->lengths, from->starts, MPI_DOUBLE,
                         comm);
}

static void bcast(void *opaque)
{
  const state_t *state = opaque;
  const sfperf_edges_t *edges = state->edges;
  for (int64_t k = 0; k < edges->nroot_leaves; k++)
    state->root_buffer[k] = state->vectors.roots[edges->root_index[k]];
  exchange(state->root_to_leaf, state->root_buffer, &state->root_side, state->leaf_buffer, &state->leaf_side);
  if (edges->leaf_identity)
    return;
  for (int64_t k = 0; k < edges->leaf_start[edges->size]; k++)
    state->vectors.leaves[edges->leaf_order[k]] = state->leaf_buffer[k];
}

static void reduce(void *opaque)
{
  const state_t *state = opaque;
  const sfperf_edges_t *edges = state->edges;
  if (!edges->leaf_identity)
    for (int64_t k = 0; k < edges->leaf_start[edges->size]; k++)
      state->leaf_buffer[k] = state->vectors.leaves[edges->leaf_order[k]];
  exchange(state->leaf_to_root, state->leaf_buffer, &state->leaf_side, state->root_buffer, &state->root_side);
  double *roots = state->vectors.roots;
  if (state->sum)
    for (int64_t k = 0; k < edges->nroot_leaves; k++)
      roots[edges->root_index[k]] += state->root_buffer[k];
  else
    for (int64_t k = 0; k < edges->nroot_leaves; k++)
      roots[edges->root_index[k]] = state->root_buffer[k];
}

const sfperf_method_t sfperf_mpi_neighbor = {
    .name = "mpi_neighbor",
    .memory = SFPERF_PLAIN,
    .create = create,
    .bcast = bcast,
    .reduce = reduce,
    .destroy = destroy,
};

/* One message along all edges of the pair. */
typedef struct pair {
  bool has_roots;
  int count;
  sfperf_vectors_t vectors;
  MPI_Request request;
} pair_t;

static void *pair_create(const sfperf_task_t *task)
{
  pair_t *pair = sfperf_malloc(sizeof *pair);
  bool has_roots = task->pattern->nroots > 0;
  *pair = (pair_t){
      .has_roots = has_roots,
      .count = (int)(has_roots ? task->pattern->nroots : task->pattern->nleaves),
      .vectors = task->vectors,
  };
  return pair;
}

static void pair_bcast_begin(void *opaque)
{
  pair_t *pair = opaque;
  if (pair->has_roots)
    MPI_Isend(pair->vectors.roots, pair->count, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, &pair->request);
  else
    MPI_Irecv(pair->vectors.leaves, pair->count, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &pair->request);
}

static void pair_reduce_begin(void *opaque)
{
  pair_t *pair = opaque;
  if (pair->has_roots)
    MPI_Irecv(pair->vectors.roots, pair->count, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, &pair->request);
  else
    MPI_Isend(pair->vectors.leaves, pair->count, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &pair->request);
}

static void pair_end(void *opaque)
{
  pair_t *pair = opaque;
  MPI_Wait(&pair->request, MPI_STATUS_IGNORE);
}

static void pair_bcast(void *opaque)
{
  pair_bcast_begin(opaque);
  pair_end(opaque);
}

static void pair_reduce(void *opaque)
{
  pair_reduce_begin(opaque);
  pair_end(opaque);
}

const sfperf_method_t sfperf_mpi_pair = {
    .name = "mpi",
    .memory = SFPERF_PLAIN,
    .create = pair_create,
    .bcast = pair_bcast,
    .reduce = pair_reduce,
    .destroy = free,
    .bcast_begin = pair_bcast_begin,
    .bcast_end = pair_end,
    .reduce_begin = pair_reduce_begin,
    .reduce_end = pair_end,
};
