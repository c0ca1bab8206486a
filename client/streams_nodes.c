/* Streams over nodes: what they send and receive. See streams_nodes.h. */
#include "client/streams_nodes.h"

#include <stdlib.h>

#include "client/context.h"
#include "client/streams_move.h"
#include "shm/error.h"

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static sf_status_t pin(const sfc_nodes_t *nodes, void *base, size_t length_bytes, sfc_seen_t *seen_p)
{
  const sfc_streams_t *streams = nodes->streams;
  size_t page = sfshm_page_bytes();
  char *seen_at;
  sf_status_t status = streams->ops->pin(streams->device, base, (length_bytes + page - 1) / page * page, &seen_at);
  if (status != SF_OK)
    return sfshm_error(status, "%s", streams->plugin->detail());
  *seen_p = (sfc_seen_t){base, seen_at};
  return SF_OK;
}

sf_status_t sfc_nodes_grow(sfc_nodes_t *nodes, size_t unit_bytes)
{
  sf_status_t status = SF_OK;
  if (nodes->board.host == NULL)
    return SF_OK;
  while (status == SF_OK && (nodes->nexchanges == 0 || (UINT64_C(4) << nodes->nexchanges) < unit_bytes)) {
    sfc_exchange_t *exchange;
    status = nodes->nexchanges < SFC_NODES_CLASSES
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

static sf_status_t prepare_turns(const sfc_streams_t *streams, const sfc_trunk_turn_t turns[], int32_t nturns)
{
  sf_status_t status = SF_OK;
  for (int32_t i = 0; i < nturns && status == SF_OK; i++) {
    status = streams->ops->prepare(streams->device, &turns[i].position, false);
    if (status == SF_OK)
      status = streams->ops->prepare(streams->device, &turns[i].root, true);
  }
  return status;
}

static sf_status_t prepare_trunk(const sfc_streams_t *streams, const sfc_trunk_t *trunk)
{
  const sfshm_pattern_t *sources[] = {&trunk->root, &trunk->from, &trunk->extra_from};
  const sfshm_pattern_t *targets[] = {&trunk->leaf, &trunk->to, &trunk->extra_leaf, &trunk->extra_to};
  sf_status_t status = prepare_turns(streams, trunk->turns, trunk->nturns);
  if (status == SF_OK)
    status = prepare_turns(streams, trunk->winner_turns, trunk->nwinner_turns);
  for (int i = 0; i < 3 && status == SF_OK; i++)
    status = streams->ops->prepare(streams->device, sources[i], false);
  for (int i = 0; i < 4 && status == SF_OK; i++)
    status = streams->ops->prepare(streams->device, targets[i], true);
  return status == SF_OK ? SF_OK : sfshm_error(status, "%s", streams->plugin->detail());
}

static sf_status_t open_trunks(sfc_nodes_t *nodes, size_t unit_bytes)
{
  sfc_trunks_t *trunks = nodes->copy->trunks;
  sf_status_t status = pin(nodes, trunks->board, sfshm_trunk_board_bytes(trunks->map->nsides), &nodes->board);
  if (status == SF_OK)
    atomic_store(&trunks->board->on_streams, 1);
  if (status == SF_OK)
    status = sfc_nodes_grow(nodes, unit_bytes);
  for (int32_t i = 0; i < trunks->ntrunks && status == SF_OK; i++)
    status = prepare_trunk(nodes->streams, &trunks->trunks[i]);
  return status;
}

sf_status_t sfc_nodes_open(sfc_streams_t *streams, sf_graph_t *copy, size_t unit_bytes)
{
  sfc_nodes_t *nodes = calloc(1, sizeof *nodes);
  if (nodes == NULL) {
    (void)sf_graph_destroy(copy);
    return sfshm_error(SF_ERR_NOMEM, "streams over nodes");
  }
  streams->nodes = nodes;
  *nodes = (sfc_nodes_t){.streams = streams, .copy = copy};
  pthread_mutex_init(&nodes->lock, NULL);
  sfc_graph_set_parent(copy, streams->graph);
  nodes->turns = calloc((size_t)copy->nlanes + 1, sizeof *nodes->turns);
  if (nodes->turns == NULL)
    return sfshm_error(SF_ERR_NOMEM, "streams over nodes");
  if (!is_alike(streams->graph, copy))
    return sfshm_error(SF_ERR_PROTO, "graph %llu has other trunks than its copy",
                       (unsigned long long)streams->graph->number);
  return copy->trunks != NULL ? open_trunks(nodes, unit_bytes) : SF_OK;
}

void sfc_nodes_unpin(sfc_nodes_t *nodes)
{
  if (nodes == NULL)
    return;
  const sfc_streams_t *streams = nodes->streams;
  while (nodes->nexchanges > 0)
    streams->ops->unpin(streams->device, nodes->slots[--nodes->nexchanges].host);
  if (nodes->board.host != NULL)
    streams->ops->unpin(streams->device, nodes->board.host);
}

void sfc_nodes_close(sfc_nodes_t *nodes)
{
  if (nodes == NULL)
    return;
  sfc_graph_set_parent(nodes->copy, NULL);
  (void)sf_graph_destroy(nodes->copy);
  pthread_mutex_destroy(&nodes->lock);
  free(nodes->turns);
  free(nodes);
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static sfc_trunk_t *trunk_of(const sfc_nodes_t *nodes, int32_t lane)
{
  return nodes->copy->lanes[lane].trunk;
}

/* Of the exchange for the operation's units. */
static int32_t class_of(const sf_streamed_t *streamed)
{
  return __builtin_ctzll(sfshm_exchange_class(sfshm_unit_size(streamed->unit))) - 3;
}

/* Holds the stream back until the counter, of which it sees the lower half, has come that far. */
static sf_status_t await(const sfc_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                         const _Atomic uint64_t *counter, uint64_t message)
{
  const sfc_streams_t *streams = nodes->streams;
  sfc_seen_t word = sfc_seen_behind(nodes->board, (size_t)((const char *)counter - nodes->board.host));
  sfc_streams_watch_work(streams, streamed, &streams->graph->lanes[lane], SFSHM_TRACE_WORK_AWAIT);
  return streams->ops->await(streams->device, word.device, (uint32_t)message);
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* What a function on a stream has to know. */
typedef struct passing {
  sfc_nodes_t *nodes;
  const sfc_trunk_t *trunk;
  const sfc_trunk_side_t *side;
  uint64_t message;
  uint64_t match;
  sfshm_unit_t unit;
  sfshm_op_t op;
  char *staged; /* slot of a reduce; NULL: nothing to be added up */
} passing_t;

static void publish(void *argument)
{
  const passing_t *passing = argument;
  sf_graph_t *copy = passing->nodes->copy;
  const sfc_trunk_side_t *side = passing->side;
  if (sfc_nodes_are_released(passing->nodes))
    return;
  /* Releases this rank's part and acquires those of the others. */
  uint64_t packed =
      atomic_fetch_add_explicit(&side->flow->packed[passing->message % SFSHM_TRUNK_SLOTS], 1, memory_order_acq_rel) + 1;
  if (packed % (uint64_t)side->told->nmembers != 0)
    return;
  if (passing->staged != NULL)
    (void)sfc_trunk_combine(passing->trunk, passing->unit, sfshm_kernels_find(passing->unit, passing->op),
                            passing->staged); /* layers were checked when the map was opened */
  sfc_submit(&copy->context->submitter, SFSHM_SUBMIT_SEND, copy->number, side->number, passing->message, passing->match,
             sfshm_unit_size(passing->unit), false);
}

static sf_status_t move(const sfc_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane, bool on_host,
                        sfshm_trace_work_t work, const sfc_move_t *what)
{
  const sfc_streams_t *streams = nodes->streams;
  sfc_streams_watch_work(streams, streamed, &streams->graph->lanes[lane], on_host ? SFSHM_TRACE_WORK_CALL : work);
  return sfc_move(streams, on_host, what);
}

static sf_status_t pack(const sfc_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane, char *slot)
{
  const sfc_trunk_t *trunk = trunk_of(nodes, lane);
  bool on_host = streamed->source_on_host;
  sfc_move_t what = {.unit = streamed->unit, .op = SFSHM_OP_REPLACE, .from = streamed->source, .to = slot};
  if (streamed->operation == SFSHM_BCAST) {
    what.from_pattern = trunk->root;
    what.to_pattern = sfshm_pattern_contiguous(trunk->first, trunk->root.n);
    what.n = trunk->root.n;
    return move(nodes, streamed, lane, on_host, SFSHM_TRACE_WORK_TO_HOST, &what);
  }
  what.from_pattern = trunk->leaf;
  what.to_pattern = trunk->to;
  what.n = trunk->nvalues;
  sf_status_t status = move(nodes, streamed, lane, on_host, SFSHM_TRACE_WORK_TO_HOST, &what);
  if (!trunk->uncombined)
    what.op = streamed->op;
  what.from_pattern = trunk->extra_leaf;
  what.to_pattern = trunk->extra_to;
  what.n = trunk->extra_leaf.n;
  return status == SF_OK ? move(nodes, streamed, lane, on_host, SFSHM_TRACE_WORK_TO_HOST, &what) : status;
}

static uint64_t number_send(sfc_nodes_t *nodes, sfc_trunk_side_t *side)
{
  pthread_mutex_lock(&nodes->lock);
  uint64_t message = ++side->sent;
  pthread_mutex_unlock(&nodes->lock);
  return message;
}

sf_status_t sfc_nodes_send(sfc_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane)
{
  const sfc_streams_t *streams = nodes->streams;
  sfc_trunk_t *trunk = trunk_of(nodes, lane);
  sfc_trunk_side_t *side = sfc_trunk_sending(trunk, streamed->operation);
  uint64_t message = number_send(nodes, side);
  int32_t class = class_of(streamed);
  sfc_seen_t slot = sfc_seen_behind(nodes->slots[class], sfc_trunk_send_slot(nodes->exchanges[class], side, message));
  bool stages = streamed->operation == SFSHM_REDUCE && trunk->leaf_image.header.nlayers > 0;
  passing_t passing = {.nodes = nodes,
                       .trunk = trunk,
                       .side = side,
                       .message = message,
                       .match = streamed->match,
                       .unit = streamed->unit,
                       .op = streamed->op,
                       .staged = stages ? slot.host : NULL};
  sf_status_t status = await(nodes, streamed, lane, &side->flow->granted, message);
  if (status == SF_OK)
    status = pack(nodes, streamed, lane, sfc_seen_by(slot, streamed->source_on_host));
  return status == SF_OK ? streams->ops->call(streams->device, publish, &passing, sizeof passing) : status;
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
  if (sfc_nodes_are_released(passing->nodes))
    return;
  uint64_t desc = atomic_load_explicit(&side->flow->descs[slot], memory_order_relaxed) & SFSHM_DESC_MATCH_MASK;
  if (desc != passing->match) {
    sfc_nodes_note(passing->nodes, passing->match, desc);
    return;
  }
  uint64_t consumed = atomic_fetch_add(&side->flow->consumed[slot], 1) + 1;
  if (consumed % (uint64_t)side->told->nmembers != 0)
    return;
  while (is_consumed(side, through + 1))
    through++;
  if (through >= message)
    sfc_submit(&copy->context->submitter, SFSHM_SUBMIT_CREDIT, copy->number, side->number, through, 0, 1, false);
}

static sf_status_t unpack_leaves(const sfc_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                                 const char *slot)
{
  const sfc_trunk_t *trunk = trunk_of(nodes, lane);
  bool on_host = streamed->target_on_host;
  sfc_move_t what = {.unit = streamed->unit,
                     .op = streamed->op,
                     .from_pattern = trunk->from,
                     .from = slot,
                     .to_pattern = trunk->leaf,
                     .to = streamed->target,
                     .n = trunk->nvalues};
  sf_status_t status = move(nodes, streamed, lane, on_host, SFSHM_TRACE_WORK_FROM_HOST, &what);
  what.from_pattern = trunk->extra_from;
  what.to_pattern = trunk->extra_leaf;
  what.n = trunk->extra_leaf.n;
  return status == SF_OK ? move(nodes, streamed, lane, on_host, SFSHM_TRACE_WORK_FROM_HOST, &what) : status;
}

static sf_status_t unpack_turn(const sfc_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane,
                               const sfc_trunk_turn_t *turn, const char *slot)
{
  sfc_move_t what = {.unit = streamed->unit,
                     .op = streamed->op,
                     .from_pattern = turn->position,
                     .from = slot,
                     .to_pattern = turn->root,
                     .to = streamed->target,
                     .n = turn->root.n};
  return move(nodes, streamed, lane, streamed->target_on_host, SFSHM_TRACE_WORK_FROM_HOST, &what);
}

/* The lane's next turn. *last_p: it has no more. */
static sf_status_t unpack_roots(sfc_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane, const char *slot,
                                bool *last_p)
{
  const sfc_trunk_t *trunk = trunk_of(nodes, lane);
  bool winners = streamed->op == SFSHM_OP_REPLACE;
  const sfc_trunk_turn_t *turns = winners ? trunk->winner_turns : trunk->turns;
  int32_t turn = nodes->turns[lane]++;
  *last_p = turn + 1 == (winners ? trunk->nwinner_turns : trunk->nturns);
  if (*last_p)
    nodes->turns[lane] = 0;
  return unpack_turn(nodes, streamed, lane, &turns[turn], slot);
}

sf_status_t sfc_nodes_receive(sfc_nodes_t *nodes, const sf_streamed_t *streamed, int32_t lane)
{
  const sfc_streams_t *streams = nodes->streams;
  sfc_trunk_t *trunk = trunk_of(nodes, lane);
  const sfc_trunk_side_t *side = sfc_trunk_receiving(trunk, streamed->operation);
  uint64_t message = streamed->messages[lane];
  int32_t class = class_of(streamed);
  sfc_seen_t slot =
      sfc_seen_behind(nodes->slots[class], sfc_trunk_receive_slot(nodes->exchanges[class], side, message));
  const char *seen = sfc_seen_by(slot, streamed->target_on_host);
  passing_t passing = {.nodes = nodes, .side = side, .message = message, .match = streamed->match};
  bool last = true;
  sf_status_t status = SF_OK;
  if (nodes->turns[lane] == 0)
    status = await(nodes, streamed, lane, &side->flow->arrived, message);
  if (status == SF_OK)
    status = streamed->operation == SFSHM_BCAST ? unpack_leaves(nodes, streamed, lane, seen)
                                                : unpack_roots(nodes, streamed, lane, seen, &last);
  return status == SF_OK && last ? streams->ops->call(streams->device, take, &passing, sizeof passing) : status;
}
