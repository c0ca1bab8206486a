/* Edges of a graph by the rank at the other end, ordered by leaf, which both ends know. Any thread. */
#ifndef SFC_GRAPH_NEIGHBOR_EDGES_H
#define SFC_GRAPH_NEIGHBOR_EDGES_H

#include <sf/sf.h>

#include "client/graph/graph.h"

/* The public struct, with writable arrays. */
typedef struct sfc_neighbor_edges {
  int32_t nranks;
  int32_t *ranks;
  int64_t *offset; /* nranks + 1 */
  int64_t *root;
  int64_t *leaf;
} sfc_neighbor_edges_t;

/* Allocates for nedges edges of nranks ranks; ranks and offset are zeroed. */
sf_status_t sfc_neighbor_edges_alloc(int32_t nranks, int64_t nedges, sfc_neighbor_edges_t *ranks_p);
void sfc_neighbor_edges_free(sfc_neighbor_edges_t *ranks);

/* This rank's leaves by rank of their roots. */
sf_status_t sfc_neighbor_edges_by_root_rank(const sf_graph_t *graph, sfc_neighbor_edges_t *ranks_p);

/* This rank's roots by rank of their leaves, from the edge lists that ranks of a node share. Only if all ranks are on
 * this node. */
sf_status_t sfc_neighbor_edges_by_leaf_rank(const sf_graph_t *graph, sfc_neighbor_edges_t *ranks_p);

#endif
