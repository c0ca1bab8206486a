/* A lane of a graph: its edges to one other rank of the node, or to one other node, with the state of the messages in
 * both directions. The thread that uses the graph. */
#ifndef SFC_GRAPH_LANE_H
#define SFC_GRAPH_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf.h>

#include "client/core.h"
#include "client/plan.h"
#include "shm/lane/lane.h"
#include "shm/lane/message.h"
#include "shm/observe/counters.h"

/* Where in an operation's data a lane stands: values done, and bytes of the next one when units are split. */
typedef struct sfc_cursor {
  int64_t value;
  size_t bytes;
} sfc_cursor_t;

struct sfc_trunk;
struct sfc_offers;
struct sfc_eager;

/* All that concerns one other rank with which this one shares edges. Messages of both operations share its lanes. Or,
 * with a trunk, all that concerns the ranks of one other node: then the links only say how much there is. */
typedef struct sfc_lane {
  sf_graph_t *graph;
  sfc_peer_t *peer;
  const struct sfc_lane_ops *ops; /* of the engine, from the first operation on: see lane_ops.h */
  struct sfc_trunk *trunk;        /* NULL: a rank of this node */
  int32_t rank;                   /* in the group; that of a trunk's lane is the number of the node */
  bool peer_can_read;             /* the other end can read this process's private memory */
  sfc_link_t as_root;             /* its leaves on roots here: sent in a bcast, received in a reduce */
  sfc_link_t as_leaf;             /* leaves here on its roots: received in a bcast, sent in a reduce */

  sfshm_lane_tx_t tx;
  bool tx_stalled;                          /* on the graph's list of lanes that have something to send and could not */
  size_t tx_cells_asked;                    /* bytes of the larger cells that have been asked for; 0: none */
  size_t tx_cells_tried;                    /* largest that were asked for and answered, perhaps with smaller ones */
  bool tx_devices_asked;                    /* whether the other end can open regions of devices */
  uint64_t tx_sequence;                     /* operation to send next, or being sent */
  sfc_cursor_t tx_cursor;                   /* within it */
  uint32_t tx_unread;                       /* messages in awaiting */
  struct sfc_eager *eager;                  /* what has been sent eagerly: see eager.h; NULL: nothing yet */
  sf_request_t *awaiting[SFSHM_LANE_SLOTS]; /* by message: operations that end only when it has been read in place */

  sfshm_lane_rx_t rx;
  sf_request_t *rx_request; /* operation whose data comes next; NULL: none begun */
  sfc_cursor_t rx_cursor;
  bool rx_reading; /* a kernel has been told to read its message from the other end's device: */
  sfc_pinned_device_t rx_pinned;
  uint64_t rx_awaited;  /* what the other end has last been told to be waited for: see mismatch.h; 0: nothing */
  sfc_block_t rx_cells; /* granted to the other end */

  sfshm_lane_counters_t *counts; /* in the counters region, or the graph's rest */
  struct sfc_offers *offers;     /* to the daemon's workers: see offload.h; NULL: none yet */
} sfc_lane_t;

/* Whether the lane carries data of the operation from here, and to here. */
static inline bool sfc_lane_sends(const sfc_lane_t *lane, sfshm_operation_t operation)
{
  return (operation == SFSHM_BCAST ? lane->as_root : lane->as_leaf).nvalues > 0;
}

static inline bool sfc_lane_receives(const sfc_lane_t *lane, sfshm_operation_t operation)
{
  return (operation == SFSHM_BCAST ? lane->as_leaf : lane->as_root).nvalues > 0;
}

#endif
