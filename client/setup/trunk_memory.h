/* Memory of a graph's trunks, from the daemon: map, board and exchanges. Maps and boards are in cached regions
 * (trunk_regions.h); an exchange belongs to one graph. Any thread. */
#ifndef SFC_SETUP_TRUNK_MEMORY_H
#define SFC_SETUP_TRUNK_MEMORY_H

#include "client/graph.h"
#include "client/setup/trunk_plan.h"
#include "proto/conn.h"

#define SFC_EXCHANGE_MAX_BYTES ((uint64_t)1 << 46)

/* Takes the map from the message: from the field, or with map NULL the last descriptor. SF_ERR_PROTO. */
sf_status_t sfc_trunk_map_input_take(sfc_trunk_map_input_t *input, sfproto_incoming_t *incoming,
                                     ProtobufCBinaryData *map);
void sfc_trunk_map_input_free(sfc_trunk_map_input_t *input);

/* Opens the map; the trunks keep it. */
sf_status_t sfc_trunk_map_open(sf_context_t *context, sfc_trunks_t *trunks, sfc_trunk_map_input_t *input,
                               sfshm_region_t *region_p);

/* Opens the trunks' board: number of its region, and offset there. May ask the daemon and block. SF_ERR_PROTO: no such
 * board fits there. */
sf_status_t sfc_trunk_board_open(sf_graph_t *graph, uint64_t number, uint64_t offset);

/* Maps the slots for a class of units. Blocks. */
sf_status_t sfc_trunk_exchange_map(sf_graph_t *graph, uint64_t class_bytes, int64_t side, sfshm_region_t *region_p);

#endif
