/* Slots on a device for other nodes: see trunk_device_slots.h. */
#include "client/streams/trunk_device_slots.h"

#include "client/graph.h"
#include "client/setup.h"
#include "shm/base/error.h"

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

void sfc_node_slots_ask(sfc_nodes_t *nodes, size_t unit_bytes, sfc_stream_sides_t sides)
{
  const sfc_streams_t *streams = nodes->streams;
  sfc_trunk_ask_t ask = {.unit_bytes = unit_bytes,
                         .device = streams->ops->device(streams->device),
                         .roots = sides.roots_on_device,
                         .leaves = sides.leaves_on_device,
                         .sees_adapters = streams->ops->sees_adapters(streams->device),
                         .streams = true};
  if (nodes->board.host != NULL && !sfc_trunk_slots_are_off() && (ask.roots || ask.leaves))
    nodes->has_asked = sfc_trunk_slots_ask(nodes->copy, &ask) == SF_OK;
}

/* What sfc_node_slots_bring moves from and to. */
static sf_status_t prepare(const sfc_streams_t *streams, const sfshm_pattern_t *pattern)
{
  sf_status_t status = streams->ops->prepare(streams->device, pattern, false);
  if (status == SF_OK)
    status = streams->ops->prepare(streams->device, pattern, true);
  return status == SF_OK ? SF_OK : sfshm_error(status, "%s", streams->plugin->detail());
}

static sf_status_t prepare_all(const sfc_nodes_t *nodes)
{
  const sfc_trunks_t *trunks = nodes->copy->trunks;
  sf_status_t status = SF_OK;
  for (int32_t i = 0; i < trunks->ntrunks && status == SF_OK; i++) {
    status = prepare(nodes->streams, &trunks->trunks[i].from);
    if (status == SF_OK)
      status = prepare(nodes->streams, &trunks->trunks[i].to);
    if (status == SF_OK)
      status = prepare(nodes->streams, &trunks->trunks[i].extra_to);
  }
  return status;
}

void sfc_node_slots_open(sfc_nodes_t *nodes)
{
  const sfc_streams_t *streams = nodes->streams;
  if (!nodes->has_asked)
    return;
  sf_status_t status =
      sfc_trunk_slots_open(nodes->copy, streams->ops->device(streams->device), &nodes->copy->trunks->slots);
  if (status == SF_OK)
    status = prepare_all(nodes);
  if (status != SF_OK || sfc_trunk_slots_tell_open(nodes->copy) != SF_OK)
    sfc_trunk_slots_do_without(nodes->copy);
}

/* Whether all have opened them the daemon says: before the last rank's TrunkHave was answered, after which all met. */
void sfc_node_slots_settle(sfc_nodes_t *nodes)
{
  const sfc_trunks_t *trunks = nodes->copy->trunks;
  if (nodes->has_asked && trunks->slots.base != NULL && atomic_load(&trunks->board->on_device) != SFSHM_SLOTS_USED)
    sfc_trunk_slots_do_without(nodes->copy);
}

/* ---- Using ------------------------------------------------------------------------------------------------------- */

char *sfc_node_slots_send(const sfc_nodes_t *nodes, const sfc_trunk_side_t *side, sfshm_unit_t unit, uint64_t message)
{
  return sfc_trunk_slots_at(&nodes->copy->trunks->slots, side->number, SFSHM_SLOTS_SEND, side->told->send_values,
                            sfshm_unit_size(unit), message);
}

char *sfc_node_slots_receive(const sfc_nodes_t *nodes, const sfc_trunk_side_t *side, sfshm_unit_t unit,
                             uint64_t message)
{
  return sfc_trunk_slots_at(&nodes->copy->trunks->slots, side->number, SFSHM_SLOTS_RECEIVE, side->told->receive_values,
                            sfshm_unit_size(unit), message);
}

/* ---- Data of the host -------------------------------------------------------------------------------------------- */

static sf_status_t bring(const sfc_nodes_t *nodes, const sf_streamed_t *streamed, const sfshm_pattern_t *positions,
                         const char *from, char *to)
{
  sfshm_move_t move = {.from_pattern = *positions, .from = from, .to_pattern = *positions, .to = to, .n = positions->n};
  return sfc_move(nodes->streams, false, streamed->unit, SFSHM_OP_REPLACE, &move);
}

/* What contributors win is among what all contribute, and further leaves of a root read the same position. */
static sf_status_t bring_received(const sfc_nodes_t *nodes, const sf_streamed_t *streamed, const sfc_trunk_t *trunk,
                                  const char *from, char *to)
{
  sf_status_t status = SF_OK;
  if (streamed->operation == SFSHM_BCAST)
    return bring(nodes, streamed, &trunk->from, from, to);
  for (int32_t i = 0; i < trunk->nturns && status == SF_OK; i++)
    status = bring(nodes, streamed, &trunk->turns[i].position, from, to);
  return status;
}

static sf_status_t bring_sent(const sfc_nodes_t *nodes, const sf_streamed_t *streamed, const sfc_trunk_t *trunk,
                              const char *from, char *to)
{
  if (streamed->operation == SFSHM_BCAST) {
    sfshm_pattern_t positions = sfshm_pattern_contiguous(trunk->first, trunk->root.n);
    return bring(nodes, streamed, &positions, from, to);
  }
  sf_status_t status = bring(nodes, streamed, &trunk->to, from, to);
  return status == SF_OK && trunk->uncombined ? bring(nodes, streamed, &trunk->extra_to, from, to) : status;
}

sf_status_t sfc_node_slots_bring(const sfc_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane, bool is_sent,
                                 const char *from, char *to)
{
  const sfc_trunk_t *trunk = nodes->copy->lanes[lane].trunk;
  sfc_streams_watch_work(nodes->streams, streamed, &nodes->streams->graph->lanes[lane],
                         is_sent ? SFSHM_TRACE_WORK_FROM_HOST : SFSHM_TRACE_WORK_TO_HOST);
  return is_sent ? bring_sent(nodes, streamed, trunk, from, to) : bring_received(nodes, streamed, trunk, from, to);
}
