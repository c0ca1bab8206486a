/* Where a rank counts: see counters.h. */
#include "client/graph/counters.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/core/context.h"
#include "client/core/group.h"
#include "client/graph/op_trace.h"
#include "client/graph/trunk_types.h"
#include "client/plan/edge_readback.h"
#include "shm/base/error.h"
#include "shm/device/device_load.h"

#define CHUNK_BYTES ((size_t)16 << 10) /* of pages that are allocated at a time */

/* Sums over lanes of one other rank or node, of graphs that are gone. */
struct sfc_gone {
  sfshm_peer_kind_t kind;
  int32_t peer;
  sfshm_lane_counters_t *entry;
};

/* ---- The region -------------------------------------------------------------------------------------------------- */

sf_status_t sfc_counters_open(sfc_counters_t *counters, const char *job, const char *program, int32_t rank,
                              int32_t size)
{
  *counters = (sfc_counters_t){.region = {.fd = -1}};
  sf_status_t status = sfshm_region_create("sf-counters", SFSHM_REGION_COUNTERS, sizeof(sfshm_counters_t),
                                           SFSHM_SEAL_FUTURE_WRITE, SFSHM_COMMIT_LATER, &counters->region);
  if (status != SF_OK)
    return status;
  status = sfshm_region_commit(&counters->region, 0, offsetof(sfshm_counters_t, graphs));
  if (status != SF_OK) {
    sfshm_region_destroy(&counters->region);
    return status;
  }
  sfshm_counters_t *shared = counters->shared = counters->region.base;
  shared->rank = rank;
  shared->size = size;
  strncpy(shared->job_name, job, sizeof shared->job_name - 1);
  strncpy(shared->program, program, sizeof shared->program - 1);
  return SF_OK;
}

void sfc_counters_close(sfc_counters_t *counters)
{
  const sfshm_device_ops_t *devices = sfshm_device_loaded();
  if (counters->shared != NULL && devices != NULL)
    devices->unwatch(&counters->shared->trace);
  if (counters->shared != NULL)
    sfshm_region_destroy(&counters->region);
  free(counters->gone);
  *counters = (sfc_counters_t){.region = {.fd = -1}};
}

void sfc_counters_joined(sfc_counters_t *counters, uint64_t job, int32_t node)
{
  counters->shared->node = node;
  atomic_store_explicit(&counters->shared->job, job, memory_order_release);
}

/* Sequentially consistent: what is changed is stored neither before the count is odd nor after it is even again. */
static void begin_change(sfshm_counters_t *shared)
{
  atomic_fetch_add_explicit(&shared->changes, 1, memory_order_seq_cst);
}

static void end_change(sfshm_counters_t *shared)
{
  atomic_fetch_add_explicit(&shared->changes, 1, memory_order_seq_cst);
}

/* ---- Room -------------------------------------------------------------------------------------------------------- */

static bool is_taken(const uint64_t bits[], uint32_t i)
{
  return (bits[i / 64] >> i % 64 & 1) != 0;
}

static void set_taken(uint64_t bits[], uint32_t first, uint32_t n, bool taken)
{
  for (uint32_t i = first; i < first + n; i++)
    if (taken)
      bits[i / 64] |= UINT64_C(1) << i % 64;
    else
      bits[i / 64] &= ~(UINT64_C(1) << i % 64);
}

/* The first n entries of max that follow one another and are free. */
static bool find_run(const uint64_t bits[], uint32_t max, uint32_t n, uint32_t *first_p)
{
  uint32_t run = 0;
  for (uint32_t i = 0; i < max; i++) {
    if (i % 64 == 0 && bits[i / 64] == UINT64_MAX) {
      run = 0;
      i += 63;
      continue;
    }
    run = is_taken(bits, i) ? 0 : run + 1;
    if (run == n) {
      *first_p = i + 1 - n;
      return true;
    }
  }
  return false;
}

/* Allocates the pages of a table's entries up to one, when it is used for the first time. */
static bool reach(sfc_counters_t *counters, size_t table, size_t entry_bytes, uint32_t max, _Atomic uint32_t *used,
                  uint32_t entries)
{
  uint32_t before = atomic_load_explicit(used, memory_order_relaxed);
  if (entries <= before)
    return true;
  size_t have = (before * entry_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
  size_t need = (entries * entry_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES, all = max * entry_bytes;
  need = need < all ? need : all;
  if (need > have && sfshm_region_commit(&counters->region, table + have, need - have) != SF_OK)
    return false;
  atomic_store_explicit(used, entries, memory_order_release);
  return true;
}

/* n entries of lanes, cleared; NULL without room. */
static sfshm_lane_counters_t *take_lanes(sfc_counters_t *counters, uint32_t n)
{
  sfshm_counters_t *shared = counters->shared;
  uint32_t first;
  if (n == 0 || !find_run(counters->lanes_taken, SFSHM_COUNTED_LANES, n, &first) ||
      !reach(counters, offsetof(sfshm_counters_t, lanes), sizeof shared->lanes[0], SFSHM_COUNTED_LANES,
             &shared->lanes_used, first + n))
    return NULL;
  set_taken(counters->lanes_taken, first, n, true);
  memset(&shared->lanes[first], 0, n * sizeof shared->lanes[0]);
  return &shared->lanes[first];
}

static sfshm_graph_counters_t *take_graph(sfc_counters_t *counters)
{
  sfshm_counters_t *shared = counters->shared;
  uint32_t i;
  if (!find_run(counters->graphs_taken, SFSHM_COUNTED_GRAPHS, 1, &i) ||
      !reach(counters, offsetof(sfshm_counters_t, graphs), sizeof shared->graphs[0], SFSHM_COUNTED_GRAPHS,
             &shared->graphs_used, i + 1))
    return NULL;
  set_taken(counters->graphs_taken, i, 1, true);
  memset(&shared->graphs[i], 0, sizeof shared->graphs[0]);
  return &shared->graphs[i];
}

/* Likewise of ranks of other nodes. */
static sfshm_far_counters_t *take_far(sfc_counters_t *counters, uint32_t n)
{
  sfshm_counters_t *shared = counters->shared;
  uint32_t first;
  if (n == 0 || !find_run(counters->far_taken, SFSHM_COUNTED_FAR, n, &first) ||
      !reach(counters, offsetof(sfshm_counters_t, far), sizeof shared->far[0], SFSHM_COUNTED_FAR, &shared->far_used,
             first + n))
    return NULL;
  set_taken(counters->far_taken, first, n, true);
  memset(&shared->far[first], 0, n * sizeof shared->far[0]);
  return &shared->far[first];
}

/* ---- The trace --------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) sfshm_trace_t *make_trace(sfc_counters_t *counters)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  sfshm_counters_t *shared = counters->shared;
  pthread_mutex_lock(&lock);
  if (!counters->trace_failed && atomic_load_explicit(&shared->traced, memory_order_relaxed) == 0) {
    if (sfshm_region_commit(&counters->region, offsetof(sfshm_counters_t, trace), sizeof shared->trace) == SF_OK)
      atomic_store_explicit(&shared->traced, 1, memory_order_release);
    else
      counters->trace_failed = true;
  }
  bool made = !counters->trace_failed;
  pthread_mutex_unlock(&lock);
  return made ? &shared->trace : NULL;
}

sfshm_trace_t *sfc_counters_trace(sfc_counters_t *counters)
{
  if (atomic_load_explicit(&counters->shared->traced, memory_order_acquire) != 0)
    return &counters->shared->trace;
  return make_trace(counters);
}

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

/* Lanes of a graph that is not seen count together: nobody could find theirs. */
static void enter_lanes(sfc_counters_t *counters, sf_graph_t *graph, bool seen)
{
  sfshm_graph_counters_t *entry = graph->counts;
  sfshm_lane_counters_t *lanes = seen ? take_lanes(counters, (uint32_t)graph->nlanes) : NULL;
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

/* Ranks of other nodes on whose roots there are leaves here. */
static void enter_far(sfc_counters_t *counters, const sf_graph_t *graph)
{
  sfshm_graph_counters_t *entry = graph->counts;
  const sfc_origin_t *origin = graph->origin;
  bool combined = (graph->flags & SF_GRAPH_REPRODUCIBLE) == 0;
  uint32_t n = 0;
  for (int32_t i = 0; i < origin->nparts; i++)
    n += job_rank_if_far(graph, origin->parts[i].rank) >= 0;
  sfshm_far_counters_t *far = take_far(counters, n);
  if (far == NULL)
    return;
  entry->first_far = (uint32_t)(far - counters->shared->far);
  entry->nfar = n;
  for (int32_t i = 0; i < origin->nparts; i++) {
    const sfshm_edge_block_t *block = &origin->parts[i].block;
    int32_t rank = job_rank_if_far(graph, origin->parts[i].rank);
    if (rank < 0)
      continue;
    far->rank = rank;
    far->graph = graph->number;
    far->values = (uint64_t)block->value_root.n;
    far->reduce_values = (uint64_t)(combined ? block->value_root.n : block->leaf.n);
    atomic_store_explicit(&far++->taken, 1, memory_order_relaxed);
  }
}

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Of a long path the end says more. */
static void copy_place(char *to, size_t size, const char *place)
{
  size_t length = strlen(place), skipped = length < size ? 0 : length - (size - 1);
  memcpy(to, place + skipped, length - skipped + 1);
}

static void describe_graph(const sf_graph_t *graph, sfshm_graph_counters_t *entry)
{
  entry->made = graph->number;
  entry->created_ns = now_ns();
  entry->rank = graph->rank;
  entry->size = graph->size;
  entry->nroots = graph->nroots;
  entry->nleaves = graph->nleaves;
  copy_place(entry->place, sizeof entry->place, graph->place != NULL ? graph->place : "");
}

static void describe_edges(const sf_graph_t *graph, sfshm_graph_counters_t *entry)
{
  entry->self_edges = entry->root_edges = (uint64_t)graph->self.nedges;
  for (int32_t i = 0; i < graph->nlanes; i++)
    entry->root_edges += (uint64_t)graph->lanes[i].as_root.nedges;
  if (graph->origin == NULL || graph->origin->top.nleaves == 0)
    return;
  entry->top_rank = sfc_group_job_rank(graph->group, graph->origin->top.rank);
  entry->top_root = graph->origin->top.root;
  entry->top_leaves = (uint64_t)graph->origin->top.nleaves;
}

sf_status_t sfc_counters_enter(sfc_counters_t *counters, sf_graph_t *graph)
{
  sfshm_counters_t *shared = counters->shared;
  begin_change(shared);
  sfshm_graph_counters_t *entry = take_graph(counters);
  bool seen = entry != NULL;
  if (!seen)
    entry = graph->own_counts = calloc(1, sizeof *entry);
  if (entry != NULL) {
    graph->counts = entry;
    graph->next_sample = sfc_watch_sample_after(graph->last_sequence);
    describe_graph(graph, entry);
    describe_edges(graph, entry);
    enter_lanes(counters, graph, seen);
    if (seen && graph->trunks != NULL && graph->origin != NULL)
      enter_far(counters, graph);
    atomic_store_explicit(&entry->graph, graph->number, memory_order_release);
  }
  end_change(shared);
  return entry != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "counters of a graph");
}

/* ---- Blocking calls ---------------------------------------------------------------------------------------------- */

void sfc_counters_block(sfc_counters_t *counters, sfshm_blocked_t in, const char *place)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the text, which threads may write at once */
  sfshm_counters_t *shared = counters->shared;
  pthread_mutex_lock(&lock);
  copy_place(shared->blocked_place, sizeof shared->blocked_place, place != NULL ? place : "");
  atomic_store_explicit(&shared->blocked_in, (uint32_t)in, memory_order_relaxed);
  atomic_store_explicit(&shared->blocked_since_ns, now_ns(), memory_order_release);
  pthread_mutex_unlock(&lock);
}

void sfc_counters_unblock(sfc_counters_t *counters)
{
  atomic_store_explicit(&counters->shared->blocked_since_ns, 0, memory_order_relaxed);
}

/* ---- Settling ---------------------------------------------------------------------------------------------------- */

static uint64_t load(const _Atomic uint64_t *counter)
{
  return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Values of operations are not counted, but follow from how many there were. */
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
  sfshm_lane_counters_t *entry = take_lanes(counters, 1);
  if (entry == NULL)
    return NULL;
  entry->peer = peer;
  atomic_store_explicit(&entry->kind, (uint32_t)kind, memory_order_relaxed);
  gone[counters->ngone] = (sfc_gone_t){kind, peer, entry};
  return &gone[counters->ngone++];
}

/* Without room for them the sums are in the rank's totals only. */
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

/* Sums over graphs that are gone. Without room for them they are not known. */
static sfshm_far_counters_t *find_gone_far(sfc_counters_t *counters, int32_t rank)
{
  sfshm_counters_t *shared = counters->shared;
  uint32_t n = atomic_load_explicit(&shared->far_used, memory_order_relaxed);
  for (uint32_t i = 0; i < n; i++)
    if (shared->far[i].taken != 0 && shared->far[i].graph == 0 && shared->far[i].rank == rank)
      return &shared->far[i];
  sfshm_far_counters_t *far = take_far(counters, 1);
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
  begin_change(shared);
  for (uint32_t i = 0; i < entry->nlanes; i++)
    settle_lane(counters, entry, &shared->lanes[entry->first_lane + i]);
  set_taken(counters->lanes_taken, entry->first_lane, entry->nlanes, false);
  for (uint32_t i = 0; i < entry->nfar; i++)
    settle_far(counters, entry, &shared->far[entry->first_far + i]);
  set_taken(counters->far_taken, entry->first_far, entry->nfar, false);
  settle_lane(counters, entry, &entry->rest[0]);
  settle_lane(counters, entry, &entry->rest[1]);
  sfshm_counters_add_graph(&shared->total, entry);
  atomic_store_explicit(&entry->graph, 0, memory_order_relaxed);
  if (graph->own_counts == NULL)
    set_taken(counters->graphs_taken, (uint32_t)(entry - shared->graphs), 1, false);
  end_change(shared);
  free(graph->own_counts);
  graph->own_counts = NULL;
  graph->counts = NULL;
}
