/* Data of one operation over one lane between ranks of a node: choice of protocol, packing, posting; the fast path. The
 * thread that uses the graph. */
#ifndef SFC_ENGINE_LANE_SEND_H
#define SFC_ENGINE_LANE_SEND_H

#include "client/engine/in_flight.h"
#include "client/engine/offload.h"
#include "client/engine/op_trace.h"
#include "client/engine/protocol.h"
#include "client/engine/thread.h"
#include "shm/kernels/kernels_dense.h"

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* Data that a lane sends in an operation. */
typedef struct sfc_outgoing {
  const sfshm_pattern_t *pattern; /* in each source */
  int64_t n;
  int64_t runs;              /* of one field */
  const sfc_field_t *fields; /* of the request, or with other sources and kernels for these */
  int32_t nfields;
  bool of_device;
} sfc_outgoing_t;

static inline sfc_outgoing_t sfc_lane_find_outgoing(const sfc_lane_t *lane, const sf_request_t *request)
{
  sfc_outgoing_t out = {.fields = request->fields, .nfields = request->nfields, .of_device = request->devices != NULL};
  if (request->operation == SFSHM_BCAST) {
    out.pattern = &lane->as_root.value_root;
    out.n = lane->as_root.nvalues;
    out.runs = lane->as_root.root_runs;
  } else {
    out.pattern = &lane->as_leaf.leaf;
    out.n = lane->as_leaf.nedges;
    out.runs = lane->as_leaf.leaf_runs;
  }
  return out;
}

/* Takes all fields as one, if the request has them so for the lane. */
static inline void sfc_outgoing_flatten(const sfc_lane_t *lane, const sf_request_t *request, sfc_outgoing_t *out)
{
  const sfc_link_t *flat = sfc_flat_link(request, lane, true);
  if (flat == NULL)
    return;
  out->pattern = request->operation == SFSHM_BCAST ? &flat->value_root : &flat->leaf;
  out->n = flat->nvalues;
  out->fields = &request->flat->field;
  out->nfields = 1;
}

/* Packs a whole message, field after field. */
static inline void sfc_outgoing_pack(const sfc_outgoing_t *out, void *packed)
{
  for (int32_t k = 0; k < out->nfields; k++) {
    const sfc_field_t *field = &out->fields[k];
    field->move->pack(field->combine.unit, out->pattern, 0, out->n, field->source,
                      (char *)packed + (size_t)out->n * field->before_bytes);
  }
}

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

/* A message larger than a cell is divided into pieces, which writer and reader compute alike. A piece consists of runs:
 * consecutive values of one field, or, at the beginning, a part of one value that is larger than a cell. Parts are
 * multiples of the base type's size. */
typedef struct sfc_run {
  int64_t n; /* whole values; 0: a part of one, or nothing */
  size_t bytes;
} sfc_run_t;

/* The next run in room bytes of a piece; begins: the piece begins with it. No bytes: the piece ends. count: values of a
 * field. */
static inline sfc_run_t sfc_run_next(const sfc_field_t *field, const sfc_cursor_t *at, int64_t count, size_t room,
                                     bool begins)
{
  size_t unit_bytes = field->combine.unit_bytes, left = unit_bytes - at->bytes;
  uint64_t n = (uint64_t)(count - at->value);
  if (at->bytes == 0 && n * unit_bytes <= room) /* as a rule, and without a division */
    return (sfc_run_t){(int64_t)n, n * unit_bytes};
  if (at->bytes == 0 && unit_bytes <= room) {
    n = room / unit_bytes;
    return (sfc_run_t){(int64_t)n, n * unit_bytes};
  }
  if (!begins && at->bytes == 0)
    return (sfc_run_t){0};
  return (sfc_run_t){0, left < room ? left : room};
}

/* Moves the cursor behind the run. */
static inline void sfc_cursor_move(sfc_cursor_t *at, const sfc_field_t *field, int64_t count, sfc_run_t run)
{
  at->value += run.n;
  if (run.n == 0)
    at->bytes += run.bytes;
  if (at->bytes == field->combine.unit_bytes)
    *at = (sfc_cursor_t){at->field, at->value + 1, 0};
  if (at->value == count)
    *at = (sfc_cursor_t){at->field + 1, 0, 0};
}

/* Bytes of the piece at the cursor, at most most_bytes. */
static inline size_t sfc_piece_bytes(const sfc_field_t fields[], int32_t nfields, sfc_cursor_t at, int64_t count,
                                     size_t most_bytes)
{
  size_t bytes = 0;
  while (at.field < nfields) {
    const sfc_field_t *field = &fields[at.field];
    sfc_run_t run = sfc_run_next(field, &at, count, most_bytes - bytes, bytes == 0);
    if (run.bytes == 0)
      break;
    sfc_cursor_move(&at, field, count, run);
    bytes += run.bytes;
  }
  return bytes;
}

/* Bytes of the message behind the cursor. */
static inline size_t sfc_message_left(const sfc_field_t fields[], int32_t nfields, const sfc_cursor_t *at,
                                      int64_t count)
{
  const sfc_field_t *field = &fields[at->field], *last = &fields[nfields - 1];
  return (size_t)count * (last->before_bytes + last->combine.unit_bytes - field->before_bytes) -
         (size_t)at->value * field->combine.unit_bytes - at->bytes;
}

/* Whether the peer reads the request's data from the device, once it has said that it can. */
bool sfc_lane_reads_devices(const sfc_lane_t *lane, const sf_request_t *request);

/* The peer has read the data of that entry of awaiting. */
static inline void sfc_lane_settle(sfc_lane_t *lane, sf_request_t **entry)
{
  if (lane->offers != NULL)
    sfc_offload_end_source(lane, (uint64_t)(entry - lane->awaiting));
  (*entry)->sends_left--;
  lane->graph->progress.last_lane = lane;
  *entry = NULL;
  lane->tx_unread--;
  lane->graph->progress.nunread--;
}

/* Claims the slot for the next message; NULL: none is free. The slot's previous message has been consumed. */
static inline sfshm_slot_t *sfc_lane_claim(sfc_lane_t *lane)
{
  sfshm_slot_t *slot = sfshm_lane_claim(&lane->tx, &lane->rx);
  if (slot != NULL && lane->tx_unread > 0) {
    sf_request_t **entry = &lane->awaiting[lane->tx.posted % SFC_LANE_AWAITING];
    if (*entry != NULL)
      sfc_lane_settle(lane, entry);
  }
  return slot;
}

/* Notes that the message about to be posted refers to the request's data: the request ends when the peer has read
 * them. */
static inline void sfc_lane_expect_read(sfc_lane_t *lane, sf_request_t *request)
{
  lane->awaiting[lane->tx.posted % SFC_LANE_AWAITING] = request;
  lane->tx_unread++;
  lane->graph->progress.nunread++;
}

/* Publishes the claimed slot as a message of the request; bytes: of its data, for traces. */
static inline void sfc_lane_post(sfc_lane_t *lane, sfshm_slot_t *slot, sf_request_t *request, sfshm_method_t method,
                                 size_t bytes)
{
  sfshm_lane_post(&lane->tx, &lane->rx, slot, sfshm_desc_with_method(request->match, method));
  sfc_thread_note(lane->graph->user.thread, lane->peer->wake);
  sfshm_count(&lane->counts->messages_sent, 1);
  if (__builtin_expect(request->trace != 0, false))
    sfc_op_trace_sent(request, lane, lane->tx.posted, bytes);
}

/* Whether data for the peer are written past the caches. */
static inline bool sfc_lane_is_nontemporal(const sfc_lane_t *lane, size_t bytes)
{
  return lane->tx_nontemporal && bytes >= SFC_NONTEMPORAL_MIN;
}

/* Copies data into memory that the peer reads next. */
static inline void sfc_lane_write(const sfc_lane_t *lane, void *to, const void *from, size_t bytes)
{
  if (sfc_lane_is_nontemporal(lane, bytes))
    sfshm_dense_copy_nontemporal(to, from, bytes);
  else
    sfshm_dense_copy(to, from, bytes);
}

/* Ensures large enough cells for a payload; asks the peer for larger ones if necessary. false: they aren't there yet.
 */
bool sfc_lane_have_cells(sfc_lane_t *lane, sf_request_t *request, size_t payload_bytes);

/* Functions of lanes between ranks of a node: see lane_ops.h. */

bool sfc_lane_send_shared(sfc_lane_t *lane, sf_request_t *request);

/* Upper bound of the fast path: packed and unpacked faster than its cache lines travel. */
#define SFC_FAST_PATH_BYTES_MAX ((size_t)4 << 10)
_Static_assert(SFC_FAST_PATH_BYTES_MAX < SFSHM_PIECE_MOVES_FROM, "one piece, at the beginning of its cell");

/* Finds whether the request can take the fast path: one lane, consecutive values, in a slot or a small cell. An inline
 * message costs a few dozen instructions and one cache line; a message in a cell a few dozen more, few enough to
 * prefetch the cell while the slot travels. */
void sfc_fast_path_find(sf_request_t *request);

/* For data larger than a slot. false: the lane takes nothing now, or has no such cells. */
bool sfc_fast_path_send_cell(sf_request_t *request, sfc_thread_t *thread);

/* Sends on the fast path. false: the lane takes nothing now. */
static inline bool sfc_fast_path_send(sf_request_t *request, sfc_thread_t *thread)
{
  const sfc_fast_path_t *send = &request->send;
  sfc_lane_t *lane = send->lane;
  if (send->bytes > SFSHM_INLINE_BYTES)
    return sfc_fast_path_send_cell(request, thread);
  sfshm_slot_t *slot = lane->tx_stalled ? NULL : sfc_lane_claim(lane);
  if (slot == NULL)
    return false;
  sfshm_slot_write(slot, send->values, send->bytes);
  sfshm_lane_post(&lane->tx, &lane->rx, slot, sfshm_desc_with_method(request->match, SFSHM_METHOD_INLINE));
  sfc_thread_note(thread, lane->peer->wake);
  sfshm_count(&lane->counts->messages_sent, 1);
  sfshm_count(&lane->counts->bytes_inline, send->bytes);
  request->sends_left = 0;
  return true;
}

/* Ends parts of requests that the peer has finished reading in place. Returns whether there were any. */
bool sfc_lane_check_read(sfc_lane_t *lane);

static inline const sfc_link_t *sfc_lane_outgoing(const sfc_lane_t *lane, sfshm_operation_t operation)
{
  return operation == SFSHM_BCAST ? &lane->as_root : &lane->as_leaf;
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

static inline const sfc_link_t *sfc_lane_incoming(const sfc_lane_t *lane, sfshm_operation_t operation)
{
  return operation == SFSHM_BCAST ? &lane->as_leaf : &lane->as_root;
}

bool sfc_lane_receive_shared(sfc_lane_t *lane);

/* Closes the peers' device regions that lanes of a failed graph were reading. */
void sfc_graph_end_reading(sf_graph_t *graph);

/* Returns the slot of the message just taken; tell: at once, because the writer waits. */
static inline void sfc_lane_end_message(sfc_lane_t *lane, bool tell)
{
  if (sfshm_lane_consume(&lane->rx, tell))
    sfc_thread_note(lane->graph->user.thread, lane->peer->wake);
  sfshm_count(&lane->counts->messages_received, 1);
  if (lane->rx_awaited != 0) { /* the awaited message has arrived */
    sfshm_lane_await(&lane->rx, 0);
    lane->rx_awaited = 0;
  }
}

/* Ends the lane's part in rx_request and turns to the next request. */
static inline void sfc_lane_end_request(sfc_lane_t *lane)
{
  sf_request_t *request = lane->rx_request;
  bool is_last = request->sequence == lane->graph->flight.last_sequence;
  request->receives_left--;
  lane->graph->progress.last_lane = lane;
  lane->rx_request = is_last ? NULL : sfc_lane_next_request(lane, request->sequence);
}

/* For data larger than a slot: takes it if it came in one piece. */
bool sfc_fast_path_take_cell(sfc_lane_t *lane, const sfshm_slot_t *slot);

/* Receives the message in the slot on the fast path. false: it has to take the general path. */
static inline bool sfc_fast_path_receive(sfc_lane_t *lane, const sfshm_slot_t *slot)
{
  sf_request_t *request = lane->rx_request;
  const sfc_fast_path_t *receive = &request->receive;
  if (receive->lane != lane || request->trace != 0)
    return false;
  if (receive->bytes > SFSHM_INLINE_BYTES) {
    if (!sfc_fast_path_take_cell(lane, slot))
      return false;
  } else {
    if (slot->desc != sfshm_desc_with_method(request->match, SFSHM_METHOD_INLINE))
      return false;
    if (sfshm_lane_has_answered(&lane->rx))
      sfshm_lane_fetch_next(&lane->tx, receive->bytes);
    sfshm_slot_read(receive->values, slot, receive->bytes);
  }
  sfshm_count(&lane->counts->bytes_received, receive->bytes);
  sfc_lane_end_message(lane, false);
  sfc_lane_end_request(lane);
  return true;
}

#endif
