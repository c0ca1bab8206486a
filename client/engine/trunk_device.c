/* Messages to other nodes on a device: see trunk_device.h. */
#include "client/engine/trunk_device.h"

#include "client/engine/lane_send.h"
#include "client/engine/trunk.h"
#include "client/graph.h"
#include "client/setup.h"
#include "shm/base/error.h"
#include "shm/device/device_load.h"

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

/* Where the data of an operation are. */
typedef struct places {
  const void *on_device[2]; /* roots, leaves; NULL: not there */
} places_t;

static places_t places_of(const sf_request_t *request)
{
  bool bcast = request->operation == SFSHM_BCAST;
  const sfc_memory_ref_t *roots = bcast ? &request->source_ref : &request->target_ref;
  const sfc_memory_ref_t *leaves = bcast ? &request->target_ref : &request->source_ref;
  return (places_t){{roots->class == SFC_MEMORY_DEVICE ? request->root : NULL,
                     leaves->class == SFC_MEMORY_DEVICE ? request->leaf : NULL}};
}

/* Whether data that are on a device go into a message, or come in one, that is worth a slot there. */
static bool is_worth_it(const sf_graph_t *graph, const sf_request_t *request)
{
  places_t places = places_of(request);
  size_t unit_bytes = request->combine.unit_bytes;
  bool bcast = request->operation == SFSHM_BCAST, worth = false;
  for (int32_t i = 0; i < graph->trunks->ntrunks; i++) {
    const sfc_trunk_t *trunk = &graph->trunks->trunks[i];
    const sfshm_trunk_side_t *as_root =
        trunk->as_root.in_use && places.on_device[0] != NULL ? trunk->as_root.told : NULL;
    const sfshm_trunk_side_t *as_leaf =
        trunk->as_leaf.in_use && places.on_device[1] != NULL ? trunk->as_leaf.told : NULL;
    if (as_root != NULL)
      worth |= sfshm_slots_take(bcast ? as_root->send_values : as_root->receive_values, unit_bytes, unit_bytes);
    if (as_leaf != NULL)
      worth |= sfshm_slots_take(bcast ? as_leaf->receive_values : as_leaf->send_values, unit_bytes, unit_bytes);
  }
  return worth;
}

/* A graph that is used once is not worth memory of a device. */
static bool is_time_to_ask(const sf_graph_t *graph, const sf_request_t *request, sfc_trunk_slots_t *slots)
{
  if (request->devices == NULL || !is_worth_it(graph, request))
    return false;
  bool is_second = slots->has_had_occasion;
  slots->has_had_occasion = true;
  return is_second;
}

/* -1: on none. */
static int32_t device_of(const void *address)
{
  sfshm_device_range_t range;
  return address != NULL && sfshm_device_loaded()->find(address, &range) == SF_OK ? range.device : -1;
}

/* As its data are now, the rank says what of it is on one device: that of the roots, or if these are on none, of the
 * leaves. Those of later operations may be elsewhere. */
static void ask(sf_graph_t *graph, const sf_request_t *request, sfc_trunk_slots_t *slots)
{
  places_t places = places_of(request);
  int32_t roots = device_of(places.on_device[0]), leaves = device_of(places.on_device[1]);
  sfc_trunk_ask_t ask = {.unit_bytes = request->combine.unit_bytes, .device = roots >= 0 ? roots : leaves};
  slots->has_asked = true;
  if (sfc_trunk_slots_are_off())
    return;
  if (ask.device >= 0) {
    ask.roots = roots == ask.device;
    ask.leaves = leaves == ask.device;
    ask.sees_adapters = sfshm_device_loaded()->sees_adapters(ask.device);
  }
  slots->wants = sfc_trunk_slots_ask(graph, &ask) == SF_OK && ask.device >= 0;
  slots->device = ask.device;
}

static void open_slots(sf_graph_t *graph, sfc_trunk_slots_t *slots)
{
  slots->wants = false;
  if (sfc_trunk_slots_open(graph, slots->device, slots) != SF_OK) {
    sfc_trunk_slots_do_without(graph);
    return;
  }
  sf_status_t status = sfc_trunk_slots_tell_open(graph);
  if (status != SF_OK) /* whether the daemon has heard, and sends from there, is not known */
    sfc_graph_fail_everywhere(graph, status, sfshm_error_detail());
}

void sfc_trunk_devices_step(sf_graph_t *graph, const sf_request_t *request)
{
  sfc_trunk_slots_t *slots = &graph->trunks->slots;
  slots->seen = atomic_load(&graph->trunks->board->on_device);
  bool wanted = slots->seen == SFSHM_SLOTS_WANTED ||
                (slots->seen == SFSHM_SLOTS_UNASKED && is_time_to_ask(graph, request, slots));
  if (wanted && !slots->has_asked)
    ask(graph, request, slots);
  else if (slots->seen == SFSHM_SLOTS_THERE && slots->wants)
    open_slots(graph, slots);
  else if (slots->seen == SFSHM_SLOTS_NONE)
    sfc_trunk_slots_do_without(graph);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

sfc_trunk_kernels_t sfc_trunk_devices_kernels(const sf_request_t *request)
{
  const sfshm_device_ops_t *devices = sfshm_device_loaded();
  sfshm_unit_t unit = request->combine.unit;
  return (sfc_trunk_kernels_t){devices->kernels(unit, SFSHM_OP_REPLACE),
                               sfc_devices_combine(request->graph, devices, unit, request->op), false};
}

sf_status_t sfc_trunk_devices_await(void)
{
  const sfshm_device_ops_t *devices = sfshm_device_loaded();
  sf_status_t status = devices->check();
  return status == SF_OK ? SF_OK : sfshm_error(status, "%s", devices->detail());
}

/* Whether the lane's next message is the request's. */
static bool is_next(const sfc_lane_t *lane, const sfc_trunk_side_t *side, const sf_request_t *request)
{
  return lane->tx_stalled ? lane->tx_sequence == request->sequence : side->sent_sequence < request->sequence;
}

static void fill(sfc_trunk_t *trunk, sfc_trunk_side_t *side, const sf_request_t *request,
                 const sfc_trunk_kernels_t *kernels)
{
  char *slot = sfc_trunk_devices_send_slot(request->graph->trunks, side, request);
  if (slot == NULL || side->filled == side->sent + 1)
    return;
  sfc_trunk_pack(trunk, request, kernels, slot);
  side->filled = side->sent + 1;
}

bool sfc_trunk_devices_fill(sfc_lane_t *lane, const sf_request_t *request)
{
  sf_graph_t *graph = lane->graph;
  sfc_trunk_kernels_t kernels = sfc_trunk_devices_kernels(request);
  /* In order also where any would do: the slots may be another device's, which atomic operations need not reach. */
  kernels.combine = sfshm_device_loaded()->kernels(request->combine.unit, request->op);
  const sfc_trunk_side_t *own = sfc_trunk_sending(lane->trunk, request->operation);
  if (own->filled == own->sent + 1)
    return true;
  for (int32_t i = 0; i < graph->routes.nsenders[request->operation]; i++) {
    const sfc_lane_t *other = graph->routes.senders[request->operation][i];
    sfc_trunk_side_t *side = other->trunk != NULL ? sfc_trunk_sending(other->trunk, request->operation) : NULL;
    if (side != NULL && (other == lane || is_next(other, side, request)) &&
        sfc_trunk_may_send(side, request->combine.unit_bytes))
      fill(other->trunk, side, request, &kernels);
  }
  sf_status_t status = sfc_trunk_devices_await();
  if (status == SF_OK)
    return true;
  sfc_graph_fail_everywhere(graph, status, sfshm_error_detail());
  return false;
}
