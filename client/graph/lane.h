/* Lane: a graph's edges to one other rank of the node, or to one other node (then with a trunk), and the state of
 * messages in both directions. The thread that uses the graph. */
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

/* Position in an operation's data: fields done, values of the next field, and bytes of its next value if values are
 * split. */
typedef struct sfc_cursor {
  int32_t field;
  int64_t value;
  size_t bytes;
} sfc_cursor_t;

/* Messages of a lane that may be unread, in slots and eager slots. */
#define SFC_LANE_AWAITING SFSHM_EAGER_SLOTS

struct sfc_trunk;
struct sfc_offers;
struct sfc_eager;

/* Messages of both operations share the lane. With a trunk the links hold counts only; the trunk has the indices. */
typedef struct sfc_lane {
  sf_graph_t *graph;
  sfc_peer_t *peer;
  const struct sfc_lane_ops *ops; /* from the first operation on: see lane_ops.h */
  struct sfc_trunk *trunk;        /* NULL: a rank of this node */
  int32_t rank;                   /* in the group; with a trunk the number of the node */
  bool peer_can_read;             /* the other end can read this process's private memory */
  sfc_link_t as_root;             /* leaves there on roots here: sent in a bcast, received in a reduce */
  sfc_link_t as_leaf;             /* leaves here on roots there: received in a bcast, sent in a reduce */

  sfshm_lane_tx_t tx;
  bool tx_nontemporal;                       /* large payloads are written past the caches */
  bool tx_stalled;                           /* has something to send that the lane did not take */
  size_t tx_cells_asked;                     /* cell size requested; 0: none */
  size_t tx_cells_tried;                     /* largest cell size requested and answered */
  bool tx_devices_asked;                     /* asked whether the peer can open device regions */
  uint64_t tx_sequence;                      /* operation to send next, or being sent */
  sfc_cursor_t tx_cursor;                    /* position in that operation */
  uint32_t tx_unread;                        /* entries of awaiting */
  struct sfc_eager *eager;                   /* eager messages: see eager.h; NULL: none yet */
  sf_request_t *awaiting[SFC_LANE_AWAITING]; /* by message: operations that end when the peer has read in place */

  sfshm_lane_rx_t rx;
  sf_request_t *rx_request; /* operation received next; NULL: none begun */
  sfc_cursor_t rx_cursor;
  bool rx_reading; /* a kernel reads the message from the peer's device */
  sfc_pinned_device_t rx_pinned;
  uint64_t rx_awaited;  /* descriptor announced to the peer as awaited (mismatch.h); 0: none */
  sfc_block_t rx_cells; /* granted to the peer */

  sfshm_lane_counters_t *counts; /* in the counters region, perhaps shared */
  struct sfc_offers *offers;     /* offers to the daemon's workers: see offload.h; NULL: none yet */
  uint64_t *rx_sizes;            /* of the blocks of rx_request, an exchange; NULL: no exchange yet */
  size_t rx_taken;               /* bytes of the next message that have been taken */
} sfc_lane_t;

/* Whether the lane sends, and receives, data of the operation. */
static inline bool sfc_lane_sends(const sfc_lane_t *lane, sfshm_operation_t operation)
{
  return (operation == SFSHM_BCAST ? lane->as_root : lane->as_leaf).nvalues > 0;
}

static inline bool sfc_lane_receives(const sfc_lane_t *lane, sfshm_operation_t operation)
{
  return (operation == SFSHM_BCAST ? lane->as_leaf : lane->as_root).nvalues > 0;
}

#endif
