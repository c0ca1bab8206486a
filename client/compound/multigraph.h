/* Multi-graph of a graph: each root split into one root per leaf, in the order of (rank, leaf). Created collectively at
 * first use, with helper graphs:
 *
 *   directory   rank p has a root for each rank r, connected to a leaf of r if r has leaves on roots of p. A reduce
 * gives p their number, a bcast gives r the number of edges of lower ranks. edges       rank p has a root for each edge
 * to its roots, in the order of (rank, leaf). Reduces give p the root and the leaf of each; a bcast gives leaf ranks
 * the slot of each edge. multi       rank p has a root for each slot, connected to the slot's leaf.
 *
 * If all ranks are on one node their edge lists replace the reduces. The thread that uses the graph. */
#ifndef SFC_COMPOUND_MULTIGRAPH_H
#define SFC_COMPOUND_MULTIGRAPH_H

#include "client/graph.h"
#include "client/plan.h"

typedef struct sfc_multigraph {
  sfc_attachment_t attachment;
  bool has_root_ranks;
  bool has_leaf_ranks;
  sfc_neighbor_edges_t root_ranks;
  sfc_neighbor_edges_t leaf_ranks;
  sf_graph_t *edges;        /* until the multi-graph is there */
  sfc_slot_rounds_t rounds; /* once leaf_ranks are known */
} sfc_multigraph_t;

/* Returns the multi-graph record of the graph, which may be incomplete; NULL: no operation has needed it yet. */
sfc_multigraph_t *sfc_multigraph_find(const sf_graph_t *graph);

/* This rank's leaves by rank of their roots. Local. */
sf_status_t sfc_multigraph_root_ranks(sf_graph_t *graph, const sfc_neighbor_edges_t **ranks_p);

/* This rank's roots by rank of their leaves. Collective and blocking at first use; over nodes after a barrier
 * (barrier.h). local_error: of this rank's call; in a barrier it becomes the error of all. */
sf_status_t sfc_multigraph_leaf_ranks(sf_status_t local_error, sf_graph_t *graph, const sfc_neighbor_edges_t **ranks_p);

/* The multi-graph. Likewise collective and blocking at first use, after a barrier. */
sf_status_t sfc_multigraph_get(sf_status_t local_error, sf_graph_t *graph, sf_graph_t **multi_p);

#endif
