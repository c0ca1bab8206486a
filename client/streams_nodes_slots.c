/* Slots on a device for other nodes: see streams_nodes_slots.h. */
#include "client/streams_nodes_slots.h"

#include <stdlib.h>
#include <string.h>

#include "client/context.h"
#include "client/device.h"
#include "client/trunk_boards.h"
#include "shm/device_load.h"
#include "shm/error.h"

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

static bool is_switched_off(void)
{
  const char *wanted = getenv("SF_DEVICE_MPI");
  return (wanted != NULL && strcmp(wanted, "off") == 0) || !sfc_device_may_share();
}

void sfc_node_slots_ask(sfc_nodes_t *nodes, size_t unit_bytes, sfc_stream_sides_t sides)
{
  const sfc_streams_t *streams = nodes->streams;
  sfshm_device_identity_t identity;
  Sfproto__TrunkAsk ask = SFPROTO__TRUNK_ASK__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  if (nodes->board.host == NULL || is_switched_off() || !(sides.roots_on_device || sides.leaves_on_device) ||
      streams->plugin->identify(streams->ops->device(streams->device), &identity) != SF_OK)
    return;
  ask.graph = nodes->copy->number;
  ask.class_bytes = nodes->device.class_bytes = sfshm_exchange_class(unit_bytes);
  ask.device = (ProtobufCBinaryData){sizeof identity.bytes, identity.bytes};
  ask.roots = sides.roots_on_device;
  ask.leaves = sides.leaves_on_device;
  ask.sees_adapters = streams->ops->sees_adapters(streams->device);
  message.body_case = SFPROTO__MESSAGE__BODY_TRUNK_ASK;
  message.trunk_ask = &ask;
  nodes->device.has_asked = sfc_control_tell(&nodes->copy->context->control, &message, NULL, 0) == SF_OK;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static sf_status_t lay_out(sfc_nodes_t *nodes, const Sfproto__TrunkSlots *told, uint64_t *length_p)
{
  sfc_node_slots_t *device = &nodes->device;
  const sfshm_trunk_map_t *map = nodes->copy->trunks->map;
  if (told->where.len != map->nsides)
    return sfshm_error(SF_ERR_PROTO, "slots of %zu sides, %u expected", told->where.len, map->nsides);
  device->where = malloc(map->nsides);
  device->slots = calloc(map->nsides, sizeof *device->slots);
  if (device->where == NULL || device->slots == NULL)
    return sfshm_error(SF_ERR_NOMEM, "slots of %u sides", map->nsides);
  memcpy(device->where, told->where.data, map->nsides);
  return sfshm_slots_layout(map->sides, device->where, map->nsides, device->class_bytes, SFC_EXCHANGE_MAX_BYTES,
                            device->slots, length_p);
}

/* Kernels store whole units there. */
static sf_status_t open_memory(sfc_nodes_t *nodes, const Sfproto__TrunkSlots *told, uint64_t length)
{
  const sfc_streams_t *streams = nodes->streams;
  sfshm_device_handle_t handle;
  sfshm_device_range_t range;
  if (told->handle.len != sizeof handle.bytes)
    return sfshm_error(SF_ERR_PROTO, "handle of %zu bytes, %zu expected", told->handle.len, sizeof handle.bytes);
  memcpy(handle.bytes, told->handle.data, sizeof handle.bytes);
  sf_status_t status = streams->plugin->open_shared(&handle, streams->ops->device(streams->device), &range);
  if (status != SF_OK)
    return sfshm_error(status, "%s", streams->plugin->detail());
  if (range.length_bytes < length || (uintptr_t)range.base % SFC_STREAMS_ALIGN != 0) {
    streams->plugin->close_shared(range.base);
    return sfshm_error(SF_ERR_PROTO, "slots of %zu bytes at %p, %llu expected", range.length_bytes, range.base,
                       (unsigned long long)length);
  }
  nodes->device.base = range.base;
  return SF_OK;
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

static sf_status_t open_slots(sfc_nodes_t *nodes)
{
  sfc_control_t *control = &nodes->copy->context->control;
  sfproto_incoming_t incoming;
  uint64_t length;
  Sfproto__TrunkGet get = SFPROTO__TRUNK_GET__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  get.graph = nodes->copy->number;
  message.body_case = SFPROTO__MESSAGE__BODY_TRUNK_GET;
  message.trunk_get = &get;
  sf_status_t status = sfc_control_call(control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_TRUNK_SLOTS, &incoming);
  if (status != SF_OK)
    return status;
  nodes->device.is_there = incoming.message->trunk_slots->has_handle;
  if (!nodes->device.is_there)
    status = SF_ERR_UNSUPPORTED;
  if (status == SF_OK)
    status = lay_out(nodes, incoming.message->trunk_slots, &length);
  if (status == SF_OK)
    status = open_memory(nodes, incoming.message->trunk_slots, length);
  sfproto_incoming_free(&incoming);
  return status == SF_OK ? prepare_all(nodes) : status;
}

static sf_status_t tell(const sfc_nodes_t *nodes, bool closed)
{
  Sfproto__TrunkHave have = SFPROTO__TRUNK_HAVE__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  have.graph = nodes->copy->number;
  have.has_closed = have.closed = closed;
  message.body_case = SFPROTO__MESSAGE__BODY_TRUNK_HAVE;
  message.trunk_have = &have;
  return sfc_control_tell(&nodes->copy->context->control, &message, NULL, 0);
}

/* The daemon frees them when nobody has them open: if it can't be told, with the graph. */
static void do_without(sfc_nodes_t *nodes)
{
  bool is_there = nodes->device.is_there;
  sfc_node_slots_close(nodes);
  if (is_there)
    (void)tell(nodes, true);
}

void sfc_node_slots_open(sfc_nodes_t *nodes)
{
  if (nodes->device.has_asked && (open_slots(nodes) != SF_OK || tell(nodes, false) != SF_OK))
    do_without(nodes);
}

/* Whether all have opened them the daemon says: before the last rank's TrunkHave was answered, after which all met. */
void sfc_node_slots_settle(sfc_nodes_t *nodes)
{
  if (nodes->device.base != NULL && atomic_load(&nodes->copy->trunks->board->on_device) == 0)
    do_without(nodes);
}

void sfc_node_slots_close(sfc_nodes_t *nodes)
{
  sfc_node_slots_t *device = &nodes->device;
  if (device->base != NULL)
    nodes->streams->plugin->close_shared(device->base);
  free(device->where);
  free(device->slots);
  *device = (sfc_node_slots_t){.base = NULL};
}

/* ---- Using ------------------------------------------------------------------------------------------------------- */

static bool is_there(const sfc_nodes_t *nodes, const sfc_trunk_side_t *side, uint8_t where, int64_t values,
                     sfshm_unit_t unit)
{
  const sfc_node_slots_t *device = &nodes->device;
  return device->base != NULL && (device->where[side->number] & where) != 0 &&
         sfshm_slots_take(values, sfshm_unit_size(unit), device->class_bytes);
}

char *sfc_node_slots_send(const sfc_nodes_t *nodes, const sfc_trunk_side_t *side, sfshm_unit_t unit, uint64_t message)
{
  if (!is_there(nodes, side, SFSHM_SLOTS_SEND, side->told->send_values, unit))
    return NULL;
  const sfshm_side_slots_t *slots = &nodes->device.slots[side->number];
  return nodes->device.base + slots->send + message % SFSHM_TRUNK_SLOTS * slots->send_stride;
}

char *sfc_node_slots_receive(const sfc_nodes_t *nodes, const sfc_trunk_side_t *side, sfshm_unit_t unit,
                             uint64_t message)
{
  if (!is_there(nodes, side, SFSHM_SLOTS_RECEIVE, side->told->receive_values, unit))
    return NULL;
  const sfshm_side_slots_t *slots = &nodes->device.slots[side->number];
  return nodes->device.base + slots->receive + message % SFSHM_TRUNK_SLOTS * slots->receive_stride;
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
