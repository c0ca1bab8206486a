/* What loop.c (steps of the fabric between daemons of one process) and hub.c (its life, and what goes wrong) share. The
 * states of an end are drawn in loop.c. */
#ifndef SFTEST_FABRIC_INTERNAL_H
#define SFTEST_FABRIC_INTERNAL_H

#include "tests/common/fabric/pipe.h"

typedef enum sftest_fabric_state {
  SFTEST_FABRIC_IDLE,
  SFTEST_FABRIC_CONNECTING,
  SFTEST_FABRIC_UP
} sftest_fabric_state_t;

typedef struct sftest_fabric_end {
  sftest_fabric_state_t state;
  bool ended;         /* UP, but the stream is no more: to be told */
  const char *reason; /* why */
  bool held;
  bool refused;
  struct iovec *iov; /* the send under way; NULL: none */
  int niov;
  int next_iov;
  size_t offset; /* in it */
  sfd_pipe_t out;
} sftest_fabric_end_t;

typedef struct sftest_fabric_node {
  sfd_fabric_t fabric; /* the first member */
  sftest_fabric_hub_t *hub;
  bool dead;
  bool closing;
  bool closed;
  sftest_fabric_end_t *ends; /* by other node */
} sftest_fabric_node_t;

struct sftest_fabric_hub {
  int32_t nnodes;
  unsigned delay;
  uint64_t random; /* 0: no chunks */
  uint64_t step;
  sftest_fabric_node_t nodes[];
};

extern const sfd_fabric_functions_t sftest_fabric_functions;

static inline sftest_fabric_end_t *sftest_fabric_end_of(sftest_fabric_hub_t *hub, int32_t node, int32_t other)
{
  return &hub->nodes[node].ends[other];
}

/* The other end is gone. */
bool sftest_fabric_end_stream(sftest_fabric_hub_t *hub, int32_t node, int32_t other, const char *reason);

/* The node gives up all its ends. */
void sftest_fabric_leave_all(sftest_fabric_node_t *node, const char *reason);

#endif
