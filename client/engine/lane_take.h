/* Takes one message from a lane: eager (in the slot, a cell, or a block of the writer's inbox), or zero-copy (in the
 * writer's memory). One function per form of message. The thread that uses the graph. */
#ifndef SFC_ENGINE_LANE_TAKE_H
#define SFC_ENGINE_LANE_TAKE_H

#include "client/engine/operation.h"
#include "shm/lane/lane.h"

/* Result of taking a message. */
typedef enum sfc_taken_how {
  SFC_TAKEN_ALL,        /* the lane's last message for the request */
  SFC_TAKEN_AFTER_TURN, /* the same; the request's turn ended earlier */
  SFC_TAKEN_PARTLY,     /* more messages of the request follow */
  SFC_TAKEN_LATER,      /* workers or kernels are reading it: it stays in the lane */
} sfc_taken_how_t;

typedef struct sfc_taken {
  sfc_taken_how_t how;
  size_t bytes;
} sfc_taken_t;

/* Takes the message in the slot, whose descriptor matches the request's. Returns the slot, except on error and with
 * SFC_TAKEN_LATER. */
sf_status_t sfc_lane_take(sfc_lane_t *lane, sf_request_t *request, const sfshm_slot_t *slot, uint64_t desc,
                          sfc_taken_how_t *how_p);

/* Reads n pieces of private memory of the lane's peer, of the same lengths there and here. Changes the lists. */
struct iovec;
sf_status_t sfc_lane_read_memory(const sfc_lane_t *lane, struct iovec *local, struct iovec *remote, size_t n);

#endif
