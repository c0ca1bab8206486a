/* Trunks of a graph, as one rank uses them: its part of messages to and from other nodes. See shm/trunk/trunk.h for
 * sides, positions, slots and message flow. A trunk has a lane of the graph, which queues its operations. */
#ifndef SFC_GRAPH_TRUNK_TYPES_H
#define SFC_GRAPH_TRUNK_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "client/core.h"
#include "client/graph/attachment.h"
#include "shm/trunk/blocks.h"
#include "shm/trunk/trunk.h"

/* Contributions in a reduce's message that are combined in one rank's turn. */
typedef struct sfc_trunk_turn {
  int32_t rank;             /* in the group */
  sfshm_pattern_t position; /* in the message */
  sfshm_pattern_t root;
} sfc_trunk_turn_t;

/* One side of a trunk. */
typedef struct sfc_trunk_side {
  uint32_t number; /* in the map; only if in_use */
  bool in_use;
  const sfshm_trunk_side_t *told;
  sfshm_flow_t *flow;
  uint64_t sent;     /* messages of which this rank has written its part */
  uint64_t received; /* messages of which this rank has read its part */
} sfc_trunk_side_t;

typedef struct sfc_trunk {
  int32_t node;
  bool uncombined;

  sfc_trunk_side_t as_root;
  int64_t first;            /* position of this rank's first root in a bcast's message */
  sfshm_pattern_t root;     /* root at each position from first on */
  sfshm_blocks_room_t room; /* of the exchange that is sent next; class 0: not reserved yet */
  sfc_trunk_turn_t *turns;  /* turns of a reduce, by rank: nturns, then nwinners applied again with replace */
  int32_t nturns;
  int32_t nwinners;

  /* Leaves here: edges that carry values, then extra edges; see shm/edges/edges.h. */
  sfc_trunk_side_t as_leaf;
  int32_t nroot_ranks;
  int64_t nvalues;
  sfshm_pattern_t leaf; /* leaf of each value */
  sfshm_pattern_t from; /* position in a bcast's message */
  sfshm_pattern_t to;   /* unit in a reduce's slot */
  sfshm_pattern_t extra_leaf;
  sfshm_pattern_t extra_from;
  sfshm_pattern_t extra_to;
  sfshm_image_t leaf_image; /* staging layers */

  void *arrays[8]; /* memory of the patterns that no region holds */
  int32_t narrays;
} sfc_trunk_t;

/* Slots for a class of units. */
typedef struct sfc_exchange {
  struct sfc_exchange *next;
  uint64_t class_bytes;
  int64_t side; /* that has slots here, or SFSHM_ALL_SIDES */
  sfshm_region_t region;
  sfshm_side_slots_t slots[]; /* by side of the map */
} sfc_exchange_t;

/* Everything of one graph that concerns other nodes. */
typedef struct sfc_trunks {
  sfc_attachment_t attachment; /* to the graph; not of a plan's trunks */
  bool shares_plan;            /* map and the trunks' turns and arrays belong to others, too, one of which frees them */
  sfc_trunk_region_t *map_region; /* NULL: the daemon sent the map, which is memory of this process: */
  void *map_memory;
  const sfshm_trunk_map_t *map;
  sfc_trunk_region_t *board_region;
  sfshm_trunk_board_t *board;
  sfc_exchange_t *exchanges;
  uint64_t own_class;  /* sfshm_own_class; 0: not computed yet */
  sfc_trunk_t *trunks; /* by node */
  int32_t ntrunks;
} sfc_trunks_t;

#endif
