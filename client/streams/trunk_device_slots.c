/* Slots on a device for other nodes: see trunk_device_slots.h. */
#include "client/streams/trunk_device_slots.h"

#include <stdlib.h>
#include <string.h>

#include "client/core.h"
#include "client/graph.h"
#include "client/setup.h"
#include "shm/base/error.h"
#include "shm/device/device_load.h"

#define ALIGN 128u /* of slots, which hold units of any type */

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

/* Whether the environment keeps this rank from using slots on a device. */
static bool are_off(void)
{
  const char *wanted = getenv("SF_DEVICE_MPI");
  return (wanted != NULL && strcmp(wanted, "off") == 0) || !sfc_device_may_share();
}

static sf_status_t tell(const sfc_stream_nodes_t *nodes, Sfproto__Message *message)
{
  return sfc_daemon_tell(&nodes->copy->context->control, message, NULL, 0);
}

static sf_status_t tell_ask(const sfc_stream_nodes_t *nodes, size_t unit_bytes, sfc_stream_sides_t sides)
{
  const sfc_streams_t *streams = nodes->streams;
  sfshm_device_identity_t identity;
  Sfproto__Message message = SFPROTO_MESSAGE_OF(
      TRUNK_ASK, trunk_ask, .device = {sizeof identity.bytes, identity.bytes}, .graph = nodes->copy->number,
      .class_bytes = sfshm_exchange_class(unit_bytes), .roots = sides.roots_on_device, .leaves = sides.leaves_on_device,
      .sees_adapters = streams->ops->sees_adapters(streams->device));
  sf_status_t status = streams->plugin->identify(streams->ops->device(streams->device), &identity);
  return status == SF_OK ? tell(nodes, &message) : status;
}

void sfc_streams_node_slots_ask(sfc_stream_nodes_t *nodes, size_t unit_bytes, sfc_stream_sides_t sides)
{
  if (nodes->board.host != NULL && !are_off() && (sides.roots_on_device || sides.leaves_on_device))
    nodes->has_asked = tell_ask(nodes, unit_bytes, sides) == SF_OK;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static sf_status_t lay_out(const sfc_trunks_t *trunks, const Sfproto__TrunkSlots *told, sfc_stream_node_slots_t *slots,
                           uint64_t *length_p)
{
  const sfshm_trunk_map_t *map = trunks->map;
  if (told->where.len != map->nsides || told->class_bytes > INT64_MAX ||
      sfshm_exchange_class((size_t)told->class_bytes) != told->class_bytes)
    return sfshm_error(SF_ERR_PROTO, "slots of %zu sides for units of %llu bytes, %u sides expected", told->where.len,
                       (unsigned long long)told->class_bytes, map->nsides);
  slots->class_bytes = told->class_bytes;
  slots->where = malloc(map->nsides);
  slots->slots = calloc(map->nsides, sizeof *slots->slots);
  if (slots->where == NULL || slots->slots == NULL)
    return sfshm_error(SF_ERR_NOMEM, "slots of %u sides", map->nsides);
  memcpy(slots->where, told->where.data, map->nsides);
  return sfshm_slots_layout(map->sides, slots->where, map->nsides, slots->class_bytes, SFC_EXCHANGE_MAX_BYTES,
                            slots->slots, length_p);
}

static sf_status_t open_memory(int32_t device, const sfproto_incoming_t *incoming, uint64_t length,
                               sfc_stream_node_slots_t *slots)
{
  const Sfproto__TrunkSlots *told = incoming->message->trunk_slots;
  const sfshm_device_ops_t *plugin = sfshm_device_loaded();
  sfshm_device_handle_t handle;
  sfshm_device_range_t range;
  if (told->handle.len != sizeof handle.bytes)
    return sfshm_error(SF_ERR_PROTO, "handle of %zu bytes, %zu expected", told->handle.len, sizeof handle.bytes);
  memcpy(handle.bytes, told->handle.data, sizeof handle.bytes);
  sf_status_t status = plugin->open_shared(&handle, incoming->nfds > 0 ? incoming->fds[0] : -1, device, &range);
  if (status != SF_OK)
    return sfshm_error(status, "%s", plugin->detail());
  if (range.length_bytes < length || (uintptr_t)range.base % ALIGN != 0) {
    plugin->close_shared(range.base);
    return sfshm_error(SF_ERR_PROTO, "slots of %zu bytes at %p, %llu expected", range.length_bytes, range.base,
                       (unsigned long long)length);
  }
  slots->base = range.base;
  return SF_OK;
}

static sf_status_t open_told(sfc_stream_nodes_t *nodes, const sfproto_incoming_t *incoming)
{
  const Sfproto__TrunkSlots *told = incoming->message->trunk_slots;
  const sfc_streams_t *streams = nodes->streams;
  sfc_stream_node_slots_t *slots = &nodes->device_slots;
  uint64_t length;
  slots->is_there = told->has_handle;
  if (!told->has_handle)
    return sfshm_error(SF_ERR_UNSUPPORTED, "no slots on a device");
  sf_status_t status = lay_out(nodes->copy->trunks, told, slots, &length);
  return status == SF_OK ? open_memory(streams->ops->device(streams->device), incoming, length, slots) : status;
}

static sf_status_t get(sfc_stream_nodes_t *nodes)
{
  sfproto_incoming_t incoming;
  Sfproto__Message message = SFPROTO_MESSAGE_OF(TRUNK_GET, trunk_get, .graph = nodes->copy->number);
  sf_status_t status =
      sfc_daemon_call(&nodes->copy->context->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_TRUNK_SLOTS, &incoming);
  if (status != SF_OK)
    return status;
  status = open_told(nodes, &incoming);
  sfproto_incoming_free(&incoming);
  return status;
}

static sf_status_t tell_have(const sfc_stream_nodes_t *nodes, bool closed)
{
  Sfproto__Message message =
      SFPROTO_MESSAGE_OF(TRUNK_HAVE, trunk_have, .graph = nodes->copy->number, .has_closed = closed, .closed = closed);
  return tell(nodes, &message);
}

/* Closes the slots if they are open, and says so, or that they were not opened. If the daemon can't be told, it frees
 * the slots with the graph. */
static void do_without(sfc_stream_nodes_t *nodes)
{
  bool is_there = nodes->device_slots.is_there;
  sfc_streams_node_slots_close(nodes);
  if (is_there)
    (void)tell_have(nodes, true);
}

void sfc_streams_node_slots_close(sfc_stream_nodes_t *nodes)
{
  sfc_stream_node_slots_t *slots = &nodes->device_slots;
  if (slots->base != NULL)
    nodes->streams->plugin->close_shared(slots->base);
  free(slots->where);
  free(slots->slots);
  *slots = (sfc_stream_node_slots_t){0};
}

/* What sfc_streams_node_slots_bring moves from and to. */
static sf_status_t prepare_all(const sfc_stream_nodes_t *nodes)
{
  const sfc_streams_t *streams = nodes->streams;
  const sfc_trunks_t *trunks = nodes->copy->trunks;
  sf_status_t status = SF_OK;
  for (int32_t i = 0; i < trunks->ntrunks; i++) {
    const sfc_trunk_t *trunk = &trunks->trunks[i];
    const sfshm_pattern_t *patterns[] = {&trunk->from, &trunk->to, &trunk->extra_to};
    for (int k = 0; k < 3 && status == SF_OK; k++)
      status = streams->ops->prepare(streams->device, patterns[k], true);
  }
  return sfc_streams_status(streams, status);
}

void sfc_streams_node_slots_open(sfc_stream_nodes_t *nodes)
{
  if (!nodes->has_asked)
    return;
  sf_status_t status = get(nodes);
  if (status == SF_OK)
    status = prepare_all(nodes);
  if (status != SF_OK || tell_have(nodes, false) != SF_OK)
    do_without(nodes);
}

/* The daemon has decided whether all ranks have the slots open before it answered the last rank's TrunkHave, and the
 * ranks have met since. */
void sfc_streams_node_slots_settle(sfc_stream_nodes_t *nodes)
{
  if (nodes->device_slots.base != NULL && atomic_load(&nodes->copy->trunks->board->on_device) == 0)
    do_without(nodes);
}

/* ---- Using ------------------------------------------------------------------------------------------------------- */

/* where: SFSHM_SLOTS_SEND or SFSHM_SLOTS_RECEIVE. */
static bool has_slots(const sfc_stream_node_slots_t *slots, uint32_t side, uint8_t where, int64_t values,
                      sfshm_unit_t unit)
{
  return slots->base != NULL && (slots->where[side] & where) != 0 &&
         sfshm_slots_take(values, sfshm_unit_size(unit), slots->class_bytes);
}

char *sfc_streams_node_slots_send(const sfc_stream_nodes_t *nodes, const sfc_trunk_side_t *side, sfshm_unit_t unit,
                                  uint64_t message)
{
  const sfc_stream_node_slots_t *slots = &nodes->device_slots;
  return has_slots(slots, side->number, SFSHM_SLOTS_SEND, side->told->send_values, unit)
             ? slots->base + sfshm_send_slot(&slots->slots[side->number], message)
             : NULL;
}

char *sfc_streams_node_slots_receive(const sfc_stream_nodes_t *nodes, const sfc_trunk_side_t *side, sfshm_unit_t unit,
                                     uint64_t message)
{
  const sfc_stream_node_slots_t *slots = &nodes->device_slots;
  return has_slots(slots, side->number, SFSHM_SLOTS_RECEIVE, side->told->receive_values, unit)
             ? slots->base + sfshm_receive_slot(&slots->slots[side->number], message)
             : NULL;
}

/* ---- Data of the host -------------------------------------------------------------------------------------------- */

static sf_status_t bring(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed,
                         const sfshm_pattern_t *positions, const char *from, char *to)
{
  sfshm_move_t move = sfc_move_of(*positions, from, *positions, to, positions->n);
  return sfc_move(nodes->streams, false, streamed->unit, SFSHM_OP_REPLACE, &move);
}

/* What contributors win is among what all contribute, and further leaves of a root read the same position. */
static sf_status_t bring_received(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed,
                                  const sfc_trunk_t *trunk, const char *from, char *to)
{
  sf_status_t status = SF_OK;
  if (streamed->operation == SFSHM_BCAST)
    return bring(nodes, streamed, &trunk->from, from, to);
  for (int32_t i = 0; i < trunk->nturns && status == SF_OK; i++)
    status = bring(nodes, streamed, &trunk->turns[i].position, from, to);
  return status;
}

static sf_status_t bring_sent(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, const sfc_trunk_t *trunk,
                              const char *from, char *to)
{
  if (streamed->operation == SFSHM_BCAST) {
    sfshm_pattern_t positions = sfshm_pattern_contiguous(trunk->first, trunk->root.n);
    return bring(nodes, streamed, &positions, from, to);
  }
  sf_status_t status = bring(nodes, streamed, &trunk->to, from, to);
  return status == SF_OK && trunk->uncombined ? bring(nodes, streamed, &trunk->extra_to, from, to) : status;
}

sf_status_t sfc_streams_node_slots_bring(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                                         bool is_sent, const char *from, char *to)
{
  const sfc_trunk_t *trunk = nodes->copy->lanes[lane].trunk;
  sfc_streams_watch_work(nodes->streams, streamed, &nodes->streams->graph->lanes[lane],
                         is_sent ? SFSHM_TRACE_WORK_FROM_HOST : SFSHM_TRACE_WORK_TO_HOST);
  return is_sent ? bring_sent(nodes, streamed, trunk, from, to) : bring_received(nodes, streamed, trunk, from, to);
}
