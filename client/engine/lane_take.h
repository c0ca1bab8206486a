/* Taking one message out of a lane: eager (in the slot, a cell, or a block of the writer's inbox), or zero-copy (in
 * memory of the writer). One function for each form of message. The thread that uses the graph. */
#ifndef SFC_ENGINE_LANE_TAKE_H
#define SFC_ENGINE_LANE_TAKE_H

#include "client/engine/operation.h"
#include "shm/lane/lane.h"

/* What has become of a message. */
typedef enum sfc_taken_how {
  SFC_TAKEN_ALL,        /* it was the lane's last one for the request */
  SFC_TAKEN_AFTER_TURN, /* the same, and the request's turn ended before */
  SFC_TAKEN_PARTLY,     /* others of the request follow on the lane */
  SFC_TAKEN_LATER,      /* workers or kernels of a device are in the middle of it: it stays in the lane */
} sfc_taken_how_t;

typedef struct sfc_taken {
  sfc_taken_how_t how;
  size_t bytes; /* of payload */
} sfc_taken_t;

/* Takes the message in the slot, whose descriptor has been compared with the request's, and gives the slot back, except
 * on error and with SFC_TAKEN_LATER. */
sf_status_t sfc_lane_take(sfc_lane_t *lane, sf_request_t *request, const sfshm_slot_t *slot, uint64_t desc,
                          sfc_taken_how_t *how_p);

#endif
