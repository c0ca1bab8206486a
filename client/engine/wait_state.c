/* Wait state: see wait_state.h. */
#include "client/engine/wait_state.h"

#include "client/engine/lane_ops.h"
#include "client/engine/op_trace.h"

/* ---- Missing lanes ----------------------------------------------------------------------------------------------- */

sfc_lane_t *sfc_wait_state_turn(const sf_request_t *request)
{
  const sf_graph_t *graph = request->graph;
  int32_t lane = request->ordered && request->turn < graph->plan.nturns ? graph->plan.turns[request->turn].lane : -1;
  return lane >= 0 ? &graph->lanes[lane] : NULL;
}

/* Whether the lane's contribution has arrived before its turn: the lane is not missing. */
static bool is_early(sfc_lane_t *lane)
{
  if (!lane->rx_request->ordered || sfc_wait_state_turn(lane->rx_request) == lane)
    return false;
  return lane->ops->has_message(lane);
}

/* What is missing on the lane for the request and operations before it. */
static uint32_t missing(sfc_lane_t *lane, const sf_request_t *request)
{
  uint32_t awaiting = 0;
  if (lane->rx_request != NULL && lane->rx_request->sequence <= request->sequence && !is_early(lane))
    awaiting |= SFSHM_AWAITS_MESSAGE;
  if ((lane->tx_stalled && lane->tx_sequence <= request->sequence) || lane->tx_unread > 0)
    awaiting |= SFSHM_AWAITS_READER;
  return awaiting;
}

/* The graph's lane entries; graphs without own entries have two shared ones. */
static sfshm_lane_counters_t *entries_of(const sf_graph_t *graph, int32_t *n_p)
{
  bool own = graph->counts->nlanes > 0;
  *n_p = own ? graph->nlanes : 2;
  return own ? graph->lanes[0].counts : graph->counts->rest;
}

static uint32_t awaiting_of(const sfshm_lane_counters_t *entry)
{
  return atomic_load_explicit(&entry->awaiting, memory_order_relaxed);
}

static void note_missing(sf_graph_t *graph, const sf_request_t *request)
{
  sfshm_lane_counters_t *rest = graph->counts->nlanes > 0 ? NULL : graph->counts->rest;
  int32_t n = 0;
  for (int i = 0; rest != NULL && i < 2; i++)
    atomic_store_explicit(&rest[i].awaiting, 0, memory_order_relaxed);
  for (int32_t i = 0; i < graph->nlanes; i++) {
    sfshm_lane_counters_t *entry = graph->lanes[i].counts;
    uint32_t awaiting = missing(&graph->lanes[i], request), shared = rest != NULL ? awaiting_of(entry) : 0;
    n += awaiting != 0 && shared == 0;
    atomic_store_explicit(&entry->awaiting, awaiting | shared, memory_order_relaxed);
  }
  graph->progress.nawaited = n;
}

/* ---- Time asleep ------------------------------------------------------------------------------------------------- */

static uint64_t asleep_since(const sf_graph_t *graph)
{
  return atomic_load_explicit(&graph->counts->asleep_since_ns, memory_order_relaxed);
}

/* Charges the time asleep to the awaited lanes, or to other if there were none. Readers see by asleep_since_ns that
 * lanes are changing. Sequentially consistent: charges are not stored before that. */
static void charge(const sf_graph_t *graph, uint64_t now_ns, const sfc_lane_t *other)
{
  int32_t n, left = graph->progress.nawaited;
  uint64_t slept_ns = now_ns - asleep_since(graph);
  sfshm_lane_counters_t *entries = entries_of(graph, &n);
  atomic_exchange_explicit(&graph->counts->asleep_since_ns, SFSHM_CHARGING, memory_order_seq_cst);
  if (left == 0 && other != NULL)
    sfshm_count(&other->counts->waited_ns, slept_ns);
  for (int32_t i = 0; i < n && left > 0; i++)
    if (awaiting_of(&entries[i]) != 0) {
      sfshm_count(&entries[i].waited_ns, slept_ns / (uint64_t)graph->progress.nawaited);
      left--;
    }
}

/* Pairs with the fence of readers: they see the charges. */
static void set_asleep(const sf_graph_t *graph, uint64_t since_ns)
{
  atomic_store_explicit(&graph->counts->asleep_since_ns, since_ns, memory_order_release);
}

/* ---- Showing ----------------------------------------------------------------------------------------------------- */

void sfc_wait_state_show(sf_graph_t *graph, const sf_request_t *request, int64_t since_ns)
{
  sfshm_graph_counters_t *counts = graph->counts;
  if (request == NULL || request->sequence == 0) /* of an operation that lanes do not carry out */
    return;
  note_missing(graph, request);
  atomic_store_explicit(&counts->wait_sequence, request->sequence, memory_order_relaxed);
  atomic_store_explicit(&counts->wait_desc, request->match, memory_order_relaxed);
  atomic_store_explicit(&counts->wait_since_ns, (uint64_t)since_ns, memory_order_release);
}

void sfc_wait_state_sleep(sf_graph_t *graph, const sf_request_t *request, int64_t since_ns, int64_t began_ns)
{
  uint64_t asleep_ns = (uint64_t)began_ns;
  if (asleep_since(graph) != 0) {
    asleep_ns = sfshm_trace_now_ns();
    charge(graph, asleep_ns, graph->progress.last_lane);
  }
  sfc_wait_state_show(graph, request, since_ns);
  set_asleep(graph, asleep_ns);
}

void sfc_wait_state_hide(sf_graph_t *graph)
{
  sfshm_graph_counters_t *counts = graph->counts;
  if (atomic_load_explicit(&counts->wait_since_ns, memory_order_relaxed) != 0)
    atomic_store_explicit(&counts->wait_since_ns, 0, memory_order_relaxed);
}

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

/* The likely lane, if it was awaited, else any awaited lane. */
static sfc_lane_t *choose_awaited(const sf_graph_t *graph, sfc_lane_t *likely)
{
  if (graph->progress.nawaited == 0 || (likely != NULL && awaiting_of(likely->counts) != 0))
    return likely;
  for (int32_t i = 0; i < graph->nlanes; i++)
    if (awaiting_of(graph->lanes[i].counts) != 0)
      return &graph->lanes[i];
  return likely;
}

void sfc_wait_state_count(const sf_graph_t *graph, int64_t since_ns, sfc_lane_t *turn, bool over)
{
  uint64_t now_ns = sfshm_trace_now_ns();
  sfc_lane_t *culprit = turn != NULL ? turn : graph->progress.last_lane;
  if (asleep_since(graph) != 0) {
    charge(graph, now_ns, culprit);
    set_asleep(graph, 0);
    culprit = choose_awaited(graph, culprit);
  } else if (culprit != NULL) {
    sfshm_count(&culprit->counts->waited_ns, now_ns - (uint64_t)since_ns);
  }
  if (culprit == NULL)
    return;
  if (over)
    sfshm_count(&culprit->counts->waits, 1);
  sfc_op_trace_waited(graph, culprit, (uint64_t)since_ns, now_ns);
}
