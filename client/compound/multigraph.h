/* The multi-graph of a graph: each root split into as many roots as it has leaves, in the order of (rank, leaf). Made
 * together with the other ranks at first use, out of operations on graphs that are made for this purpose:
 *
 *   directory   rank p has a root for each rank r, connected with a leaf of r if r has leaves on roots of p. A reduce
 *               tells p how many, a bcast tells r behind how many edges of lower ranks its own ones come.
 *   edges       rank p has a root for each edge to one of its roots, in the order of (rank, leaf). Reduces tell p the
 *               root and the leaf of each; a bcast tells the leaf ranks the slot of each edge.
 *   multi       rank p has a root for each slot: a leaf is connected directly with its own slot.
 *
 * Where all ranks are on one node their edge lists tell what the reduces would. The thread that uses the graph. */
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
  sf_graph_t *edges;        /* until the multi-graph has been made */
  sfc_slot_rounds_t rounds; /* as soon as leaf_ranks are known */
} sfc_multigraph_t;

/* What has been found out about the edges of a graph; NULL: nothing yet. */
sfc_multigraph_t *sfc_multigraph_find(const sf_graph_t *graph);

/* This rank's leaves by the rank of their roots. Local. */
sf_status_t sfc_multigraph_root_ranks(sf_graph_t *graph, const sfc_neighbor_edges_t **ranks_p);

/* This rank's roots by the rank of their leaves. Collective and blocking at first use: over nodes ranks meet before
 * (barrier.h). local_error: of this rank's call; where ranks meet it becomes the error of all. */
sf_status_t sfc_multigraph_leaf_ranks(sf_status_t local_error, sf_graph_t *graph, const sfc_neighbor_edges_t **ranks_p);

/* The multi-graph. Collective and blocking at first use, before which ranks meet, likewise. */
sf_status_t sfc_multigraph_get(sf_status_t local_error, sf_graph_t *graph, sf_graph_t **multi_p);

#endif
