/* Sends the blocks of an exchange to a rank of this node: see blocks.h. The thread that uses the graph. */
#include "client/exchange/blocks.h"

#include <string.h>

#include "client/core.h"
#include "client/engine.h"
#include "client/graph.h"

_Static_assert(sizeof(sfshm_blocks_piece_t) <= SFSHM_INLINE_BYTES, "in a slot");
_Static_assert(SFC_CELL_BYTES_MIN % sizeof(uint64_t) == 0, "pieces do not split sizes");

/* Parts of the stream, in the field of a cursor. */
enum { SIZES = 0, DATA = 1 };

/* What a lane sends in an exchange. */
typedef struct outgoing {
  const sf_block_t *root;
  const sfshm_pattern_t *pattern;
  int64_t n;
  size_t bytes; /* of the data */
  size_t left;  /* of the data, behind the lane's cursor */
} outgoing_t;

static const sf_block_t *block_at(const outgoing_t *out, int64_t value)
{
  return &out->root[sfshm_pattern_at(out->pattern, value)];
}

static outgoing_t find_outgoing(const sfc_lane_t *lane, const sf_request_t *request)
{
  outgoing_t out = {sfc_blocks_of(request)->root, &lane->as_root.value_root, lane->as_root.nvalues, 0, 0};
  const sfc_cursor_t *at = &lane->tx_cursor;
  size_t done = 0;
  for (int64_t i = 0; i < out.n; i++) {
    if (at->field == DATA && i == at->value)
      done = out.bytes + at->bytes;
    out.bytes += block_at(&out, i)->bytes;
  }
  out.left = at->field == DATA && at->value == out.n ? 0 : out.bytes - done;
  return out;
}

static bool has_begun(const sfc_lane_t *lane)
{
  return lane->tx_cursor.field != SIZES || lane->tx_cursor.value > 0;
}

static size_t sizes_left(const sfc_lane_t *lane, const outgoing_t *out)
{
  return lane->tx_cursor.field == SIZES ? (size_t)(out->n - lane->tx_cursor.value) * sizeof(uint64_t) : 0;
}

/* Writes the next bytes of the stream, and moves the cursor behind them. */
static void write_stream(const sfc_lane_t *lane, const outgoing_t *out, sfc_cursor_t *at, char *to, size_t bytes)
{
  while (bytes > 0 && at->field == SIZES) {
    uint64_t size = block_at(out, at->value)->bytes;
    memcpy(to, &size, sizeof size);
    to += sizeof size;
    bytes -= sizeof size;
    if (++at->value == out->n)
      *at = (sfc_cursor_t){.field = DATA};
  }
  while (bytes > 0) {
    const sf_block_t *block = block_at(out, at->value);
    size_t left = block->bytes - at->bytes, some = left < bytes ? left : bytes;
    if (some > 0)
      sfc_lane_write(lane, to, (const char *)block->data + at->bytes, some);
    to += some;
    bytes -= some;
    at->bytes += some;
    if (some == left)
      *at = (sfc_cursor_t){DATA, at->value + 1, 0};
  }
}

/* ---- In the slot ------------------------------------------------------------------------------------------------- */

/* Writes sizes and data in one pass. Returns the bytes of the data; SIZE_MAX: the message is no short one. */
static inline size_t write_short(const sfc_lane_t *lane, const sf_block_t *root, uint8_t *payload)
{
  const sfshm_pattern_t *pattern = &lane->as_root.value_root;
  size_t n = (size_t)lane->as_root.nvalues, at = n;
  if (n > SFSHM_INLINE_BYTES)
    return SIZE_MAX;
  for (size_t i = 0; i < n; i++) {
    const sf_block_t *block = &root[sfshm_pattern_at(pattern, (int64_t)i)];
    if (block->bytes > SFSHM_INLINE_BYTES - at)
      return SIZE_MAX;
    payload[i] = (uint8_t)block->bytes;
    if (block->bytes == sizeof(uint64_t))
      memcpy(payload + at, block->data, sizeof(uint64_t));
    else if (block->bytes > 0)
      memcpy(payload + at, block->data, block->bytes);
    at += block->bytes;
  }
  return at - n;
}

/* ---- In pieces --------------------------------------------------------------------------------------------------- */

/* Writes the next piece to its cell and the slot. Returns the bytes of data in it. */
static size_t write_piece(sfc_lane_t *lane, outgoing_t *out, sfshm_slot_t *slot)
{
  sfshm_blocks_piece_t piece;
  if (!has_begun(lane) && out->n <= SFSHM_BLOCKS_IN_SLOT) {
    for (int64_t i = 0; i < out->n; i++)
      piece.sizes[i] = block_at(out, i)->bytes;
    memcpy(slot->payload + offsetof(sfshm_blocks_piece_t, sizes), piece.sizes, (size_t)out->n * sizeof *piece.sizes);
    lane->tx_cursor = (sfc_cursor_t){.field = DATA};
  }
  size_t sizes = sizes_left(lane, out), most = sfshm_piece_most(lane->tx.cell_bytes);
  piece.bytes = sizes + out->left < most ? sizes + out->left : most;
  memcpy(slot->payload, &piece.bytes, sizeof piece.bytes);
  write_stream(lane, out, &lane->tx_cursor, (char *)sfshm_lane_tx_piece(&lane->tx, piece.bytes), piece.bytes);
  size_t data = piece.bytes > sizes ? piece.bytes - sizes : 0;
  out->left -= data;
  return data;
}

static bool send_pieces(sfc_lane_t *lane, sf_request_t *request, outgoing_t *out)
{
  if (!sfc_lane_have_cells(lane, request, (size_t)out->n * sizeof(uint64_t) + out->bytes))
    return false;
  /* A reader that keeps up would never end this loop, and received data would wait. */
  uint32_t most = lane->tx_stalled ? SFSHM_LANE_SLOTS / 2 : SFSHM_LANE_SLOTS;
  for (uint32_t pieces = 0; sizes_left(lane, out) + out->left > 0; pieces++) {
    sfshm_slot_t *slot = pieces < most ? sfc_lane_claim(lane) : NULL;
    if (slot == NULL)
      return false;
    size_t bytes = write_piece(lane, out, slot);
    sfc_lane_post(lane, slot, request, SFSHM_METHOD_CELL, bytes);
    sfshm_count(&lane->counts->bytes_slots, bytes);
  }
  request->sends_left--;
  return true;
}

/* ---- In place ---------------------------------------------------------------------------------------------------- */

static bool are_in_alloc(const sfc_lane_t *lane, const outgoing_t *out)
{
  sfc_memory_t *memory = &lane->graph->context->memory;
  for (int64_t i = 0; i < out->n; i++) {
    const sf_block_t *block = block_at(out, i);
    if (block->bytes == 0)
      continue;
    sfc_memory_ref_t ref = sfc_memory_find(memory, block->data);
    if (ref.class != SFC_MEMORY_ALLOC || ref.bytes_left < block->bytes)
      return false;
  }
  return true;
}

/* A message sent in pieces continues in pieces. */
static sfshm_method_t choose_method(const sfc_lane_t *lane, const outgoing_t *out)
{
  if (out->bytes < SFC_IN_PLACE_MIN || has_begun(lane))
    return SFSHM_METHOD_CELL;
  const sfshm_costs_t *costs = &lane->graph->context->board->costs;
  return sfc_protocol_choose_blocks(costs, lane, are_in_alloc(lane, out), out->n, out->bytes);
}

static size_t list_bytes(const outgoing_t *out, sfshm_method_t method)
{
  return (size_t)out->n *
         (method == SFSHM_METHOD_IN_PLACE ? sizeof(sfshm_block_in_place_t) : sizeof(sfshm_block_vm_read_t));
}

static void write_list(const sfc_lane_t *lane, const outgoing_t *out, sfshm_method_t method, char *to)
{
  for (int64_t i = 0; i < out->n; i++) {
    const sf_block_t *block = block_at(out, i);
    if (method == SFSHM_METHOD_IN_PLACE) {
      sfc_memory_ref_t ref = {0};
      if (block->bytes > 0)
        ref = sfc_memory_find(&lane->graph->context->memory, block->data);
      sfshm_block_in_place_t entry = {block->bytes, {ref.segment, ref.offset}};
      memcpy(to, &entry, sizeof entry);
      to += sizeof entry;
    } else {
      sfshm_block_vm_read_t entry = {block->bytes, (uint64_t)(uintptr_t)block->data};
      memcpy(to, &entry, sizeof entry);
      to += sizeof entry;
    }
  }
}

/* Where the list goes: the slot, or memory that the slot names. NULL: there is none. */
static char *find_list(sfc_lane_t *lane, sfshm_slot_t *slot, size_t bytes)
{
  if (bytes <= SFSHM_INLINE_BYTES)
    return (char *)slot->payload;
  if (!sfc_eager_have_slots(lane))
    return NULL;
  sfc_eager_settle(lane);
  return sfc_eager_take(lane, bytes, SIZE_MAX, slot);
}

/* Writes a message that refers to the blocks; the request ends when the peer has read them. false: no memory. */
static bool refer(sfc_lane_t *lane, sf_request_t *request, const outgoing_t *out, sfshm_method_t method,
                  sfshm_slot_t *slot)
{
  char *list = find_list(lane, slot, list_bytes(out, method));
  if (list == NULL)
    return false;
  write_list(lane, out, method, list);
  sfc_lane_expect_read(lane, request);
  sfshm_count(method == SFSHM_METHOD_VM_READ ? &lane->counts->bytes_vm_read : &lane->counts->bytes_in_place,
              out->bytes);
  return true;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

/* Everything that is left, in a block of the inbox; false: no memory. */
static bool copy_rest(sfc_lane_t *lane, sf_request_t *request, const outgoing_t *out, sfshm_slot_t *slot)
{
  uint64_t bytes = sizes_left(lane, out) + out->left;
  sfc_cursor_t at = lane->tx_cursor;
  char *to = sfc_eager_take(lane, bytes, SIZE_MAX, slot);
  if (to == NULL)
    return false;
  write_stream(lane, out, &at, to, bytes);
  memcpy(slot->payload + offsetof(sfshm_blocks_rest_t, bytes), &bytes, sizeof bytes);
  sfshm_count(&lane->counts->bytes_slots, out->left);
  request->sends_left--;
  return true;
}

static inline void post(sfc_lane_t *lane, sfshm_slot_t *slot, sf_request_t *request, sfshm_method_t method,
                        size_t bytes, bool eagerly)
{
  if (eagerly)
    sfc_eager_post(lane, slot, request, method, bytes);
  else
    sfc_lane_post(lane, slot, request, method, bytes);
}

static __attribute__((noinline)) bool send_long(sfc_lane_t *lane, sf_request_t *request, sfshm_slot_t *slot,
                                                bool eagerly)
{
  outgoing_t out = find_outgoing(lane, request);
  sfshm_method_t method = choose_method(lane, &out);
  if (method == SFSHM_METHOD_CELL && !eagerly)
    return send_pieces(lane, request, &out);
  if (method == SFSHM_METHOD_CELL ? !copy_rest(lane, request, &out, slot) : !refer(lane, request, &out, method, slot))
    return false;
  post(lane, slot, request, method, out.left, eagerly);
  return true;
}

static inline bool send_in(sfc_lane_t *lane, sf_request_t *request, sfshm_slot_t *slot, bool eagerly)
{
  if (slot == NULL)
    return false;
  size_t bytes = write_short(lane, sfc_blocks_of(request)->root, slot->payload);
  if (bytes == SIZE_MAX)
    return send_long(lane, request, slot, eagerly);
  post(lane, slot, request, SFSHM_METHOD_INLINE, bytes, eagerly);
  sfshm_count(&lane->counts->bytes_inline, bytes);
  request->sends_left--;
  return true;
}

bool sfc_blocks_send(sfc_lane_t *lane, sf_request_t *request)
{
  return send_in(lane, request, sfc_lane_claim(lane), false);
}

bool sfc_blocks_send_eagerly(sfc_lane_t *lane, sf_request_t *request)
{
  return send_in(lane, request, sfc_eager_claim(lane), true);
}
