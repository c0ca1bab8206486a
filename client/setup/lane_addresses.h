/* Lane addresses as GraphCreate and GraphCommit tell them to the daemon: segment and offsets of the slots and control
 * lines into which the ranks at the other ends write. */
#ifndef SFC_SETUP_LANE_ADDRESSES_H
#define SFC_SETUP_LANE_ADDRESSES_H

#include "client/graph.h"
#include "client/plan.h"
#include "proto/sf_control.pb-c.h"

typedef struct sfc_lane_addresses {
  Sfproto__LaneEnd *ends;
  Sfproto__LaneEnd **pointers;
  size_t n;
} sfc_lane_addresses_t;

/* Those of the graph's lanes to ranks of this node, which have slots. SF_ERR_NOMEM. */
sf_status_t sfc_lane_addresses_of_lanes(const sf_graph_t *graph, sfc_lane_addresses_t *ends_p);

/* Before the graph has lanes: slots, and an end, for every other rank of this node to whose roots edges of the list
 * lead. If edges of others lead back from just these ranks, the lanes will be in the same order. */
sf_status_t sfc_lane_addresses_offer(sf_graph_t *graph, const sfc_edge_list_t *list, sfc_lane_addresses_t *ends_p);

/* Accepts what is zeroed. */
void sfc_lane_addresses_free(sfc_lane_addresses_t *ends);

#endif
