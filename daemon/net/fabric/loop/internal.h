/* What loop.c (steps of the fabric between daemons of one process) and hub.c (its life, and what goes wrong) share. The
 * states of an end are drawn in loop.c. */
#ifndef SFD_FABRIC_LOOP_INTERNAL_H
#define SFD_FABRIC_LOOP_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/net/fabric/loop/device.h"
#include "daemon/net/fabric/loop/loop.h"
#include "daemon/net/fabric/loop/pipe.h"

typedef enum sfd_loop_state { SFD_LOOP_IDLE, SFD_LOOP_CONNECTING, SFD_LOOP_UP } sfd_loop_state_t;

typedef struct sfd_loop_end {
  sfd_loop_state_t state;
  bool ended;         /* UP, but the stream is no more: to be told */
  const char *reason; /* why */
  bool held;
  bool refused;
  struct iovec *iov; /* the send under way; NULL: none */
  int niov;
  int next_iov;
  size_t offset; /* in it */
  sfd_pipe_t out;
} sfd_loop_end_t;

typedef struct sfd_loop_node {
  sfd_fabric_t fabric; /* the first member */
  sfd_loop_hub_t *hub;
  bool dead;
  bool closing;
  bool closed;
  sfd_loop_end_t *ends; /* by other node */
  sfd_loop_devices_t devices;
} sfd_loop_node_t;

struct sfd_loop_hub {
  int32_t nnodes;
  unsigned delay;
  uint64_t random; /* 0: no chunks */
  uint64_t step;
  sfd_loop_node_t nodes[];
};

extern const sfd_fabric_functions_t sfd_loop_functions;

static inline sfd_loop_end_t *sfd_loop_end_of(sfd_loop_hub_t *hub, int32_t node, int32_t other)
{
  return &hub->nodes[node].ends[other];
}

/* The other end is gone. */
void sfd_loop_end_stream(sfd_loop_hub_t *hub, int32_t node, int32_t other, const char *reason);

/* The node gives up all its ends. */
void sfd_loop_leave_all(sfd_loop_node_t *node, const char *reason);

#endif
