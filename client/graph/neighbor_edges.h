/* Edges of a graph by the rank at their other end, in the order that both ends know: by leaf. Any thread. */
#ifndef SFC_GRAPH_NEIGHBOR_EDGES_H
#define SFC_GRAPH_NEIGHBOR_EDGES_H

#include <sf/sf.h>

#include "client/graph/graph.h"

/* What the public struct shows, with arrays that can be written. */
typedef struct sfc_neighbor_edges {
  int32_t nranks;
  int32_t *ranks;
  int64_t *offset; /* nranks + 1 */
  int64_t *root;
  int64_t *leaf;
} sfc_neighbor_edges_t;

/* Room for nedges edges of nranks ranks; ranks and offset are zeroed. */
sf_status_t sfc_neighbor_edges_alloc(int32_t nranks, int64_t nedges, sfc_neighbor_edges_t *ranks_p);
void sfc_neighbor_edges_free(sfc_neighbor_edges_t *ranks); /* accepts what is zeroed or freed */

/* This rank's leaves by the rank of their roots. */
sf_status_t sfc_neighbor_edges_by_root_rank(const sf_graph_t *graph, sfc_neighbor_edges_t *ranks_p);

/* This rank's roots by the rank of their leaves, as the edge lists say that the ranks of a node share. Only for graphs
 * all of whose ranks are on this node. */
sf_status_t sfc_neighbor_edges_by_leaf_rank(const sf_graph_t *graph, sfc_neighbor_edges_t *ranks_p);

#endif
