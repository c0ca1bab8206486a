/* Counters of graphs: see counters.h. */
#include "client/graph/counters.h"

#include <stdlib.h>

#include "client/core.h"
#include "client/graph/trace.h"
#include "client/graph/trunk_types.h"
#include "client/plan.h"
#include "shm/base/error.h"

/* Sums over lanes to one rank or node, of destroyed graphs. */
struct sfc_gone {
  sfshm_peer_kind_t kind;
  int32_t peer;
  sfshm_lane_counters_t *entry;
};

/* ---- Entering ---------------------------------------------------------------------------------------------------- */

static void describe_lane(const sfc_lane_t *lane, int32_t peer, sfshm_lane_counters_t *entry)
{
  const sfc_trunk_t *trunk = lane->trunk;
  bool combined = trunk != NULL && !trunk->uncombined;
  entry->graph = lane->graph->number;
  entry->peer = peer;
  entry->leaf_edges += (uint64_t)lane->as_leaf.nedges;
  entry->leaf_values += (uint64_t)lane->as_leaf.nvalues;
  entry->reduce_values += (uint64_t)(combined ? lane->as_leaf.nvalues : lane->as_leaf.nedges);
  atomic_store_explicit(&entry->kind, (uint32_t)(trunk != NULL ? SFSHM_PEER_NODE : SFSHM_PEER_RANK),
                        memory_order_relaxed);
}

/* Lanes of a graph without a visible entry share entries: nobody could find theirs. */
static void enter_lanes(sfc_counters_t *counters, sf_graph_t *graph, bool seen)
{
  sfshm_graph_counters_t *entry = graph->counts;
  sfshm_lane_counters_t *lanes = seen ? sfc_counters_take_lanes(counters, (uint32_t)graph->nlanes) : NULL;
  if (lanes != NULL) {
    entry->first_lane = (uint32_t)(lanes - counters->shared->lanes);
    entry->nlanes = (uint32_t)graph->nlanes;
  }
  for (int32_t i = 0; i < graph->nlanes; i++) {
    sfc_lane_t *lane = &graph->lanes[i];
    const sfc_trunk_t *trunk = lane->trunk;
    lane->counts = lanes != NULL ? &lanes[i] : &entry->rest[trunk != NULL];
    describe_lane(lane, lanes == NULL ? -1 : trunk != NULL ? trunk->node : lane->peer->rank, lane->counts);
  }
}

static int32_t job_rank_if_far(const sf_graph_t *graph, int32_t rank)
{
  int32_t job_rank = sfc_group_job_rank(graph->group, rank);
  return sfc_context_node_of(graph->context, job_rank) != graph->context->node ? job_rank : -1;
}

/* Enters the ranks of other nodes with roots of leaves here. */
static void enter_far(sfc_counters_t *counters, const sf_graph_t *graph)
{
  sfshm_graph_counters_t *entry = graph->counts;
  const sfc_edge_readback_t *readback = graph->plan.readback;
  bool combined = (graph->flags & SF_GRAPH_REPRODUCIBLE) == 0;
  uint32_t n = 0;
  for (int32_t i = 0; i < readback->nparts; i++)
    n += job_rank_if_far(graph, readback->parts[i].rank) >= 0;
  sfshm_far_counters_t *far = sfc_counters_take_far(counters, n);
  if (far == NULL)
    return;
  entry->first_far = (uint32_t)(far - counters->shared->far);
  entry->nfar = n;
  for (int32_t i = 0; i < readback->nparts; i++) {
    const sfshm_edge_block_t *block = &readback->parts[i].block;
    int32_t rank = job_rank_if_far(graph, readback->parts[i].rank);
    if (rank < 0)
      continue;
    far->rank = rank;
    far->graph = graph->number;
    far->values = (uint64_t)block->value_root.n;
    far->reduce_values = (uint64_t)(combined ? block->value_root.n : block->leaf.n);
    atomic_store_explicit(&far++->taken, 1, memory_order_relaxed);
  }
}

static void describe_graph(const sf_graph_t *graph, sfshm_graph_counters_t *entry)
{
  entry->made = graph->number;
  entry->created_ns = sfshm_trace_now_ns();
  entry->rank = graph->rank;
  entry->size = graph->size;
  entry->nroots = graph->nroots;
  entry->nleaves = graph->nleaves;
  sfc_counters_copy_call_site(entry->place, sizeof entry->place, graph->call_site != NULL ? graph->call_site : "");
}

void sf_graph_at(sf_graph_t *graph, const char *call_site)
{
  if (graph == NULL || call_site == NULL)
    return;
  sf_context_t *context = graph->context;
  pthread_mutex_lock(&context->lock);
  sfc_counters_begin_change(context->counters.shared);
  sfc_counters_copy_call_site(graph->counts->place, sizeof graph->counts->place, call_site);
  sfc_counters_end_change(context->counters.shared);
  pthread_mutex_unlock(&context->lock);
}

static void describe_edges(const sf_graph_t *graph, sfshm_graph_counters_t *entry)
{
  entry->self_edges = entry->root_edges = (uint64_t)graph->plan.self.nedges;
  for (int32_t i = 0; i < graph->nlanes; i++)
    entry->root_edges += (uint64_t)graph->lanes[i].as_root.nedges;
  if (graph->plan.readback == NULL || graph->plan.readback->top.nleaves == 0)
    return;
  entry->top_rank = sfc_group_job_rank(graph->group, graph->plan.readback->top.rank);
  entry->top_root = graph->plan.readback->top.root;
  entry->top_leaves = (uint64_t)graph->plan.readback->top.nleaves;
}

sf_status_t sfc_counters_enter(sfc_counters_t *counters, sf_graph_t *graph)
{
  sfshm_counters_t *shared = counters->shared;
  sfc_counters_begin_change(shared);
  sfshm_graph_counters_t *entry = sfc_counters_take_graph(counters);
  bool seen = entry != NULL;
  if (!seen)
    entry = graph->own_counts = calloc(1, sizeof *entry);
  if (entry != NULL) {
    graph->counts = entry;
    graph->flight.next_sample = sfc_trace_sample_after(graph->flight.last_sequence);
    describe_graph(graph, entry);
    describe_edges(graph, entry);
    enter_lanes(counters, graph, seen);
    if (seen && graph->trunks != NULL && graph->plan.readback != NULL)
      enter_far(counters, graph);
    atomic_store_explicit(&entry->graph, graph->number, memory_order_release);
  }
  sfc_counters_end_change(shared);
  return entry != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "counters of a graph");
}

/* ---- Settling ---------------------------------------------------------------------------------------------------- */

static uint64_t load(const _Atomic uint64_t *counter)
{
  return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Values are not counted one by one, but follow from the number of operations. */
static void count_values(const sfshm_graph_counters_t *graph, sfshm_lane_counters_t *lane)
{
  uint64_t bcasts = sfshm_counters_begun(graph, SFSHM_BCAST), reduces = sfshm_counters_begun(graph, SFSHM_REDUCE);
  sfshm_count(&lane->values_wanted, (bcasts + reduces) * lane->leaf_edges);
  sfshm_count(&lane->values_carried, bcasts * lane->leaf_values + reduces * lane->reduce_values);
}

static sfc_gone_t *add_gone(sfc_counters_t *counters, sfshm_peer_kind_t kind, int32_t peer)
{
  sfc_gone_t *gone = realloc(counters->gone, ((size_t)counters->ngone + 1) * sizeof *gone);
  if (gone == NULL)
    return NULL;
  counters->gone = gone;
  sfshm_lane_counters_t *entry = sfc_counters_take_lanes(counters, 1);
  if (entry == NULL)
    return NULL;
  entry->peer = peer;
  atomic_store_explicit(&entry->kind, (uint32_t)kind, memory_order_relaxed);
  gone[counters->ngone] = (sfc_gone_t){kind, peer, entry};
  return &gone[counters->ngone++];
}

/* Without an entry, sums are in the rank's totals only. */
static void keep_lane(sfc_counters_t *counters, const sfshm_lane_counters_t *lane)
{
  sfshm_peer_kind_t kind = (sfshm_peer_kind_t)atomic_load_explicit(&lane->kind, memory_order_relaxed);
  sfc_gone_t *gone = NULL;
  for (int32_t i = 0; i < counters->ngone && gone == NULL; i++)
    if (counters->gone[i].kind == kind && counters->gone[i].peer == lane->peer)
      gone = &counters->gone[i];
  if (gone == NULL)
    gone = add_gone(counters, kind, lane->peer);
  if (gone == NULL)
    return;
#define KEEP(field) sfshm_count(&gone->entry->field, load(&lane->field));
  SFSHM_LANE_COUNTER_TABLE(KEEP)
#undef KEEP
}

static void settle_lane(sfc_counters_t *counters, const sfshm_graph_counters_t *graph, sfshm_lane_counters_t *lane)
{
  if (atomic_load_explicit(&lane->kind, memory_order_relaxed) == SFSHM_PEER_NONE)
    return;
  count_values(graph, lane);
  sfshm_counters_add_lane(&counters->shared->total, lane);
  keep_lane(counters, lane);
  atomic_store_explicit(&lane->kind, SFSHM_PEER_NONE, memory_order_relaxed);
}

/* Entry for sums over destroyed graphs; NULL: none is free. */
static sfshm_far_counters_t *find_gone_far(sfc_counters_t *counters, int32_t rank)
{
  sfshm_counters_t *shared = counters->shared;
  uint32_t n = atomic_load_explicit(&shared->far_used, memory_order_relaxed);
  for (uint32_t i = 0; i < n; i++)
    if (shared->far[i].taken != 0 && shared->far[i].graph == 0 && shared->far[i].rank == rank)
      return &shared->far[i];
  sfshm_far_counters_t *far = sfc_counters_take_far(counters, 1);
  if (far != NULL) {
    far->rank = rank;
    atomic_store_explicit(&far->taken, 1, memory_order_relaxed);
  }
  return far;
}

static void settle_far(sfc_counters_t *counters, const sfshm_graph_counters_t *graph, sfshm_far_counters_t *far)
{
  sfshm_far_counters_t *gone = find_gone_far(counters, far->rank);
  if (gone != NULL) {
    sfshm_count(&gone->bytes_from, load(&graph->unit_bytes[SFSHM_BCAST]) * far->values);
    sfshm_count(&gone->bytes_to, load(&graph->unit_bytes[SFSHM_REDUCE]) * far->reduce_values);
  }
  atomic_store_explicit(&far->taken, 0, memory_order_relaxed);
}

void sfc_counters_settle(sfc_counters_t *counters, sf_graph_t *graph)
{
  sfshm_counters_t *shared = counters->shared;
  sfshm_graph_counters_t *entry = graph->counts;
  if (entry == NULL)
    return;
  sfc_counters_begin_change(shared);
  for (uint32_t i = 0; i < entry->nlanes; i++)
    settle_lane(counters, entry, &shared->lanes[entry->first_lane + i]);
  sfc_counters_set_taken(counters->lanes_taken, entry->first_lane, entry->nlanes, false);
  for (uint32_t i = 0; i < entry->nfar; i++)
    settle_far(counters, entry, &shared->far[entry->first_far + i]);
  sfc_counters_set_taken(counters->far_taken, entry->first_far, entry->nfar, false);
  settle_lane(counters, entry, &entry->rest[0]);
  settle_lane(counters, entry, &entry->rest[1]);
  sfshm_counters_add_graph(&shared->total, entry);
  atomic_store_explicit(&entry->graph, 0, memory_order_relaxed);
  if (graph->own_counts == NULL)
    sfc_counters_set_taken(counters->graphs_taken, (uint32_t)(entry - shared->graphs), 1, false);
  sfc_counters_end_change(shared);
  free(graph->own_counts);
  graph->own_counts = NULL;
  graph->counts = NULL;
}
