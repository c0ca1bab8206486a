/* Lane addresses: segment and offsets of the slots and control lines that peers write, as GraphCreate and GraphCommit
 * carry them. */
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

/* Addresses of the graph's lanes to ranks of this node, which have slots. SF_ERR_NOMEM. */
sf_status_t sfc_lane_addresses_of_lanes(const sf_graph_t *graph, sfc_lane_addresses_t *ends_p);

/* Addresses before the graph has lanes: takes slots for each other rank of this node to whose roots the list's edges
 * lead. If edges lead back from exactly these ranks the lanes will have the same order. */
sf_status_t sfc_lane_addresses_offer(sf_graph_t *graph, const sfc_edge_list_t *list, sfc_lane_addresses_t *ends_p);

/* NULL pointers are accepted. */
void sfc_lane_addresses_free(sfc_lane_addresses_t *ends);

#endif
