/* Slots on a device for messages that streams send to other nodes and get from there. The slots are the daemon's, whose
 * MPI sends from them and receives into them: daemon/data/device_slots.h says which sides have them. Kernels pack and
 * unpack there as in slots of exchanges. Data of the host take one more kernel, between the exchange and the device.
 * The thread that uses the graph. */
#ifndef SFC_STREAMS_TRUNK_DEVICE_SLOTS_H
#define SFC_STREAMS_TRUNK_DEVICE_SLOTS_H

#include "client/graph.h"
#include "client/streams/trunk.h"

/* The three steps. If one fails, the node uses exchanges only, and the operation goes on. Between two steps all ranks
 * of the group meet. For units of that size and smaller ones; sides: which data are on the device. */
void sfc_streams_node_slots_ask(sfc_stream_nodes_t *nodes, size_t unit_bytes, sfc_stream_sides_t sides);
void sfc_streams_node_slots_open(sfc_stream_nodes_t *nodes);
void sfc_streams_node_slots_settle(sfc_stream_nodes_t *nodes);

/* When nothing is under way here. The graph is still there for the daemon, or the daemon is not. */
void sfc_streams_node_slots_close(sfc_stream_nodes_t *nodes);

/* Where the message is, for the device; NULL: in the exchange. From settling on. */
char *sfc_streams_node_slots_send(const sfc_stream_nodes_t *nodes, const sfc_trunk_side_t *side, sfshm_unit_t unit,
                                  uint64_t message);
char *sfc_streams_node_slots_receive(const sfc_stream_nodes_t *nodes, const sfc_trunk_side_t *side, sfshm_unit_t unit,
                                     uint64_t message);

/* The rank's part of a message, from the exchange to the device, or back: both as the device sees them. */
sf_status_t sfc_streams_node_slots_bring(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                                         bool is_sent, const char *from, char *to);

#endif
