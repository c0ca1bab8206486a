/* The hub of daemons of one process: see loop.h. The caller's thread. */
#include <assert.h>
#include <stdlib.h>

#include "daemon/net/fabric/loop/internal.h"

sfd_loop_hub_t *sfd_loop_hub_create(int32_t nnodes)
{
  sfd_loop_hub_t *hub = calloc(1, sizeof *hub + (size_t)nnodes * sizeof hub->nodes[0]);
  if (hub == NULL)
    return NULL;
  hub->nnodes = nnodes;
  for (int32_t i = 0; i < nnodes; i++) {
    sfd_loop_node_t *node = &hub->nodes[i];
    node->fabric = (sfd_fabric_t){.functions = &sfd_loop_functions, .node = i, .nnodes = nnodes};
    node->hub = hub;
    node->ends = calloc((size_t)nnodes, sizeof node->ends[0]);
    if (node->ends == NULL) {
      sfd_loop_hub_destroy(hub);
      return NULL;
    }
  }
  return hub;
}

void sfd_loop_hub_destroy(sfd_loop_hub_t *hub)
{
  for (int32_t i = 0; hub != NULL && i < hub->nnodes; i++) {
    sfd_loop_end_t *ends = hub->nodes[i].ends;
    for (int32_t other = 0; ends != NULL && other < hub->nnodes; other++) {
      free(ends[other].iov);
      free(ends[other].out.bytes);
    }
    free(ends);
  }
  free(hub);
}

sfd_fabric_t *sfd_loop_fabric(sfd_loop_hub_t *hub, int32_t node)
{
  return &hub->nodes[node].fabric;
}

void sfd_loop_take_devices(sfd_loop_hub_t *hub, void (*copy)(void *to, const void *from, size_t nbytes))
{
  for (int32_t i = 0; i < hub->nnodes; i++) {
    hub->nodes[i].fabric.takes_devices = true;
    hub->nodes[i].devices.copy = copy;
  }
}

/* ---- What goes wrong ---- */

void sfd_loop_set_delay(sfd_loop_hub_t *hub, unsigned steps)
{
  assert(steps <= SFD_LOOP_DELAY_MAX);
  hub->delay = steps;
}

void sfd_loop_set_chunks(sfd_loop_hub_t *hub, uint64_t seed)
{
  hub->random = seed;
}

void sfd_loop_hold(sfd_loop_hub_t *hub, int32_t from, int32_t to, bool hold)
{
  sfd_loop_end_of(hub, from, to)->held = hold;
}

void sfd_loop_refuse(sfd_loop_hub_t *hub, int32_t a, int32_t b, bool refuse)
{
  sfd_loop_end_of(hub, a, b)->refused = refuse;
  sfd_loop_end_of(hub, b, a)->refused = refuse;
}

void sfd_loop_cut(sfd_loop_hub_t *hub, int32_t a, int32_t b)
{
  sfd_loop_end_stream(hub, a, b, "the link was cut");
  sfd_loop_end_stream(hub, b, a, "the link was cut");
}

void sfd_loop_kill(sfd_loop_hub_t *hub, int32_t node)
{
  hub->nodes[node].dead = true;
  sfd_loop_leave_all(&hub->nodes[node], "the daemon has died");
}
