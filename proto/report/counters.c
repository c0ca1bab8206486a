/* Counters of a rank: see counters.h. One thread. */
#include "proto/report/counters.h"

#include <string.h>

#include "proto/report/counters_pack.h"
#include "shm/base/error.h"
#include "shm/observe/counters_read.h"

static uint64_t load(const _Atomic uint64_t *counter)
{
  return atomic_load_explicit(counter, memory_order_relaxed);
}

static sfreport_counts_t load_set(const sfshm_counter_set_t *set)
{
  sfreport_counts_t counts;
#define LOAD(field, text) counts.field = load(&set->field);
  SFSHM_COUNTER_TABLE(LOAD)
#undef LOAD
  return counts;
}

const char *const sfreport_kind_names[SFREPORT_KINDS] = {"bcast",  "reduce",   "scatter",
                                                         "gather", "fetch_op", "exchange"};

/* Both halves of a fetch_op take about as long as the whole, and either may be sampled. */
static int kind_of(int kind)
{
  return kind < SFSHM_KIND_FETCH_OP ? kind : kind - 1;
}

static void load_latency(const sfshm_graph_counters_t *graph, sfreport_latency_t *latency)
{
  for (int kind = 0; kind < SFSHM_KINDS; kind++) {
    latency->sum_ns[kind_of(kind)] += load(&graph->latency_ns[kind]);
    for (int bucket = 0; bucket < SFSHM_LATENCY_BUCKETS; bucket++)
      latency->operations[kind_of(kind)][bucket] +=
          atomic_load_explicit(&graph->latency[kind][bucket], memory_order_relaxed);
  }
}

static void load_waits_for(const sfshm_counters_t *copy, sfreport_rank_counts_t *counts)
{
  counts->nwaits_for = 0;
  for (uint32_t i = 0; i < copy->lanes_used; i++) {
    const sfshm_lane_counters_t *lane = &copy->lanes[i];
    uint32_t kind = atomic_load_explicit(&lane->kind, memory_order_relaxed);
    uint64_t ns = load(&lane->waited_ns);
    if ((kind == SFSHM_PEER_RANK || kind == SFSHM_PEER_NODE) && lane->peer >= 0 && ns > 0)
      counts->waits_for[counts->nwaits_for++] = (sfreport_wait_for_t){kind == SFSHM_PEER_NODE, lane->peer, ns};
  }
}

sfreport_degrees_t sfreport_degrees_of(const sfshm_counters_t *copy, const sfshm_graph_counters_t *graph)
{
  sfreport_degrees_t degrees = {.rank = copy->rank,
                                .leaf_edges = graph->self_edges + graph->rest[0].leaf_edges + graph->rest[1].leaf_edges,
                                .root_edges = graph->root_edges,
                                .top_rank = graph->top_rank,
                                .top_root = graph->top_root,
                                .top_leaves = graph->top_leaves};
  for (uint32_t i = 0; i < graph->nlanes; i++)
    degrees.leaf_edges += copy->lanes[graph->first_lane + i].leaf_edges;
  return degrees;
}

static void load_all(const sfshm_counters_t *copy, sfreport_rank_counts_t *counts)
{
  sfshm_counter_set_t total = {0};
  sfshm_counters_sum_all(copy, &total);
  counts->total = load_set(&total);
  counts->sleeps = load(&copy->sleeps);
  counts->oldest_wait_ns = sfshm_counters_rank_wait(copy, copy->copied_ns);
  load_waits_for(copy, counts);
  counts->ngraphs = 0;
  for (uint32_t i = 0; i < copy->graphs_used; i++) {
    const sfshm_graph_counters_t *graph = &copy->graphs[i];
    sfshm_counter_set_t sum = {0};
    if (load(&graph->graph) == 0)
      continue;
    sfshm_counters_sum_graph(copy, graph, &sum);
    sfreport_graph_counts_t *entry = &counts->graphs[counts->ngraphs++];
    *entry = (sfreport_graph_counts_t){.graph = load(&graph->graph),
                                       .multi_of = load(&graph->multi_of),
                                       .oldest_wait_ns = sfshm_counters_graph_wait(graph, copy->copied_ns),
                                       .counts = load_set(&sum)};
    memcpy(entry->call_site, graph->place, sizeof entry->call_site - 1);
    load_latency(graph, &entry->latency);
    entry->degrees = sfreport_degrees_of(copy, graph);
  }
}

sf_status_t sfreport_counters_copy_of(const Sfproto__RankInfo *rank, int fd, sfshm_counters_t **copy_p)
{
  bool torn; /* a graph that is created or destroyed now may be missing, or be there twice */
  if (fd >= 0)
    return sfshm_counters_copy(fd, copy_p, &torn);
  if (rank->has_counters)
    return sfreport_counters_unpack(rank->counters.data, rank->counters.len, copy_p);
  return sfshm_error(SF_ERR_NOT_FOUND, "rank %d comes without counters", rank->rank);
}

sf_status_t sfreport_counters_of(const Sfproto__RankInfo *rank, int fd, sfreport_rank_counts_t *counts_p)
{
  sfshm_counters_t *copy;
  sf_status_t status = sfreport_counters_copy_of(rank, fd, &copy);
  if (status != SF_OK)
    return status;
  load_all(copy, counts_p);
  sfshm_counters_free(copy);
  return SF_OK;
}

/* Sums wrap, as counters may have any value. */
static void add(sfreport_counts_t *sum, const sfreport_counts_t *counts)
{
#define ADD(field, text) sum->field += counts->field;
  SFSHM_COUNTER_TABLE(ADD)
#undef ADD
}

static uint64_t max(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

static uint64_t min(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

void sfreport_counts_merge(sfreport_counts_t *sum, const sfreport_counts_t *counts, bool first)
{
  if (first) {
    *sum = *counts;
    return;
  }
  sfreport_counts_t merged = *sum;
  add(&merged, counts);
  merged.bcasts = max(sum->bcasts, counts->bcasts);
  merged.reduces = max(sum->reduces, counts->reduces);
  merged.gathers = max(sum->gathers, counts->gathers);
  merged.scatters = max(sum->scatters, counts->scatters);
  merged.fetch_ops = max(sum->fetch_ops, counts->fetch_ops);
  merged.exchanges = max(sum->exchanges, counts->exchanges);
  merged.completed = min(sum->completed, counts->completed);
  *sum = merged;
}

uint64_t sfreport_counts_sent_bytes(const sfreport_counts_t *counts)
{
  return counts->bytes_inline + counts->bytes_slots + counts->bytes_in_place + counts->bytes_vm_read;
}

void sfreport_latency_add(sfreport_latency_t *sum, const sfreport_latency_t *latency)
{
  for (int kind = 0; kind < SFREPORT_KINDS; kind++) {
    sum->sum_ns[kind] += latency->sum_ns[kind];
    for (int bucket = 0; bucket < SFSHM_LATENCY_BUCKETS; bucket++)
      sum->operations[kind][bucket] += latency->operations[kind][bucket];
  }
}
