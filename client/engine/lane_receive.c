/* Receiving from lanes: see lane_send.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "client/core/context.h"
#include "client/core/device.h"
#include "client/engine/eager.h"
#include "client/engine/lane_send.h"
#include "client/engine/mismatch.h"
#include "client/engine/offload.h"
#include "client/engine/op_trace.h"
#include "client/engine/protocol.h"
#include "client/engine/turns.h"
#include "client/graph/failure.h"
#include "client/setup/lanes.h"
#include "shm/base/error.h"

#define MESSAGES_AT_ONCE (SFSHM_LANE_SLOTS / 2)

#define BOUNCE_BYTES ((size_t)32 << 10)

static void unpack_values(const sf_request_t *request, const sfc_link_t *link, int64_t first, int64_t n,
                          const void *packed)
{
  sfc_link_unpack(link, request->operation, &request->combine, first, n, packed, request->target);
}

/* Combines a part of one value that is larger than a cell. */
static void unpack_part(const sf_request_t *request, const sfc_link_t *link, sfc_cursor_t at, size_t bytes,
                        const void *packed)
{
  sfshm_unit_t unit = {request->combine.unit.base, (int64_t)(bytes / sfshm_base_size(request->combine.unit.base))};
  sfc_combine_t part = {unit, bytes, sfc_kernels_find(request->devices, unit, request->op)};
  sfc_link_unpack_part(link, request->operation, &part, request->combine.unit_bytes, at.value, at.bytes, packed,
                       request->target);
}

/* Takes all that is left of the message, which the other end has packed into a block of its inbox. */
static sf_status_t take_eager(sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link,
                              const sfshm_slot_t *slot, size_t *bytes_p)
{
  sfc_peers_t *peers = &lane->graph->context->peers;
  sfc_cursor_t *cursor = &lane->rx_cursor;
  size_t unit_bytes = request->combine.unit_bytes;
  int64_t n = sfc_link_count(link, request->operation);
  size_t part_bytes = cursor->bytes > 0 ? unit_bytes - cursor->bytes : 0;
  size_t bytes = (size_t)(n - cursor->value) * unit_bytes - cursor->bytes;
  sfshm_eager_block_t where;
  sfc_pinned_t pinned;
  memcpy(&where, slot->payload, sizeof where);
  sf_status_t status = sfc_peer_pin(peers, lane->peer, where.segment, &pinned);
  if (status != SF_OK)
    return status;
  if (where.offset > pinned.length_bytes || pinned.length_bytes - where.offset < bytes) {
    status = sfshm_error(SF_ERR_PROTO, "rank %d sent %zu bytes that end outside of its memory", lane->rank, bytes);
  } else {
    const char *packed = (const char *)pinned.base + where.offset;
    if (part_bytes > 0)
      unpack_part(request, link, *cursor, part_bytes, packed);
    int64_t first = cursor->value + (part_bytes > 0);
    if (first < n)
      unpack_values(request, link, first, n - first, packed + part_bytes);
    *cursor = (sfc_cursor_t){.value = n};
    *bytes_p = bytes;
  }
  sfc_peer_unpin(peers, &pinned);
  return status;
}

/* Takes the piece at the cursor out of a cell and moves the cursor on. */
static size_t take_cell(sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link)
{
  sfc_cursor_t *cursor = &lane->rx_cursor;
  size_t unit_bytes = request->combine.unit_bytes, most_bytes = sfshm_piece_most(lane->rx.cell_bytes);
  if (unit_bytes <= most_bytes) {
    int64_t n = sfc_link_count(link, request->operation) - cursor->value;
    if ((uint64_t)n > most_bytes / unit_bytes)
      n = (int64_t)(most_bytes / unit_bytes);
    size_t bytes = (size_t)n * unit_bytes;
    unpack_values(request, link, cursor->value, n, sfshm_lane_rx_piece(&lane->rx, bytes));
    cursor->value += n;
    return bytes;
  }
  size_t bytes = unit_bytes - cursor->bytes < most_bytes ? unit_bytes - cursor->bytes : most_bytes;
  unpack_part(request, link, *cursor, bytes, sfshm_lane_rx_piece(&lane->rx, bytes));
  cursor->bytes += bytes;
  if (cursor->bytes == unit_bytes)
    *cursor = (sfc_cursor_t){cursor->value + 1, 0};
  return bytes;
}

static sf_status_t take_piece(sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link,
                              const sfshm_slot_t *slot, size_t *bytes_p)
{
  if (sfshm_lane_is_eager(&lane->rx, slot))
    return take_eager(lane, request, link, slot, bytes_p);
  if (lane->rx.cells == NULL)
    return sfshm_error(SF_ERR_PROTO, "rank %d uses cells that it was not granted", lane->rank);
  *bytes_p = take_cell(lane, request, link);
  return SF_OK;
}

/* Takes cells for the lane, in place of those that there were: all messages in them have been taken. These stay if
 * there is no memory for others, since larger ones are only faster. */
static sf_status_t take_cells(sfc_lane_t *lane, size_t cell_bytes)
{
  sfc_heap_t *heap = &lane->graph->context->inbox;
  sfc_block_t cells;
  if (cell_bytes <= lane->rx.cell_bytes)
    return SF_OK;
  sf_status_t status = sfc_heap_take_raw(heap, SFSHM_LANE_SLOTS * cell_bytes, &cells);
  if (status != SF_OK)
    return lane->rx_cells.address != NULL ? SF_OK : status;
  if (lane->rx_cells.address != NULL)
    sfc_heap_give(heap, &lane->rx_cells);
  lane->rx_cells = cells;
  lane->rx.cell_bytes = cell_bytes;
  return SF_OK;
}

/* Grants cells of the size asked for, or smaller ones: the lanes to this rank share what large ones may hold together,
 * too. */
static sf_status_t grant(sfc_lane_t *lane, const sfshm_slot_t *slot)
{
  sfshm_grow_t grow;
  memcpy(&grow, slot->payload, sizeof grow);
  if (!sfc_method_has_cells_of(grow.cell_bytes))
    return sfshm_error(SF_ERR_PROTO, "rank %d asks for cells of %llu bytes", lane->rank,
                       (unsigned long long)grow.cell_bytes);
  size_t most_bytes = sfc_method_cell_bytes_most(sfc_instance_nends(lane->graph));
  sf_status_t status = take_cells(lane, grow.cell_bytes < most_bytes ? grow.cell_bytes : most_bytes);
  if (status == SF_OK)
    sfshm_lane_grant(&lane->rx, lane->rx_cells.segment, lane->rx_cells.offset, lane->rx_cells.address,
                     lane->rx.cell_bytes);
  return status;
}

/* Checks that the other end's buffer, in its sf_alloc memory, holds all that will be read. */
static sf_status_t check_extent(const sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link,
                                uint64_t offset, size_t length_bytes)
{
  uint64_t need;
  int64_t last = request->operation == SFSHM_BCAST ? link->root_max : link->leaf_max;
  if (last < 0) /* the leaves of a list of the other end: see shm/edges/edges.h */
    last = sfshm_pattern_max(&link->leaf);
  if (__builtin_mul_overflow((uint64_t)last + 1, (uint64_t)request->combine.unit_bytes, &need) ||
      offset > length_bytes || length_bytes - offset < need)
    return sfshm_error(SF_ERR_RANGE, "rank %d offers a buffer that ends before vertex %lld", lane->rank,
                       (long long)last);
  return SF_OK;
}

/* *pending_p: workers of the daemon are in the middle of some of it, and nothing is left to be done here. */
static sf_status_t read_in_place(sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link,
                                 const sfshm_slot_t *slot, bool *pending_p)
{
  sfc_offer_t *offer = sfc_offload_target(lane, request);
  if (offer != NULL && sfc_offload_target_done(lane, request, offer))
    return SF_OK;
  sfc_peers_t *peers = &lane->graph->context->peers;
  sfshm_in_place_t where;
  sfc_pinned_t pinned;
  memcpy(&where, slot->payload, sizeof where);
  sf_status_t status = sfc_peer_pin(peers, lane->peer, where.segment, &pinned);
  if (status != SF_OK)
    return status;
  status = check_extent(lane, request, link, where.offset, pinned.length_bytes);
  const char *source = (const char *)pinned.base + where.offset;
  if (status == SF_OK && offer != NULL)
    *pending_p = !sfc_offload_share(lane, request, offer, source);
  else if (status == SF_OK)
    sfc_link_apply(link, request->operation, &request->combine, source, request->target);
  sfc_peer_unpin(peers, &pinned);
  return status;
}

/* Tries to open a region, for the writer to know. That it can't is no error: then its values come in pieces. */
static void answer_devices(sfc_lane_t *lane, const sfshm_slot_t *slot)
{
  sfc_peers_t *peers = &lane->graph->context->peers;
  sfshm_device_data_t where;
  sfc_pinned_device_t pinned;
  memcpy(&where, slot->payload, sizeof where);
  bool can_open = sfc_peer_pin_device(peers, lane->peer, where.region, SFSHM_DEVICE_ANY, &pinned) == SF_OK;
  if (can_open)
    sfc_peer_unpin_device(peers, lane->peer, &pinned);
  sfshm_lane_answer_devices(&lane->rx, can_open);
}

static void end_reading(sfc_lane_t *lane)
{
  sfc_peer_unpin_device(&lane->graph->context->peers, lane->peer, &lane->rx_pinned);
  lane->rx_reading = false;
}

void sfc_graph_end_reading(sf_graph_t *graph)
{
  for (int32_t i = 0; i < graph->nlanes; i++)
    if (graph->lanes[i].rx_reading)
      end_reading(&graph->lanes[i]);
}

static sf_status_t await_devices(const sfshm_device_ops_t *devices)
{
  sf_status_t status = devices->check();
  return status == SF_OK ? SF_OK : sfshm_error(status, "%s", devices->detail());
}

/* Has the other end's device read, by the device's own kernels: into memory of the host before this returns; into a
 * device's it is under way then, so that those of all neighbours are waited for together. */
static sf_status_t begin_reading(sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link,
                                 const sfshm_slot_t *slot)
{
  sfc_peers_t *peers = &lane->graph->context->peers;
  const sfshm_device_ops_t *devices;
  sfshm_device_data_t where;
  sfc_pinned_device_t pinned;
  memcpy(&where, slot->payload, sizeof where);
  sf_status_t status = sfc_peer_pin_device(peers, lane->peer, where.region, SFSHM_DEVICE_ANY, &pinned);
  if (status != SF_OK)
    return status;
  devices = sfshm_device_loaded();
  sfc_combine_t combine = request->combine;
  combine.kernels = sfc_devices_combine(lane->graph, devices, combine.unit, request->op);
  status = check_extent(lane, request, link, where.offset, pinned.length_bytes);
  if (status == SF_OK && combine.kernels == NULL)
    status = sfshm_error(SF_ERR_UNSUPPORTED, "%s of %s on a device", sfshm_op_name(request->op),
                         sfshm_base_name(combine.unit.base));
  if (status == SF_OK) {
    sfc_link_apply(link, request->operation, &combine, (const char *)pinned.base + where.offset, request->target);
    if (request->target_ref.class != SFC_MEMORY_DEVICE)
      status = await_devices(devices);
  }
  lane->rx_pinned = pinned;
  lane->rx_reading = status == SF_OK && request->target_ref.class == SFC_MEMORY_DEVICE;
  if (!lane->rx_reading)
    end_reading(lane);
  return status;
}

/* The kernels of a device run in the order in which they were told: the next contribution need not wait for this one's
 * end. *pending_p: it is to be looked at again when all other lanes have had their turn. */
static sf_status_t read_device(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link,
                               const sfshm_slot_t *slot, bool *pending_p)
{
  sf_status_t status;
  if (!lane->rx_reading) {
    status = begin_reading(lane, request, link, slot);
    *pending_p = lane->rx_reading;
    if (lane->rx_reading && request->ordered)
      sfc_request_end_turn(request);
    return status;
  }
  status = await_devices(sfshm_device_loaded());
  end_reading(lane);
  return status;
}

static sf_status_t vm_read(const sfc_lane_t *lane, uint64_t address, void *to, size_t bytes)
{
  for (size_t done = 0; done < bytes;) {
    struct iovec local = {(char *)to + done, bytes - done};
    struct iovec remote = {(void *)(uintptr_t)(address + done), bytes - done};
    ssize_t n = process_vm_readv(lane->peer->pid, &local, 1, &remote, 1, 0);
    if (n > 0)
      done += (size_t)n;
    else if (n < 0 && errno == ESRCH)
      return sfshm_error(SF_ERR_RANK_FAILED, "rank %d (pid %d) died before its memory was read", lane->peer->rank,
                         (int)lane->peer->pid);
    else if (n == 0 || errno != EINTR)
      return sfshm_error_errno(SF_ERR_SYS, "reading %zu bytes of registered memory of rank %d", bytes, lane->rank);
  }
  return SF_OK;
}

/* Reads private memory of the other end: its values are consecutive there. Straight into the target if they are to
 * replace consecutive values there, else by way of a buffer that stays in the cache. */
static sf_status_t read_private(sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link,
                                const sfshm_slot_t *slot)
{
  sfshm_vm_read_t where;
  memcpy(&where, slot->payload, sizeof where);
  int64_t n = sfc_link_count(link, request->operation);
  const sfshm_pattern_t *source = request->operation == SFSHM_BCAST ? &link->value_root : &link->leaf;
  const sfshm_pattern_t *target = request->operation == SFSHM_BCAST ? &link->leaf : &link->value_root;
  size_t unit_bytes = request->combine.unit_bytes;
  uint64_t address = where.address + (uint64_t)source->start * unit_bytes;
  if (link->extra_value.n == 0 && request->op == SFSHM_OP_REPLACE && target->kind == SFSHM_PATTERN_CONTIGUOUS &&
      request->devices == NULL)
    return vm_read(lane, address, request->target + (size_t)target->start * unit_bytes, (size_t)n * unit_bytes);
  _Alignas(64) char bounce[BOUNCE_BYTES];
  sf_status_t status = SF_OK;
  for (sfc_cursor_t at = {0}; at.value < n && status == SF_OK;) {
    if (unit_bytes <= sizeof bounce) {
      int64_t some = n - at.value;
      if ((uint64_t)some > sizeof bounce / unit_bytes)
        some = (int64_t)(sizeof bounce / unit_bytes);
      status = vm_read(lane, address + (uint64_t)at.value * unit_bytes, bounce, (size_t)some * unit_bytes);
      if (status == SF_OK)
        unpack_values(request, link, at.value, some, bounce);
      at.value += some;
    } else {
      size_t bytes = unit_bytes - at.bytes < sizeof bounce ? unit_bytes - at.bytes : sizeof bounce;
      status = vm_read(lane, address + (uint64_t)at.value * unit_bytes + at.bytes, bounce, bytes);
      if (status == SF_OK)
        unpack_part(request, link, at, bytes, bounce);
      at.bytes += bytes;
      if (at.bytes == unit_bytes)
        at = (sfc_cursor_t){at.value + 1, 0};
    }
  }
  return status;
}

/* Takes one message of the request. *complete_p: whether it was the lane's last one for it; *tell_p: whether the writer
 * waits to hear that it has been taken; *pending_p: it has not been taken yet, as others are at it. */
static sf_status_t take_message(sfc_lane_t *lane, sf_request_t *request, const sfshm_slot_t *slot, uint64_t desc,
                                bool *complete_p, bool *tell_p, bool *pending_p)
{
  const sfc_link_t *link = sfc_lane_incoming(lane, request->operation);
  int64_t n = sfc_link_count(link, request->operation);
  sf_status_t status = SF_OK;
  size_t bytes = (size_t)n * request->combine.unit_bytes;
  *complete_p = true;
  *tell_p = *pending_p = false;
  switch (sfshm_desc_method(desc)) {
  case SFSHM_METHOD_INLINE:
    if (bytes > SFSHM_INLINE_BYTES)
      return sfshm_error(SF_ERR_PROTO, "rank %d sent %zu bytes in a slot", lane->rank, bytes);
    unpack_values(request, link, 0, n, slot->payload);
    break;
  case SFSHM_METHOD_CELL:
    status = take_piece(lane, request, link, slot, &bytes);
    if (status != SF_OK)
      return status;
    *complete_p = lane->rx_cursor.value == n;
    *tell_p = sfshm_lane_is_eager(&lane->rx, slot); /* its block is free again */
    break;
  case SFSHM_METHOD_IN_PLACE:
    status = read_in_place(lane, request, link, slot, pending_p);
    *tell_p = true;
    if (*pending_p)
      return status;
    break;
  case SFSHM_METHOD_VM_READ:
    status = read_private(lane, request, link, slot);
    *tell_p = true;
    break;
  case SFSHM_METHOD_DEVICE:
    status = read_device(lane, request, link, slot, pending_p);
    *tell_p = true;
    if (*pending_p)
      return status;
    break;
  case SFSHM_METHOD_ASK:
    answer_devices(lane, slot);
    bytes = 0;
    *complete_p = false;
    *tell_p = true;
    break;
  case SFSHM_METHOD_GROW:
    status = grant(lane, slot);
    bytes = 0;
    *complete_p = false;
    *tell_p = true; /* so that the writer is woken */
    break;
  default:
    return sfshm_error(SF_ERR_PROTO, "rank %d sent a message of unknown form", lane->rank);
  }
  sfshm_count(&lane->counts->bytes_received, bytes);
  return status;
}

static void finish_receive(sfc_lane_t *lane, bool turn_is_over)
{
  sf_request_t *request = lane->rx_request;
  if (request->operation == SFSHM_BCAST && lane->as_leaf.extra_value.n > 0)
    sfshm_count(&lane->counts->bytes_saved, (uint64_t)lane->as_leaf.extra_value.n * request->combine.unit_bytes);
  lane->rx_cursor = (sfc_cursor_t){0};
  sfc_lane_end_request(lane);
  if (request->ordered && !turn_is_over)
    sfc_request_end_turn(request);
}

bool sfc_lane_receive_shared(sfc_lane_t *lane)
{
  sf_graph_t *graph = lane->graph;
  bool moved = false;
  for (uint32_t messages = 0; lane->rx_request != NULL && messages < MESSAGES_AT_ONCE; messages++) {
    sf_request_t *request = lane->rx_request;
    bool was_reading = lane->rx_reading;
    if (request->ordered && !was_reading && !sfc_request_is_turn(request, lane))
      break;
    const sfshm_slot_t *slot = sfc_lane_peek(lane);
    if (slot == NULL)
      break;
    uint64_t desc = slot->desc; /* once: the other end could change it */
    if ((desc & SFSHM_DESC_MATCH_MASK) != request->match) {
      sfc_lane_fail_mismatch(lane, request->match, request->sequence, desc);
      return true;
    }
    bool complete, tell, pending;
    if (lane->offers != NULL)
      sfc_offload_note_method(lane, request, sfshm_desc_method(desc));
    if (__builtin_expect(request->watch != 0, false))
      sfc_watch_mark(request);
    sf_status_t status = take_message(lane, request, slot, desc, &complete, &tell, &pending);
    if (status != SF_OK) {
      if (status == SF_ERR_RANK_FAILED)
        break; /* perhaps because of another rank that died first: which one the daemon will say */
      sfc_graph_fail_everywhere(graph, status, sfshm_error_detail());
      return true;
    }
    if (pending) {
      moved |= lane->rx_reading; /* who looks again soon finds it done, and nobody else would wake it */
      break;
    }
    sfc_lane_end_message(lane, tell);
    if (__builtin_expect(request->watch != 0, false))
      sfc_watch_unpacked(request, lane, lane->rx.received, 0);
    moved = true;
    if (complete)
      finish_receive(lane, was_reading);
  }
  return moved;
}
