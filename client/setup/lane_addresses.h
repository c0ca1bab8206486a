/* Ends of lanes as they are told to the daemon: where the others write. */
#ifndef SFC_ENDS_H
#define SFC_ENDS_H

#include "client/graph/graph.h"
#include "client/plan/edge_list.h"
#include "proto/sf_control.pb-c.h"

typedef struct sfc_ends {
  Sfproto__LaneEnd *ends;
  Sfproto__LaneEnd **pointers;
  size_t n;
} sfc_ends_t;

/* Those of the graph's lanes to ranks of this node, which have slots. SF_ERR_NOMEM. */
sf_status_t sfc_ends_of_lanes(const sf_graph_t *graph, sfc_ends_t *ends_p);

/* Before the graph has lanes: slots, and an end, for every other rank of this node to whose roots edges of the list
 * lead. If edges of others lead back from just these ranks, the lanes will be in the same order. */
sf_status_t sfc_ends_offer(sf_graph_t *graph, const sfc_edge_list_t *list, sfc_ends_t *ends_p);

/* Accepts what is zeroed. */
void sfc_ends_free(sfc_ends_t *ends);

#endif
