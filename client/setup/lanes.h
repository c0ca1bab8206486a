/* Lanes of a graph: the slots and tables that each graph has of its own, whether its plan was made for it or for an
 * earlier graph. The thread that makes the graph. */
#ifndef SFC_SETUP_LANES_H
#define SFC_SETUP_LANES_H

#include "client/core.h"
#include "client/graph.h"

/* Lists of lanes by what they do. SF_ERR_NOMEM. */
sf_status_t sfc_lanes_make_tables(sf_graph_t *graph);

/* Slots into which the others write, and control lines. Without lanes there are none. */
sf_status_t sfc_lanes_make_slots(sf_graph_t *graph);

/* Memory for the slots of so many lanes that are not there yet: making slots uses it if it suffices. */
sf_status_t sfc_lanes_take_slots(sf_graph_t *graph, int32_t n);

/* How many of the lanes, the first ones, lead to ranks of this node; and where the other end of one of them writes,
 * which is that rank of the group. */
int32_t sfc_lanes_nlocal(const sf_graph_t *graph);
void sfc_lanes_describe(const sf_graph_t *graph, int32_t i, int32_t rank, sfc_peer_t *peer, Sfproto__LaneEnd *end);

/* Connects lanes and trunks with what the others said, in the answer that the graph is ready. */
sf_status_t sfc_lanes_connect(sf_graph_t *graph, const Sfproto__GraphReply *reply);

/* Throws away lanes, trunks and plan of a graph that is not in the context's list: what remains is what it was when its
 * set-up began, its number, and its memory in the inbox. */
void sfc_lanes_strip(sf_graph_t *graph);

/* Enters the graph in the context's list, where the listener finds it, and finds room for its counts. SF_ERR_NOMEM: it
 * is in the list without counts. In either case nothing is expected any more (sfc_graph_expect). */
sf_status_t sfc_lanes_register_graph(sf_graph_t *graph);

#endif
