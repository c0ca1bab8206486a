/* Gathering: see gather.h. One thread. */
#include "proto/report/gather.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/base/room.h"

static bool read_counters(sfreport_gather_t *gather, const Sfproto__RankInfo *rank, int fd)
{
  return sfreport_counters_of(rank, fd, &gather->counts) == SF_OK;
}

/* ---- Ranks ---- */

/* Without memory no waits are recorded. Other nodes are told apart only if nodes were named. */
static void add_waits(sfreport_gather_t *gather, const Sfproto__Message *message)
{
  size_t n = (size_t)gather->counts.nwaits_for;
  if (!sfshm_make_room(&gather->waits, &gather->waits_capacity, gather->nwaits + n, sizeof *gather->waits))
    return;
  for (size_t i = 0; i < n; i++) {
    const sfreport_wait_for_t *wait = &gather->counts.waits_for[i];
    sfreport_gathered_wait_t entry = {message->told_by, message->rank_info->job_id, wait->peer, wait->ns};
    if (wait->node && !message->has_told_by)
      continue;
    if (wait->node)
      entry = (sfreport_gathered_wait_t){wait->peer, entry.job_id, -1, wait->ns};
    gather->waits[gather->nwaits++] = entry;
  }
}

static int compare_waits(const void *a, const void *b)
{
  const sfreport_gathered_wait_t *x = a, *y = b;
  if (x->node != y->node)
    return x->node < y->node ? -1 : 1;
  if (x->job_id != y->job_id)
    return x->job_id < y->job_id ? -1 : 1;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

static uint64_t waited_for(const sfreport_gather_t *gather, const sfreport_gathered_wait_t *whom)
{
  size_t low = 0, high = gather->nwaits;
  uint64_t sum = 0;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare_waits(&gather->waits[middle], whom) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < gather->nwaits && compare_waits(&gather->waits[low], whom) == 0; low++)
    sum += gather->waits[low].ns;
  return sum;
}

static uint64_t count_ranks(const sfreport_list_t *list, const Sfproto__Message *like)
{
  uint64_t n = 0;
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__Message *message = list->items[i].message;
    n += message->told_by == like->told_by && message->rank_info->job_id == like->rank_info->job_id;
  }
  return n;
}

/* Ranks know only the node for which they waited: each rank there gets an equal part. */
static void add_up_waits(sfreport_gather_t *gather)
{
  if (gather->nwaits > 0)
    qsort(gather->waits, gather->nwaits, sizeof *gather->waits, compare_waits);
  for (size_t i = 0; i < gather->list.count && gather->nwaits > 0; i++) {
    const Sfproto__Message *message = gather->list.items[i].message;
    sfreport_gathered_wait_t whom = {message->told_by, message->rank_info->job_id, message->rank_info->rank, 0};
    gather->list.items[i].waited_for_ns = waited_for(gather, &whom);
    whom.rank = -1;
    uint64_t node_ns = waited_for(gather, &whom);
    if (node_ns > 0)
      gather->list.items[i].waited_far_ns = node_ns / count_ranks(&gather->list, message);
  }
}

sf_status_t sfreport_gather_add(sfreport_gather_t *gather, Sfproto__Message *message, int counters_fd)
{
  sfreport_item_t *item;
  sf_status_t status = sfreport_list_add(&gather->list, message, &item);
  if (status == SF_OK && message->body_case == SFPROTO__MESSAGE__BODY_RANK_INFO &&
      read_counters(gather, message->rank_info, counters_fd)) {
    item->ncounted = 1;
    item->counts = gather->counts.total;
    item->sleeps = gather->counts.sleeps;
    item->oldest_wait_ns = gather->counts.oldest_wait_ns;
    add_waits(gather, message);
  }
  return status;
}

/* ---- Counters of graphs ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
  return a < b ? -1 : a > b;
}

/* Order of a graph and the one with these numbers, as told by that node (0 if nodes are not named). */
static int compare_graphs(const Sfproto__Message *message, int32_t told_by, uint64_t job_id, uint64_t graph)
{
  int order = compare_numbers((uint64_t)message->told_by, (uint64_t)told_by);
  order = order != 0 ? order : compare_numbers(message->graph_info->job_id, job_id);
  return order != 0 ? order : compare_numbers(message->graph_info->graph, graph);
}

static int compare_items(const void *a, const void *b)
{
  const Sfproto__Message *x = (*(sfreport_item_t *const *)a)->message, *y = (*(sfreport_item_t *const *)b)->message;
  return compare_graphs(x, y->told_by, y->graph_info->job_id, y->graph_info->graph);
}

sf_status_t sfreport_gather_begin_counting(sfreport_gather_t *gather)
{
  sfreport_list_t *list = &gather->list;
  gather->index = calloc(list->count + 1, sizeof(sfreport_item_t *));
  if (gather->index == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for an index of %zu graphs", list->count);
  for (size_t i = 0; i < list->count; i++)
    gather->index[i] = &list->items[i];
  qsort(gather->index, list->count, sizeof(sfreport_item_t *), compare_items);
  return SF_OK;
}

static sfreport_item_t *find_graph(const sfreport_gather_t *gather, const Sfproto__Message *rank, uint64_t graph)
{
  size_t low = 0, high = gather->list.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = compare_graphs(gather->index[middle]->message, rank->told_by, rank->rank_info->job_id, graph);
    if (order == 0)
      return gather->index[middle];
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

void sfreport_gather_count(sfreport_gather_t *gather, const Sfproto__Message *rank, int counters_fd)
{
  if (!read_counters(gather, rank->rank_info, counters_fd))
    return;
  for (int i = 0; i < gather->counts.ngraphs; i++) {
    const sfreport_graph_counts_t *entry = &gather->counts.graphs[i];
    sfreport_item_t *item = find_graph(gather, rank, entry->graph);
    if (item == NULL) /* created or destroyed since the query */
      continue;
    sfreport_counts_merge(&item->counts, &entry->counts, item->ncounted == 0);
    sfreport_latency_add(&item->latency, &entry->latency);
    sfreport_shape_add(&item->shape, &entry->degrees);
    item->multi_of = entry->multi_of;
    memcpy(item->call_site, entry->call_site, sizeof item->call_site);
    if (entry->oldest_wait_ns > item->oldest_wait_ns)
      item->oldest_wait_ns = entry->oldest_wait_ns;
    item->ncounted++;
  }
}

void sfreport_gather_end(sfreport_gather_t *gather)
{
  add_up_waits(gather);
  free(gather->waits);
  gather->waits = NULL;
  gather->nwaits = gather->waits_capacity = 0;
  free(gather->index);
  gather->index = NULL;
}
