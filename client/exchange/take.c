/* Takes the blocks of an exchange that a rank of this node has sent: see blocks.h. The thread that uses the graph. */
#include "client/exchange/blocks.h"

#include <string.h>
#include <sys/uio.h>

#include "client/core.h"
#include "client/engine.h"
#include "client/graph.h"
#include "shm/base/error.h"

/* Pieces that one call reads from the peer's memory. */
#define READ_AT_ONCE 32

/* What the lane's messages of a request have brought, in the field of its cursor. */
enum { SIZES = 0, DATA = 1 };

/* The blocks that arrive on a lane. */
typedef struct arriving {
  sfc_lane_t *lane;
  sfc_blocks_t *blocks;
  const sfc_link_t *link;
  const uint64_t *sizes;
} arriving_t;

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */

static sf_status_t note_size(const sfc_lane_t *lane, int64_t value, uint64_t bytes)
{
  if (bytes > SFC_BLOCK_BYTES_MAX)
    return sfshm_error(SF_ERR_PROTO, "rank %d sent a block of %llu bytes", lane->rank, (unsigned long long)bytes);
  lane->rx_sizes[value] = bytes;
  return SF_OK;
}

/* All sizes of the message are known. */
static void tell_sizes(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link)
{
  const sfc_blocks_t *blocks = sfc_blocks_of(request);
  lane->rx_cursor = (sfc_cursor_t){.field = DATA};
  sfc_blocks_of(request)->sizes.receives_left--;
  if (blocks->given_bytes == NULL && blocks->own_bytes == NULL)
    return;
  for (int64_t i = 0; i < link->nvalues; i++)
    sfc_blocks_tell(blocks, sfshm_pattern_at(&link->leaf, i), lane->rx_sizes[i]);
  for (int64_t e = 0; e < link->extra_value.n; e++)
    sfc_blocks_tell(blocks, sfshm_pattern_at(&link->extra_leaf, e),
                    lane->rx_sizes[sfshm_pattern_at(&link->extra_value, e)]);
}

/* ---- Data -------------------------------------------------------------------------------------------------------- */

/* A leaf of a value, of which i is the first (0), the second (1), or a later one (2); -1: there are no more. *extra_p:
 * keeps the position. */
static int64_t leaf_of(const sfc_link_t *link, int64_t value, int i, int64_t *extra_p)
{
  if (i == 0)
    return sfshm_pattern_at(&link->leaf, value);
  if (i == 1)
    *extra_p = link->extra_value.n > 0 ? sfshm_pattern_find(&link->extra_value, value) : 0;
  if (*extra_p >= link->extra_value.n || sfshm_pattern_at(&link->extra_value, *extra_p) != value)
    return -1;
  return sfshm_pattern_at(&link->extra_leaf, (*extra_p)++);
}

/* Copies a part of a block to all its leaves. */
static void deliver(const arriving_t *in, int64_t value, uint64_t offset, const void *from, size_t bytes)
{
  int64_t extra = 0, leaf = sfshm_pattern_at(&in->link->leaf, value);
  sfc_blocks_put(in->blocks, leaf, in->sizes[value], offset, from, bytes);
  if (in->link->extra_value.n == 0)
    return;
  for (int i = 1; (leaf = leaf_of(in->link, value, i, &extra)) >= 0; i = 2)
    sfc_blocks_put(in->blocks, leaf, in->sizes[value], offset, from, bytes);
}

/* Takes what the message has of the stream behind its first rx_taken bytes. */
static sf_status_t take_stream(const arriving_t *in, sf_request_t *request, const char *from, size_t bytes,
                               sfc_taken_t *taken)
{
  sfc_lane_t *lane = in->lane;
  sfc_cursor_t *at = &lane->rx_cursor;
  size_t done = lane->rx_taken;
  sf_status_t status = SF_OK;
  for (; at->field == SIZES && bytes - done >= sizeof(uint64_t) && status == SF_OK; done += sizeof(uint64_t)) {
    uint64_t size;
    memcpy(&size, from + done, sizeof size); /* read once: the peer could change it */
    status = note_size(lane, at->value, size);
    if (status == SF_OK && ++at->value == in->link->nvalues)
      tell_sizes(lane, request, in->link);
  }
  if (status != SF_OK)
    return status;
  lane->rx_taken = done;
  if (at->field == DATA && in->blocks->lacks_memory) {
    taken->how = SFC_TAKEN_LATER;
    return SF_OK;
  }
  taken->bytes = bytes - done;
  while (at->field == DATA && at->value < in->link->nvalues) {
    size_t left = in->sizes[at->value] - at->bytes, some = left < bytes - done ? left : bytes - done;
    deliver(in, at->value, at->bytes, from + done, some);
    done += some;
    at->bytes += some;
    if (some < left)
      break;
    *at = (sfc_cursor_t){DATA, at->value + 1, 0};
  }
  if (done < bytes)
    return sfshm_error(SF_ERR_PROTO, "rank %d sent %zu bytes more than its blocks have", lane->rank, bytes - done);
  lane->rx_taken = 0;
  taken->how = at->field == DATA && at->value == in->link->nvalues ? SFC_TAKEN_ALL : SFC_TAKEN_PARTLY;
  return SF_OK;
}

/* In one pass, without a note of the sizes: no call comes between them and the data. A message that is not as it should
 * be takes the general path, which says so. */
bool sfc_blocks_take_short(sfc_lane_t *lane, const sfshm_slot_t *slot)
{
  sf_request_t *request = lane->rx_request;
  sfc_blocks_t *blocks = sfc_blocks_of(request);
  const sfc_link_t *link = &lane->as_leaf;
  size_t n = (size_t)link->nvalues, at = n;
  if (slot->desc != sfshm_desc_with_method(request->match, SFSHM_METHOD_INLINE) || blocks->lacks_memory ||
      n > SFSHM_INLINE_BYTES || link->extra_value.n > 0 || lane->rx_cursor.field != SIZES || request->trace != 0)
    return false;
  sfshm_lane_fetch_next(&lane->tx, SFSHM_FIRST_LINE_BYTES);
  for (size_t i = 0; i < n; i++) {
    size_t bytes = slot->payload[i]; /* read once: the peer could change it */
    int64_t leaf = sfshm_pattern_at(&link->leaf, (int64_t)i);
    if (bytes > SFSHM_INLINE_BYTES - at)
      return false;
    sfc_blocks_tell(blocks, leaf, bytes);
    sfc_blocks_put(blocks, leaf, bytes, 0, slot->payload + at, bytes);
    at += bytes;
  }
  blocks->sizes.receives_left--;
  sfshm_count(&lane->counts->bytes_received, at - n);
  sfc_lane_end_message(lane, false);
  sfc_lane_end_request(lane);
  return true;
}

static sf_status_t take_short(const arriving_t *in, sf_request_t *request, const uint8_t *payload, sfc_taken_t *taken)
{
  sfc_lane_t *lane = in->lane;
  int64_t n = in->link->nvalues;
  size_t bytes = 0;
  if (n > SFSHM_INLINE_BYTES)
    return sfshm_error(SF_ERR_PROTO, "rank %d sent %lld blocks in a slot", lane->rank, (long long)n);
  bool known = lane->rx_cursor.field == DATA;
  for (int64_t i = 0; i < n; i++) {
    lane->rx_sizes[i] = known ? lane->rx_sizes[i] : payload[i];
    bytes += lane->rx_sizes[i];
  }
  if (bytes > SFSHM_INLINE_BYTES - (size_t)n)
    return sfshm_error(SF_ERR_PROTO, "rank %d sent %zu bytes in a slot", lane->rank, bytes);
  if (!known)
    tell_sizes(lane, request, in->link);
  if (in->blocks->lacks_memory) {
    taken->how = SFC_TAKEN_LATER;
    return SF_OK;
  }
  bytes = 0;
  for (int64_t i = 0; i < n; i++) {
    deliver(in, i, 0, payload + n + bytes, in->sizes[i]);
    bytes += in->sizes[i];
  }
  taken->bytes = bytes;
  return SF_OK;
}

/* Pins the writer's segment, which must have so many bytes from the offset on. */
static sf_status_t pin(sfc_lane_t *lane, uint64_t segment, uint64_t offset, uint64_t bytes, sfc_pinned_t *pinned)
{
  sf_status_t status = sfc_peer_pin(&lane->graph->context->peers, lane->peer, segment, pinned);
  if (status != SF_OK || (offset <= pinned->length_bytes && pinned->length_bytes - offset >= bytes))
    return status;
  sfc_peer_unpin(&lane->graph->context->peers, pinned);
  return sfshm_error(SF_ERR_PROTO, "rank %d sent %llu bytes that end outside of its memory", lane->rank,
                     (unsigned long long)bytes);
}

static void unpin(const sfc_lane_t *lane, const sfc_pinned_t *pinned)
{
  sfc_peer_unpin(&lane->graph->context->peers, pinned);
}

static sf_status_t take_rest(const arriving_t *in, sf_request_t *request, const sfshm_slot_t *slot, sfc_taken_t *taken)
{
  sfc_lane_t *lane = in->lane;
  sfshm_blocks_rest_t rest;
  sfc_pinned_t pinned;
  memcpy(&rest, slot->payload, sizeof rest);
  if (rest.bytes < lane->rx_taken)
    return sfshm_error(SF_ERR_PROTO, "rank %d changes what it has sent", lane->rank);
  sf_status_t status = pin(lane, rest.where.segment, rest.where.offset, rest.bytes, &pinned);
  if (status != SF_OK)
    return status;
  status = take_stream(in, request, (const char *)pinned.base + rest.where.offset, rest.bytes, taken);
  unpin(lane, &pinned);
  return status;
}

/* Reads the sizes in a list of entries of entry_bytes, which begin with them, unless they are known. */
static sf_status_t read_sizes(const arriving_t *in, sf_request_t *request, const char *list, size_t entry_bytes)
{
  sf_status_t status = SF_OK;
  if (in->lane->rx_cursor.field == DATA)
    return SF_OK;
  for (int64_t i = 0; i < in->link->nvalues && status == SF_OK; i++) {
    uint64_t bytes;
    memcpy(&bytes, list + (size_t)i * entry_bytes, sizeof bytes);
    status = note_size(in->lane, i, bytes);
  }
  if (status == SF_OK)
    tell_sizes(in->lane, request, in->link);
  return status;
}

static sf_status_t take_piece(const arriving_t *in, sf_request_t *request, const sfshm_slot_t *slot, sfc_taken_t *taken)
{
  sfc_lane_t *lane = in->lane;
  sfshm_blocks_piece_t piece;
  memcpy(&piece, slot->payload, sizeof piece);
  if (lane->rx.cells == NULL || piece.bytes > sfshm_piece_most(lane->rx.cell_bytes) || piece.bytes < lane->rx_taken)
    return sfshm_error(SF_ERR_PROTO, "rank %d sent a piece of %llu bytes in a cell of %zu", lane->rank,
                       (unsigned long long)piece.bytes, lane->rx.cells == NULL ? 0 : lane->rx.cell_bytes);
  if (lane->rx_cursor.field == SIZES && lane->rx_cursor.value == 0 && in->link->nvalues <= SFSHM_BLOCKS_IN_SLOT) {
    sf_status_t status = read_sizes(in, request, (const char *)piece.sizes, sizeof piece.sizes[0]);
    if (status != SF_OK)
      return status;
  }
  const char *cell = (const char *)sfshm_lane_rx_piece(&lane->rx, piece.bytes);
  return take_stream(in, request, cell, piece.bytes, taken);
}

/* ---- Memory of the writer ---------------------------------------------------------------------------------------- */

/* The writer's list; *pinned: its memory, if it is not in the slot, else base is NULL. */
static sf_status_t find_list(const arriving_t *in, const sfshm_slot_t *slot, size_t bytes, sfc_pinned_t *pinned,
                             const char **list_p)
{
  sfshm_eager_block_t where;
  *pinned = (sfc_pinned_t){0};
  *list_p = (const char *)slot->payload;
  if (bytes <= SFSHM_INLINE_BYTES)
    return SF_OK;
  memcpy(&where, slot->payload, sizeof where);
  sf_status_t status = pin(in->lane, where.segment, where.offset, bytes, pinned);
  if (status == SF_OK)
    *list_p = (const char *)pinned->base + where.offset;
  return status;
}

/* Copies blocks from the writer's sf_alloc memory. */
static sf_status_t read_in_place(const arriving_t *in, const char *list)
{
  sf_status_t status = SF_OK;
  for (int64_t i = 0; i < in->link->nvalues && status == SF_OK; i++) {
    sfshm_block_in_place_t entry;
    sfc_pinned_t pinned;
    if (in->sizes[i] == 0)
      continue;
    memcpy(&entry, list + (size_t)i * sizeof entry, sizeof entry);
    status = pin(in->lane, entry.where.segment, entry.where.offset, in->sizes[i], &pinned);
    if (status != SF_OK)
      break;
    deliver(in, i, 0, (const char *)pinned.base + entry.where.offset, in->sizes[i]);
    unpin(in->lane, &pinned);
  }
  return status;
}

/* Copies blocks from the writer's private memory, several at a time. */
static sf_status_t read_private(const arriving_t *in, const char *list)
{
  struct iovec local[READ_AT_ONCE], remote[READ_AT_ONCE];
  size_t n = 0;
  sf_status_t status = SF_OK;
  for (int64_t value = 0; value < in->link->nvalues && status == SF_OK; value++) {
    sfshm_block_vm_read_t entry;
    int64_t extra = 0, leaf;
    memcpy(&entry, list + (size_t)value * sizeof entry, sizeof entry);
    for (int i = 0; status == SF_OK && (leaf = leaf_of(in->link, value, i, &extra)) >= 0; i = i < 2 ? i + 1 : i) {
      size_t bytes = sfc_blocks_room(in->blocks, leaf, in->sizes[value], 0, in->sizes[value]);
      if (bytes == 0)
        continue;
      local[n] = (struct iovec){in->blocks->leaf[leaf].data, bytes};
      remote[n++] = (struct iovec){(void *)(uintptr_t)entry.address, bytes};
      if (n == READ_AT_ONCE) {
        status = sfc_lane_read_memory(in->lane, local, remote, n);
        n = 0;
      }
    }
  }
  return status == SF_OK && n > 0 ? sfc_lane_read_memory(in->lane, local, remote, n) : status;
}

static sf_status_t take_references(const arriving_t *in, sf_request_t *request, const sfshm_slot_t *slot,
                                   sfshm_method_t method, sfc_taken_t *taken)
{
  bool in_place = method == SFSHM_METHOD_IN_PLACE;
  size_t entry_bytes = in_place ? sizeof(sfshm_block_in_place_t) : sizeof(sfshm_block_vm_read_t);
  const char *list;
  sfc_pinned_t pinned;
  if (in->lane->rx_cursor.field == SIZES && in->lane->rx_cursor.value > 0)
    return sfshm_error(SF_ERR_PROTO, "rank %d continues a message in another form", in->lane->rank);
  sf_status_t status = find_list(in, slot, (size_t)in->link->nvalues * entry_bytes, &pinned, &list);
  if (status != SF_OK)
    return status;
  status = read_sizes(in, request, list, entry_bytes);
  if (status == SF_OK && in->blocks->lacks_memory)
    taken->how = SFC_TAKEN_LATER;
  else if (status == SF_OK)
    status = in_place ? read_in_place(in, list) : read_private(in, list);
  if (pinned.base != NULL)
    unpin(in->lane, &pinned);
  for (int64_t i = 0; i < in->link->nvalues; i++)
    taken->bytes += in->sizes[i];
  return status;
}

sf_status_t sfc_blocks_take(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link, const sfshm_slot_t *slot,
                            sfshm_method_t method, sfc_taken_t *taken)
{
  arriving_t in = {lane, sfc_blocks_of(request), link, lane->rx_sizes};
  switch (method) {
  case SFSHM_METHOD_INLINE:
    return take_short(&in, request, slot->payload, taken);
  case SFSHM_METHOD_CELL:
    return sfshm_lane_is_eager(&lane->rx, slot) ? take_rest(&in, request, slot, taken)
                                                : take_piece(&in, request, slot, taken);
  case SFSHM_METHOD_IN_PLACE:
  case SFSHM_METHOD_VM_READ:
    return take_references(&in, request, slot, method, taken);
  default:
    return sfshm_error(SF_ERR_PROTO, "rank %d sent an exchange in an unknown form", lane->rank);
  }
}
