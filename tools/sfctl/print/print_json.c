/* Answers as JSON. Names are documented in docs/man/sfctl.1: add, never change. The one thread of sfctl. */
#include "shm/base/error.h"
#include "tools/sfctl/print/arrays.h"
#include "tools/sfctl/print/json.h"
#include "tools/sfctl/print/print.h"

/* An object, with the node if there may be several. */
static void begin_item(sfctl_json_t *json, const Sfproto__Message *message)
{
  sfctl_json_begin_object(json, NULL);
  if (message->has_told_by)
    sfctl_json_add(json, SFCTL_FIELD(message, told_by));
}

static void print_status(sfctl_json_t *json, const Sfproto__Message *message)
{
  const Sfproto__StatusInfo *info = message->status_info;
  begin_item(json, message);
  sfctl_json_add(json, SFCTL_FIELD(info, software), SFCTL_FIELD(info, protocol), SFCTL_FIELD(info, pid),
                 SFCTL_FIELD(info, socket), SFCTL_FIELD(info, uptime_s), SFCTL_FIELD(info, uid),
                 SFCTL_FIELD(info, cores), SFCTL_FIELD(info, jobs), SFCTL_FIELD(info, ranks), SFCTL_FIELD(info, graphs),
                 SFCTL_FIELD(info, jobs_total), SFCTL_FIELD(info, jobs_failed), SFCTL_FIELD(info, refused),
                 SFCTL_MEMBER("costs_measured", (bool)info->costs_measured), SFCTL_FIELD(info, payloads),
                 SFCTL_FIELD(info, fabric), SFCTL_OPTIONAL(info, node), SFCTL_OPTIONAL(info, nodes),
                 SFCTL_MEMBER("drained", (bool)info->drained));
  sfctl_json_end_object(json);
}

static void print_option(sfctl_json_t *json, const Sfproto__Message *message)
{
  const Sfproto__ConfigInfo *info = message->config_info;
  begin_item(json, message);
  sfctl_json_add(json, SFCTL_FIELD(info, name), SFCTL_FIELD(info, value), SFCTL_FIELD(info, origin));
  sfctl_json_end_object(json);
}

static void print_job(sfctl_json_t *json, const Sfproto__Message *message)
{
  const Sfproto__JobInfo *info = message->job_info;
  begin_item(json, message);
  sfctl_json_add(json, SFCTL_FIELD(info, job_id), SFCTL_MEMBER("job", info->name), SFCTL_FIELD(info, uid),
                 SFCTL_FIELD(info, size), SFCTL_FIELD(info, joined), SFCTL_FIELD(info, state),
                 SFCTL_FIELD(info, groups), SFCTL_FIELD(info, graphs), SFCTL_FIELD(info, age_s),
                 SFCTL_FIELD(info, program), SFCTL_FIELD(info, detail), SFCTL_OPTIONAL(info, here),
                 SFCTL_OPTIONAL(info, nodes), SFCTL_MEMBER_IF("stalled", info->has_stalled, (bool)info->stalled));
  sfctl_json_end_object(json);
}

static void print_counts(sfctl_json_t *json, const sfreport_counts_t *counts)
{
#define PRINT(field, text) sfctl_json_put(json, #field, sfctl_uint(counts->field));
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
      sfctl_json_object(json, NULL, SFCTL_MEMBER("kind", sfreport_kind_names[kind]),
                        SFCTL_MEMBER("from_ns", UINT64_C(1) << bucket),
                        SFCTL_MEMBER("operations", latency->operations[kind][bucket]));
    }
  sfctl_json_end_array(json);
}

static void print_regions(sfctl_json_t *json, const Sfproto__RankInfo *info)
{
  sfctl_json_begin_array(json, "regions");
  for (size_t i = 0; i < info->n_regions; i++) {
    const Sfproto__RegionInfo *region = info->regions[i];
    sfctl_json_object(json, NULL, SFCTL_FIELD(region, region), SFCTL_FIELD(region, kind),
                      SFCTL_MEMBER("length_bytes", region->length), SFCTL_FIELD(region, method));
  }
  sfctl_json_end_array(json);
}

static void print_rank(sfctl_json_t *json, const sfreport_item_t *item)
{
  const Sfproto__RankInfo *info = item->message->rank_info;
  begin_item(json, item->message);
  sfctl_json_add(json, SFCTL_FIELD(info, job_id), SFCTL_FIELD(info, job), SFCTL_FIELD(info, rank),
                 SFCTL_FIELD(info, pid), SFCTL_FIELD(info, state), SFCTL_FIELD(info, program));
  if (item->ncounted > 0) {
    sfctl_json_begin_object(json, "counters");
    print_counts(json, &item->counts);
    sfctl_json_add(json, SFCTL_FIELD(item, sleeps), SFCTL_FIELD(item, waited_for_ns),
                   SFCTL_FIELD(item, oldest_wait_ns));
    sfctl_json_end_object(json);
  } else {
    sfctl_json_put(json, "counters", sfctl_string(NULL));
  }
  print_regions(json, info);
  sfctl_json_add(json, SFCTL_OPTIONAL(info, ring_depth), SFCTL_OPTIONAL(info, offloaded_bytes));
  sfctl_json_end_object(json);
}

static void print_most(sfctl_json_t *json, const char *name, const sfreport_most_t *most)
{
  sfctl_json_object(json, name, SFCTL_FIELD(most, rank), SFCTL_FIELD(most, edges),
                    SFCTL_MEMBER("all_edges", most->sum));
}

static void print_shape(sfctl_json_t *json, const sfreport_shape_t *shape)
{
  bool exact;
  uint64_t leaves = sfreport_shape_top(shape, &exact);
  print_most(json, "most_on_roots", &shape->roots);
  print_most(json, "most_on_leaves", &shape->leaves);
  if (leaves == 0) {
    sfctl_json_put(json, "top_root", sfctl_string(NULL));
    return;
  }
  sfctl_json_object(json, "top_root", SFCTL_MEMBER("rank", shape->tops[0].rank),
                    SFCTL_MEMBER("root", shape->tops[0].root), SFCTL_MEMBER("leaves", leaves),
                    SFCTL_MEMBER("exact", exact));
}

static void print_graph(sfctl_json_t *json, const sfreport_item_t *item)
{
  const Sfproto__GraphInfo *info = item->message->graph_info;
  begin_item(json, item->message);
  sfctl_json_add(json, SFCTL_FIELD(info, graph), SFCTL_FIELD(info, job_id), SFCTL_FIELD(info, job),
                 SFCTL_FIELD(info, size), SFCTL_FIELD(info, nroots), SFCTL_FIELD(info, nleaves),
                 SFCTL_FIELD(info, pairs), SFCTL_FIELD(info, state), SFCTL_FIELD(info, detail),
                 SFCTL_MEMBER_IF("place", item->call_site[0] != '\0', (const char *)item->call_site),
                 SFCTL_MEMBER_IF("multi_of", item->multi_of != 0, item->multi_of));
  sfctl_json_put_numbers(json, "job_ranks", info->job_ranks, info->n_job_ranks);
  if (item->ncounted > 0) {
    sfctl_json_begin_object(json, "counters");
    sfctl_json_add(json, SFCTL_MEMBER("ranks_counted", item->ncounted));
    print_counts(json, &item->counts);
    print_latency(json, &item->latency);
    print_shape(json, &item->shape);
    sfctl_json_end_object(json);
  } else {
    sfctl_json_put(json, "counters", sfctl_string(NULL));
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
  sfctl_json_add(json, SFCTL_FIELD(info, node), SFCTL_FIELD(info, description), SFCTL_FIELD(info, state));
  sfctl_json_begin_array(json, "traffic");
  for (size_t i = 0; i < info->n_traffic; i++) {
    const Sfproto__PeerTraffic *traffic = info->traffic[i];
    sfctl_json_object(json, NULL, SFCTL_FIELD(traffic, kind), SFCTL_FIELD(traffic, messages_sent),
                      SFCTL_FIELD(traffic, messages_received), SFCTL_FIELD(traffic, payload_sent),
                      SFCTL_FIELD(traffic, payload_received));
  }
  sfctl_json_end_array(json);
  sfctl_json_add(json, SFCTL_FIELD(info, frames_sent), SFCTL_FIELD(info, frames_received), SFCTL_FIELD(info, wire_sent),
                 SFCTL_FIELD(info, wire_received), SFCTL_FIELD(info, queued_messages), SFCTL_FIELD(info, queued_bytes),
                 SFCTL_OPTIONAL(info, send_queue_bytes), SFCTL_OPTIONAL(info, rtt_us),
                 SFCTL_OPTIONAL(info, retransmits), SFCTL_OPTIONAL(info, busy_us));
  sfctl_json_end_object(json);
}

static void print_side(sfctl_json_t *json, const Sfproto__PlanSide *side)
{
  sfctl_json_object(json, NULL, SFCTL_FIELD(side, node), SFCTL_MEMBER("here", side->as_root ? "roots" : "leaves"),
                    SFCTL_FIELD(side, members), SFCTL_MEMBER("bcast_messages", side->bcast_values > 0),
                    SFCTL_FIELD(side, bcast_values), SFCTL_MEMBER("reduce_messages", side->reduce_values > 0),
                    SFCTL_FIELD(side, reduce_values), SFCTL_OPTIONAL(side, values_before),
                    SFCTL_FIELD(side, contiguous_values), SFCTL_OPTIONAL(side, box_values),
                    SFCTL_FIELD(side, messages_sent), SFCTL_FIELD(side, messages_received));
}

static void print_pairs(sfctl_json_t *json, const sfctl_within_t *within, int32_t node)
{
  sfctl_json_begin_array(json, "pairs");
  for (size_t i = 0; i < within->npairs; i++) {
    const sfctl_pair_t *pair = &within->pairs[i];
    if (pair->node != node)
      continue;
    sfctl_json_object(json, NULL, SFCTL_MEMBER_IF("from", pair->from >= 0, pair->from), SFCTL_FIELD(pair, to),
                      SFCTL_FIELD(pair, values), SFCTL_FIELD(pair, edges), SFCTL_FIELD(pair, streams),
                      SFCTL_FIELD(pair, way));
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
  sfctl_json_add(json, SFCTL_MEMBER("messages", npairs), SFCTL_MEMBER("values", values), SFCTL_MEMBER("edges", edges));
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
  sfctl_json_add(json, SFCTL_FIELD(info, graph), SFCTL_FIELD(info, job_id), SFCTL_FIELD(info, job),
                 SFCTL_FIELD(info, size), SFCTL_FIELD(info, state), SFCTL_FIELD(info, node));
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
