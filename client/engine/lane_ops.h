/* What lanes do, by where the other end is: a rank of this node, with which memory is shared, or another node, over a
 * trunk. The thread that uses the graph. */
#ifndef SFC_ENGINE_LANE_OPS_H
#define SFC_ENGINE_LANE_OPS_H

#include "client/engine/lane_send.h"

typedef struct sfc_lane_ops {
  bool (*send)(sfc_lane_t *lane, sf_request_t *request);
  bool (*receive)(sfc_lane_t *lane);
  bool (*has_message)(sfc_lane_t *lane); /* for the lane's request */
} sfc_lane_ops_t;

extern const sfc_lane_ops_t sfc_shared_lane_ops;
extern const sfc_lane_ops_t sfc_trunk_lane_ops;

/* Sends as much of the request as the lane takes, from lane->tx_cursor on. True when everything has been posted; unless
 * it will be read in place, that ends the lane's part in the request's sends. */
static inline bool sfc_lane_send(sfc_lane_t *lane, sf_request_t *request)
{
  if (request->held)
    return false;
  return lane->ops == &sfc_shared_lane_ops ? sfc_lane_send_shared(lane, request) : lane->ops->send(lane, request);
}

/* Takes what has arrived for lane->rx_request, and for the requests behind it, but not without end. Whether anything
 * moved. */
static inline bool sfc_lane_receive(sfc_lane_t *lane)
{
  return lane->ops == &sfc_shared_lane_ops ? sfc_lane_receive_shared(lane) : lane->ops->receive(lane);
}

#endif
