/* Set-up of a graph's trunks: the plan of this rank from the daemon's map, lanes, and the connection with the board.
 * The thread that makes the graph. */
#ifndef SFC_SETUP_TRUNK_PLAN_H
#define SFC_SETUP_TRUNK_PLAN_H

#include "client/graph.h"
#include "proto/conn.h"
#include "shm/edges/edges.h"

/* One block of the rank's own edge list that leads to a rank of another node. */
typedef struct sfc_trunk_block {
  int32_t node; /* where its roots are */
  sfshm_edges_t edges;
} sfc_trunk_block_t;

/* The map as the daemon gave it: a descriptor, or memory, which sfc_trunks_open takes over. */
typedef struct sfc_trunk_map_input {
  int fd; /* -1: none */
  void *memory;
  size_t length_bytes;
} sfc_trunk_map_input_t;

/* Makes the graph's trunks from the map and the sides in it that concern this rank. blocks: of the rank's
 * own list, by root rank. SF_ERR_PROTO if map and blocks do not fit together; SF_ERR_RANGE for a root that the graph
 * does not have here. */
sf_status_t sfc_trunks_open(sf_graph_t *graph, sfc_trunk_map_input_t *given, const uint32_t sides[], size_t nsides,
                            const sfc_trunk_block_t blocks[], int32_t nblocks);

/* A lane for each trunk, behind those of ranks and in the order of sending. The links say how much there is; the values
 * are the trunk's business. */
void sfc_trunks_add_lanes(sf_graph_t *graph);

/* Connects them with the board, as GraphReply tells where it is, if it does. May block. */
sf_status_t sfc_trunks_connect(sf_graph_t *graph, bool told, uint64_t board_region, uint64_t board);

/* Trunks that share the plan of these, which have carried nothing yet. NULL without memory. */
sfc_trunks_t *sfc_trunks_copy(const sfc_trunks_t *trunks);

/* The plan is the copy's from now on. */
void sfc_trunks_own_plan(sfc_trunks_t *copy, sfc_trunks_t *trunks);

/* The trunks are the graph's from now on. */
void sfc_trunks_attach(sf_graph_t *graph, sfc_trunks_t *trunks);

/* NULL is accepted. */
void sfc_trunks_free(sf_context_t *context, sfc_trunks_t *trunks);

#endif
