/* Pairs of ranks of a node: see within.h. The one thread of sfctl. */
#include "tools/sfctl/plan/within.h"

#include <stdlib.h>

#include "proto/report/counters.h"
#include "shm/base/error.h"
#include "shm/base/room.h"
#include "shm/base/sort.h"
#include "shm/observe/counters_read.h"
#include "tools/sfctl/collect.h"

/* Protocols of what a rank sent to another one: see sfctl_pair_t. */
typedef struct sent {
  int32_t node, from, to;
  const char *way;
  const char *streams;
} sent_t;

typedef struct asking {
  uint64_t graph;
  sfctl_within_t within;
  sent_t *sent;
  size_t nsent, capacity;
} asking_t;

static uint64_t load(const _Atomic uint64_t *counter)
{
  return atomic_load_explicit(counter, memory_order_relaxed);
}

static const char *find_way(const sfshm_lane_counters_t *lane)
{
  const struct {
    const char *name;
    uint64_t bytes;
  } ways[] = {{"inline", load(&lane->bytes_inline)},
              {"slots", load(&lane->bytes_slots)},
              {"in-place", load(&lane->bytes_in_place)},
              {"vm-read", load(&lane->bytes_vm_read)}};
  const char *name = NULL;
  uint64_t most = 0;
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
    if (ways[i].bytes > most) {
      most = ways[i].bytes;
      name = ways[i].name;
    }
  return name;
}

static const char *find_way_of_streams(const sfshm_lane_counters_t *lane)
{
  switch (atomic_load_explicit(&lane->streams, memory_order_relaxed)) {
  case SFSHM_STREAM_SLOTS_PINNED:
    return "pinned";
  case SFSHM_STREAM_SLOTS_ON_DEVICE:
    return "device";
  case SFSHM_STREAM_SLOTS_ON_PEER:
    return "peer";
  default:
    return NULL;
  }
}

static sf_status_t add_sent(asking_t *asking, int32_t node, int32_t rank, const sfshm_lane_counters_t *lane)
{
  const char *way = find_way(lane), *streams = find_way_of_streams(lane);
  if (atomic_load_explicit(&lane->kind, memory_order_relaxed) != SFSHM_PEER_RANK || (way == NULL && streams == NULL))
    return SF_OK;
  if (!sfshm_make_room(&asking->sent, &asking->capacity, asking->nsent + 1, sizeof *asking->sent))
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu pairs of ranks", asking->nsent + 1);
  asking->sent[asking->nsent++] =
      (sent_t){.node = node, .from = rank, .to = lane->peer, .way = way, .streams = streams};
  return SF_OK;
}

static sf_status_t add_lane(sfctl_within_t *within, int32_t node, int32_t rank, const sfshm_lane_counters_t *lane)
{
  if (atomic_load_explicit(&lane->kind, memory_order_relaxed) != SFSHM_PEER_RANK || lane->leaf_edges == 0)
    return SF_OK;
  if (!sfshm_make_room(&within->pairs, &within->capacity, within->npairs + 1, sizeof *within->pairs))
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu pairs of ranks", within->npairs + 1);
  within->pairs[within->npairs++] = (sfctl_pair_t){.node = node,
                                                   .from = lane->peer,
                                                   .to = rank,
                                                   .values = lane->leaf_values,
                                                   .edges = lane->leaf_edges,
                                                   .messages = lane->messages_received};
  return SF_OK;
}

static sf_status_t add_degrees(sfctl_within_t *within, int32_t node, const sfshm_counters_t *copy,
                               const sfshm_graph_counters_t *graph)
{
  if (!sfshm_make_room(&within->ranks, &within->ranks_capacity, within->nranks + 1, sizeof *within->ranks))
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu ranks", within->nranks + 1);
  within->ranks[within->nranks++] = (sfctl_degrees_t){
      .node = node, .nroots = graph->nroots, .nleaves = graph->nleaves, .edges = sfreport_degrees_of(copy, graph)};
  return SF_OK;
}

static sf_status_t take_rank(void *context, const Sfproto__Message *message, int counters_fd)
{
  asking_t *asking = context;
  sfshm_counters_t *copy;
  sf_status_t status = SF_OK;
  if (sfreport_counters_copy_of(message->rank_info, counters_fd, &copy) != SF_OK)
    return SF_OK; /* not known */
  const sfshm_graph_counters_t *graph = sfshm_counters_find_graph(copy, asking->graph);
  for (uint32_t i = 0; graph != NULL && i < graph->nlanes && status == SF_OK; i++) {
    const sfshm_lane_counters_t *lane = &copy->lanes[graph->first_lane + i];
    status = add_lane(&asking->within, message->told_by, message->rank_info->rank, lane);
    if (status == SF_OK)
      status = add_sent(asking, message->told_by, message->rank_info->rank, lane);
  }
  if (graph != NULL && status == SF_OK)
    status = add_degrees(&asking->within, message->told_by, copy, graph);
  if (graph != NULL && status == SF_OK)
    status = add_lane(&asking->within, message->told_by, message->rank_info->rank, &graph->rest[0]);
  sfshm_counters_free(copy);
  return status;
}

/* sfctl_pair_t and sent_t, which both begin with node, from and to. */
static int compare(const void *a, const void *b)
{
  const int32_t *x = a, *y = b;
  for (int i = 0; i < 2; i++)
    if (x[i] != y[i])
      return x[i] < y[i] ? -1 : 1;
  return sfshm_compare_int32(&x[2], &y[2]);
}

static int compare_ranks(const void *a, const void *b)
{
  const sfctl_degrees_t *x = a, *y = b;
  if (x->node != y->node)
    return x->node < y->node ? -1 : 1;
  return (x->edges.rank > y->edges.rank) - (x->edges.rank < y->edges.rank);
}

/* By the sender's counters. */
static void find_ways(asking_t *asking)
{
  if (asking->nsent == 0)
    return;
  qsort(asking->sent, asking->nsent, sizeof *asking->sent, compare);
  for (size_t i = 0; i < asking->within.npairs; i++) {
    sfctl_pair_t *pair = &asking->within.pairs[i];
    const sent_t wanted = {.node = pair->node, .from = pair->from, .to = pair->to};
    const sent_t *sent = bsearch(&wanted, asking->sent, asking->nsent, sizeof *asking->sent, compare);
    if (sent == NULL)
      continue;
    pair->way = sent->way;
    pair->streams = sent->streams;
  }
}

sf_status_t sfctl_within_ask(sfctl_connection_t *connection, uint64_t graph, sfctl_within_t *within_p)
{
  asking_t asking = {.graph = graph};
  sf_status_t status = sfctl_collect_ranks(connection, NULL, take_rank, &asking);
  if (status == SF_OK)
    find_ways(&asking);
  free(asking.sent);
  if (status != SF_OK) {
    sfctl_within_free(&asking.within);
    return status;
  }
  if (asking.within.npairs > 0)
    qsort(asking.within.pairs, asking.within.npairs, sizeof *asking.within.pairs, compare);
  if (asking.within.nranks > 0)
    qsort(asking.within.ranks, asking.within.nranks, sizeof *asking.within.ranks, compare_ranks);
  *within_p = asking.within;
  return SF_OK;
}

void sfctl_within_free(sfctl_within_t *within)
{
  free(within->pairs);
  free(within->ranks);
  *within = (sfctl_within_t){0};
}
