/* Streams over nodes: what they send and receive. See trunk.h. */
#include "client/streams/trunk.h"

#include <stdlib.h>

#include "client/core.h"
#include "client/engine.h"
#include "client/graph.h"
#include "client/setup.h"
#include "client/streams/move.h"
#include "shm/base/error.h"

_Static_assert(SFSHM_TRUNK_LARGE_SLOTS >= SF_STREAMS_IN_FLIGHT, "streams begin so many messages before they end one");

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static sf_status_t pin(const sfc_stream_nodes_t *nodes, void *base, size_t length_bytes, sfc_stream_pinned_t *seen_p)
{
  const sfc_streams_t *streams = nodes->streams;
  size_t page = sfshm_page_bytes();
  char *seen_at;
  sf_status_t status = sfc_streams_status(
      streams, streams->ops->pin(streams->device, base, (length_bytes + page - 1) / page * page, &seen_at));
  if (status == SF_OK)
    *seen_p = (sfc_stream_pinned_t){base, seen_at};
  return status;
}

sf_status_t sfc_streams_nodes_grow(sfc_stream_nodes_t *nodes, size_t unit_bytes)
{
  sf_status_t status = SF_OK;
  if (nodes->board.host == NULL)
    return SF_OK;
  while (status == SF_OK && (nodes->nexchanges == 0 || (UINT64_C(4) << nodes->nexchanges) < unit_bytes)) {
    sfc_exchange_t *exchange;
    status = nodes->nexchanges < SFC_STREAMS_CLASSES
                 ? sfc_trunks_exchange(nodes->copy, (size_t)8 << nodes->nexchanges, &exchange)
                 : sfshm_error(SF_ERR_LIMIT, "unit of %zu bytes", unit_bytes);
    if (status == SF_OK)
      status = pin(nodes, exchange->region.base, exchange->region.length_bytes, &nodes->slots[nodes->nexchanges]);
    if (status == SF_OK)
      nodes->exchanges[nodes->nexchanges++] = exchange;
  }
  return status;
}

/* Whether the copy's lanes are where the graph's are. */
static bool is_alike(const sf_graph_t *graph, const sf_graph_t *copy)
{
  bool alike = graph->nlanes == copy->nlanes;
  for (int32_t i = 0; i < graph->nlanes && alike; i++)
    alike = graph->lanes[i].rank == copy->lanes[i].rank &&
            (graph->lanes[i].trunk == NULL) == (copy->lanes[i].trunk == NULL);
  return alike;
}

/* What is not given together with other moves. */
static sf_status_t prepare_trunk(const sfc_streams_t *streams, const sfc_trunk_t *trunk)
{
  sf_status_t status = streams->ops->prepare(streams->device, &trunk->extra_leaf, false);
  if (status == SF_OK)
    status = streams->ops->prepare(streams->device, &trunk->extra_to, true);
  return sfc_streams_status(streams, status);
}

static sf_status_t open_trunks(sfc_stream_nodes_t *nodes, size_t unit_bytes)
{
  sfc_trunks_t *trunks = nodes->copy->trunks;
  sf_status_t status = pin(nodes, trunks->board, sfshm_trunk_board_bytes(trunks->map->nsides), &nodes->board);
  if (status == SF_OK)
    atomic_store(&trunks->board->on_streams, 1);
  if (status == SF_OK)
    status = sfc_streams_nodes_grow(nodes, unit_bytes);
  for (int32_t i = 0; i < trunks->ntrunks && status == SF_OK; i++)
    status = prepare_trunk(nodes->streams, &trunks->trunks[i]);
  return status;
}

sf_status_t sfc_streams_nodes_open(sfc_streams_t *streams, sf_graph_t *copy, size_t unit_bytes)
{
  sfc_stream_nodes_t *nodes = calloc(1, sizeof *nodes);
  if (nodes == NULL) {
    (void)sf_graph_destroy(copy);
    return sfshm_error(SF_ERR_NOMEM, "streams over nodes");
  }
  streams->nodes = nodes;
  *nodes = (sfc_stream_nodes_t){.streams = streams, .copy = copy};
  pthread_mutex_init(&nodes->lock, NULL);
  sfc_graph_set_parent(copy, streams->graph);
  if (!is_alike(streams->graph, copy))
    return sfshm_error(SF_ERR_PROTO, "graph %llu has other trunks than its copy",
                       (unsigned long long)streams->graph->number);
  return copy->trunks != NULL ? open_trunks(nodes, unit_bytes) : SF_OK;
}

void sfc_streams_nodes_unpin(sfc_stream_nodes_t *nodes)
{
  if (nodes == NULL)
    return;
  const sfc_streams_t *streams = nodes->streams;
  while (nodes->nexchanges > 0)
    streams->ops->unpin(streams->device, nodes->slots[--nodes->nexchanges].host);
  if (nodes->board.host != NULL)
    streams->ops->unpin(streams->device, nodes->board.host);
}

void sfc_streams_nodes_close(sfc_stream_nodes_t *nodes)
{
  if (nodes == NULL)
    return;
  sfc_graph_set_parent(nodes->copy, NULL);
  nodes->copy->flight.last_sequence = nodes->nbegun; /* as messages number them: the daemon is told so */
  (void)sf_graph_destroy(nodes->copy);
  pthread_mutex_destroy(&nodes->lock);
  free(nodes);
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static sfc_trunk_t *trunk_of(const sfc_stream_nodes_t *nodes, int32_t lane)
{
  return nodes->copy->lanes[lane].trunk;
}

/* Of the exchange for the operation's units. */
static int32_t class_of(const sf_streamed_t *streamed)
{
  return __builtin_ctzll(sfshm_exchange_class(sfshm_unit_size(streamed->unit))) - 3;
}

static sfc_stream_pinned_t pinned_slot(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed,
                                       const sfc_trunk_side_t *side, uint64_t message, bool is_sent)
{
  int32_t class = class_of(streamed);
  const sfc_exchange_t *exchange = nodes->exchanges[class];
  return sfc_streams_pinned_at(nodes->slots[class], is_sent ? sfc_trunk_send_slot(exchange, side, message)
                                                            : sfc_trunk_receive_slot(exchange, side, message));
}

/* The lower half of a counter of the board. */
static sfshm_stream_word_t word_of(const sfc_stream_nodes_t *nodes, const _Atomic uint64_t *counter, uint64_t message)
{
  return (sfshm_stream_word_t){.seen_at = nodes->board.device + ((const char *)counter - nodes->board.host),
                               .value = (uint32_t)message};
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* What a function on a stream has to know. */
typedef struct passing {
  sfc_stream_nodes_t *nodes;
  const sfc_trunk_t *trunk;
  const sfc_trunk_side_t *side;
  uint64_t message;
  uint64_t match;
  sfshm_unit_t unit;
  sfshm_op_t op;
  char *slot;
  bool staged; /* there is something to be added up in it */
} passing_t;

/* The first contributions of this rank are in the slot. */
static void start_values(void *argument)
{
  const passing_t *passing = argument;
  sfshm_kernels_start(passing->unit, passing->op, &passing->trunk->to, passing->trunk->nvalues, passing->slot);
}

static void publish(void *argument)
{
  const passing_t *passing = argument;
  sf_graph_t *copy = passing->nodes->copy;
  const sfc_trunk_side_t *side = passing->side;
  if (sfc_streams_nodes_are_released(passing->nodes))
    return;
  if (!sfc_trunk_count_packed(side, passing->message, 0))
    return;
  if (passing->staged)
    (void)sfc_trunk_combine(passing->trunk, passing->unit, sfshm_kernels_find(passing->unit, passing->op),
                            passing->slot); /* layers were checked when the map was opened */
  sfc_submit_ring_write_trunk(&copy->context->submit_ring, SFSHM_SUBMIT_SEND, copy->number, side->number,
                              passing->message, passing->match, sfshm_unit_size(passing->unit), false);
}

void sfc_streams_nodes_add_send(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                                char *slot, sfc_moves_t *moves)
{
  const sfc_trunk_t *trunk = trunk_of(nodes, lane);
  sfshm_move_t move = sfc_move_of(trunk->leaf, streamed->source, trunk->to, slot, trunk->nvalues);
  if (streamed->operation == SFSHM_BCAST)
    move = sfc_move_of(trunk->root, streamed->source, sfshm_pattern_contiguous(trunk->first, trunk->root.n), slot,
                       trunk->root.n);
  sfc_moves_add(moves, &nodes->streams->graph->lanes[lane], move);
}

/* Contributions to values that have been packed. */
static sf_status_t pack_extra(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                              sfc_stream_pinned_t slot)
{
  const sfc_streams_t *streams = nodes->streams;
  const sfc_trunk_t *trunk = trunk_of(nodes, lane);
  bool on_host = streamed->source_on_host;
  sfshm_move_t move = sfc_move_of(trunk->extra_leaf, streamed->source, trunk->extra_to,
                                  sfc_streams_address(slot, on_host), trunk->extra_leaf.n);
  if (streamed->operation == SFSHM_BCAST || move.n == 0)
    return SF_OK;
  sfc_streams_watch_work(streams, streamed, &streams->graph->lanes[lane],
                         on_host ? SFSHM_TRACE_WORK_CALL : SFSHM_TRACE_WORK_TO_HOST);
  return sfc_move(streams, on_host, streamed->unit, trunk->uncombined ? SFSHM_OP_REPLACE : streamed->op, &move);
}

static uint64_t number_send(sfc_stream_nodes_t *nodes, sfc_trunk_side_t *side)
{
  pthread_mutex_lock(&nodes->lock);
  uint64_t message = ++side->sent;
  pthread_mutex_unlock(&nodes->lock);
  return message;
}

sfshm_stream_word_t sfc_streams_nodes_begin_send(sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                                                 uint64_t *message_p, sfc_stream_pinned_t *slot_p)
{
  sfc_trunk_side_t *side = sfc_trunk_sending(trunk_of(nodes, lane), streamed->operation);
  uint64_t message = number_send(nodes, side);
  *message_p = message;
  *slot_p = pinned_slot(nodes, streamed, side, message, true);
  return word_of(nodes, &side->flow->granted, sfc_trunk_send_needs(side, sfshm_unit_size(streamed->unit), message));
}

static sf_status_t start(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, passing_t *passing)
{
  const sfc_trunk_t *trunk = passing->trunk;
  char extreme[2 * sizeof(int64_t)];
  bool combined = streamed->operation == SFSHM_REDUCE && !trunk->uncombined &&
                  (trunk->extra_leaf.n > 0 || trunk->leaf_image.header.nlayers > 0);
  if (!combined || !sfshm_op_extreme(passing->op, passing->unit.base, extreme))
    return SF_OK;
  return nodes->streams->ops->call(nodes->streams->device, start_values, passing, sizeof *passing);
}

sf_status_t sfc_streams_nodes_end_send(sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                                       uint64_t message, sfc_stream_pinned_t slot)
{
  const sfc_streams_t *streams = nodes->streams;
  sfc_trunk_t *trunk = trunk_of(nodes, lane);
  bool stages = streamed->operation == SFSHM_REDUCE && trunk->leaf_image.header.nlayers > 0;
  passing_t passing = {.nodes = nodes,
                       .trunk = trunk,
                       .side = sfc_trunk_sending(trunk, streamed->operation),
                       .message = message,
                       .match = streamed->match,
                       .unit = streamed->unit,
                       .op = streamed->op,
                       .slot = slot.host,
                       .staged = stages};
  sf_status_t status = start(nodes, streamed, &passing);
  if (status == SF_OK)
    status = pack_extra(nodes, streamed, lane, slot);
  if (status != SF_OK)
    return status;
  sfc_streams_watch_work(streams, streamed, &streams->graph->lanes[lane], SFSHM_TRACE_WORK_CALL);
  return streams->ops->call(streams->device, publish, &passing, sizeof passing);
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

/* Whether all members have. */
static bool is_consumed(const sfc_trunk_side_t *side, uint64_t message)
{
  uint64_t uses = (message + SFSHM_TRUNK_SLOTS - 1) / SFSHM_TRUNK_SLOTS; /* of its slot, until then */
  return atomic_load(&side->flow->consumed[message % SFSHM_TRUNK_SLOTS]) >= uses * (uint64_t)side->told->nmembers;
}

/* Those before the last SFSHM_TRUNK_SLOTS have been consumed, or this one had not come. Of two members that complete a
 * message each, the one that comes second sees both. */
static void take(void *argument)
{
  const passing_t *passing = argument;
  sf_graph_t *copy = passing->nodes->copy;
  const sfc_trunk_side_t *side = passing->side;
  uint64_t message = passing->message, slot = message % SFSHM_TRUNK_SLOTS;
  uint64_t through = message > SFSHM_TRUNK_SLOTS ? message - SFSHM_TRUNK_SLOTS : 0;
  if (sfc_streams_nodes_are_released(passing->nodes))
    return;
  uint64_t desc = atomic_load_explicit(&side->flow->descs[slot], memory_order_relaxed) & SFSHM_DESC_MATCH_MASK;
  if (desc != passing->match) {
    sfc_streams_nodes_note(passing->nodes, passing->match, desc);
    return;
  }
  if (!sfc_trunk_count_consumed(side, message))
    return;
  while (is_consumed(side, through + 1))
    through++;
  if (through >= message)
    sfc_submit_ring_write_trunk(&copy->context->submit_ring, SFSHM_SUBMIT_CREDIT, copy->number, side->number, through,
                                0, 1, false);
}

void sfc_streams_nodes_add_receive(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t number,
                                   int32_t turn, const char *slot, sfc_moves_t *moves)
{
  const sfc_trunk_t *trunk = trunk_of(nodes, number);
  const sfc_lane_t *lane = &nodes->streams->graph->lanes[number];
  char *target = streamed->target;
  if (streamed->operation == SFSHM_REDUCE) {
    const sfc_trunk_turn_t *roots = &trunk->turns[turn];
    sfc_moves_add(moves, lane, sfc_move_of(roots->position, slot, roots->root, target, roots->root.n));
    return;
  }
  sfc_moves_add(moves, lane, sfc_move_of(trunk->from, slot, trunk->leaf, target, trunk->nvalues));
  sfc_moves_add(moves, lane, sfc_move_of(trunk->extra_from, slot, trunk->extra_leaf, target, trunk->extra_leaf.n));
}

sfshm_stream_word_t sfc_streams_nodes_begin_receive(const sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed,
                                                    int32_t lane, sfc_stream_pinned_t *slot_p)
{
  const sfc_trunk_side_t *side = sfc_trunk_receiving(trunk_of(nodes, lane), streamed->operation);
  uint64_t message = streamed->messages[lane];
  *slot_p = pinned_slot(nodes, streamed, side, message, false);
  return word_of(nodes, &side->flow->arrived, message);
}

sf_status_t sfc_streams_nodes_end_receive(sfc_stream_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane)
{
  const sfc_streams_t *streams = nodes->streams;
  passing_t passing = {.nodes = nodes,
                       .side = sfc_trunk_receiving(trunk_of(nodes, lane), streamed->operation),
                       .message = streamed->messages[lane],
                       .match = streamed->match};
  sfc_streams_watch_work(streams, streamed, &streams->graph->lanes[lane], SFSHM_TRACE_WORK_CALL);
  return streams->ops->call(streams->device, take, &passing, sizeof passing);
}
