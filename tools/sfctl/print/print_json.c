/* Answers as JSON. Names are documented in docs/man/sfctl.1: add, never change. The one thread of sfctl. */
#include "shm/base/error.h"
#include "tools/sfctl/print/arrays.h"
#include "tools/sfctl/print/json.h"
#include "tools/sfctl/print/print.h"

/* May be missing in answers of older daemons. */
static void print_optional(sfctl_json_t *json, const char *name, bool known, int64_t value)
{
  if (known)
    sfctl_json_int(json, name, value);
  else
    sfctl_json_null(json, name);
}

/* An object, with the node if there may be several. */
static void begin_item(sfctl_json_t *json, const Sfproto__Message *message)
{
  sfctl_json_begin_object(json, NULL);
  if (message->has_told_by)
    sfctl_json_int(json, "told_by", message->told_by);
}

static void print_status(sfctl_json_t *json, const Sfproto__Message *message)
{
  const Sfproto__StatusInfo *info = message->status_info;
  begin_item(json, message);
  sfctl_json_string(json, "software", info->software);
  sfctl_json_uint(json, "protocol", info->protocol);
  sfctl_json_int(json, "pid", info->pid);
  sfctl_json_string(json, "socket", info->socket);
  sfctl_json_double(json, "uptime_s", info->uptime_s);
  sfctl_json_uint(json, "uid", info->uid);
  sfctl_json_int(json, "cores", info->cores);
  sfctl_json_int(json, "jobs", info->jobs);
  sfctl_json_int(json, "ranks", info->ranks);
  sfctl_json_int(json, "graphs", info->graphs);
  sfctl_json_uint(json, "jobs_total", info->jobs_total);
  sfctl_json_uint(json, "jobs_failed", info->jobs_failed);
  sfctl_json_uint(json, "refused", info->refused);
  sfctl_json_bool(json, "costs_measured", info->costs_measured);
  sfctl_json_string(json, "fabric", info->fabric);
  print_optional(json, "node", info->has_node, info->node);
  print_optional(json, "nodes", info->has_nodes, info->nodes);
  sfctl_json_bool(json, "drained", info->drained);
  sfctl_json_end_object(json);
}

static void print_option(sfctl_json_t *json, const Sfproto__Message *message)
{
  const Sfproto__ConfigInfo *info = message->config_info;
  begin_item(json, message);
  sfctl_json_string(json, "name", info->name);
  sfctl_json_string(json, "value", info->value);
  sfctl_json_string(json, "origin", info->origin);
  sfctl_json_end_object(json);
}

static void print_job(sfctl_json_t *json, const Sfproto__Message *message)
{
  const Sfproto__JobInfo *info = message->job_info;
  begin_item(json, message);
  sfctl_json_uint(json, "job_id", info->job_id);
  sfctl_json_string(json, "job", info->name);
  sfctl_json_uint(json, "uid", info->uid);
  sfctl_json_int(json, "size", info->size);
  sfctl_json_int(json, "joined", info->joined);
  sfctl_json_string(json, "state", info->state);
  sfctl_json_int(json, "groups", info->groups);
  sfctl_json_int(json, "graphs", info->graphs);
  sfctl_json_double(json, "age_s", info->age_s);
  sfctl_json_string(json, "program", info->program);
  sfctl_json_string(json, "detail", info->detail);
  print_optional(json, "here", info->has_here, info->here);
  print_optional(json, "nodes", info->has_nodes, info->nodes);
  if (info->has_stalled)
    sfctl_json_bool(json, "stalled", info->stalled);
  else
    sfctl_json_null(json, "stalled");
  sfctl_json_end_object(json);
}

static void print_counts(sfctl_json_t *json, const sfreport_counts_t *counts)
{
#define PRINT(field, text) sfctl_json_uint(json, #field, counts->field);
  SFSHM_COUNTER_TABLE(PRINT)
#undef PRINT
}

/* Non-empty buckets. */
static void print_latency(sfctl_json_t *json, const sfreport_latency_t *latency)
{
  sfctl_json_begin_array(json, "latency");
  for (int kind = 0; kind < SFREPORT_KINDS; kind++)
    for (int bucket = 0; bucket < SFSHM_LATENCY_BUCKETS; bucket++) {
      if (latency->operations[kind][bucket] == 0)
        continue;
      sfctl_json_begin_object(json, NULL);
      sfctl_json_string(json, "kind", sfreport_kind_names[kind]);
      sfctl_json_uint(json, "from_ns", UINT64_C(1) << bucket);
      sfctl_json_uint(json, "operations", latency->operations[kind][bucket]);
      sfctl_json_end_object(json);
    }
  sfctl_json_end_array(json);
}

static void print_regions(sfctl_json_t *json, const Sfproto__RankInfo *info)
{
  sfctl_json_begin_array(json, "regions");
  for (size_t i = 0; i < info->n_regions; i++) {
    const Sfproto__RegionInfo *region = info->regions[i];
    sfctl_json_begin_object(json, NULL);
    sfctl_json_uint(json, "region", region->region);
    sfctl_json_string(json, "kind", region->kind);
    sfctl_json_uint(json, "length_bytes", region->length);
    sfctl_json_string(json, "method", region->method);
    sfctl_json_end_object(json);
  }
  sfctl_json_end_array(json);
}

static void print_rank(sfctl_json_t *json, const sfreport_item_t *item)
{
  const Sfproto__RankInfo *info = item->message->rank_info;
  begin_item(json, item->message);
  sfctl_json_uint(json, "job_id", info->job_id);
  sfctl_json_string(json, "job", info->job);
  sfctl_json_int(json, "rank", info->rank);
  sfctl_json_int(json, "pid", info->pid);
  sfctl_json_string(json, "state", info->state);
  sfctl_json_string(json, "program", info->program);
  if (item->ncounted > 0) {
    sfctl_json_begin_object(json, "counters");
    print_counts(json, &item->counts);
    sfctl_json_uint(json, "sleeps", item->sleeps);
    sfctl_json_uint(json, "waited_for_ns", item->waited_for_ns);
    sfctl_json_uint(json, "oldest_wait_ns", item->oldest_wait_ns);
    sfctl_json_end_object(json);
  } else {
    sfctl_json_null(json, "counters");
  }
  print_regions(json, info);
  print_optional(json, "ring_depth", info->has_ring_depth, info->ring_depth);
  print_optional(json, "offloaded_bytes", info->has_offloaded_bytes, (int64_t)info->offloaded_bytes);
  sfctl_json_end_object(json);
}

static void print_graph_number(sfctl_json_t *json, const char *name, uint64_t graph)
{
  if (graph != 0)
    sfctl_json_uint(json, name, graph);
  else
    sfctl_json_null(json, name);
}

static void print_most(sfctl_json_t *json, const char *name, const sfreport_most_t *most)
{
  sfctl_json_begin_object(json, name);
  sfctl_json_int(json, "rank", most->rank);
  sfctl_json_uint(json, "edges", most->edges);
  sfctl_json_uint(json, "all_edges", most->sum);
  sfctl_json_end_object(json);
}

static void print_shape(sfctl_json_t *json, const sfreport_shape_t *shape)
{
  bool exact;
  uint64_t leaves = sfreport_shape_top(shape, &exact);
  print_most(json, "most_on_roots", &shape->roots);
  print_most(json, "most_on_leaves", &shape->leaves);
  if (leaves == 0) {
    sfctl_json_null(json, "top_root");
    return;
  }
  sfctl_json_begin_object(json, "top_root");
  sfctl_json_int(json, "rank", shape->tops[0].rank);
  sfctl_json_int(json, "root", shape->tops[0].root);
  sfctl_json_uint(json, "leaves", leaves);
  sfctl_json_bool(json, "exact", exact);
  sfctl_json_end_object(json);
}

static void print_graph(sfctl_json_t *json, const sfreport_item_t *item)
{
  const Sfproto__GraphInfo *info = item->message->graph_info;
  begin_item(json, item->message);
  sfctl_json_uint(json, "graph", info->graph);
  sfctl_json_uint(json, "job_id", info->job_id);
  sfctl_json_string(json, "job", info->job);
  sfctl_json_int(json, "size", info->size);
  sfctl_json_int(json, "nroots", info->nroots);
  sfctl_json_int(json, "nleaves", info->nleaves);
  sfctl_json_int(json, "pairs", info->pairs);
  sfctl_json_string(json, "state", info->state);
  sfctl_json_string(json, "detail", info->detail);
  print_graph_number(json, "multi_of", item->multi_of);
  sfctl_json_begin_array(json, "job_ranks");
  for (size_t i = 0; i < info->n_job_ranks; i++)
    sfctl_json_int(json, NULL, info->job_ranks[i]);
  sfctl_json_end_array(json);
  if (item->ncounted > 0) {
    sfctl_json_begin_object(json, "counters");
    sfctl_json_int(json, "ranks_counted", item->ncounted);
    print_counts(json, &item->counts);
    print_latency(json, &item->latency);
    print_shape(json, &item->shape);
    sfctl_json_end_object(json);
  } else {
    sfctl_json_null(json, "counters");
  }
  sfctl_json_end_object(json);
}

static void print_array(sfctl_json_t *json, const Sfproto__Message *message)
{
  begin_item(json, message);
  sfctl_print_array_json(json, message->array_info);
  sfctl_json_end_object(json);
}

static void print_peer(sfctl_json_t *json, const Sfproto__Message *message)
{
  const Sfproto__PeerInfo *info = message->peer_info;
  begin_item(json, message);
  sfctl_json_int(json, "node", info->node);
  sfctl_json_string(json, "description", info->description);
  sfctl_json_string(json, "state", info->state);
  sfctl_json_begin_array(json, "traffic");
  for (size_t i = 0; i < info->n_traffic; i++) {
    const Sfproto__PeerTraffic *traffic = info->traffic[i];
    sfctl_json_begin_object(json, NULL);
    sfctl_json_string(json, "kind", traffic->kind);
    sfctl_json_uint(json, "messages_sent", traffic->messages_sent);
    sfctl_json_uint(json, "messages_received", traffic->messages_received);
    sfctl_json_uint(json, "payload_sent", traffic->payload_sent);
    sfctl_json_uint(json, "payload_received", traffic->payload_received);
    sfctl_json_end_object(json);
  }
  sfctl_json_end_array(json);
  sfctl_json_uint(json, "frames_sent", info->frames_sent);
  sfctl_json_uint(json, "frames_received", info->frames_received);
  sfctl_json_uint(json, "wire_sent", info->wire_sent);
  sfctl_json_uint(json, "wire_received", info->wire_received);
  sfctl_json_uint(json, "queued_messages", info->queued_messages);
  sfctl_json_uint(json, "queued_bytes", info->queued_bytes);
  print_optional(json, "send_queue_bytes", info->has_send_queue_bytes, (int64_t)info->send_queue_bytes);
  print_optional(json, "rtt_us", info->has_rtt_us, (int64_t)info->rtt_us);
  print_optional(json, "retransmits", info->has_retransmits, (int64_t)info->retransmits);
  print_optional(json, "busy_us", info->has_busy_us, (int64_t)info->busy_us);
  sfctl_json_end_object(json);
}

static void print_side(sfctl_json_t *json, const Sfproto__PlanSide *side)
{
  sfctl_json_begin_object(json, NULL);
  sfctl_json_int(json, "node", side->node);
  sfctl_json_string(json, "here", side->as_root ? "roots" : "leaves");
  sfctl_json_int(json, "members", side->members);
  sfctl_json_int(json, "bcast_messages", side->bcast_values > 0);
  sfctl_json_int(json, "bcast_values", side->bcast_values);
  sfctl_json_int(json, "reduce_messages", side->reduce_values > 0);
  sfctl_json_int(json, "reduce_values", side->reduce_values);
  print_optional(json, "values_before", side->has_values_before, side->values_before);
  sfctl_json_int(json, "contiguous_values", side->contiguous_values);
  print_optional(json, "box_values", side->has_box_values, side->box_values);
  sfctl_json_uint(json, "messages_sent", side->messages_sent);
  sfctl_json_uint(json, "messages_received", side->messages_received);
  sfctl_json_string(json, "on_device", sfctl_plan_device(side));
  sfctl_json_end_object(json);
}

static void print_pairs(sfctl_json_t *json, const sfctl_within_t *within, int32_t node)
{
  sfctl_json_begin_array(json, "pairs");
  for (size_t i = 0; i < within->npairs; i++) {
    const sfctl_pair_t *pair = &within->pairs[i];
    if (pair->node != node)
      continue;
    sfctl_json_begin_object(json, NULL);
    print_optional(json, "from", pair->from >= 0, pair->from);
    sfctl_json_int(json, "to", pair->to);
    sfctl_json_uint(json, "values", pair->values);
    sfctl_json_uint(json, "edges", pair->edges);
    sfctl_json_string(json, "streams", pair->streams);
    sfctl_json_string(json, "way", pair->way);
    sfctl_json_end_object(json);
  }
  sfctl_json_end_array(json);
}

static void print_within(sfctl_json_t *json, const sfctl_print_style_t *style, int32_t node)
{
  uint64_t npairs = 0, values = 0, edges = 0;
  for (size_t i = 0; i < style->within->npairs; i++) {
    const sfctl_pair_t *pair = &style->within->pairs[i];
    if (pair->node != node)
      continue;
    npairs++;
    values += pair->values;
    edges += pair->edges;
  }
  sfctl_json_begin_object(json, "within");
  sfctl_json_uint(json, "messages", npairs);
  sfctl_json_uint(json, "values", values);
  sfctl_json_uint(json, "edges", edges);
  if (style->pairs) {
    print_pairs(json, style->within, node);
    sfctl_print_degrees_json(json, style->within, node);
  }
  sfctl_json_end_object(json);
}

/* The messages of a node differ in their sides only. Returns their number. */
static size_t print_plan(sfctl_json_t *json, const sfctl_print_style_t *style, const sfreport_item_t items[],
                         size_t count)
{
  const Sfproto__PlanInfo *info = items[0].message->plan_info;
  size_t n = 0;
  begin_item(json, items[0].message);
  sfctl_json_uint(json, "graph", info->graph);
  sfctl_json_uint(json, "job_id", info->job_id);
  sfctl_json_string(json, "job", info->job);
  sfctl_json_int(json, "size", info->size);
  sfctl_json_string(json, "state", info->state);
  sfctl_json_int(json, "node", info->node);
  sfctl_json_begin_array(json, "sides");
  for (; n < count && items[n].message->told_by == items[0].message->told_by; n++)
    for (size_t k = 0; k < items[n].message->plan_info->n_sides; k++)
      print_side(json, items[n].message->plan_info->sides[k]);
  sfctl_json_end_array(json);
  if (style->within != NULL)
    print_within(json, style, items[0].message->told_by);
  sfctl_json_end_object(json);
  return n;
}

static void print_item(sfctl_json_t *json, Sfproto__Query__What what, const sfreport_item_t *item)
{
  if (what == SFPROTO__QUERY__WHAT__JOBS)
    print_job(json, item->message);
  else if (what == SFPROTO__QUERY__WHAT__RANKS)
    print_rank(json, item);
  else if (what == SFPROTO__QUERY__WHAT__PEERS)
    print_peer(json, item->message);
  else if (what == SFPROTO__QUERY__WHAT__ARRAYS)
    print_array(json, item->message);
  else if (what == SFPROTO__QUERY__WHAT__CONFIG)
    print_option(json, item->message);
  else
    print_graph(json, item);
}

/* Answers of one or few messages per node. */
static size_t print_whole(sfctl_json_t *json, Sfproto__Query__What what, const sfctl_print_style_t *style,
                          const sfreport_item_t items[], size_t count)
{
  if (what == SFPROTO__QUERY__WHAT__PLAN)
    return print_plan(json, style, items, count);
  print_status(json, items[0].message);
  return 1;
}

sf_status_t sfctl_print_json(Sfproto__Query__What what, const sfreport_list_t *list, const sfctl_print_style_t *style,
                             FILE *file)
{
  sfctl_json_t json = {.file = file};
  bool whole = what == SFPROTO__QUERY__WHAT__STATUS || what == SFPROTO__QUERY__WHAT__PLAN;
  if (whole && !style->all_nodes) {
    if (list->count == 0 || (what == SFPROTO__QUERY__WHAT__STATUS && list->count != 1))
      return sfshm_error(SF_ERR_PROTO, "sfd answers with %zu messages about its %s, expected 1", list->count,
                         what == SFPROTO__QUERY__WHAT__PLAN ? "plan" : "status");
    print_whole(&json, what, style, list->items, list->count);
    return SF_OK;
  }
  sfctl_json_begin_array(&json, NULL);
  for (size_t i = 0; i < list->count;)
    if (whole)
      i += print_whole(&json, what, style, list->items + i, list->count - i);
    else
      print_item(&json, what, &list->items[i++]);
  sfctl_json_end_array(&json);
  return SF_OK;
}
