/* Messages on streams: see operation.h. */
#include "client/engine.h"
#include "client/streams/device_slots.h"
#include "client/streams/move.h"
#include "client/streams/trunk.h"
#include "shm/base/error.h"

static sfc_lane_t *lane_of(const sfc_streams_t *streams, int32_t i)
{
  return &streams->graph->lanes[i];
}

static int32_t number_of(const sfc_streams_t *streams, const sfc_lane_t *lane)
{
  return (int32_t)(lane - streams->graph->lanes);
}

static bool is_to_node(const sfc_streams_t *streams, int32_t i)
{
  return i >= streams->nlanes;
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

/* A word of an area. */
static sfshm_stream_word_t word_of(sfc_stream_pinned_t area, _Atomic uint32_t *word, uint32_t value)
{
  return (sfshm_stream_word_t){.word = word, .seen_at = area.device + ((const char *)word - area.host), .value = value};
}

/* Holds the stream back until all words of the lanes have come to their values: by one command, or, if it is traced,
 * by one for each. */
static sf_status_t await(const sfc_streams_t *streams, const sf_streamed_t *streamed, sfc_lane_t *const lanes[],
                         int32_t nlanes)
{
  sf_status_t status = SF_OK;
  if (!streamed->is_traced)
    return streams->ops->await(streams->device, streams->words, nlanes);
  for (int32_t k = 0; k < nlanes && status == SF_OK; k++) {
    sfc_streams_watch_work(streams, streamed, lanes[k], SFSHM_TRACE_WORK_AWAIT);
    status = streams->ops->await(streams->device, &streams->words[k], 1);
  }
  return status;
}

/* ---- Moves ------------------------------------------------------------------------------------------------------- */

/* From the source to the slots. */
static void list_sends(sfc_streams_t *streams, const sf_streamed_t *streamed)
{
  sfshm_operation_t operation = streamed->operation;
  const sf_graph_t *graph = streams->graph;
  sfc_moves_begin(streams->moves, streamed->unit, SFSHM_OP_REPLACE);
  for (int32_t k = 0; k < graph->routes.nsenders[operation]; k++) {
    const sfc_lane_t *lane = graph->routes.senders[operation][k];
    int32_t i = number_of(streams, lane);
    char *slot = sfc_streams_address(streams->slots[i], streamed->source_on_host);
    if (is_to_node(streams, i))
      sfc_streams_nodes_add_send(streams->nodes, streamed, i, slot, streams->moves);
    else
      sfc_move_add_pack(streamed, sfc_lane_outgoing(lane, operation), lane, slot, streams->moves);
  }
}

/* turn: of a reduce, the number of the trunk's turn. */
static void list_receive(sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i, int32_t turn)
{
  const char *slot = sfc_streams_address(streams->slots[i], streamed->target_on_host);
  if (is_to_node(streams, i))
    sfc_streams_nodes_add_receive(streams->nodes, streamed, i, turn, slot, streams->moves);
  else
    sfc_move_add_unpack(streamed, sfc_lane_incoming(lane_of(streams, i), streamed->operation), lane_of(streams, i),
                        slot, streams->moves);
}

/* From the slots to the target, in the order in which an ordinary operation combines. */
static void list_receives(sfc_streams_t *streams, const sf_streamed_t *streamed)
{
  const sf_graph_t *graph = streams->graph;
  sfc_moves_begin(streams->moves, streamed->unit, streamed->op);
  if (streamed->operation == SFSHM_BCAST) {
    sfc_move_add_self(streams, streamed, streams->moves);
    for (int32_t k = 0; k < graph->routes.nreceivers[SFSHM_BCAST]; k++)
      list_receive(streams, streamed, number_of(streams, graph->routes.receivers[SFSHM_BCAST][k]), 0);
    return;
  }
  for (int32_t k = 0; k < graph->plan.nturns; k++) {
    const sfc_turn_t *turn = &graph->plan.turns[k];
    if (!sfc_turn_is_of(turn, streamed->op == SFSHM_OP_REPLACE))
      continue;
    if (turn->lane == SFC_SELF_TURN)
      sfc_move_add_self(streams, streamed, streams->moves);
    else
      list_receive(streams, streamed, turn->lane, turn->number);
  }
}

static sf_status_t prepare_listed(sfc_streams_t *streams, sfc_moves_kind_t kind)
{
  const sfc_moves_t *moves = streams->moves;
  return sfc_streams_status(
      streams, streams->ops->prepare_all(streams->device, moves->moves, moves->n, &streams->prepared[kind]));
}

/* Each message goes to memory of its own, and all that comes to the same target. */
sf_status_t sfc_streams_prepare(sfc_streams_t *streams)
{
  static const struct {
    sfc_moves_kind_t kind;
    sfshm_operation_t operation;
    sfshm_op_t op;
  } receives[] = {{SFC_MOVES_BCAST, SFSHM_BCAST, SFSHM_OP_REPLACE},
                  {SFC_MOVES_REDUCE, SFSHM_REDUCE, SFSHM_OP_SUM},
                  {SFC_MOVES_WINNERS, SFSHM_REDUCE, SFSHM_OP_REPLACE}};
  sf_streamed_t streamed = {.unit = {SFSHM_BASE_INT8, 1}};
  /* The rank's own edges, where they take a slot: all else of them is among the moves. */
  sf_status_t status = sfc_streams_status(
      streams, streams->ops->prepare(streams->device, &streams->graph->plan.self.extra_value, false));
  for (int32_t i = 0; i < streams->graph->nlanes; i++)
    streams->slots[i].host = streams->slots[i].device = (char *)(uintptr_t)(i + 1);
  for (int operation = 0; operation < 2 && status == SF_OK; operation++) {
    streamed.operation = (sfshm_operation_t)operation;
    list_sends(streams, &streamed);
    status = prepare_listed(streams, operation == SFSHM_BCAST ? SFC_MOVES_SEND_BCAST : SFC_MOVES_SEND_REDUCE);
  }
  for (size_t i = 0; i < sizeof receives / sizeof receives[0] && status == SF_OK; i++) {
    streamed.operation = receives[i].operation;
    streamed.op = receives[i].op;
    list_receives(streams, &streamed);
    status = prepare_listed(streams, receives[i].kind);
  }
  return status;
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* Numbers the message. Returns the word that tells that there is a slot for it. */
static sfshm_stream_word_t begin_send(sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i)
{
  if (is_to_node(streams, i))
    return sfc_streams_nodes_begin_send(streams->nodes, streamed, i, &streams->sent[i], &streams->slots[i]);
  const sfc_stream_way_t *way = &streams->room.ways[i];
  uint32_t message = atomic_fetch_add(&streams->lanes[i].nsent, 1) + 1;
  streams->sent[i] = message;
  streams->slots[i] = sfc_streams_slot_of(way->peer_area, way->peer_slot_bytes, way->peer_device_slots, message);
  return word_of(way->area, &sfc_stream_area(way->area)->acks[message % SF_STREAMS_IN_FLIGHT],
                 message - SF_STREAMS_IN_FLIGHT);
}

/* Copies a message between a slot on a device and that in pinned memory, as data of the host are only brought to the
 * latter, and from there. */
static sf_status_t copy_message(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i,
                                const sfc_link_t *link, const char *from, char *to, sfshm_trace_work_t work)
{
  int64_t n = sfc_link_count(link, streamed->operation);
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, n);
  sfshm_move_t move = sfc_move_of(all, from, all, to, n);
  if (n == 0)
    return SF_OK;
  sfc_streams_watch_work(streams, streamed, lane_of(streams, i), work);
  return sfc_move(streams, false, streamed->unit, SFSHM_OP_REPLACE, &move);
}

/* Whether the host packs what is to be sent from a device. */
static bool is_passed_on(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i)
{
  return !is_to_node(streams, i) && streams->room.ways[i].peer_device_slots != NULL && streamed->source_on_host;
}

static sfshm_stream_word_t ready_word(const sfc_streams_t *streams, int32_t i)
{
  sfc_stream_pinned_t area = streams->room.ways[i].peer_area;
  return word_of(area, &sfc_stream_area(area)->ready, (uint32_t)streams->sent[i]);
}

/* What is not done when the slots are filled. */
static sf_status_t end_send(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i)
{
  if (is_to_node(streams, i))
    return sfc_streams_nodes_end_send(streams->nodes, streamed, i, streams->sent[i], streams->slots[i]);
  if (!is_passed_on(streams, streamed, i))
    return SF_OK;
  const sfc_stream_way_t *way = &streams->room.ways[i];
  sfshm_stream_word_t word = ready_word(streams, i);
  sf_status_t status =
      copy_message(streams, streamed, i, sfc_lane_outgoing(lane_of(streams, i), streamed->operation),
                   sfc_streams_slot_pinned(way->peer_area, way->peer_slot_bytes, streams->sent[i]).device,
                   streams->slots[i].device, SFSHM_TRACE_WORK_FROM_HOST);
  return status == SF_OK ? streams->ops->raise(streams->device, &word, 1) : status;
}

/* Numbers what will be received. */
static void expect(sfc_streams_t *streams, sf_streamed_t *streamed)
{
  const sf_graph_t *graph = streams->graph;
  for (int32_t k = 0; k < graph->routes.nreceivers[streamed->operation]; k++) {
    int32_t i = number_of(streams, graph->routes.receivers[streamed->operation][k]);
    if (!is_to_node(streams, i))
      streamed->messages[i] = atomic_fetch_add(&streams->lanes[i].nreceived, 1) + 1;
  }
  if (streams->nodes != NULL)
    sfc_streams_nodes_expect(streams->nodes, streamed);
}

/* What kernels do between the data on the device and slots, of which those of some lanes may be pinned. */
static sfshm_trace_work_t work_of(const sfc_streams_t *streams, const sf_streamed_t *streamed, bool is_sent)
{
  sfshm_operation_t operation = streamed->operation;
  const sf_graph_t *graph = streams->graph;
  int32_t n = is_sent ? graph->routes.nsenders[operation] : graph->routes.nreceivers[operation];
  for (int32_t k = 0; k < n; k++) {
    int32_t i =
        number_of(streams, is_sent ? graph->routes.senders[operation][k] : graph->routes.receivers[operation][k]);
    const sfc_stream_way_t *way = &streams->room.ways[i];
    if (is_to_node(streams, i) || (is_sent ? way->peer_device_slots : way->device_slots) == NULL)
      return is_sent ? SFSHM_TRACE_WORK_TO_HOST : SFSHM_TRACE_WORK_FROM_HOST;
  }
  return SFSHM_TRACE_WORK_WITHIN;
}

sf_status_t sfc_streams_send(sfc_streams_t *streams, sf_streamed_t *streamed)
{
  sfshm_operation_t operation = streamed->operation;
  sfc_lane_t *const *lanes = streams->graph->routes.senders[operation];
  int32_t nlanes = streams->graph->routes.nsenders[operation], nwords = 0;
  sfc_moves_kind_t kind = operation == SFSHM_BCAST ? SFC_MOVES_SEND_BCAST : SFC_MOVES_SEND_REDUCE;
  expect(streams, streamed);
  for (int32_t k = 0; k < nlanes; k++)
    streams->words[k] = begin_send(streams, streamed, number_of(streams, lanes[k]));
  sf_status_t status = await(streams, streamed, lanes, nlanes);
  if (status != SF_OK)
    return status;
  for (int32_t k = 0; k < nlanes; k++) {
    int32_t i = number_of(streams, lanes[k]);
    if (!is_to_node(streams, i) && !is_passed_on(streams, streamed, i))
      streams->words[nwords++] = ready_word(streams, i);
  }
  list_sends(streams, streamed);
  status = sfc_moves_give(streams, streamed, streams->prepared[kind], streamed->source_on_host,
                          work_of(streams, streamed, true), nwords);
  for (int32_t k = 0; k < nlanes && status == SF_OK; k++)
    status = end_send(streams, streamed, number_of(streams, lanes[k]));
  return status;
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

/* Returns the word that tells that the message has come. */
static sfshm_stream_word_t begin_receive(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i)
{
  if (is_to_node(streams, i))
    return sfc_streams_nodes_begin_receive(streams->nodes, streamed, i, &streams->slots[i]);
  const sfc_stream_way_t *way = &streams->room.ways[i];
  streams->slots[i] = sfc_streams_slot_of(way->area, way->slot_bytes, way->device_slots, streamed->messages[i]);
  sfshm_stream_word_t word = word_of(way->area, &sfc_stream_area(way->area)->ready, (uint32_t)streamed->messages[i]);
  word.flush = way->is_from_peer;
  return word;
}

/* The host gets what it unpacks. */
static sf_status_t bring(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i)
{
  const sfc_stream_way_t *way = &streams->room.ways[i];
  if (!streamed->target_on_host || is_to_node(streams, i) || way->device_slots == NULL)
    return SF_OK;
  return copy_message(
      streams, streamed, i, sfc_lane_incoming(lane_of(streams, i), streamed->operation), streams->slots[i].device,
      sfc_streams_slot_pinned(way->area, way->slot_bytes, streamed->messages[i]).device, SFSHM_TRACE_WORK_TO_HOST);
}

static sfshm_stream_word_t ack_word(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i)
{
  sfc_stream_pinned_t area = streams->room.ways[i].peer_area;
  uint32_t message = (uint32_t)streamed->messages[i];
  return word_of(area, &sfc_stream_area(area)->acks[message % SF_STREAMS_IN_FLIGHT], message);
}

sf_status_t sfc_streams_receive(sfc_streams_t *streams, const sf_streamed_t *streamed)
{
  sfshm_operation_t operation = streamed->operation;
  sfc_lane_t *const *lanes = streams->graph->routes.receivers[operation];
  int32_t nlanes = streams->graph->routes.nreceivers[operation], nwords = 0;
  sfc_moves_kind_t kind = operation == SFSHM_BCAST           ? SFC_MOVES_BCAST
                          : streamed->op == SFSHM_OP_REPLACE ? SFC_MOVES_WINNERS
                                                             : SFC_MOVES_REDUCE;
  sf_status_t status = sfc_move_self(streams, streamed);
  for (int32_t k = 0; k < nlanes; k++)
    streams->words[k] = begin_receive(streams, streamed, number_of(streams, lanes[k]));
  if (status == SF_OK)
    status = await(streams, streamed, lanes, nlanes);
  for (int32_t k = 0; k < nlanes && status == SF_OK; k++)
    status = bring(streams, streamed, number_of(streams, lanes[k]));
  if (status != SF_OK)
    return status;
  for (int32_t k = 0; k < nlanes; k++) {
    int32_t i = number_of(streams, lanes[k]);
    if (!is_to_node(streams, i))
      streams->words[nwords++] = ack_word(streams, streamed, i);
  }
  list_receives(streams, streamed);
  status = sfc_moves_give(streams, streamed, streams->prepared[kind], streamed->target_on_host,
                          work_of(streams, streamed, false), nwords);
  for (int32_t k = 0; k < nlanes && status == SF_OK; k++)
    if (is_to_node(streams, number_of(streams, lanes[k])))
      status = sfc_streams_nodes_end_receive(streams->nodes, streamed, number_of(streams, lanes[k]));
  return status;
}
