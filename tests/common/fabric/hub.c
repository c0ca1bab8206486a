/* The hub of daemons of one process: see loop.h. The caller's thread. */
#include <assert.h>
#include <stdlib.h>

#include "tests/common/fabric/internal.h"

sftest_fabric_hub_t *sftest_fabric_hub_create(int32_t nnodes)
{
  sftest_fabric_hub_t *hub = calloc(1, sizeof *hub + (size_t)nnodes * sizeof hub->nodes[0]);
  if (hub == NULL)
    return NULL;
  hub->nnodes = nnodes;
  for (int32_t i = 0; i < nnodes; i++) {
    sftest_fabric_node_t *node = &hub->nodes[i];
    node->fabric = (sfd_fabric_t){.functions = &sftest_fabric_functions, .node = i, .nnodes = nnodes};
    node->hub = hub;
    node->ends = calloc((size_t)nnodes, sizeof node->ends[0]);
    if (node->ends == NULL) {
      sftest_fabric_hub_destroy(hub);
      return NULL;
    }
  }
  return hub;
}

void sftest_fabric_hub_destroy(sftest_fabric_hub_t *hub)
{
  for (int32_t i = 0; hub != NULL && i < hub->nnodes; i++) {
    sftest_fabric_end_t *ends = hub->nodes[i].ends;
    for (int32_t other = 0; ends != NULL && other < hub->nnodes; other++) {
      free(ends[other].iov);
      free(ends[other].out.bytes);
    }
    free(ends);
  }
  free(hub);
}

sfd_fabric_t *sftest_fabric_of(sftest_fabric_hub_t *hub, int32_t node)
{
  return &hub->nodes[node].fabric;
}

/* ---- What goes wrong ---- */

void sftest_fabric_set_delay(sftest_fabric_hub_t *hub, unsigned steps)
{
  assert(steps <= SFTEST_FABRIC_DELAY_MAX);
  hub->delay = steps;
}

void sftest_fabric_set_chunks(sftest_fabric_hub_t *hub, uint64_t seed)
{
  hub->random = seed;
}

void sftest_fabric_hold(sftest_fabric_hub_t *hub, int32_t from, int32_t to, bool hold)
{
  sftest_fabric_end_of(hub, from, to)->held = hold;
}

void sftest_fabric_refuse(sftest_fabric_hub_t *hub, int32_t a, int32_t b, bool refuse)
{
  sftest_fabric_end_of(hub, a, b)->refused = refuse;
  sftest_fabric_end_of(hub, b, a)->refused = refuse;
}

bool sftest_fabric_cut(sftest_fabric_hub_t *hub, int32_t a, int32_t b)
{
  bool ended_a = sftest_fabric_end_stream(hub, a, b, "the link was cut");
  bool ended_b = sftest_fabric_end_stream(hub, b, a, "the link was cut");
  return ended_a || ended_b;
}

void sftest_fabric_kill(sftest_fabric_hub_t *hub, int32_t node)
{
  hub->nodes[node].dead = true;
  sftest_fabric_leave_all(&hub->nodes[node], "the daemon has died");
}
