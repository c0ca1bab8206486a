/* Lanes of a new graph: slots and tables, which each graph has of its own, with a new plan or a cached one. The thread
 * that creates the graph. */
#ifndef SFC_SETUP_LANES_H
#define SFC_SETUP_LANES_H

#include "client/core.h"
#include "client/graph.h"

/* Makes the lists of lanes by operation and direction. SF_ERR_NOMEM. */
sf_status_t sfc_lanes_make_tables(sf_graph_t *graph);

/* Makes slots, which peers write, and control lines, if there are lanes. */
sf_status_t sfc_lanes_make_slots(sf_graph_t *graph);

/* Takes memory for the slots of n future lanes; sfc_lanes_make_slots uses it if it suffices. */
sf_status_t sfc_lanes_take_slots(sf_graph_t *graph, int32_t n);

/* Number of lanes, the first ones, to ranks of this node; address of lane i, which that rank of the group writes. */
int32_t sfc_lanes_nlocal(const sf_graph_t *graph);
void sfc_lanes_describe(const sf_graph_t *graph, int32_t i, int32_t rank, sfc_peer_t *peer, Sfproto__LaneEnd *end);

/* Connects lanes and trunks with the addresses in the answer that the graph is ready. */
sf_status_t sfc_lanes_connect(sf_graph_t *graph, const Sfproto__GraphReply *reply);

/* Frees lanes, trunks and plan of a graph that is not in the context's list. Keeps its number and its memory in the
 * inbox. */
void sfc_lanes_strip(sf_graph_t *graph);

/* Adds the graph to the context's list, where the listener finds it, with counters. SF_ERR_NOMEM: without counters.
 * Ends sfc_graph_expect in either case. */
sf_status_t sfc_lanes_register_graph(sf_graph_t *graph);

#endif
