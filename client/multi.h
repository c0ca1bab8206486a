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
#ifndef SFC_MULTI_H
#define SFC_MULTI_H

#include "client/graph.h"
#include "client/ranks.h"

/* What one pass over the slots combines: one contribution to each of some roots. */
typedef struct sfc_round {
  sfshm_pattern_t slot;
  sfshm_pattern_t root;
} sfc_round_t;

typedef struct sfc_multi {
  bool has_root_ranks;
  bool has_leaf_ranks;
  sfc_ranks_t root_ranks;
  sfc_ranks_t leaf_ranks;
  sf_graph_t *edges; /* until graph has been made */
  sf_graph_t *graph;
  sfshm_pattern_t slot_root; /* the root of each slot, ascending */
  void *slot_roots;          /* what that refers to; NULL: not made */
  int64_t *order;            /* what the rounds refer to */
  sfc_round_t *rounds;       /* all first contributions, all second ones, ... */
  int64_t nrounds;
} sfc_multi_t;

/* NULL: it has none yet. */
static inline sf_graph_t *sfc_multi_of(const sf_graph_t *graph)
{
  return graph->multi != NULL ? graph->multi->graph : NULL;
}

/* This rank's leaves by the rank of their roots. Local. */
sf_status_t sfc_multi_root_ranks(sf_graph_t *graph, const sfc_ranks_t **ranks_p);

/* This rank's roots by the rank of their leaves. Collective and blocking at first use. */
sf_status_t sfc_multi_leaf_ranks(sf_graph_t *graph, const sfc_ranks_t **ranks_p);

/* The multi-graph. Collective and blocking at first use. */
sf_status_t sfc_multi_graph(sf_graph_t *graph, sf_graph_t **multi_p);

/* The root of each slot of a graph that has its multi-graph. Local. */
sf_status_t sfc_multi_slot_roots(sf_graph_t *graph, const sfshm_pattern_t **roots_p);

/* Its rounds. Local. */
sf_status_t sfc_multi_rounds(sf_graph_t *graph, const sfc_round_t **rounds_p, int64_t *nrounds_p);

/* Whether operations on the multi-graph are in flight. */
bool sfc_multi_is_busy(const sf_graph_t *graph);

/* Destroys the graphs that belong to the graph, as its destruction does; or only frees the memory, the graphs being in
 * the context's list. */
void sfc_multi_destroy(sf_graph_t *graph);
void sfc_multi_free(sf_graph_t *graph);

#endif
