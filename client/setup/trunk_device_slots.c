/* Slots on a device for other nodes: see trunk_device_slots.h. */
#include "client/setup/trunk_device_slots.h"

#include <stdlib.h>
#include <string.h>

#include "client/core.h"
#include "client/graph.h"
#include "client/setup/trunk_memory.h"
#include "shm/base/error.h"
#include "shm/device/device_load.h"

#define ALIGN 128u /* of slots, which hold units of any type */

bool sfc_trunk_slots_are_off(void)
{
  const char *wanted = getenv("SF_DEVICE_MPI");
  return (wanted != NULL && strcmp(wanted, "off") == 0) || !sfc_device_may_share();
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

sf_status_t sfc_trunk_slots_ask(sf_graph_t *graph, const sfc_trunk_ask_t *ask)
{
  sfshm_device_identity_t identity;
  Sfproto__TrunkAsk body = SFPROTO__TRUNK_ASK__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  if (ask->device >= 0) {
    const sfshm_device_ops_t *plugin = sfshm_device_loaded();
    sf_status_t status = plugin->identify(ask->device, &identity);
    if (status != SF_OK)
      return sfshm_error(status, "%s", plugin->detail());
    body.device = (ProtobufCBinaryData){sizeof identity.bytes, identity.bytes};
  }
  body.graph = graph->number;
  body.class_bytes = sfshm_exchange_class(ask->unit_bytes);
  body.roots = ask->roots;
  body.leaves = ask->leaves;
  body.sees_adapters = ask->sees_adapters;
  body.streams = ask->streams;
  message.body_case = SFPROTO__MESSAGE__BODY_TRUNK_ASK;
  message.trunk_ask = &body;
  return sfc_control_tell(&graph->context->control, &message, NULL, 0);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static sf_status_t lay_out(const sfc_trunks_t *trunks, const Sfproto__TrunkSlots *told, sfc_trunk_slots_t *slots,
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

static sf_status_t open_memory(int32_t device, const Sfproto__TrunkSlots *told, uint64_t length,
                               sfc_trunk_slots_t *slots)
{
  const sfshm_device_ops_t *plugin = sfshm_device_loaded();
  sfshm_device_handle_t handle;
  sfshm_device_range_t range;
  if (told->handle.len != sizeof handle.bytes)
    return sfshm_error(SF_ERR_PROTO, "handle of %zu bytes, %zu expected", told->handle.len, sizeof handle.bytes);
  memcpy(handle.bytes, told->handle.data, sizeof handle.bytes);
  sf_status_t status = plugin->open_shared(&handle, device, &range);
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

static sf_status_t open_told(const sfc_trunks_t *trunks, int32_t device, const Sfproto__TrunkSlots *told,
                             sfc_trunk_slots_t *slots)
{
  uint64_t length;
  slots->is_there = told->has_handle;
  if (!told->has_handle)
    return sfshm_error(SF_ERR_UNSUPPORTED, "no slots on a device");
  sf_status_t status = lay_out(trunks, told, slots, &length);
  return status == SF_OK ? open_memory(device, told, length, slots) : status;
}

sf_status_t sfc_trunk_slots_open(sf_graph_t *graph, int32_t device, sfc_trunk_slots_t *slots)
{
  sfproto_incoming_t incoming;
  Sfproto__TrunkGet get = SFPROTO__TRUNK_GET__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  get.graph = graph->number;
  message.body_case = SFPROTO__MESSAGE__BODY_TRUNK_GET;
  message.trunk_get = &get;
  sf_status_t status =
      sfc_control_call(&graph->context->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_TRUNK_SLOTS, &incoming);
  if (status != SF_OK)
    return status;
  status = open_told(graph->trunks, device, incoming.message->trunk_slots, slots);
  sfproto_incoming_free(&incoming);
  return status;
}

static sf_status_t tell(sf_graph_t *graph, bool closed)
{
  Sfproto__TrunkHave have = SFPROTO__TRUNK_HAVE__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  have.graph = graph->number;
  have.has_closed = have.closed = closed;
  message.body_case = SFPROTO__MESSAGE__BODY_TRUNK_HAVE;
  message.trunk_have = &have;
  return sfc_control_tell(&graph->context->control, &message, NULL, 0);
}

sf_status_t sfc_trunk_slots_tell_open(sf_graph_t *graph)
{
  return tell(graph, false);
}

/* The daemon frees them when nobody has them open: if it can't be told, with the graph. */
void sfc_trunk_slots_do_without(sf_graph_t *graph)
{
  sfc_trunk_slots_t *slots = &graph->trunks->slots;
  sfc_trunk_slots_close(slots);
  if (slots->is_there)
    (void)tell(graph, true);
  slots->is_there = false;
}

void sfc_trunk_slots_close(sfc_trunk_slots_t *slots)
{
  if (slots->base != NULL)
    sfshm_device_loaded()->close_shared(slots->base);
  free(slots->where);
  free(slots->slots);
  slots->base = NULL;
  slots->where = NULL;
  slots->slots = NULL;
}
