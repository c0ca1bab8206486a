/* The two kinds of lanes: see lane_ops.h. */
#include "client/engine/lane_ops.h"

#include "client/engine/eager.h"
#include "client/engine/trunk.h"

static bool has_message(sfc_lane_t *lane)
{
  return sfc_lane_peek(lane) != NULL;
}

const sfc_lane_ops_t sfc_shared_lane_ops = {
    .send = sfc_lane_send_shared, .receive = sfc_lane_receive_shared, .has_message = has_message};

const sfc_lane_ops_t sfc_trunk_lane_ops = {
    .send = sfc_trunk_send, .receive = sfc_trunk_receive, .has_message = sfc_trunk_has_message};
