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

/* A word of an area: for the host, and for devices. */
static sfc_seen_t word_of(sfc_seen_t area, const _Atomic uint32_t *word)
{
  return sfc_seen_behind(area, (size_t)((const char *)word - area.host));
}

static sf_status_t raise_word(const sfc_streams_t *streams, sfc_seen_t word, uint32_t value)
{
  return streams->ops->raise(streams->device, (_Atomic uint32_t *)(void *)word.host, word.device, value);
}

static sf_status_t await_word(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i, sfc_seen_t word,
                              uint32_t value, bool flush)
{
  sfc_streams_watch_work(streams, streamed, lane_of(streams, i), SFSHM_TRACE_WORK_AWAIT);
  return streams->ops->await(streams->device, word.device, value, flush);
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
    char *slot = sfc_seen_by(streams->slots[i], streamed->source_on_host);
    if (is_to_node(streams, i))
      sfc_nodes_add_send(streams->nodes, streamed, i, slot, streams->moves);
    else
      sfc_move_add_pack(streamed, sfc_lane_outgoing(lane, operation), lane, slot, streams->moves);
  }
}

/* turn: of a reduce, the number of the trunk's turn. */
static void list_receive(sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i, int32_t turn)
{
  const char *slot = sfc_seen_by(streams->slots[i], streamed->target_on_host);
  if (is_to_node(streams, i))
    sfc_nodes_add_receive(streams->nodes, streamed, i, turn, slot, streams->moves);
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
  sf_status_t status =
      streams->ops->prepare_all(streams->device, streams->moves->moves, streams->moves->n, &streams->prepared[kind]);
  return status == SF_OK ? SF_OK : sfshm_error(status, "%s", streams->plugin->detail());
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
  sf_status_t status = streams->ops->prepare(streams->device, &streams->graph->plan.self.extra_value, false);
  if (status != SF_OK)
    return sfshm_error(status, "%s", streams->plugin->detail());
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

/* Holds the stream back until there is a slot for the message. */
static sf_status_t begin_send(sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i)
{
  if (is_to_node(streams, i))
    return sfc_nodes_begin_send(streams->nodes, streamed, i, &streams->sent[i], &streams->slots[i]);
  const sfc_stream_way_t *way = &streams->room.ways[i];
  uint32_t message = atomic_fetch_add(&streams->lanes[i].nsent, 1) + 1;
  const _Atomic uint32_t *ack = &sfc_stream_area(way->area)->acks[message % SF_STREAMS_IN_FLIGHT];
  streams->sent[i] = message;
  streams->slots[i] = sfc_slot_of(way->peer_area, way->peer_slot_bytes, way->peer_device_slots, message);
  return await_word(streams, streamed, i, word_of(way->area, ack), message - SF_STREAMS_IN_FLIGHT, false);
}

/* Copies a message between a slot on a device and that in pinned memory, as data of the host are only brought to the
 * latter, and from there. */
static sf_status_t copy_message(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i,
                                const sfc_link_t *link, const char *from, char *to, sfshm_trace_work_t work)
{
  int64_t n = sfc_link_count(link, streamed->operation);
  sfshm_move_t move = {.from_pattern = sfshm_pattern_contiguous(0, n),
                       .from = from,
                       .to_pattern = sfshm_pattern_contiguous(0, n),
                       .to = to,
                       .n = n};
  if (n == 0)
    return SF_OK;
  sfc_streams_watch_work(streams, streamed, lane_of(streams, i), work);
  return sfc_move(streams, false, streamed->unit, SFSHM_OP_REPLACE, &move);
}

/* What the host has packed goes on. */
static sf_status_t pass_on(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i)
{
  const sfc_stream_way_t *way = &streams->room.ways[i];
  if (is_to_node(streams, i) || way->peer_device_slots == NULL || !streamed->source_on_host)
    return SF_OK;
  return copy_message(streams, streamed, i, sfc_lane_outgoing(lane_of(streams, i), streamed->operation),
                      sfc_slot_pinned(way->peer_area, way->peer_slot_bytes, streams->sent[i]).device,
                      streams->slots[i].device, SFSHM_TRACE_WORK_FROM_HOST);
}

static sf_status_t end_send(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i)
{
  if (is_to_node(streams, i))
    return sfc_nodes_end_send(streams->nodes, streamed, i, streams->sent[i], streams->slots[i]);
  sfc_seen_t area = streams->room.ways[i].peer_area;
  sf_status_t status = pass_on(streams, streamed, i);
  return status == SF_OK ? raise_word(streams, word_of(area, &sfc_stream_area(area)->ready), (uint32_t)streams->sent[i])
                         : status;
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
    sfc_nodes_expect(streams->nodes, streamed);
}

/* Whether something goes to pinned memory. */
static bool sends_to_host(const sfc_streams_t *streams, const sf_streamed_t *streamed)
{
  const sf_graph_t *graph = streams->graph;
  for (int32_t k = 0; k < graph->routes.nsenders[streamed->operation]; k++) {
    int32_t i = number_of(streams, graph->routes.senders[streamed->operation][k]);
    if (is_to_node(streams, i) ? !sfc_nodes_are_on_device(streams->nodes, streamed, i, true)
                               : streams->room.ways[i].peer_device_slots == NULL)
      return true;
  }
  return false;
}

sf_status_t sfc_streams_send(sfc_streams_t *streams, sf_streamed_t *streamed)
{
  const sf_graph_t *graph = streams->graph;
  sfshm_operation_t operation = streamed->operation;
  sfc_moves_kind_t kind = operation == SFSHM_BCAST ? SFC_MOVES_SEND_BCAST : SFC_MOVES_SEND_REDUCE;
  sf_status_t status = SF_OK;
  expect(streams, streamed);
  for (int32_t k = 0; k < graph->routes.nsenders[operation] && status == SF_OK; k++)
    status = begin_send(streams, streamed, number_of(streams, graph->routes.senders[operation][k]));
  if (status == SF_OK) {
    list_sends(streams, streamed);
    status = sfc_moves_give(streams, streamed, streams->moves, streams->prepared[kind], streamed->source_on_host,
                            sends_to_host(streams, streamed) ? SFSHM_TRACE_WORK_TO_HOST : SFSHM_TRACE_WORK_WITHIN);
  }
  for (int32_t k = 0; k < graph->routes.nsenders[operation] && status == SF_OK; k++)
    status = end_send(streams, streamed, number_of(streams, graph->routes.senders[operation][k]));
  return status;
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

/* Holds the stream back until the message has come. */
static sf_status_t begin_receive(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i)
{
  if (is_to_node(streams, i))
    return sfc_nodes_begin_receive(streams->nodes, streamed, i, &streams->slots[i]);
  const sfc_stream_way_t *way = &streams->room.ways[i];
  streams->slots[i] = sfc_slot_of(way->area, way->slot_bytes, way->device_slots, streamed->messages[i]);
  return await_word(streams, streamed, i, word_of(way->area, &sfc_stream_area(way->area)->ready),
                    (uint32_t)streamed->messages[i], way->is_from_peer);
}

/* The host gets what it unpacks. */
static sf_status_t bring(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i)
{
  const sfc_stream_way_t *way = &streams->room.ways[i];
  if (is_to_node(streams, i) || way->device_slots == NULL || !streamed->target_on_host)
    return SF_OK;
  return copy_message(
      streams, streamed, i, sfc_lane_incoming(lane_of(streams, i), streamed->operation), streams->slots[i].device,
      sfc_slot_pinned(way->area, way->slot_bytes, streamed->messages[i]).device, SFSHM_TRACE_WORK_TO_HOST);
}

static sf_status_t end_receive(const sfc_streams_t *streams, const sf_streamed_t *streamed, int32_t i)
{
  if (is_to_node(streams, i))
    return sfc_nodes_end_receive(streams->nodes, streamed, i);
  sfc_seen_t area = streams->room.ways[i].peer_area;
  uint32_t message = (uint32_t)streamed->messages[i];
  return raise_word(streams, word_of(area, &sfc_stream_area(area)->acks[message % SF_STREAMS_IN_FLIGHT]), message);
}

/* Whether something comes from pinned memory. */
static bool gets_from_host(const sfc_streams_t *streams, const sf_streamed_t *streamed)
{
  const sf_graph_t *graph = streams->graph;
  for (int32_t k = 0; k < graph->routes.nreceivers[streamed->operation]; k++) {
    int32_t i = number_of(streams, graph->routes.receivers[streamed->operation][k]);
    if (is_to_node(streams, i) ? !sfc_nodes_are_on_device(streams->nodes, streamed, i, false)
                               : streams->room.ways[i].device_slots == NULL)
      return true;
  }
  return false;
}

sf_status_t sfc_streams_receive(sfc_streams_t *streams, const sf_streamed_t *streamed)
{
  const sf_graph_t *graph = streams->graph;
  sfshm_operation_t operation = streamed->operation;
  sfc_moves_kind_t kind = operation == SFSHM_BCAST           ? SFC_MOVES_BCAST
                          : streamed->op == SFSHM_OP_REPLACE ? SFC_MOVES_WINNERS
                                                             : SFC_MOVES_REDUCE;
  sf_status_t status = sfc_move_self(streams, streamed);
  for (int32_t k = 0; k < graph->routes.nreceivers[operation] && status == SF_OK; k++)
    status = begin_receive(streams, streamed, number_of(streams, graph->routes.receivers[operation][k]));
  for (int32_t k = 0; k < graph->routes.nreceivers[operation] && status == SF_OK; k++)
    status = bring(streams, streamed, number_of(streams, graph->routes.receivers[operation][k]));
  if (status == SF_OK) {
    list_receives(streams, streamed);
    status = sfc_moves_give(streams, streamed, streams->moves, streams->prepared[kind], streamed->target_on_host,
                            gets_from_host(streams, streamed) ? SFSHM_TRACE_WORK_FROM_HOST : SFSHM_TRACE_WORK_WITHIN);
  }
  for (int32_t k = 0; k < graph->routes.nreceivers[operation] && status == SF_OK; k++)
    status = end_receive(streams, streamed, number_of(streams, graph->routes.receivers[operation][k]));
  return status;
}
