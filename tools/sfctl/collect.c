/* Asking for all that a command shows: which jobs are meant, and for ranks and graphs the counters besides. A rank can
 * write what it likes into its counters, so they count only for its own job's graphs. The one thread of sfctl. */
#include "tools/sfctl/collect.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/error.h"
#include "shm/suggest.h"
#include "tools/sfctl/counters.h"

/* What is being collected. */
typedef struct collector {
  const char *job;      /* NULL: all */
  sfctl_list_t jobs;    /* those meant, if job is not NULL */
  sfctl_list_t list;    /* the answer */
  sfctl_item_t **index; /* of the graphs in it, by job and number */
  sfctl_rank_counts_t counts;
} collector_t;

static sf_status_t ask(sfctl_connection_t *connection, Sfproto__Query__What what, sfctl_take_t take, void *context)
{
  Sfproto__Query query = SFPROTO__QUERY__INIT;
  query.what = what;
  return sfctl_query(connection, &query, take, context);
}

static sf_status_t keep(sfctl_list_t *list, sfproto_incoming_t *incoming, sfctl_item_t **item_p)
{
  sf_status_t status = sfctl_list_add(list, incoming->message, item_p);
  if (status == SF_OK)
    incoming->message = NULL;
  return status;
}

/* ---- Which jobs ---- */

static sf_status_t take_job(void *context, sfproto_incoming_t *incoming)
{
  collector_t *collector = context;
  sfctl_item_t *item;
  return keep(&collector->jobs, incoming, &item);
}

static const char *name_of(const sfctl_item_t *item)
{
  return item->message->job_info->name;
}

static bool has_number(const sfctl_item_t *item, const char *job)
{
  char number[24];
  snprintf(number, sizeof number, "%" PRIu64, item->message->job_info->job_id);
  return strcmp(number, job) == 0;
}

static bool is_name_of_any(const sfctl_list_t *jobs, const char *job)
{
  for (size_t i = 0; i < jobs->count; i++)
    if (strcmp(name_of(&jobs->items[i]), job) == 0)
      return true;
  return false;
}

/* Only the jobs meant stay in the list; names go before numbers. */
static void choose_jobs(sfctl_list_t *jobs, const char *job)
{
  bool by_name = is_name_of_any(jobs, job);
  size_t kept = 0;
  for (size_t i = 0; i < jobs->count; i++) {
    sfctl_item_t *item = &jobs->items[i];
    if (by_name ? strcmp(name_of(item), job) == 0 : has_number(item, job))
      jobs->items[kept++] = *item;
    else
      sfproto__message__free_unpacked(item->message, NULL);
  }
  jobs->count = kept;
}

static sf_status_t find_jobs(sfctl_connection_t *connection, collector_t *collector)
{
  char hint[SFSHM_SUGGEST_HINT_SIZE];
  sfshm_suggest_t suggest = {.word = collector->job};
  sf_status_t status = ask(connection, SFPROTO__QUERY__WHAT__JOBS, take_job, collector);
  if (status != SF_OK)
    return status;
  for (size_t i = 0; i < collector->jobs.count; i++)
    sfshm_suggest_show(&suggest, name_of(&collector->jobs.items[i]));
  sfshm_suggest_hint(&suggest, hint); /* before the name goes */
  choose_jobs(&collector->jobs, collector->job);
  if (collector->jobs.count == 0)
    return sfshm_error(SF_ERR_NOT_FOUND, "no job \"%.80s\"%s is known to the sfd at %s, or it is another user's",
                       collector->job, hint, connection->path);
  return SF_OK;
}

static bool is_meant(const collector_t *collector, uint64_t job_id)
{
  for (size_t i = 0; i < collector->jobs.count; i++)
    if (collector->jobs.items[i].message->job_info->job_id == job_id)
      return true;
  return collector->job == NULL;
}

/* ---- Answers ---- */

static uint64_t job_of(const Sfproto__Message *message)
{
  switch (message->body_case) {
  case SFPROTO__MESSAGE__BODY_JOB_INFO:
    return message->job_info->job_id;
  case SFPROTO__MESSAGE__BODY_RANK_INFO:
    return message->rank_info->job_id;
  case SFPROTO__MESSAGE__BODY_GRAPH_INFO:
    return message->graph_info->job_id;
  default:
    return 0;
  }
}

/* A rank whose counters can't be read, for instance those of another layout, is shown without them. */
static bool read_counters(collector_t *collector, const sfproto_incoming_t *incoming)
{
  return incoming->nfds > 0 && sfctl_counters_read(incoming->fds[0], &collector->counts) == SF_OK;
}

static sf_status_t take_any(void *context, sfproto_incoming_t *incoming)
{
  collector_t *collector = context;
  sfctl_item_t *item;
  if (!is_meant(collector, job_of(incoming->message)))
    return SF_OK;
  sf_status_t status = keep(&collector->list, incoming, &item);
  if (status == SF_OK && item->message->body_case == SFPROTO__MESSAGE__BODY_RANK_INFO &&
      read_counters(collector, incoming)) {
    item->ncounted = 1;
    item->counts = collector->counts.total;
    item->sleeps = collector->counts.sleeps;
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
  const Sfproto__GraphInfo *x = (*(sfctl_item_t *const *)a)->message->graph_info;
  const Sfproto__GraphInfo *y = (*(sfctl_item_t *const *)b)->message->graph_info;
  int by_job = compare_numbers(x->job_id, y->job_id);
  return by_job != 0 ? by_job : compare_numbers(x->graph, y->graph);
}

static sf_status_t make_index(collector_t *collector)
{
  sfctl_list_t *list = &collector->list;
  collector->index = calloc(list->count + 1, sizeof(sfctl_item_t *));
  if (collector->index == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for an index of %zu graphs", list->count);
  for (size_t i = 0; i < list->count; i++)
    collector->index[i] = &list->items[i];
  qsort(collector->index, list->count, sizeof(sfctl_item_t *), compare_items);
  return SF_OK;
}

static sfctl_item_t *find_graph(const collector_t *collector, uint64_t job_id, uint64_t graph)
{
  size_t low = 0, high = collector->list.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const Sfproto__GraphInfo *info = collector->index[middle]->message->graph_info;
    int order = compare_numbers(info->job_id, job_id);
    order = order != 0 ? order : compare_numbers(info->graph, graph);
    if (order == 0)
      return collector->index[middle];
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

static sf_status_t take_counters(void *context, sfproto_incoming_t *incoming)
{
  collector_t *collector = context;
  uint64_t job_id = incoming->message->rank_info->job_id;
  if (!is_meant(collector, job_id) || !read_counters(collector, incoming))
    return SF_OK;
  for (int i = 0; i < collector->counts.ngraphs; i++) {
    const sfctl_graph_counts_t *entry = &collector->counts.graphs[i];
    sfctl_item_t *item = find_graph(collector, job_id, entry->graph);
    if (item == NULL) /* made or forgotten since the daemon was asked */
      continue;
    sfctl_counts_merge(&item->counts, &entry->counts, item->ncounted == 0);
    item->ncounted++;
  }
  return SF_OK;
}

static sf_status_t count_graphs(sfctl_connection_t *connection, collector_t *collector)
{
  sf_status_t status = make_index(collector);
  if (status == SF_OK && collector->list.count > 0)
    status = ask(connection, SFPROTO__QUERY__WHAT__RANKS, take_counters, collector);
  free(collector->index);
  return status;
}

sf_status_t sfctl_collect(sfctl_connection_t *connection, Sfproto__Query__What what, const char *job,
                          sfctl_list_t *list_p)
{
  collector_t *collector = calloc(1, sizeof *collector); /* large, because of the counters */
  if (collector == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the counters of a rank");
  collector->job = job;
  sf_status_t status = job != NULL ? find_jobs(connection, collector) : SF_OK;
  if (status == SF_OK)
    status = ask(connection, what, take_any, collector);
  if (status == SF_OK && what == SFPROTO__QUERY__WHAT__GRAPHS)
    status = count_graphs(connection, collector);
  if (status == SF_OK)
    *list_p = collector->list;
  else
    sfctl_list_clear(&collector->list);
  sfctl_list_clear(&collector->jobs);
  free(collector);
  return status;
}

/* ---- Plans ---- */

static sf_status_t take_plan(void *context, sfproto_incoming_t *incoming)
{
  sfctl_item_t *item;
  return keep(context, incoming, &item);
}

sf_status_t sfctl_collect_plan(sfctl_connection_t *connection, uint64_t graph, sfctl_list_t *list_p)
{
  sfctl_list_t list = {0};
  Sfproto__Query query = SFPROTO__QUERY__INIT;
  query.what = SFPROTO__QUERY__WHAT__PLAN;
  query.has_graph = true;
  query.graph = graph;
  sf_status_t status = sfctl_query(connection, &query, take_plan, &list);
  if (status == SF_OK && list.count == 0)
    status = sfshm_error(SF_ERR_NOT_FOUND, "graph %" PRIu64 " has just been destroyed", graph);
  if (status == SF_OK)
    *list_p = list;
  else
    sfctl_list_clear(&list);
  return status;
}
