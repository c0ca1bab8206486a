/* Streams over nodes: whether other nodes call the same, and letting streams go. See trunk.h. Ranks of this
 * node compare what they call on the copy's board. What comes from another node says what was called there. But a
 * message may come that nobody takes, or none at all, so that the guard looks at what has come as long as streams have
 * something to do, and if nothing moves for a second asks the other node, whose guard looks at that, too. */
#include "client/core.h"
#include "client/engine.h"
#include "client/graph.h"
#include "client/streams/trunk.h"
#include "shm/base/error.h"
#include "shm/observe/trace.h"

#define ASK_AFTER_NS INT64_C(1000000000)

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

void sfc_streams_nodes_expect(sfc_stream_nodes_t *nodes, sf_streamed_t *streamed)
{
  pthread_mutex_lock(&nodes->lock);
  for (int32_t i = nodes->streams->nlanes; i < nodes->copy->nlanes; i++) {
    sfc_trunk_side_t *side = sfc_trunk_receiving(nodes->copy->lanes[i].trunk, streamed->operation);
    if (side->in_use)
      streamed->messages[i] = ++side->received;
  }
  nodes->nbegun = nodes->streams->ncalls;
  nodes->calls[nodes->nbegun % SFC_STREAMS_HISTORY] = streamed->match;
  pthread_mutex_unlock(&nodes->lock);
}

/* What was called here as the operation that the descriptor numbers; 0: it is still to come, or too long ago. */
static uint64_t called_here(const sfc_stream_nodes_t *nodes, uint64_t desc)
{
  uint64_t behind = (nodes->nbegun - desc) & SFSHM_DESC_SEQUENCE_MASK;
  return behind < SFC_STREAMS_HISTORY && behind < nodes->nbegun
             ? nodes->calls[(nodes->nbegun - behind) % SFC_STREAMS_HISTORY]
             : 0;
}

/* ---- Differences ------------------------------------------------------------------------------------------------- */

static sf_status_t differ(const sfc_stream_nodes_t *nodes, uint64_t mine, uint64_t theirs, const char *who)
{
  char other[64], detail[SFC_MISMATCH_TEXT_BYTES];
  sfshm_desc_text(theirs, other, sizeof other);
  sfc_mismatch_describe(nodes->streams->graph, mine & SFSHM_DESC_SEQUENCE_MASK, " on streams", mine, who, other, detail,
                        sizeof detail);
  return sfshm_error(SF_ERR_MISMATCH, "%s", detail);
}

sf_status_t sfc_streams_nodes_compare(const sfc_stream_nodes_t *nodes, uint64_t mine)
{
  uint64_t there = nodes->board.host != NULL ? sfc_mismatch_compare_begun(nodes->copy->trunks, mine) : 0;
  return there == 0 ? SF_OK : differ(nodes, mine, there, "another rank of its node");
}

/* On a stream, which does one thing after the other. */
void sfc_streams_nodes_note(sfc_stream_nodes_t *nodes, uint64_t mine, uint64_t theirs)
{
  if (atomic_load(&nodes->found) != 0)
    return;
  nodes->mine = mine;
  atomic_store(&nodes->found, theirs);
}

/* With the copy the graph fails. */
static void fail(const sfc_stream_nodes_t *nodes, uint64_t mine, uint64_t theirs)
{
  sf_status_t status = differ(nodes, mine, theirs, "another node");
  sfc_graph_fail_everywhere(nodes->copy, status, sfshm_error_detail());
}

/* Whether nothing has been found on streams. */
static bool is_good(const sfc_stream_nodes_t *nodes)
{
  uint64_t found = atomic_load(&nodes->found);
  if (found != 0)
    fail(nodes, nodes->mine, found);
  return found == 0;
}

void sfc_streams_nodes_judge(const sfc_stream_nodes_t *nodes)
{
  (void)is_good(nodes);
}

/* ---- The guard --------------------------------------------------------------------------------------------------- */

void sfc_streams_nodes_watch(sfc_stream_nodes_t *nodes)
{
  if (nodes->board.host != NULL && !atomic_exchange(&nodes->is_watched, true))
    sfc_streams_alarm();
}

/* What the other node has sent without being expected, or waits for in vain, on one side; with the lock. *mine_p: what
 * was called here instead. */
static bool look_at_side(const sfc_stream_nodes_t *nodes, const sfc_trunk_side_t *side, uint64_t *mine_p,
                         uint64_t *theirs_p)
{
  sfc_side_calls_t calls = sfc_mismatch_side_calls(side);
  const uint64_t descs[2] = {calls.sent, calls.awaited};
  for (int i = 0; i < 2; i++) {
    *theirs_p = descs[i] & SFSHM_DESC_MATCH_MASK;
    *mine_p = *theirs_p != 0 ? called_here(nodes, *theirs_p) : 0;
    if (*mine_p != 0 && *mine_p != *theirs_p)
      return true;
  }
  return false;
}

/* The descriptor of the first message that a side expects and that has not come; 0: there is none. Of an operation that
 * is among the last ones. */
static uint64_t awaited_of(const sfc_stream_nodes_t *nodes, const sfc_trunk_side_t *side)
{
  uint64_t arrived = atomic_load_explicit(&side->flow->arrived, memory_order_acquire), desc = 0;
  bool as_root = side->told->role == SFSHM_AS_ROOT;
  uint64_t missing = side->received - arrived;
  for (uint64_t n = nodes->nbegun; n > 0 && nodes->nbegun - n < SFC_STREAMS_HISTORY && (int64_t)missing > 0; n--) {
    uint64_t call = nodes->calls[n % SFC_STREAMS_HISTORY];
    if ((sfshm_desc_direction(call) == SFSHM_REDUCE) != as_root)
      continue;
    desc = call;
    missing--;
  }
  return missing == 0 ? desc : 0;
}

static void ask(const sfc_stream_nodes_t *nodes, const sfc_trunk_side_t *side)
{
  uint64_t desc = awaited_of(nodes, side);
  if (desc != 0)
    sfc_submit_ring_write_trunk(&nodes->copy->context->submit_ring, SFSHM_SUBMIT_AWAIT, nodes->copy->number,
                                side->number, 0, desc, 0, false);
}

/* Whether nothing has come for a second. */
static bool is_stuck(sfc_stream_nodes_t *nodes, uint64_t narrived)
{
  int64_t now = (int64_t)sfshm_trace_now_ns();
  if (narrived != nodes->narrived) {
    nodes->narrived = narrived;
    nodes->since_ns = now;
  }
  if (now - nodes->since_ns < ASK_AFTER_NS)
    return false;
  nodes->since_ns = now;
  return true;
}

/* Of the two sides of each trunk, that with the number; NULL: not in use. */
static const sfc_trunk_side_t *side_at(const sfc_trunks_t *trunks, int32_t number)
{
  const sfc_trunk_t *trunk = &trunks->trunks[number / 2];
  const sfc_trunk_side_t *side = number % 2 == 0 ? &trunk->as_root : &trunk->as_leaf;
  return side->in_use ? side : NULL;
}

static bool look_at_sides(sfc_stream_nodes_t *nodes, uint64_t *mine_p, uint64_t *theirs_p)
{
  const sfc_trunks_t *trunks = nodes->copy->trunks;
  const sfc_trunk_side_t *side;
  uint64_t narrived = nodes->nbegun;
  for (int32_t i = 0; i < 2 * trunks->ntrunks; i++) {
    if ((side = side_at(trunks, i)) == NULL)
      continue;
    if (look_at_side(nodes, side, mine_p, theirs_p))
      return true;
    narrived += atomic_load_explicit(&side->flow->arrived, memory_order_relaxed);
  }
  bool stuck = is_stuck(nodes, narrived);
  for (int32_t i = 0; i < 2 * trunks->ntrunks && stuck; i++)
    if ((side = side_at(trunks, i)) != NULL)
      ask(nodes, side);
  return false;
}

/* It is marked as not watched before it is looked whether there is something to do, so that whoever gives it something
 * to do meanwhile raises the alarm. */
bool sfc_streams_nodes_look(sfc_stream_nodes_t *nodes, bool calling)
{
  const sfc_streams_t *streams = nodes->streams;
  uint64_t mine, theirs;
  bool idle = true;
  if (nodes->board.host == NULL || !atomic_exchange(&nodes->is_watched, false))
    return false;
  if (!calling && (streams->ops->is_idle(streams->device, &idle) != SF_OK || idle)) {
    (void)is_good(nodes);
    return false;
  }
  atomic_store(&nodes->is_watched, true);
  if (!is_good(nodes) || sfc_streams_nodes_are_released(nodes))
    return true;
  pthread_mutex_lock(&nodes->lock);
  bool different = look_at_sides(nodes, &mine, &theirs);
  pthread_mutex_unlock(&nodes->lock);
  if (different)
    fail(nodes, mine, theirs);
  return true;
}

static void release(sfc_stream_nodes_t *nodes)
{
  const sfc_trunks_t *trunks = nodes->copy->trunks;
  atomic_store(&trunks->board->released, 1); /* first: see shm/trunk/trunk.h */
  pthread_mutex_lock(&nodes->lock);
  for (int32_t i = 0; i < 2 * trunks->ntrunks; i++) {
    const sfc_trunk_side_t *side = side_at(trunks, i);
    if (side != NULL)
      sfshm_flow_release(side->flow, side->sent, side->received);
  }
  pthread_mutex_unlock(&nodes->lock);
}

void sfc_streams_nodes_let_go(sfc_stream_nodes_t *nodes)
{
  const sf_graph_t *graph = nodes->streams->graph;
  if (nodes->board.host == NULL)
    return;
  if (!nodes->is_told)
    sfc_graph_fail_everywhere(nodes->copy, (sf_status_t)atomic_load(&graph->failure.status), graph->failure.detail);
  nodes->is_told = true;
  if (atomic_load(&graph->context->daemon_gone))
    release(nodes);
}
