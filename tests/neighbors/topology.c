/* Random topologies of the differential test: Cartesian, graph and distributed graph, their duplicates and parts. One
 * thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/neighbors/differential.h"

#define MAX_DIMS 3

/* ---- A directed multigraph that all processes know ---- */

typedef struct multigraph {
  int n;
  int *times; /* times[from * n + to] */
} multigraph_t;

static multigraph_t make_multigraph(dice_t *shared, int n, bool symmetric)
{
  multigraph_t graph = {n, make_room((size_t)n * (size_t)n * sizeof(int))};
  int density = 10 + dice_below(shared, 80), isolated = dice_percent(shared, 40) ? dice_below(shared, n) : -1;
  for (int from = 0; from < n; from++)
    for (int to = 0; to < n; to++) {
      int times = dice_percent(shared, density) ? 1 + (dice_percent(shared, 20) ? dice_below(shared, 3) : 0) : 0;
      graph.times[from * n + to] = from == isolated || to == isolated ? 0 : times;
    }
  for (int from = 0; from < n && symmetric; from++)
    for (int to = 0; to <= from; to++)
      graph.times[to * n + from] = graph.times[from * n + to];
  return graph;
}

/* Sets the neighbours of a rank in one direction, in random order; returns their number. */
static int list_neighbors(const multigraph_t *graph, dice_t *dice, int rank, bool out, int **list_p)
{
  int n = 0;
  for (int other = 0; other < graph->n; other++)
    n += out ? graph->times[rank * graph->n + other] : graph->times[other * graph->n + rank];
  int *list = make_room((size_t)(n + 1) * sizeof *list), at = 0;
  for (int other = 0; other < graph->n; other++)
    for (int k = out ? graph->times[rank * graph->n + other] : graph->times[other * graph->n + rank]; k > 0; k--)
      list[at++] = other;
  dice_shuffle(dice, n, list);
  *list_p = list;
  return n;
}

/* ---- Communicators ---- */

static MPI_Comm make_cart(dice_t *shared, int size)
{
  int ndims = 1 + dice_below(shared, MAX_DIMS), dims[MAX_DIMS] = {0}, periods[MAX_DIMS], keep[MAX_DIMS];
  MPI_Comm cart, part;
  must(MPI_Dims_create(dice_percent(shared, 70) ? size : 1 + dice_below(shared, size), ndims, dims), "dims");
  for (int d = 0; d < ndims; d++) {
    periods[d] = dice_percent(shared, 60);
    keep[d] = dice_percent(shared, 60);
  }
  must(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &cart), "MPI_Cart_create");
  bool sub = dice_percent(shared, 25) && ndims > 1;
  keep[0] = 1; /* communicators without dimensions have no neighbours */
  if (!sub || cart == MPI_COMM_NULL)
    return cart;
  must(MPI_Cart_sub(cart, keep, &part), "MPI_Cart_sub");
  must(MPI_Comm_free(&cart), "MPI_Comm_free");
  return part;
}

static MPI_Comm make_graph(dice_t *shared, int size)
{
  multigraph_t graph = make_multigraph(shared, size, true);
  int *index = make_room((size_t)size * sizeof *index),
      *edges = make_room((size_t)size * (size_t)size * 4 * sizeof *edges);
  int n = 0;
  for (int rank = 0; rank < size; rank++) {
    int *list, nlist = list_neighbors(&graph, shared, rank, true, &list);
    memcpy(edges + n, list, (size_t)nlist * sizeof *list);
    index[rank] = n += nlist;
    free(list);
  }
  MPI_Comm comm;
  must(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm), "MPI_Graph_create");
  free(index);
  free(edges);
  free(graph.times);
  return comm;
}

static MPI_Comm make_adjacent(dice_t *shared, dice_t *own, int rank, int size)
{
  multigraph_t graph = make_multigraph(shared, size, false);
  int *in, *out, nin = list_neighbors(&graph, own, rank, false, &in),
                 nout = list_neighbors(&graph, own, rank, true, &out);
  MPI_Comm comm;
  must(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, nin, in, MPI_UNWEIGHTED, nout, out, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                      0, &comm),
       "MPI_Dist_graph_create_adjacent");
  free(in);
  free(out);
  free(graph.times);
  return comm;
}

/* Edges are told by any rank. Several equal ones by one rank only, as their order would not be known. */
static MPI_Comm make_dist(dice_t *shared, int rank, int size)
{
  multigraph_t graph = make_multigraph(shared, size, false);
  size_t room = (size_t)size * (size_t)size * 4;
  int *from = make_room(room * sizeof *from), *ones = make_room(room * sizeof *ones),
      *to = make_room(room * sizeof *to);
  int n = 0;
  for (int i = 0; i < size * size; i++)
    for (int k = 0, teller = dice_below(shared, size); k < graph.times[i] && teller == rank; k++) {
      from[n] = i / size;
      ones[n] = 1;
      to[n++] = i % size;
    }
  MPI_Comm comm;
  must(MPI_Dist_graph_create(MPI_COMM_WORLD, n, from, ones, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
       "MPI_Dist_graph_create");
  free(from);
  free(ones);
  free(to);
  free(graph.times);
  return comm;
}

/* ---- Neighbours ---- */

static void get_cart(topology_t *topology)
{
  int ndims;
  must(MPI_Cartdim_get(topology->comm, &ndims), "MPI_Cartdim_get");
  topology->nin = topology->nout = 2 * ndims;
  topology->in = make_room((size_t)(2 * ndims + 1) * sizeof(int));
  topology->out = make_room((size_t)(2 * ndims + 1) * sizeof(int));
  for (int d = 0; d < ndims; d++)
    must(MPI_Cart_shift(topology->comm, d, 1, &topology->in[2 * d], &topology->in[2 * d + 1]), "MPI_Cart_shift");
  memcpy(topology->out, topology->in, (size_t)(2 * ndims) * sizeof(int));
}

static void get_graph(topology_t *topology)
{
  int n;
  must(MPI_Graph_neighbors_count(topology->comm, topology->rank, &n), "MPI_Graph_neighbors_count");
  topology->nin = topology->nout = n;
  topology->in = make_room((size_t)(n + 1) * sizeof(int));
  topology->out = make_room((size_t)(n + 1) * sizeof(int));
  must(MPI_Graph_neighbors(topology->comm, topology->rank, n, topology->in), "MPI_Graph_neighbors");
  memcpy(topology->out, topology->in, (size_t)n * sizeof(int));
}

static void get_dist(topology_t *topology)
{
  int weighted;
  must(MPI_Dist_graph_neighbors_count(topology->comm, &topology->nin, &topology->nout, &weighted), "neighbors_count");
  topology->in = make_room((size_t)(topology->nin + 1) * sizeof(int));
  topology->out = make_room((size_t)(topology->nout + 1) * sizeof(int));
  must(MPI_Dist_graph_neighbors(topology->comm, topology->nin, topology->in, MPI_UNWEIGHTED, topology->nout,
                                topology->out, MPI_UNWEIGHTED),
       "MPI_Dist_graph_neighbors");
}

/* Numbers of edges: by both ranks and how often the pair came before. In Cartesian communicators which of two messages
 * between a pair comes first depends on the MPI: they are of one size. */
static uint64_t *number_edges(const topology_t *topology, int n, const int list[], bool out, bool cart)
{
  uint64_t *edges = make_room((size_t)(n + 1) * sizeof *edges);
  for (int i = 0; i < n; i++) {
    int before = 0;
    for (int k = 0; k < i && !cart; k++)
      before += list[k] == list[i];
    uint64_t from = (uint64_t)(out ? topology->rank : list[i]), to = (uint64_t)(out ? list[i] : topology->rank);
    edges[i] = (from << 40) + (to << 16) + (uint64_t)before;
  }
  return edges;
}

static void get_neighbors(topology_t *topology)
{
  int kind;
  must(MPI_Topo_test(topology->comm, &kind), "MPI_Topo_test");
  must(MPI_Comm_rank(topology->comm, &topology->rank), "rank");
  must(MPI_Comm_size(topology->comm, &topology->size), "size");
  if (kind == MPI_CART)
    get_cart(topology);
  else if (kind == MPI_GRAPH)
    get_graph(topology);
  else
    get_dist(topology);
  topology->in_edge = number_edges(topology, topology->nin, topology->in, false, kind == MPI_CART);
  topology->out_edge = number_edges(topology, topology->nout, topology->out, true, kind == MPI_CART);
}

void topology_make(dice_t *shared, topology_t *topology)
{
  static const char *const names[] = {"cart", "graph", "adjacent", "dist"};
  int rank, size, kind = dice_below(shared, 4);
  MPI_Comm copy;
  must(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "rank");
  must(MPI_Comm_size(MPI_COMM_WORLD, &size), "size");
  dice_t own = {dice_mix(shared->state, (uint64_t)rank)};
  bool dup = dice_percent(shared, 30);
  *topology = (topology_t){.comm = MPI_COMM_NULL};
  topology->comm = kind == 0   ? make_cart(shared, size)
                   : kind == 1 ? make_graph(shared, size)
                   : kind == 2 ? make_adjacent(shared, &own, rank, size)
                               : make_dist(shared, rank, size);
  snprintf(topology->name, sizeof topology->name, "%s%s %d", names[kind], dup ? " copy" : "",
           dice_below(shared, 10000));
  if (topology->comm == MPI_COMM_NULL)
    return;
  if (dup) {
    must(MPI_Comm_dup(topology->comm, &copy), "MPI_Comm_dup");
    must(MPI_Comm_free(&topology->comm), "MPI_Comm_free");
    topology->comm = copy;
  }
  must(MPI_Comm_set_name(topology->comm, topology->name), "MPI_Comm_set_name");
  get_neighbors(topology);
}

void topology_free(topology_t *topology)
{
  if (topology->comm != MPI_COMM_NULL)
    must(MPI_Comm_free(&topology->comm), "MPI_Comm_free");
  free(topology->in);
  free(topology->out);
  free(topology->in_edge);
  free(topology->out_edge);
}
