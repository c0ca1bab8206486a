/* Trunk plan: this rank's part of the trunks, from the daemon's map; their lanes, and the connection with the board.
 * The thread that creates the graph. */
#ifndef SFC_SETUP_TRUNK_PLAN_H
#define SFC_SETUP_TRUNK_PLAN_H

#include "client/graph.h"
#include "shm/edges/edges.h"

/* A block of this rank's edge list for a rank of another node. */
typedef struct sfc_trunk_block {
  int32_t node; /* node of its roots */
  sfshm_edges_t edges;
} sfc_trunk_block_t;

/* The map from the daemon: a descriptor, or memory, which sfc_trunks_open takes over. */
typedef struct sfc_trunk_map_input {
  int fd; /* -1: none */
  void *memory;
  size_t length_bytes;
} sfc_trunk_map_input_t;

/* Makes the graph's trunks from the map and this rank's sides in it. blocks: of this rank's list, by root rank.
 * SF_ERR_PROTO: map and blocks do not match; SF_ERR_RANGE: a root that this rank does not have. */
sf_status_t sfc_trunks_open(sf_graph_t *graph, sfc_trunk_map_input_t *input, const uint32_t sides[], size_t nsides,
                            const sfc_trunk_block_t blocks[], int32_t nblocks);

/* Adds a lane for each trunk, in sending order, behind those of ranks. Its links hold counts only. */
void sfc_trunks_add_lanes(sf_graph_t *graph);

/* Connects the trunks with the board at the place that GraphReply gives, if it does. May block. */
sf_status_t sfc_trunks_connect(sf_graph_t *graph, bool told, uint64_t board_region, uint64_t board);

/* Copies trunks that have carried nothing yet; the copy shares their plan. NULL: no memory. */
sfc_trunks_t *sfc_trunks_copy(const sfc_trunks_t *trunks);

/* Moves ownership of the plan to the copy. */
void sfc_trunks_own_plan(sfc_trunks_t *copy, sfc_trunks_t *trunks);

/* Attaches the trunks to the graph. */
void sfc_trunks_attach(sf_graph_t *graph, sfc_trunks_t *trunks);

/* NULL is accepted. */
void sfc_trunks_free(sf_context_t *context, sfc_trunks_t *trunks);

#endif
