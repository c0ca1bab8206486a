/* Collecting data of commands: chooses jobs, and adds counters to ranks and graphs. The one thread of sfctl. */
#include "tools/sfctl/collect.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/gather.h"
#include "shm/base/error.h"
#include "shm/base/suggest.h"

/* State of collecting. */
typedef struct collector {
  const char *job;          /* NULL: all */
  sfreport_list_t jobs;     /* if job is not NULL */
  sfreport_gather_t gather; /* the answer */
} collector_t;

static sf_status_t ask(sfctl_connection_t *connection, Sfproto__Query__What what, sfctl_take_t take, void *context)
{
  Sfproto__Query query = SFPROTO_BODY(query, .what = what);
  return sfctl_query(connection, &query, take, context);
}

static sf_status_t keep(sfreport_list_t *list, sfproto_incoming_t *incoming, sfreport_item_t **item_p)
{
  sf_status_t status = sfreport_list_add(list, incoming->message, item_p);
  if (status == SF_OK)
    incoming->message = NULL;
  return status;
}

/* ---- Which jobs ---- */

static sf_status_t take_job(void *context, sfproto_incoming_t *incoming)
{
  collector_t *collector = context;
  sfreport_item_t *item;
  return keep(&collector->jobs, incoming, &item);
}

static const char *name_of(const sfreport_item_t *item)
{
  return item->message->job_info->name;
}

static bool is_name_of_any(const sfreport_list_t *jobs, const char *job)
{
  for (size_t i = 0; i < jobs->count; i++)
    if (strcmp(name_of(&jobs->items[i]), job) == 0)
      return true;
  return false;
}

static sf_status_t find_id(const sfreport_list_t *list, const char *word, uint64_t *id_p)
{
  uint64_t *ids = sfctl_id_list(list);
  if (ids == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu numbers", list->count);
  sf_status_t status = sfctl_id_find(ids, list->count, word, id_p);
  free(ids);
  return status;
}

/* The job of which alone the name begins with the word; 0: none. SF_ERR_ARG: several jobs. */
static sf_status_t find_beginning(const sfreport_list_t *jobs, const char *word, uint64_t *id_p)
{
  const sfreport_item_t *found = NULL;
  for (size_t i = 0; i < jobs->count && *word != '\0'; i++) {
    const sfreport_item_t *item = &jobs->items[i];
    if (strncmp(name_of(item), word, strlen(word)) != 0)
      continue;
    if (found != NULL && found->message->job_info->job_id != item->message->job_info->job_id)
      return sfshm_error(SF_ERR_ARG, "\"%.80s\" begins the names of several jobs, %.80s and %.80s: give more of it",
                         word, name_of(found), name_of(item));
    found = item;
  }
  *id_p = found != NULL ? found->message->job_info->job_id : 0;
  return SF_OK;
}

/* By id, end of an id, or beginning of a name. 0: none. SF_ERR_ARG: several. */
static sf_status_t find_job_id(const sfreport_list_t *jobs, const char *word, uint64_t *id_p)
{
  sf_status_t status = find_id(jobs, word, id_p);
  if (status == SF_OK && *id_p == 0)
    status = find_beginning(jobs, word, id_p);
  return status;
}

/* Keeps the jobs of that word; names go before ids. */
static sf_status_t choose_jobs(sfreport_list_t *jobs, const char *job)
{
  bool by_name = is_name_of_any(jobs, job);
  uint64_t id = 0;
  size_t kept = 0;
  sf_status_t status = by_name ? SF_OK : find_job_id(jobs, job, &id);
  for (size_t i = 0; i < jobs->count; i++) {
    sfreport_item_t *item = &jobs->items[i];
    if (by_name ? strcmp(name_of(item), job) == 0 : id != 0 && item->message->job_info->job_id == id)
      jobs->items[kept++] = *item;
    else
      sfproto__message__free_unpacked(item->message, NULL);
  }
  jobs->count = kept;
  return status;
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
  sfshm_suggest_hint(&suggest, hint); /* before the list is cleared */
  status = choose_jobs(&collector->jobs, collector->job);
  if (status != SF_OK)
    return status;
  if (collector->jobs.count == 0 && connection->missing.count == 0)
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
  case SFPROTO__MESSAGE__BODY_RANK_STATE:
    return message->rank_state->job_id;
  case SFPROTO__MESSAGE__BODY_RANK_INFO:
    return message->rank_info->job_id;
  case SFPROTO__MESSAGE__BODY_GRAPH_INFO:
    return message->graph_info->job_id;
  case SFPROTO__MESSAGE__BODY_ARRAY_INFO:
    return message->array_info->job_id;
  default:
    return 0;
  }
}

/* -1 if the counters can't be read, for instance in another layout. */
static int counters_of(const sfproto_incoming_t *incoming)
{
  return incoming->nfds > 0 ? incoming->fds[0] : -1;
}

static sf_status_t take_any(void *context, sfproto_incoming_t *incoming)
{
  collector_t *collector = context;
  if (!is_meant(collector, job_of(incoming->message)))
    return SF_OK;
  sf_status_t status = sfreport_gather_add(&collector->gather, incoming->message, counters_of(incoming));
  if (status == SF_OK)
    incoming->message = NULL;
  return status;
}

/* ---- Counters of graphs ---- */

static sf_status_t take_counters(void *context, sfproto_incoming_t *incoming)
{
  collector_t *collector = context;
  if (is_meant(collector, incoming->message->rank_info->job_id))
    sfreport_gather_count(&collector->gather, incoming->message, counters_of(incoming));
  return SF_OK;
}

static sf_status_t count_graphs(sfctl_connection_t *connection, collector_t *collector)
{
  sf_status_t status = sfreport_gather_begin_counting(&collector->gather);
  if (status == SF_OK && collector->gather.list.count > 0)
    status = ask(connection, SFPROTO__QUERY__WHAT__RANKS, take_counters, collector);
  return status;
}

sf_status_t sfctl_collect(sfctl_connection_t *connection, Sfproto__Query__What what, const char *job,
                          sfreport_list_t *list_p)
{
  collector_t *collector = calloc(1, sizeof *collector); /* large: has counters */
  if (collector == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the counters of a rank");
  collector->job = job;
  sfctl_will_ask(connection, (job != NULL) + 1 + (what == SFPROTO__QUERY__WHAT__GRAPHS));
  sf_status_t status = job != NULL ? find_jobs(connection, collector) : SF_OK;
  if (status == SF_OK)
    status = ask(connection, what, take_any, collector);
  if (status == SF_OK && what == SFPROTO__QUERY__WHAT__GRAPHS)
    status = count_graphs(connection, collector);
  if (status == SF_OK)
    *list_p = collector->gather.list;
  else
    sfreport_list_clear(&collector->gather.list);
  sfreport_gather_end(&collector->gather);
  sfreport_list_clear(&collector->jobs);
  free(collector);
  return status;
}

/* ---- Ranks, one by one ---- */

typedef struct handing {
  collector_t *collector;
  sfctl_take_rank_t take;
  void *context;
} handing_t;

static sf_status_t hand_rank(void *context, sfproto_incoming_t *incoming)
{
  const handing_t *handing = context;
  if (!is_meant(handing->collector, job_of(incoming->message)))
    return SF_OK;
  return handing->take(handing->context, incoming->message, counters_of(incoming));
}

sf_status_t sfctl_collect_ranks(sfctl_connection_t *connection, const char *job, sfctl_take_rank_t take, void *context)
{
  collector_t *collector = calloc(1, sizeof *collector);
  if (collector == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the counters of a rank");
  handing_t handing = {collector, take, context};
  collector->job = job;
  sfctl_will_ask(connection, (job != NULL) + 1);
  sf_status_t status = job != NULL ? find_jobs(connection, collector) : SF_OK;
  if (status == SF_OK)
    status = ask(connection, SFPROTO__QUERY__WHAT__RANKS, hand_rank, &handing);
  sfreport_list_clear(&collector->jobs);
  free(collector);
  return status;
}

/* ---- Numbers ---- */

static sf_status_t take_item(void *context, sfproto_incoming_t *incoming)
{
  sfreport_item_t *item;
  return keep(context, incoming, &item);
}

sf_status_t sfctl_collect_graph_id(sfctl_connection_t *connection, const char *word, uint64_t *graph_p)
{
  sfreport_list_t list = {0};
  uint64_t graph = 0;
  sfctl_will_ask(connection, 3); /* with queries about the graph and its ranks */
  sf_status_t status = ask(connection, SFPROTO__QUERY__WHAT__GRAPHS, take_item, &list);
  if (status == SF_OK)
    status = find_id(&list, word, &graph);
  if (status == SF_OK)
    *graph_p = graph != 0 ? graph : strtoull(word, NULL, 10);
  sfreport_list_clear(&list);
  return status;
}

sf_status_t sfctl_collect_job_id(sfctl_connection_t *connection, const char *word, const char **job_p,
                                 char number[SFCTL_ID_SIZE])
{
  sfreport_list_t list = {0};
  uint64_t id = 0;
  sf_status_t status = ask(connection, SFPROTO__QUERY__WHAT__JOBS, take_item, &list);
  bool is_name = is_name_of_any(&list, word);
  if (status == SF_OK && !is_name)
    status = find_id(&list, word, &id);
  if (status == SF_OK)
    *job_p = id != 0 ? sfctl_id_text(id, 0, number) : word;
  sfreport_list_clear(&list);
  return status;
}

/* ---- Plans ---- */

sf_status_t sfctl_collect_plan(sfctl_connection_t *connection, uint64_t graph, sfreport_list_t *list_p)
{
  sfreport_list_t list = {0};
  Sfproto__Query query = SFPROTO_BODY(query, .what = SFPROTO__QUERY__WHAT__PLAN, SFPROTO_HAS(graph, graph));
  sf_status_t status = sfctl_query(connection, &query, take_item, &list);
  if (status == SF_OK && list.count == 0 && connection->missing.count == 0)
    status = sfshm_error(SF_ERR_NOT_FOUND, "graph %" PRIu64 " has just been destroyed", graph);
  if (status == SF_OK)
    *list_p = list;
  else
    sfreport_list_clear(&list);
  return status;
}

/* ---- Metrics ---- */

sf_status_t sfctl_collect_metrics(sfctl_connection_t *connection, sfreport_metrics_t *metrics_p)
{
  sfreport_metrics_t metrics = {0};
  const struct {
    Sfproto__Query__What what;
    sfreport_list_t *list;
  } parts[] = {{SFPROTO__QUERY__WHAT__STATUS, &metrics.status}, {SFPROTO__QUERY__WHAT__JOBS, &metrics.jobs},
               {SFPROTO__QUERY__WHAT__RANKS, &metrics.ranks},   {SFPROTO__QUERY__WHAT__GRAPHS, &metrics.graphs},
               {SFPROTO__QUERY__WHAT__ARRAYS, &metrics.arrays}, {SFPROTO__QUERY__WHAT__PEERS, &metrics.peers}};
  sf_status_t status = SF_OK;
  sfctl_will_ask(connection, (int)(sizeof parts / sizeof parts[0]) + 1); /* graphs: two */
  for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == SF_OK; i++) {
    status = sfctl_collect(connection, parts[i].what, NULL, parts[i].list);
    if (status == SF_OK && connection->target.all)
      sfreport_list_sort(parts[i].list);
  }
  if (status != SF_OK) {
    sfreport_metrics_clear(&metrics);
    return status;
  }
  sfreport_list_drop_unnumbered(&metrics.graphs);
  *metrics_p = metrics;
  return SF_OK;
}
