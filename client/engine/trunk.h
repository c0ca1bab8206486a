/* Trunks of a graph as one rank uses them: its part of what travels between its node and others. See shm/trunk/trunk.h
 * for sides, positions, slots and the flow of messages; a trunk is also one of the graph's lanes, of which it carries
 * the queue of operations to send and to receive. */
#ifndef SFC_TRUNK_H
#define SFC_TRUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "client/engine/operation.h"
#include "client/graph/graph.h"
#include "client/setup/trunk_device_slots.h"
#include "client/trunk_regions.h"
#include "shm/trunk/trunk.h"

/* Contributions of a reduce's message that are combined in the turn of one rank. */
typedef struct sfc_trunk_turn {
  int32_t rank;             /* in the group */
  sfshm_pattern_t position; /* in the message */
  sfshm_pattern_t root;
} sfc_trunk_turn_t;

/* One side: what is sent, and what is received. */
typedef struct sfc_trunk_side {
  uint32_t number; /* in the map; only if in_use */
  bool in_use;
  const sfshm_trunk_side_t *told;
  sfshm_flow_t *flow;
  uint64_t sent;     /* messages that this rank has written its part of */
  uint64_t received; /* and read */

  /* Of messages that are on a device: */
  uint64_t sent_sequence; /* number of the operation whose message was the last one sent */
  uint64_t filled;        /* message of which kernels have written this rank's part */
  bool is_read;           /* kernels have been told to read that of the next one received */
} sfc_trunk_side_t;

typedef struct sfc_trunk {
  int32_t node;
  bool uncombined;

  /* Roots here, leaves there. */
  sfc_trunk_side_t as_root;
  int64_t first;           /* position of this rank's first root in a bcast's message */
  sfshm_pattern_t root;    /* of each position from there on */
  sfc_trunk_turn_t *turns; /* of a reduce, by rank */
  int32_t nturns;
  sfc_trunk_turn_t *winner_turns; /* of a reduce with replace, by rank; the same as turns if nobody beside them wins */
  int32_t nwinner_turns;

  /* Leaves here, roots there. Edges that carry values of their own, then extra ones: see shm/edges/edges.h. */
  sfc_trunk_side_t as_leaf;
  int32_t nroot_ranks;
  int64_t nvalues;
  sfshm_pattern_t leaf; /* of each value */
  sfshm_pattern_t from; /* its position in a bcast's message */
  sfshm_pattern_t to;   /* the unit of a reduce's slot that it goes to */
  sfshm_pattern_t extra_leaf;
  sfshm_pattern_t extra_from;
  sfshm_pattern_t extra_to;
  sfshm_image_t leaf_image; /* staging layers */

  void *arrays[8]; /* what the patterns above refer to and no region holds */
  int32_t narrays;
} sfc_trunk_t;

/* Slots for one class of units. */
typedef struct sfc_exchange {
  struct sfc_exchange *next;
  uint64_t class_bytes;
  sfshm_region_t region;
  sfshm_side_slots_t slots[]; /* by side of the map */
} sfc_exchange_t;

/* Everything of one graph that concerns other nodes. */
typedef struct sfc_trunks {
  bool shares_plan; /* map and the trunks' turns and arrays belong to others, too, one of which frees them */
  sfc_trunk_region_t *map_region; /* NULL: the daemon sent the map, which is memory of this process: */
  void *map_memory;
  const sfshm_trunk_map_t *map;
  sfc_trunk_region_t *board_region;
  sfshm_trunk_board_t *board;
  sfc_exchange_t *exchanges;
  sfc_trunk_slots_t slots; /* on a device, beside those of exchanges */
  sfc_trunk_t *trunks;     /* by node */
  int32_t ntrunks;
} sfc_trunks_t;

/* ---- Set-up ------------------------------------------------------------------------------------------------------ */

/* One block of the rank's own edge list that leads to a rank of another node. */
typedef struct sfc_trunk_block {
  int32_t node; /* where its roots are */
  sfshm_edges_t edges;
} sfc_trunk_block_t;

/* The map as the daemon gave it: a descriptor, or memory, which sfc_trunks_open takes over. */
typedef struct sfc_given_map {
  int fd; /* -1: none */
  void *memory;
  size_t length_bytes;
} sfc_given_map_t;

/* Makes the graph's trunks from the map and the sides in it that concern this rank. blocks: of the rank's
 * own list, by root rank. SF_ERR_PROTO if map and blocks do not fit together; SF_ERR_RANGE for a root that the graph
 * does not have here. */
sf_status_t sfc_trunks_open(sf_graph_t *graph, sfc_given_map_t *given, const uint32_t sides[], size_t nsides,
                            const sfc_trunk_block_t blocks[], int32_t nblocks);

/* A lane for each trunk, behind those of ranks and in the order of sending. The links say how much there is; the values
 * are the trunk's business. */
void sfc_trunks_add_lanes(sf_graph_t *graph);

/* Connects them with the board, as GraphReady or GraphPeers tells where it is, if it does. May block. */
sf_status_t sfc_trunks_connect(sf_graph_t *graph, bool told, uint64_t board_region, uint64_t board);

/* Trunks that share the plan of these, which have carried nothing yet. NULL without memory. */
sfc_trunks_t *sfc_trunks_copy(const sfc_trunks_t *trunks);

/* The plan is the copy's from now on. */
void sfc_trunks_own_plan(sfc_trunks_t *copy, sfc_trunks_t *trunks);

/* NULL is accepted. */
void sfc_trunks_free(sf_context_t *context, sfc_trunks_t *trunks);

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

/* The exchange for units of that size, which the daemon makes at first use of their class. */
sf_status_t sfc_trunks_exchange(sf_graph_t *graph, size_t unit_bytes, sfc_exchange_t **exchange_p);

/* Where a message is in it. */
static inline uint64_t sfc_trunk_send_slot(const sfc_exchange_t *exchange, const sfc_trunk_side_t *side,
                                           uint64_t message)
{
  return sfshm_send_slot(&exchange->slots[side->number], message);
}

static inline uint64_t sfc_trunk_receive_slot(const sfc_exchange_t *exchange, const sfc_trunk_side_t *side,
                                              uint64_t message)
{
  return sfshm_receive_slot(&exchange->slots[side->number], message);
}

/* What side->flow->granted must have reached before a message of such units may be written. */
static inline uint64_t sfc_trunk_send_needs(const sfc_trunk_side_t *side, size_t unit_bytes, uint64_t message)
{
  return sfshm_trunk_needs(message, side->told->send_values, sfshm_exchange_class(unit_bytes));
}

/* Whether the next one may. */
static inline bool sfc_trunk_may_send(const sfc_trunk_side_t *side, size_t unit_bytes)
{
  return atomic_load_explicit(&side->flow->granted, memory_order_acquire) >=
         sfc_trunk_send_needs(side, unit_bytes, side->sent + 1);
}

static inline sfc_trunk_side_t *sfc_trunk_sending(sfc_trunk_t *trunk, sfshm_operation_t operation)
{
  return operation == SFSHM_BCAST ? &trunk->as_root : &trunk->as_leaf;
}

static inline sfc_trunk_side_t *sfc_trunk_receiving(sfc_trunk_t *trunk, sfshm_operation_t operation)
{
  return operation == SFSHM_BCAST ? &trunk->as_leaf : &trunk->as_root;
}

/* Kernels that reach a request's data and a slot: one that moves, and one that combines with the op. */
typedef struct sfc_trunk_kernels {
  const sfshm_kernels_t *move;
  const sfshm_kernels_t *combine;
  bool on_host; /* kernels and slot are the host's: then a NaN that comes first does not hide other contributions */
} sfc_trunk_kernels_t;

/* Writes this rank's part of the request's message. */
void sfc_trunk_pack(const sfc_trunk_t *trunk, const sf_request_t *request, const sfc_trunk_kernels_t *kernels,
                    char *slot);

/* Adds what other members have staged of a reduce's message to its positions. */
sf_status_t sfc_trunk_combine(const sfc_trunk_t *trunk, sfshm_unit_t unit, const sfshm_kernels_t *kernels, char *slot);

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* As sfc_lane_send and sfc_lane_receive. */
bool sfc_trunk_send(sfc_lane_t *lane, sf_request_t *request);
bool sfc_trunk_receive(sfc_lane_t *lane);

/* Whether something has arrived for the lane's request. */
bool sfc_trunk_has_message(const sfc_lane_t *lane);

#endif
