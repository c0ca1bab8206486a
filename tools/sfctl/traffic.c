/* Traffic from counters: see traffic.h. The one thread of sfctl. */
#include "tools/sfctl/traffic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/arrays.h"
#include "proto/report/counters.h"
#include "shm/array/layout.h"
#include "shm/base/error.h"
#include "shm/base/room.h"
#include "shm/lane/message.h"
#include "shm/observe/counters_read.h"
#include "tools/sfctl/collect.h"

typedef struct counting {
  const sfctl_traffic_question_t *question;
  sfctl_traffic_t traffic;
  bool found_graph;
  int32_t rank, node; /* of the counters */
  sf_status_t status;
} counting_t;

/* ---- Flows ---- */

int sfctl_party_compare(const sfctl_party_t *a, const sfctl_party_t *b)
{
  if (a->kind != b->kind)
    return a->kind < b->kind ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

static int compare_flows(const void *a, const void *b)
{
  const sfctl_flow_t *x = a, *y = b;
  int order = sfctl_party_compare(&x->from, &y->from);
  return order != 0 ? order : sfctl_party_compare(&x->to, &y->to);
}

static void add_flow(counting_t *counting, const sfctl_flow_t *flow)
{
  sfctl_traffic_t *traffic = &counting->traffic;
  if ((flow->messages == 0 && flow->bytes == 0) || counting->status != SF_OK)
    return;
  if (sfshm_make_room(&traffic->flows, &traffic->capacity, traffic->nflows + 1, sizeof *traffic->flows))
    traffic->flows[traffic->nflows++] = *flow;
  else
    counting->status = sfshm_error(SF_ERR_NOMEM, "no memory for %zu flows", traffic->nflows + 1);
}

/* Merges equal pairs, and drops empty ones. */
static void add_up(sfctl_traffic_t *traffic)
{
  size_t kept = 0;
  if (traffic->nflows > 0)
    qsort(traffic->flows, traffic->nflows, sizeof *traffic->flows, compare_flows);
  for (size_t i = 0; i < traffic->nflows; i++) {
    sfctl_flow_t *flow = &traffic->flows[i];
    if (kept > 0 && compare_flows(flow, &traffic->flows[kept - 1]) == 0) {
      traffic->flows[kept - 1].messages += flow->messages;
      traffic->flows[kept - 1].bytes += flow->bytes;
    } else {
      traffic->flows[kept++] = *flow;
    }
  }
  traffic->nflows = kept;
}

/* ---- Lanes ---- */

static uint64_t load(const _Atomic uint64_t *counter)
{
  return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Counts what a pair of ranks on different nodes needs, each way. graph NULL: of destroyed graphs. */
static void count_far(counting_t *counting, const sfshm_graph_counters_t *graph, const sfshm_far_counters_t *far)
{
  const sfctl_party_t here = {SFCTL_PARTY_RANK, counting->rank}, there = {SFCTL_PARTY_RANK, far->rank};
  uint64_t from = load(&far->bytes_from), to = load(&far->bytes_to);
  if (graph != NULL) {
    from += load(&graph->unit_bytes[SFSHM_BCAST]) * far->values;
    to += load(&graph->unit_bytes[SFSHM_REDUCE]) * far->reduce_values;
  }
  add_flow(counting, &(sfctl_flow_t){.from = there, .to = here, .bytes = from});
  add_flow(counting, &(sfctl_flow_t){.from = here, .to = there, .bytes = to});
}

static void count_far_of(counting_t *counting, const sfshm_counters_t *copy, const sfshm_graph_counters_t *graph)
{
  for (uint32_t i = 0; i < graph->nfar && counting->question->by == SFCTL_BY_PAIRS; i++)
    count_far(counting, graph, &copy->far[graph->first_far + i]);
}

static void count_lane(counting_t *counting, const sfshm_lane_counters_t *lane)
{
  uint32_t kind = atomic_load_explicit(&lane->kind, memory_order_relaxed);
  bool to_node = kind == SFSHM_PEER_NODE;
  sfctl_flow_t flow = {.from = {SFCTL_PARTY_RANK, counting->rank},
                       .to = {to_node ? SFCTL_PARTY_NODE : SFCTL_PARTY_RANK, lane->peer}};
  if (kind == SFSHM_PEER_NONE || (counting->question->by == SFCTL_BY_NODES && !to_node) ||
      (counting->question->by == SFCTL_BY_PAIRS && to_node))
    return;
  if (lane->peer < 0)
    flow.to = (sfctl_party_t){SFCTL_PARTY_OTHERS, to_node};
  if (counting->question->by == SFCTL_BY_NODES) {
    flow.from = (sfctl_party_t){SFCTL_PARTY_NODE, counting->node};
    flow.messages = load(&lane->node_messages_sent);
    flow.bytes = load(&lane->node_bytes_sent);
  } else if (to_node) {
    flow.messages = load(&lane->node_messages_sent);
    flow.bytes = load(&lane->bytes_slots);
  } else {
    flow.messages = load(&lane->messages_sent);
    flow.bytes =
        load(&lane->bytes_inline) + load(&lane->bytes_slots) + load(&lane->bytes_in_place) + load(&lane->bytes_vm_read);
  }
  add_flow(counting, &flow);
}

static void count_graph(counting_t *counting, const sfshm_counters_t *copy, const sfshm_graph_counters_t *graph)
{
  for (uint32_t i = 0; i < graph->nlanes; i++)
    count_lane(counting, &copy->lanes[graph->first_lane + i]);
  count_lane(counting, &graph->rest[0]);
  count_lane(counting, &graph->rest[1]);
  count_far_of(counting, copy, graph);
}

static void count_all(counting_t *counting, const sfshm_counters_t *copy)
{
  for (uint32_t i = 0; i < copy->lanes_used; i++)
    count_lane(counting, &copy->lanes[i]);
  for (uint32_t i = 0; i < copy->graphs_used; i++) {
    if (load(&copy->graphs[i].graph) == 0)
      continue;
    count_lane(counting, &copy->graphs[i].rest[0]);
    count_lane(counting, &copy->graphs[i].rest[1]);
    count_far_of(counting, copy, &copy->graphs[i]);
  }
  for (uint32_t i = 0; i < copy->far_used && counting->question->by == SFCTL_BY_PAIRS; i++)
    if (atomic_load_explicit(&copy->far[i].taken, memory_order_relaxed) != 0 && copy->far[i].graph == 0)
      count_far(counting, NULL, &copy->far[i]);
}

/* ---- Ranks ---- */

static sf_status_t check_job(counting_t *counting, const Sfproto__RankInfo *info)
{
  sfctl_traffic_t *traffic = &counting->traffic;
  if (traffic->job_id != 0 && traffic->job_id != info->job_id)
    return sfshm_error(SF_ERR_ARG, "there are several jobs, %.64s and %.64s: name one, by its number if need be",
                       traffic->job, info->job);
  traffic->job_id = info->job_id;
  snprintf(traffic->job, sizeof traffic->job, "%s", info->job);
  return SF_OK;
}

static sf_status_t take_rank(void *context, const Sfproto__Message *message, int counters_fd)
{
  counting_t *counting = context;
  const Sfproto__RankInfo *info = message->rank_info;
  sfshm_counters_t *copy;
  if (info->job_id == 0) /* it is joining */
    return SF_OK;
  sf_status_t status = check_job(counting, info);
  if (status != SF_OK)
    return status;
  if (sfreport_counters_copy_of(info, counters_fd, &copy) != SF_OK) {
    counting->traffic.nunknown++;
    return SF_OK;
  }
  counting->rank = info->rank;
  counting->node = copy->node;
  const sfshm_graph_counters_t *graph = sfshm_counters_find_graph(copy, counting->question->graph);
  if (graph != NULL) {
    counting->found_graph = true;
    count_graph(counting, copy, graph);
  } else if (counting->question->graph == 0) {
    count_all(counting, copy);
  }
  sfshm_counters_free(copy);
  return counting->status;
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

/* Counts requests of a node's ranks to other nodes. The counters of arrays do not tell nodes apart. */
static void count_array(counting_t *counting, const Sfproto__Message *message)
{
  const Sfproto__ArrayInfo *info = message->array_info;
  int32_t node = message->has_told_by ? message->told_by : counting->node; /* one node answers: that of the ranks */
  const sfctl_party_t here = {SFCTL_PARTY_NODE, node}, others = {SFCTL_PARTY_OTHERS, 1};
  uint64_t graph = counting->question->graph;
  if (info->job_id != counting->traffic.job_id || (graph != 0 && info->graph != graph))
    return;
  for (int access = 0; access < SFREPORT_ARRAY_ACCESSES; access++) {
    bool is_get = access == SFSHM_ARRAY_GET;
    sfctl_flow_t flow = {.from = is_get ? others : here, .to = is_get ? here : others};
    flow.messages = sfreport_array_count(info->operations, info->n_operations, SFSHM_ARRAY_DAEMON, access);
    flow.bytes = sfreport_array_count(info->bytes, info->n_bytes, SFSHM_ARRAY_DAEMON, access);
    add_flow(counting, &flow);
  }
}

static sf_status_t count_arrays(counting_t *counting, sfctl_connection_t *connection)
{
  sfreport_list_t list = {0};
  sf_status_t status = sfctl_collect(connection, SFPROTO__QUERY__WHAT__ARRAYS, counting->question->job, &list);
  for (size_t i = 0; i < list.count; i++)
    count_array(counting, list.items[i].message);
  sfreport_list_clear(&list);
  return status == SF_OK ? counting->status : status;
}

sf_status_t sfctl_traffic_ask(sfctl_connection_t *connection, const sfctl_traffic_question_t *question,
                              sfctl_traffic_t *traffic_p)
{
  counting_t counting = {.question = question};
  sf_status_t status = sfctl_collect_ranks(connection, question->job, take_rank, &counting);
  if (status == SF_OK && question->by == SFCTL_BY_NODES)
    status = count_arrays(&counting, connection);
  if (status == SF_OK && question->graph != 0 && !counting.found_graph)
    status = sfshm_error(SF_ERR_NOT_FOUND, "no rank here counts for a graph %" PRIu64, question->graph);
  if (status != SF_OK) {
    sfctl_traffic_free(&counting.traffic);
    return status;
  }
  add_up(&counting.traffic);
  *traffic_p = counting.traffic;
  return SF_OK;
}

void sfctl_traffic_subtract(sfctl_traffic_t *traffic, const sfctl_traffic_t *before)
{
  size_t kept = 0;
  for (size_t i = 0; i < traffic->nflows; i++) {
    sfctl_flow_t flow = traffic->flows[i];
    const sfctl_flow_t *last =
        before->nflows > 0 ? bsearch(&flow, before->flows, before->nflows, sizeof flow, compare_flows) : NULL;
    if (last != NULL) {
      flow.messages -= last->messages < flow.messages ? last->messages : flow.messages;
      flow.bytes -= last->bytes < flow.bytes ? last->bytes : flow.bytes;
    }
    if (flow.messages != 0 || flow.bytes != 0)
      traffic->flows[kept++] = flow;
  }
  traffic->nflows = kept;
}

void sfctl_traffic_free(sfctl_traffic_t *traffic)
{
  free(traffic->flows);
  *traffic = (sfctl_traffic_t){0};
}
