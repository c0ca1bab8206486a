/* Messages and counters put together: see gather.h. One thread. */
#include "proto/report/gather.h"

#include <stdbool.h>
#include <stdlib.h>

#include "shm/error.h"

static bool read_counters(sfreport_gather_t *gather, int fd)
{
  return fd >= 0 && sfreport_counters_read(fd, &gather->counts) == SF_OK;
}

sf_status_t sfreport_gather_add(sfreport_gather_t *gather, Sfproto__Message *message, int counters_fd)
{
  sfreport_item_t *item;
  sf_status_t status = sfreport_list_add(&gather->list, message, &item);
  if (status == SF_OK && message->body_case == SFPROTO__MESSAGE__BODY_RANK_INFO && read_counters(gather, counters_fd)) {
    item->ncounted = 1;
    item->counts = gather->counts.total;
    item->sleeps = gather->counts.sleeps;
  }
  return status;
}

/* ---- Counters of graphs ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
  return a < b ? -1 : a > b;
}

static int compare_items(const void *a, const void *b)
{
  const Sfproto__GraphInfo *x = (*(sfreport_item_t *const *)a)->message->graph_info;
  const Sfproto__GraphInfo *y = (*(sfreport_item_t *const *)b)->message->graph_info;
  int by_job = compare_numbers(x->job_id, y->job_id);
  return by_job != 0 ? by_job : compare_numbers(x->graph, y->graph);
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

static sfreport_item_t *find_graph(const sfreport_gather_t *gather, uint64_t job_id, uint64_t graph)
{
  size_t low = 0, high = gather->list.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const Sfproto__GraphInfo *info = gather->index[middle]->message->graph_info;
    int order = compare_numbers(info->job_id, job_id);
    order = order != 0 ? order : compare_numbers(info->graph, graph);
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
  if (!read_counters(gather, counters_fd))
    return;
  for (int i = 0; i < gather->counts.ngraphs; i++) {
    const sfreport_graph_counts_t *entry = &gather->counts.graphs[i];
    sfreport_item_t *item = find_graph(gather, rank->rank_info->job_id, entry->graph);
    if (item == NULL) /* made or forgotten since the daemon was asked */
      continue;
    sfreport_counts_merge(&item->counts, &entry->counts, item->ncounted == 0);
    item->ncounted++;
  }
}

void sfreport_gather_end(sfreport_gather_t *gather)
{
  free(gather->index);
  gather->index = NULL;
}
