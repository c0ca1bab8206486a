/* Takes one message from a lane: see lane_take.h. */
#include "client/engine/lane_take.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "client/core.h"
#include "client/engine/lane_send.h"
#include "client/engine/offload.h"
#include "client/engine/protocol.h"
#include "client/engine/request.h"
#include "client/setup.h"
#include "shm/base/error.h"

#define BOUNCE_BYTES ((size_t)32 << 10)
#define FETCHED_BYTES_MAX ((size_t)8 << 10)

/* Combines a run. A part of one value has kernels of its own. */
static void unpack_run(const sf_request_t *request, const sfc_link_t *link, const sfc_field_t *field,
                       const sfc_cursor_t *at, sfc_run_t run, const void *packed)
{
  const sfc_combine_t *combine = &field->combine;
  if (run.n > 0) {
    sfc_link_unpack(link, request->operation, combine, at->value, run.n, packed, field->target);
    return;
  }
  sfshm_unit_t unit = {combine->unit.base, (int64_t)(run.bytes / sfshm_base_size(combine->unit.base))};
  sfc_combine_t part = {unit, run.bytes, sfc_kernels_find(field->devices, unit, field->op)};
  sfc_link_unpack_part(link, request->operation, &part, combine->unit_bytes, at->value, at->bytes, packed,
                       field->target);
}

/* Where packed values go. */
typedef struct incoming {
  const sfc_link_t *link;
  const sfc_field_t *fields;
  int32_t nfields;
  int64_t count; /* values of a field */
} incoming_t;

/* All fields as one, if the request has them so. */
static incoming_t find_incoming(const sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link)
{
  const sfc_link_t *flat = sfc_flat_link(request, lane, false);
  incoming_t in = {.link = link, .fields = request->fields, .nfields = request->nfields};
  if (flat != NULL)
    in = (incoming_t){.link = flat, .fields = &request->flat->field, .nfields = 1};
  in.count = sfc_link_count(in.link, request->operation);
  return in;
}

/* Unpacks a piece, or the rest of a message, and moves the cursor on. */
static void unpack_piece(const sf_request_t *request, const incoming_t *in, sfc_cursor_t *at, size_t bytes,
                         const void *packed)
{
  int64_t count = in->count;
  for (size_t done = 0; done < bytes;) {
    const sfc_field_t *field = &in->fields[at->field];
    sfc_run_t run = sfc_run_next(field, at, count, bytes - done, done == 0);
    unpack_run(request, in->link, field, at, run, (const char *)packed + done);
    sfc_cursor_move(at, field, count, run);
    done += run.bytes;
  }
}

/* Pins the writer's segment that the slot names. */
static sf_status_t pin_segment(sfc_lane_t *lane, const uint8_t *reference, sfc_pinned_t *pinned, uint64_t *offset_p)
{
  sfshm_in_place_t where;
  memcpy(&where, reference, sizeof where);
  *offset_p = where.offset;
  return sfc_peer_pin(&lane->graph->context->peers, lane->peer, where.segment, pinned);
}

/* ---- Packed values ----------------------------------------------------------------------------------------------- */

static sf_status_t take_short(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link, const sfshm_slot_t *slot,
                              sfc_taken_t *taken)
{
  if (taken->bytes > SFSHM_INLINE_BYTES)
    return sfshm_error(SF_ERR_PROTO, "rank %d sent %zu bytes in a slot", lane->rank, taken->bytes);
  incoming_t in = find_incoming(lane, request, link);
  for (int32_t k = 0; k < in.nfields; k++) {
    const sfc_field_t *field = &in.fields[k];
    sfc_link_unpack(in.link, request->operation, &field->combine, 0, in.count,
                    slot->payload + (size_t)in.count * field->before_bytes, field->target);
  }
  return SF_OK;
}

/* Prefetches a piece of several fields. The copy of one field loads many lines at once, several copies do not. */
static void fetch_lines(const uint8_t *piece, size_t bytes)
{
  for (size_t line = 0; line < bytes && bytes <= FETCHED_BYTES_MAX; line += 64)
    __builtin_prefetch(piece + line);
}

/* Takes the rest of the data from a block of the writer's inbox. */
static sf_status_t take_eager(sfc_lane_t *lane, const sf_request_t *request, const incoming_t *in,
                              const sfshm_slot_t *slot, size_t *bytes_p)
{
  size_t bytes = sfc_message_left(in->fields, in->nfields, &lane->rx_cursor, in->count);
  uint64_t offset;
  sfc_pinned_t pinned;
  sf_status_t status = pin_segment(lane, slot->payload, &pinned, &offset);
  if (status != SF_OK)
    return status;
  if (offset > pinned.length_bytes || pinned.length_bytes - offset < bytes) {
    status = sfshm_error(SF_ERR_PROTO, "rank %d sent %zu bytes that end outside of its memory", lane->rank, bytes);
  } else {
    unpack_piece(request, in, &lane->rx_cursor, bytes, (const char *)pinned.base + offset);
    *bytes_p = bytes;
  }
  sfc_peer_unpin(&lane->graph->context->peers, &pinned);
  return status;
}

static sf_status_t take_buffered(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link,
                                 const sfshm_slot_t *slot, sfc_taken_t *taken)
{
  incoming_t in = find_incoming(lane, request, link);
  sf_status_t status = SF_OK;
  if (sfshm_lane_is_eager(&lane->rx, slot)) {
    status = take_eager(lane, request, &in, slot, &taken->bytes);
  } else if (lane->rx.cells == NULL) {
    status = sfshm_error(SF_ERR_PROTO, "rank %d uses cells that it was not granted", lane->rank);
  } else {
    taken->bytes =
        sfc_piece_bytes(in.fields, in.nfields, lane->rx_cursor, in.count, sfshm_piece_most(lane->rx.cell_bytes));
    const uint8_t *piece = sfshm_lane_rx_piece(&lane->rx, taken->bytes);
    if (in.nfields > 1)
      fetch_lines(piece, taken->bytes);
    unpack_piece(request, &in, &lane->rx_cursor, taken->bytes, piece);
  }
  if (lane->rx_cursor.field < in.nfields)
    taken->how = SFC_TAKEN_PARTLY;
  return status;
}

/* ---- Cells ------------------------------------------------------------------------------------------------------- */

/* Replaces the lane's cells by larger ones; all messages in them have been taken. Without memory the old cells stay. */
static sf_status_t take_cells(sfc_lane_t *lane, size_t cell_bytes)
{
  sfc_heap_t *heap = &lane->graph->context->inbox;
  sfc_block_t cells;
  if (cell_bytes <= lane->rx.cell_bytes)
    return SF_OK;
  sf_status_t status = sfc_heap_take(heap, SFSHM_LANE_SLOTS * cell_bytes, false, &cells);
  if (status != SF_OK)
    return lane->rx_cells.address != NULL ? SF_OK : status;
  if (lane->rx_cells.address != NULL)
    sfc_heap_give(heap, &lane->rx_cells);
  lane->rx_cells = cells;
  lane->rx.cell_bytes = cell_bytes;
  return SF_OK;
}

/* Grants cells of the requested size, or smaller ones: lanes to this rank share a limit. */
static sf_status_t grant(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link, const sfshm_slot_t *slot,
                         sfc_taken_t *taken)
{
  (void)request;
  (void)link;
  *taken = (sfc_taken_t){SFC_TAKEN_PARTLY, 0};
  sfshm_grow_t grow;
  memcpy(&grow, slot->payload, sizeof grow);
  if (!sfc_protocol_has_cells_of(grow.cell_bytes))
    return sfshm_error(SF_ERR_PROTO, "rank %d asks for cells of %llu bytes", lane->rank,
                       (unsigned long long)grow.cell_bytes);
  size_t most_bytes = sfc_protocol_cell_bytes_most(sfc_lanes_nlocal(lane->graph), lane->tx_nontemporal);
  sf_status_t status = take_cells(lane, grow.cell_bytes < most_bytes ? grow.cell_bytes : most_bytes);
  if (status == SF_OK)
    sfshm_lane_grant(&lane->rx, lane->rx_cells.segment, lane->rx_cells.offset, lane->rx_cells.address,
                     lane->rx.cell_bytes);
  return status;
}

/* ---- Memory of the writer ---------------------------------------------------------------------------------------- */

/* The writer's references to the sources of all fields: in the slot, or in its cell. NULL: there is no such cell. */
static const uint8_t *find_references(const sfc_lane_t *lane, const sf_request_t *request, const sfshm_slot_t *slot,
                                      sfshm_method_t method)
{
  size_t bytes = (size_t)request->nfields * sfshm_reference_bytes(method);
  if (bytes <= SFSHM_INLINE_BYTES)
    return slot->payload;
  if (lane->rx.cells != NULL && bytes <= sfshm_piece_most(lane->rx.cell_bytes))
    return sfshm_lane_rx_piece(&lane->rx, bytes);
  (void)sfshm_error(SF_ERR_PROTO, "rank %d names %d buffers in a cell that it was not granted", lane->rank,
                    request->nfields);
  return NULL;
}

/* Checks that the peer's sf_alloc buffer holds everything that will be read. */
static sf_status_t check_extent(const sfc_lane_t *lane, const sf_request_t *request, const sfc_field_t *field,
                                const sfc_link_t *link, uint64_t offset, size_t length_bytes)
{
  uint64_t need;
  int64_t last = request->operation == SFSHM_BCAST ? link->root_max : link->leaf_max;
  if (last < 0) /* unknown for the peer's list: see shm/edges/edges.h */
    last = sfshm_pattern_max(&link->leaf);
  if (__builtin_mul_overflow((uint64_t)last + 1, (uint64_t)field->combine.unit_bytes, &need) || offset > length_bytes ||
      length_bytes - offset < need)
    return sfshm_error(SF_ERR_RANGE, "rank %d offers a buffer that ends before vertex %lld", lane->rank,
                       (long long)last);
  return SF_OK;
}

/* The peer's buffers of all fields. */
typedef struct sources {
  int32_t n;
  sfc_pinned_t pinned[SF_FIELDS_MAX];
  const char *address[SF_FIELDS_MAX];
} sources_t;

static sf_status_t pin_sources(sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link,
                               const uint8_t *references, sources_t *sources)
{
  sf_status_t status = references != NULL ? SF_OK : SF_ERR_PROTO;
  for (int32_t k = 0; k < request->nfields && status == SF_OK; k++) {
    sfc_pinned_t *pinned = &sources->pinned[k];
    uint64_t offset;
    if ((status = pin_segment(lane, references, pinned, &offset)) != SF_OK)
      return status;
    sources->address[sources->n++] = (const char *)pinned->base + offset;
    status = check_extent(lane, request, &request->fields[k], link, offset, pinned->length_bytes);
    references += sfshm_reference_bytes(SFSHM_METHOD_IN_PLACE);
  }
  return status;
}

static sf_status_t read_in_place(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link,
                                 const sfshm_slot_t *slot, sfc_taken_t *taken)
{
  sources_t sources;
  sfc_offer_t *offer = sfc_offload_target(lane, request);
  if (offer != NULL && sfc_offload_target_done(lane, request, offer))
    return SF_OK;
  sources.n = 0;
  sf_status_t status =
      pin_sources(lane, request, link, find_references(lane, request, slot, SFSHM_METHOD_IN_PLACE), &sources);
  if (status == SF_OK && offer == NULL)
    sfc_fields_apply(request, link, sources.address);
  else if (status == SF_OK && !sfc_offload_share(lane, request, offer, sources.address[0]))
    taken->how = SFC_TAKEN_LATER; /* workers copy their pieces */
  while (sources.n > 0)
    sfc_peer_unpin(&lane->graph->context->peers, &sources.pinned[--sources.n]);
  return status;
}

/* Tests whether this rank can open the region and tells the writer. If not, its values come in pieces. */
static sf_status_t answer_devices(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link,
                                  const sfshm_slot_t *slot, sfc_taken_t *taken)
{
  (void)request;
  (void)link;
  *taken = (sfc_taken_t){SFC_TAKEN_PARTLY, 0};
  sfc_peers_t *peers = &lane->graph->context->peers;
  sfshm_device_data_t where;
  sfc_pinned_device_t pinned;
  memcpy(&where, slot->payload, sizeof where);
  bool can_open = sfc_peer_pin_device(peers, lane->peer, where.region, SFSHM_DEVICE_ANY, &pinned) == SF_OK;
  if (can_open)
    sfc_peer_unpin_device(peers, lane->peer, &pinned);
  sfshm_lane_answer_devices(&lane->rx, can_open);
  return SF_OK;
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

static sf_status_t await_devices(const sfshm_device_ops_t *devices, uint64_t since)
{
  sf_status_t status = devices->check(since);
  return status == SF_OK ? SF_OK : sfshm_error(status, "%s", devices->detail());
}

/* Reads the peer's device by kernels. Into host memory: done on return. Into a device: in progress, so that reads from
 * all neighbours are awaited together. */
static sf_status_t begin_reading(sfc_lane_t *lane, const sf_request_t *request, const sfc_link_t *link,
                                 const sfshm_slot_t *slot)
{
  sfc_peers_t *peers = &lane->graph->context->peers;
  const sfc_field_t *field = request->fields;
  const sfshm_device_ops_t *devices;
  sfshm_device_data_t where;
  sfc_pinned_device_t pinned;
  if (request->nfields > 1)
    return sfshm_error(SF_ERR_PROTO, "rank %d names one device region for %d fields", lane->rank, request->nfields);
  memcpy(&where, slot->payload, sizeof where);
  sf_status_t status = sfc_peer_pin_device(peers, lane->peer, where.region, SFSHM_DEVICE_ANY, &pinned);
  if (status != SF_OK)
    return status;
  devices = sfshm_device_loaded();
  sfc_combine_t combine = field->combine;
  combine.kernels = sfc_devices_combine(lane->graph, devices, combine.unit, field->op);
  status = check_extent(lane, request, field, link, where.offset, pinned.length_bytes);
  if (status == SF_OK && combine.kernels == NULL)
    status = sfshm_error(SF_ERR_UNSUPPORTED, "%s of %s on a device", sfshm_op_name(field->op),
                         sfshm_base_name(combine.unit.base));
  if (status == SF_OK) {
    uint64_t since = devices->failures();
    sfc_link_apply(link, request->operation, &combine, (const char *)pinned.base + where.offset, field->target);
    if (field->target_ref.class != SFC_MEMORY_DEVICE)
      status = await_devices(devices, since);
  }
  lane->rx_pinned = pinned;
  lane->rx_reading = status == SF_OK && field->target_ref.class == SFC_MEMORY_DEVICE;
  if (!lane->rx_reading)
    end_reading(lane);
  return status;
}

/* Kernels run in the order of their start, so the next contribution need not wait for this one: the turn ends when the
 * kernels have started, the message when the lane is looked at again. */
static sf_status_t read_device(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link,
                               const sfshm_slot_t *slot, sfc_taken_t *taken)
{
  sf_status_t status;
  if (lane->rx_reading) {
    status = await_devices(sfshm_device_loaded(), request->failures);
    end_reading(lane);
    taken->how = SFC_TAKEN_AFTER_TURN;
    return status;
  }
  status = begin_reading(lane, request, link, slot);
  if (!lane->rx_reading)
    return status;
  if (request->ordered)
    sfc_request_end_turn(request);
  taken->how = SFC_TAKEN_LATER;
  return status;
}

sf_status_t sfc_lane_read_memory(const sfc_lane_t *lane, struct iovec *local, struct iovec *remote, size_t n)
{
  while (n > 0) {
    ssize_t got = process_vm_readv(lane->peer->pid, local, n, remote, n, 0);
    if (got < 0 && errno == ESRCH)
      return sfshm_error(SF_ERR_RANK_FAILED, "rank %d (pid %d) died before its memory was read", lane->peer->rank,
                         (int)lane->peer->pid);
    if (got == 0 || (got < 0 && errno != EINTR))
      return sfshm_error_errno(SF_ERR_SYS, "reading %zu bytes of memory of rank %d", remote->iov_len, lane->rank);
    size_t done = got > 0 ? (size_t)got : 0;
    for (; n > 0 && done >= local->iov_len; local++, remote++, n--)
      done -= local->iov_len;
    if (done > 0) {
      *local = (struct iovec){(char *)local->iov_base + done, local->iov_len - done};
      *remote = (struct iovec){(char *)remote->iov_base + done, local->iov_len};
    }
  }
  return SF_OK;
}

static sf_status_t vm_read(const sfc_lane_t *lane, uint64_t address, void *to, size_t bytes)
{
  struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
  return sfc_lane_read_memory(lane, &local, &remote, 1);
}

/* Reads consecutive values from the peer's private memory: directly into the target if they replace consecutive values,
 * else through a buffer that stays in the cache. */
static sf_status_t read_private_field(const sfc_lane_t *lane, const sf_request_t *request, const sfc_field_t *field,
                                      const sfc_link_t *link, const uint8_t *reference)
{
  sfshm_vm_read_t where;
  memcpy(&where, reference, sizeof where);
  int64_t n = sfc_link_count(link, request->operation);
  const sfshm_pattern_t *source = request->operation == SFSHM_BCAST ? &link->value_root : &link->leaf;
  const sfshm_pattern_t *target = request->operation == SFSHM_BCAST ? &link->leaf : &link->value_root;
  size_t unit_bytes = field->combine.unit_bytes;
  uint64_t address = where.address + (uint64_t)source->start * unit_bytes;
  if (link->extra_value.n == 0 && field->op == SFSHM_OP_REPLACE && target->kind == SFSHM_PATTERN_CONTIGUOUS &&
      field->devices == NULL)
    return vm_read(lane, address, field->target + (size_t)target->start * unit_bytes, (size_t)n * unit_bytes);
  _Alignas(64) char bounce[BOUNCE_BYTES];
  sf_status_t status = SF_OK;
  for (sfc_cursor_t at = {0}; at.field == 0 && status == SF_OK;) {
    sfc_run_t run = sfc_run_next(field, &at, n, sizeof bounce, true);
    status = vm_read(lane, address + (uint64_t)at.value * unit_bytes + at.bytes, bounce, run.bytes);
    if (status == SF_OK)
      unpack_run(request, link, field, &at, run, bounce);
    sfc_cursor_move(&at, field, n, run);
  }
  return status;
}

static sf_status_t read_private(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link,
                                const sfshm_slot_t *slot, sfc_taken_t *taken)
{
  (void)taken;
  const uint8_t *references = find_references(lane, request, slot, SFSHM_METHOD_VM_READ);
  sf_status_t status = references != NULL ? SF_OK : SF_ERR_PROTO;
  for (int32_t k = 0; k < request->nfields && status == SF_OK; k++)
    status = read_private_field(lane, request, &request->fields[k], link,
                                references + (size_t)k * sfshm_reference_bytes(SFSHM_METHOD_VM_READ));
  return status;
}

/* ---- The forms --------------------------------------------------------------------------------------------------- */

typedef sf_status_t take_fn_t(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link, const sfshm_slot_t *slot,
                              sfc_taken_t *taken);

/* By protocol. answers: the writer waits for the message to be taken, and is woken. */
static const struct form {
  take_fn_t *take;
  bool answers;
} forms[] = {
    [SFSHM_METHOD_INLINE] = {take_short, false},
    [SFSHM_METHOD_CELL] = {take_buffered, false},
    [SFSHM_METHOD_IN_PLACE] = {read_in_place, true},
    [SFSHM_METHOD_VM_READ] = {read_private, true},
    [SFSHM_METHOD_GROW] = {grant, true},
    [SFSHM_METHOD_DEVICE] = {read_device, true},
    [SFSHM_METHOD_ASK] = {answer_devices, true},
};

sf_status_t sfc_lane_take(sfc_lane_t *lane, sf_request_t *request, const sfshm_slot_t *slot, uint64_t desc,
                          sfc_taken_how_t *how_p)
{
  const sfc_link_t *link = sfc_lane_incoming(lane, request->operation);
  size_t method = sfshm_desc_method(desc);
  sfc_taken_t taken = {SFC_TAKEN_ALL, (size_t)sfc_link_count(link, request->operation) * request->value_bytes};
  if (method >= sizeof forms / sizeof forms[0])
    return sfshm_error(SF_ERR_PROTO, "rank %d sent a message of unknown form", lane->rank);
  sf_status_t status = request->payload != NULL && method != SFSHM_METHOD_GROW
                           ? request->payload->take(lane, request, link, slot, (sfshm_method_t)method, &taken)
                           : forms[method].take(lane, request, link, slot, &taken);
  *how_p = taken.how;
  if (status != SF_OK || taken.how == SFC_TAKEN_LATER)
    return status;
  sfshm_count(&lane->counts->bytes_received, taken.bytes);
  /* The writer may reuse an eager block when it sees the message consumed. */
  sfc_lane_end_message(lane, forms[method].answers || sfshm_lane_is_eager(&lane->rx, slot));
  return SF_OK;
}
