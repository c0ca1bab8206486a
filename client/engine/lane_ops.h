/* Lane operations by transport: shared memory with a rank of this node, or a trunk to another node. The thread that
 * uses the graph. */
#ifndef SFC_ENGINE_LANE_OPS_H
#define SFC_ENGINE_LANE_OPS_H

#include "client/engine/lane_send.h"

typedef struct sfc_lane_ops {
  bool (*send)(sfc_lane_t *lane, sf_request_t *request);
  bool (*receive)(sfc_lane_t *lane);
  bool (*has_message)(sfc_lane_t *lane); /* for rx_request */
} sfc_lane_ops_t;

extern const sfc_lane_ops_t sfc_shared_lane_ops;
extern const sfc_lane_ops_t sfc_trunk_lane_ops;

/* Sends as much of the request as the lane takes, from tx_cursor on. true: everything is posted; this ends the lane's
 * sends of the request, except data to be read in place. */
static inline bool sfc_lane_send(sfc_lane_t *lane, sf_request_t *request)
{
  if (request->held)
    return false;
  return lane->ops == &sfc_shared_lane_ops ? sfc_lane_send_shared(lane, request) : lane->ops->send(lane, request);
}

/* Receives for rx_request and the requests behind it, within limits. Returns whether anything moved. */
static inline bool sfc_lane_receive(sfc_lane_t *lane)
{
  return lane->ops == &sfc_shared_lane_ops ? sfc_lane_receive_shared(lane) : lane->ops->receive(lane);
}

#endif
