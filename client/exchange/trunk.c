/* Exchanges over trunks, in messages between nodes: shm/trunk/blocks.h has their form, blocks.h the requests. The
 * thread that uses the graph. */
#include "client/exchange/blocks.h"

#include <string.h>

#include "client/core.h"
#include "client/graph.h"
#include "shm/base/error.h"
#include "shm/trunk/blocks.h"

/* A failure that this rank has found, told to all. */
static void fail(sf_graph_t *graph, sf_status_t status)
{
  sfc_graph_fail_everywhere(graph, status, sfshm_error_detail());
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* Slot of the message in the exchange of a class; NULL: the graph has failed. */
static char *find_slot(sf_graph_t *graph, const sfc_trunk_side_t *side, uint32_t class, uint64_t message)
{
  sfc_exchange_t *exchange;
  sf_status_t status = sfc_trunks_exchange_of_blocks(graph, (size_t)1 << class, side, &exchange);
  if (status == SF_OK)
    return (char *)exchange->region.base + sfc_trunk_send_slot(exchange, side, message);
  fail(graph, status);
  return NULL;
}

static uint64_t sum_blocks(const sfc_trunk_t *trunk, const sf_block_t root[])
{
  uint64_t bytes = 0;
  for (int64_t i = 0; i < trunk->root.n; i++)
    if (__builtin_add_overflow(bytes, root[sfshm_pattern_at(&trunk->root, i)].bytes, &bytes))
      return UINT64_MAX; /* too long for any message */
  return bytes;
}

/* Reserves room for this rank's blocks, once for each message. false: not yet possible, or the graph has failed. */
static bool have_room(sfc_lane_t *lane, const sf_request_t *request, uint64_t granted, uint64_t message)
{
  sfc_trunk_t *trunk = lane->trunk;
  sfshm_flow_t *flow = trunk->as_root.flow;
  if (trunk->room.class != 0)
    return true;
  if (granted < message) /* another message may use the word */
    return false;
  uint64_t class_hint = atomic_load_explicit(&flow->class_hint, memory_order_relaxed);
  sf_status_t status =
      sfshm_blocks_reserve(&flow->reserved[message % SFSHM_TRUNK_SLOTS], trunk->as_root.told->send_values,
                           sum_blocks(trunk, sfc_blocks_of(request)->root), class_hint, &trunk->room);
  if (status != SF_OK)
    fail(lane->graph, status);
  return status == SF_OK;
}

/* Writes this rank's entries and blocks. false: the application has changed the sizes since they were summed up. */
static bool write_blocks(const sfc_trunk_t *trunk, const sf_block_t root[], sfshm_block_entry_t table[], char *slot)
{
  const sfshm_blocks_room_t *room = &trunk->room;
  uint64_t at = 0, class = room->class != room->table_class ? room->class : 0;
  for (int64_t i = 0; i < trunk->root.n; i++) {
    sf_block_t block = root[sfshm_pattern_at(&trunk->root, i)];
    if (block.bytes > room->bytes - at)
      return false;
    sfshm_block_store(&table[trunk->first + i], &(sfshm_block_at_t){class, room->offset + at, block.bytes});
    if (block.bytes > 0)
      memcpy(slot + room->offset + at, block.data, block.bytes);
    at += block.bytes;
  }
  return true;
}

/* Brings a complete message into one slot. */
static bool move_blocks(sf_graph_t *graph, const sfc_trunk_side_t *side, uint64_t message,
                        const sfshm_blocks_message_t *complete)
{
  char *slots[SFSHM_BLOCKS_MAX_CLASS + 1] = {NULL};
  slots[complete->table_class] = find_slot(graph, side, complete->table_class, message);
  if (slots[complete->table_class] == NULL)
    return false;
  uint64_t classes = UINT64_C(1) << complete->class;
  classes |= sfshm_blocks_classes((const void *)slots[complete->table_class], side->told->send_values);
  for (uint32_t class = SFSHM_BLOCKS_MIN_CLASS; class <= complete->class; class ++)
    if ((classes >> class & 1) != 0 && (slots[class] = find_slot(graph, side, class, message)) == NULL)
      return false;
  sf_status_t status = sfshm_blocks_move(complete, side->told->send_values, slots);
  if (status != SF_OK)
    fail(graph, status);
  return status == SF_OK;
}

/* Counts this rank's blocks as written; the last member submits the message. */
static void post(sfc_lane_t *lane, const sf_request_t *request, const sfc_trunk_side_t *side, uint64_t message)
{
  sfshm_blocks_message_t complete;
  if (!sfc_trunk_count_packed(side, message, 0))
    return;
  sf_status_t status =
      sfshm_blocks_complete(&side->flow->reserved[message % SFSHM_TRUNK_SLOTS], side->told->send_values, &complete);
  if (status != SF_OK) {
    fail(lane->graph, status);
    return;
  }
  if (complete.class != complete.table_class && !move_blocks(lane->graph, side, message, &complete))
    return;
  atomic_store_explicit(&side->flow->class_hint, sfshm_blocks_next_class(&complete), memory_order_relaxed);
  sfc_trunk_count_sent(lane, side, complete.unit_bytes);
  sfc_trunk_submit(lane, request, side, complete.unit_bytes, sfshm_trunk_class_word(complete.class));
}

bool sfc_blocks_send_to_node(sfc_lane_t *lane, sf_request_t *request)
{
  sf_graph_t *graph = lane->graph;
  sfc_trunk_t *trunk = lane->trunk;
  sfc_trunk_side_t *side = &trunk->as_root;
  sfshm_blocks_room_t *room = &trunk->room;
  uint64_t message = side->sent + 1, granted = atomic_load_explicit(&side->flow->granted, memory_order_acquire);
  if (!have_room(lane, request, granted, message) ||
      granted < sfshm_trunk_needs(message, side->told->send_values, UINT64_C(1) << room->class))
    return false;
  char *table = find_slot(graph, side, room->table_class, message);
  char *slot = table != NULL ? find_slot(graph, side, room->class, message) : NULL;
  if (slot == NULL)
    return false;
  if (!write_blocks(trunk, sfc_blocks_of(request)->root, (void *)table, slot)) {
    fail(graph, sfshm_error(SF_ERR_ARG, "exchange: the sizes of root blocks have changed while it was in flight"));
    return false;
  }
  uint64_t bytes = room->bytes;
  *room = (sfshm_blocks_room_t){.class = 0};
  post(lane, request, side, message);
  side->sent = message;
  if (__builtin_expect(request->trace != 0, false))
    sfc_op_trace_sent(request, lane, side->sent, bytes);
  request->sends_left--;
  sfshm_count(&lane->counts->messages_sent, 1);
  sfshm_count(&lane->counts->bytes_slots, bytes);
  return true;
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

/* A received message. */
typedef struct arrived {
  const char *slot;
  uint64_t bytes;
  int64_t nvalues;
} arrived_t;

static sf_status_t find_arrived(const sfc_lane_t *lane, arrived_t *arrived)
{
  const sfc_trunk_side_t *side = &lane->trunk->as_leaf;
  uint64_t message = side->received + 1, unit_bytes = sfc_trunk_unit_bytes(side, message);
  sfc_exchange_t *exchange;
  if (unit_bytes < sizeof(sfshm_block_entry_t))
    return sfshm_error(SF_ERR_PROTO, "exchange: a message of node %d has units of %llu bytes", lane->trunk->node,
                       (unsigned long long)unit_bytes);
  sf_status_t status = sfc_trunks_exchange_of_blocks(lane->graph, unit_bytes, side, &exchange);
  if (status == SF_OK)
    *arrived =
        (arrived_t){.slot = (const char *)exchange->region.base + sfc_trunk_receive_slot(exchange, side, message),
                    .bytes = (uint64_t)side->told->receive_values * unit_bytes,
                    .nvalues = side->told->receive_values};
  return status;
}

/* What the message of a request has brought, in the field of the lane's cursor. */
enum { NOTHING = 0, SIZES = 1 };

/* Takes blocks to leaves, or only their sizes if the request has no memory yet. Adds up the sizes. */
static sf_status_t take_blocks(const sfc_lane_t *lane, const arrived_t *arrived, const sfshm_pattern_t *from,
                               const sfshm_pattern_t *leaf, size_t *bytes)
{
  const sfshm_block_entry_t *table = (const void *)arrived->slot;
  sfc_blocks_t *blocks = sfc_blocks_of(lane->rx_request);
  for (int64_t i = 0; i < leaf->n; i++) {
    int64_t target = sfshm_pattern_at(leaf, i);
    sfshm_block_at_t block = sfshm_block_load(&table[sfshm_pattern_at(from, i)]);
    if (block.class != 0 || !sfshm_block_fits(&block, arrived->nvalues, arrived->bytes))
      return sfshm_error(SF_ERR_PROTO, "exchange: a block of %llu bytes at %llu in a message of %llu bytes",
                         (unsigned long long)block.bytes, (unsigned long long)block.offset,
                         (unsigned long long)arrived->bytes);
    if (lane->rx_cursor.field == NOTHING)
      sfc_blocks_tell(blocks, target, block.bytes);
    if (!blocks->lacks_memory)
      sfc_blocks_put(blocks, target, block.bytes, 0, arrived->slot + block.offset, block.bytes);
    *bytes += block.bytes;
  }
  return SF_OK;
}

static sf_status_t take_all(sfc_lane_t *lane)
{
  const sfc_trunk_t *trunk = lane->trunk;
  sfc_blocks_t *blocks = sfc_blocks_of(lane->rx_request);
  arrived_t arrived;
  size_t bytes = 0, extra_bytes = 0;
  sf_status_t status = find_arrived(lane, &arrived);
  if (status == SF_OK)
    status = take_blocks(lane, &arrived, &trunk->from, &trunk->leaf, &bytes);
  if (status == SF_OK)
    status = take_blocks(lane, &arrived, &trunk->extra_from, &trunk->extra_leaf, &extra_bytes);
  if (status != SF_OK)
    return status;
  if (lane->rx_cursor.field == NOTHING)
    blocks->sizes.receives_left--;
  if (!blocks->lacks_memory)
    sfshm_count(&lane->counts->bytes_saved, extra_bytes);
  lane->rx_cursor = (sfc_cursor_t){.field = SIZES, .bytes = bytes};
  return SF_OK;
}

sfc_taking_t sfc_blocks_take_from_node(sfc_lane_t *lane, sf_request_t *request)
{
  if (lane->rx_cursor.field == SIZES && sfc_blocks_of(request)->lacks_memory)
    return SFC_TAKING_WAITS;
  if (__builtin_expect(request->trace != 0, false))
    sfc_op_trace_mark(request);
  sf_status_t status = take_all(lane);
  if (status != SF_OK) {
    fail(lane->graph, status);
    return SFC_TAKING_FAILED;
  }
  return sfc_blocks_of(request)->lacks_memory ? SFC_TAKING_PART : SFC_TAKING_DONE;
}
