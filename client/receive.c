/* Receiving from lanes: see transfer.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "client/context.h"
#include "client/method.h"
#include "client/progress.h"
#include "client/transfer.h"
#include "shm/error.h"

#define BOUNCE_BYTES ((size_t)32 << 10)

static inline const sfc_link_t *incoming_link(const sfc_lane_t *lane, sfshm_operation_t operation)
{
  return operation == SFSHM_BCAST ? &lane->as_leaf : &lane->as_root;
}

/* Number of values that a message of the operation carries on the link in all. */
static inline int64_t incoming_values(const sfc_link_t *link, sfshm_operation_t operation)
{
  return operation == SFSHM_BCAST ? link->nvalues : link->nedges;
}

/* Where the values go: the leaves in a bcast, the roots in a reduce. */
static inline const sfshm_pattern_t *target_pattern(const sfc_link_t *link, sfshm_operation_t operation)
{
  return operation == SFSHM_BCAST ? &link->leaf : &link->edge_root;
}

/* Combines n packed values, the first being number first of the message, into the target. */
static void unpack_values(const sf_request_t *request, const sfc_link_t *link, int64_t first, int64_t n,
                          const void *packed)
{
  const sfshm_pattern_t *target = target_pattern(link, request->operation);
  if (request->operation == SFSHM_REDUCE || link->edge_value.n == 0) {
    request->combine->unpack(request->unit, target, first, n, packed, request->target);
    return;
  }
  int64_t edge;
  int64_t nedges = sfc_link_edges_of(link, first, n, &edge);
  request->combine->scatter(request->unit, &link->edge_value, first, packed, target, request->target, edge, nedges);
}

/* Combines a part of one value that is larger than a cell. */
static void unpack_part(const sf_request_t *request, const sfc_link_t *link, sfc_cursor_t at, size_t bytes,
                        const void *packed)
{
  const sfshm_pattern_t *target = target_pattern(link, request->operation);
  sfshm_unit_t part = {request->unit.base, (int64_t)(bytes / sfshm_base_size(request->unit.base))};
  sfshm_pattern_t one = sfshm_pattern_contiguous(0, 1);
  int64_t edge = at.value, nedges = 1;
  if (request->operation == SFSHM_BCAST)
    nedges = sfc_link_edges_of(link, at.value, 1, &edge);
  const sfshm_kernels_t *kernels = sfshm_kernels_find(part, request->op);
  for (int64_t e = edge; e < edge + nedges; e++)
    kernels->unpack(part, &one, 0, 1, packed,
                    request->target + (size_t)sfshm_pattern_at(target, e) * request->unit_bytes + at.bytes);
}

/* Takes the piece at the cursor out of a cell and moves the cursor on. */
static size_t take_piece(sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link)
{
  sfc_cursor_t *cursor = &lane->rx_cursor;
  const uint8_t *cell = sfshm_lane_rx_cell(&lane->rx);
  size_t unit_bytes = request->unit_bytes, cell_bytes = lane->rx.cell_bytes;
  if (unit_bytes <= cell_bytes) {
    int64_t n = incoming_values(link, request->operation) - cursor->value;
    if ((uint64_t)n > cell_bytes / unit_bytes)
      n = (int64_t)(cell_bytes / unit_bytes);
    unpack_values(request, link, cursor->value, n, cell);
    cursor->value += n;
    return (size_t)n * unit_bytes;
  }
  size_t bytes = unit_bytes - cursor->bytes < cell_bytes ? unit_bytes - cursor->bytes : cell_bytes;
  unpack_part(request, link, *cursor, bytes, cell);
  cursor->bytes += bytes;
  if (cursor->bytes == unit_bytes)
    *cursor = (sfc_cursor_t){cursor->value + 1, 0};
  return bytes;
}

/* Grants cells of the size asked for, in place of those that there were: all messages in them have been taken. */
static sf_status_t grant(sfc_lane_t *lane, const sfshm_slot_t *slot)
{
  sfc_heap_t *heap = &lane->graph->context->inbox;
  sfshm_grow_t grow;
  sfc_block_t cells;
  memcpy(&grow, slot->payload, sizeof grow);
  if (grow.cell_bytes > SFC_CELL_BYTES_MAX || grow.cell_bytes != sfc_method_cell_bytes(grow.cell_bytes))
    return sfshm_error(SF_ERR_PROTO, "rank %d asks for cells of %llu bytes", lane->rank,
                       (unsigned long long)grow.cell_bytes);
  sf_status_t status = sfc_heap_take(heap, SFSHM_LANE_SLOTS * grow.cell_bytes, &cells);
  if (status != SF_OK)
    return status;
  if (lane->rx_cells.address != NULL)
    sfc_heap_give(heap, &lane->rx_cells);
  lane->rx_cells = cells;
  sfshm_lane_grant(&lane->rx, cells.segment, cells.offset, cells.address, grow.cell_bytes);
  return SF_OK;
}

/* The other end's buffer in its sf_alloc memory, checked to hold all that will be read. */
static sf_status_t locate(sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link,
                          const sfshm_slot_t *slot, const char **buffer_p)
{
  sfshm_in_place_t where;
  memcpy(&where, slot->payload, sizeof where);
  if (lane->mapped_base == NULL || lane->mapped_segment != where.segment) {
    void *base;
    sf_status_t status =
        sfc_peer_segment(&lane->graph->context->peers, lane->peer, where.segment, &base, &lane->mapped_bytes);
    if (status != SF_OK)
      return status;
    lane->mapped_base = base;
    lane->mapped_segment = where.segment;
  }
  uint64_t need;
  int64_t last = request->operation == SFSHM_BCAST ? link->root_max : link->leaf_max;
  if (__builtin_mul_overflow((uint64_t)last + 1, (uint64_t)request->unit_bytes, &need) ||
      where.offset > lane->mapped_bytes || lane->mapped_bytes - where.offset < need)
    return sfshm_error(SF_ERR_RANGE, "rank %d offers a buffer that ends before vertex %lld", lane->rank,
                       (long long)last);
  *buffer_p = lane->mapped_base + where.offset;
  return SF_OK;
}

static sf_status_t read_in_place(sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link,
                                 const sfshm_slot_t *slot)
{
  const char *buffer = NULL;
  sf_status_t status = locate(lane, request, link, slot, &buffer);
  if (status != SF_OK)
    return status;
  if (request->operation == SFSHM_BCAST)
    request->combine->scatter(request->unit, &link->edge_root, 0, buffer, &link->leaf, request->target, 0,
                              link->nedges);
  else
    request->combine->scatter(request->unit, &link->leaf, 0, buffer, &link->edge_root, request->target, 0,
                              link->nedges);
  return SF_OK;
}

static sf_status_t vm_read(const sfc_lane_t *lane, uint64_t address, void *to, size_t bytes)
{
  for (size_t done = 0; done < bytes;) {
    struct iovec local = {(char *)to + done, bytes - done};
    struct iovec remote = {(void *)(uintptr_t)(address + done), bytes - done};
    ssize_t n = process_vm_readv(lane->peer->pid, &local, 1, &remote, 1, 0);
    if (n > 0)
      done += (size_t)n;
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
  int64_t n = incoming_values(link, request->operation);
  const sfshm_pattern_t *source = request->operation == SFSHM_BCAST ? &link->value_root : &link->leaf;
  const sfshm_pattern_t *target = target_pattern(link, request->operation);
  size_t unit_bytes = request->unit_bytes;
  uint64_t address = where.address + (uint64_t)source->start * unit_bytes;
  bool one_to_one = request->operation == SFSHM_REDUCE || link->edge_value.n == 0;
  if (one_to_one && request->op == SFSHM_OP_REPLACE && target->kind == SFSHM_PATTERN_CONTIGUOUS)
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

/* Takes one message of the request. *complete_p: whether it was the lane's last one for it. */
static sf_status_t take_message(sfc_lane_t *lane, const sf_request_t *request, const sfshm_slot_t *slot,
                                bool *complete_p, bool *tell_p)
{
  const sfc_link_t *link = incoming_link(lane, request->operation);
  int64_t n = incoming_values(link, request->operation);
  sf_status_t status = SF_OK;
  size_t bytes = (size_t)n * request->unit_bytes;
  *complete_p = true;
  *tell_p = false;
  switch (sfshm_desc_method(slot->desc)) {
  case SFSHM_METHOD_INLINE:
    if (bytes > SFSHM_INLINE_BYTES)
      return sfshm_error(SF_ERR_PROTO, "rank %d sent %zu bytes in a slot", lane->rank, bytes);
    unpack_values(request, link, 0, n, slot->payload);
    break;
  case SFSHM_METHOD_CELL:
    if (lane->rx.cells == NULL)
      return sfshm_error(SF_ERR_PROTO, "rank %d uses cells that it was not granted", lane->rank);
    bytes = take_piece(lane, request, link);
    *complete_p = lane->rx_cursor.value == n;
    break;
  case SFSHM_METHOD_IN_PLACE:
    status = read_in_place(lane, request, link, slot);
    *tell_p = true;
    break;
  case SFSHM_METHOD_VM_READ:
    status = read_private(lane, request, link, slot);
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
  sfshm_count(&lane->graph->counts->bytes_received, bytes);
  return status;
}

static void fail_mismatch(sfc_lane_t *lane, uint64_t mine, uint64_t sequence, uint64_t theirs)
{
  char own[64], other[64], detail[256];
  sf_graph_t *graph = lane->graph;
  unsigned long long own_number = sequence & SFSHM_DESC_SEQUENCE_MASK, other_number = theirs & SFSHM_DESC_SEQUENCE_MASK;
  sfshm_desc_text(mine, own, sizeof own);
  sfshm_desc_text(theirs, other, sizeof other);
  if (own_number == other_number)
    snprintf(detail, sizeof detail, "graph %llu, operation %llu: rank %d called %s, rank %d called %s",
             (unsigned long long)graph->number, own_number, graph->rank, own, lane->rank, other);
  else
    snprintf(detail, sizeof detail,
             "graph %llu: rank %d waits for operation %llu, %s; rank %d sent for operation %llu, %s",
             (unsigned long long)graph->number, graph->rank, own_number, own, lane->rank, other_number, other);
  sfc_graph_fail_everywhere(graph, SF_ERR_MISMATCH, detail);
}

/* Ends the lane's part in its request and turns to the next one that it has something to receive for. */
static void finish_receive(sfc_lane_t *lane)
{
  sf_graph_t *graph = lane->graph;
  sf_request_t *request = lane->rx_request;
  uint64_t sequence = request->sequence;
  lane->rx_cursor = (sfc_cursor_t){0};
  lane->rx_request = NULL;
  request->receives_left--;
  if (request->ordered) {
    request->turn++;
    sfc_request_advance(request);
  }
  while (++sequence <= graph->last_sequence) {
    sf_request_t *next = graph->table[sequence & graph->table_mask];
    if (next != NULL && sfc_lane_receives(lane, next->operation)) {
      lane->rx_request = next;
      return;
    }
  }
}

bool sfc_lane_receive(sfc_lane_t *lane)
{
  sf_graph_t *graph = lane->graph;
  bool moved = false;
  while (lane->rx_request != NULL) {
    sf_request_t *request = lane->rx_request;
    if (request->ordered && graph->reduce_turns[request->turn] != (int32_t)(lane - graph->lanes))
      break;
    const sfshm_slot_t *slot = sfshm_lane_peek(&lane->rx, &lane->tx);
    if (slot == NULL)
      break;
    uint64_t desc = slot->desc; /* once: the other end could change it */
    if ((desc & SFSHM_DESC_MATCH_MASK) != request->match) {
      fail_mismatch(lane, request->match, request->sequence, desc);
      return true;
    }
    bool complete, tell;
    sf_status_t status = take_message(lane, request, slot, &complete, &tell);
    if (status != SF_OK) {
      sfc_graph_fail_everywhere(graph, status, sfshm_error_detail());
      return true;
    }
    if (sfshm_lane_consume(&lane->rx, tell))
      sfc_thread_note(graph->thread, lane->peer->wake);
    sfshm_count(&graph->counts->messages_received, 1);
    moved = true;
    if (complete)
      finish_receive(lane);
  }
  return moved;
}

void sfc_lane_check_match(sfc_lane_t *lane)
{
  sf_graph_t *graph = lane->graph;
  if (lane->rx_request != NULL)
    return; /* then sfc_lane_receive compares */
  const sfshm_slot_t *slot = sfshm_lane_peek(&lane->rx, &lane->tx);
  if (slot == NULL)
    return;
  uint64_t desc = slot->desc;
  for (uint64_t sequence = graph->first_sequence; sequence <= graph->last_sequence; sequence++) {
    const sf_request_t *request = graph->table[sequence & graph->table_mask];
    if (request != NULL && (sequence & SFSHM_DESC_SEQUENCE_MASK) == (desc & SFSHM_DESC_SEQUENCE_MASK)) {
      fail_mismatch(lane, request->match, sequence, desc);
      return;
    }
  }
}
