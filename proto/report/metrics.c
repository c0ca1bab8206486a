/* OpenMetrics text of collected messages. Names are documented in docs/man/sfctl.1: add, never change. Plain values are
 * in the tables of metrics_kinds.c; other families have a function each. One thread. */
#include "proto/report/metrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "proto/report/arrays.h"
#include "proto/report/metrics_kinds.h"
#include "proto/report/openmetrics.h"
#include "shm/base/error.h"

void sfreport_metrics_clear(sfreport_metrics_t *metrics)
{
  sfreport_list_clear(&metrics->status);
  sfreport_list_clear(&metrics->jobs);
  sfreport_list_clear(&metrics->ranks);
  sfreport_list_clear(&metrics->graphs);
  sfreport_list_clear(&metrics->arrays);
  sfreport_list_clear(&metrics->peers);
}

/* Labels of the sample's object; the node if nodes are numbered. */
static void begin_sample(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const sfreport_item_t *item,
                         const char *suffix)
{
  sfreport_openmetrics_begin(out, suffix);
  if (item->message->has_told_by)
    sfreport_openmetrics_label_int(out, "node", item->message->told_by);
  kind->label(out, kind->body(item->message));
}

/* ---- Plain values ---- */

static void begin_field(sfreport_openmetrics_t *out, const char *prefix, const sfreport_metric_t *field)
{
  sfreport_openmetrics_family(out, prefix, field->name, field->type == SFREPORT_METRIC_COUNTER ? "counter" : "gauge",
                              field->unit, field->help);
}

static const char *suffix_of(const sfreport_metric_t *field)
{
  return field->type == SFREPORT_METRIC_COUNTER ? "_total" : "";
}

static void print_value(sfreport_openmetrics_t *out, const sfreport_metric_t *field, const void *base)
{
  const void *value = (const char *)base + field->offset;
  switch (field->kind) {
  case SFREPORT_METRIC_INT32:
    sfreport_openmetrics_int(out, *(const int32_t *)value);
    break;
  case SFREPORT_METRIC_INT64:
    sfreport_openmetrics_int(out, *(const int64_t *)value);
    break;
  case SFREPORT_METRIC_UINT32:
    sfreport_openmetrics_uint(out, *(const uint32_t *)value);
    break;
  case SFREPORT_METRIC_UINT64:
    sfreport_openmetrics_uint(out, *(const uint64_t *)value);
    break;
  case SFREPORT_METRIC_DOUBLE:
    sfreport_openmetrics_double(out, *(const double *)value);
    break;
  case SFREPORT_METRIC_US:
    sfreport_openmetrics_seconds(out, *(const uint64_t *)value * 1000);
    break;
  case SFREPORT_METRIC_SWITCH:
    sfreport_openmetrics_int(out, *(const protobuf_c_boolean *)value != 0);
    break;
  }
}

static void print_field(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const sfreport_metric_t *field,
                        const sfreport_list_t *list)
{
  begin_field(out, kind->prefix, field);
  for (size_t i = 0; i < list->count; i++) {
    const void *body = kind->body(list->items[i].message);
    if (field->known != 0 && *(const protobuf_c_boolean *)((const char *)body + field->known) == 0)
      continue;
    begin_sample(out, kind, &list->items[i], suffix_of(field));
    print_value(out, field, body);
  }
}

/* ---- States ---- */

static void print_state(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const sfreport_item_t *item,
                        const char *state, bool holds)
{
  begin_sample(out, kind, item, "");
  sfreport_openmetrics_label(out, out->family, state);
  sfreport_openmetrics_int(out, holds);
}

/* Known states, and the present one if a newer daemon has more. */
static void print_states(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, kind->prefix, "state", "stateset", NULL, "Which of its states it is in.");
  for (size_t i = 0; i < list->count; i++) {
    const sfreport_item_t *item = &list->items[i];
    const char *state = kind->state(kind->body(item->message));
    bool known = false;
    for (size_t k = 0; kind->states[k] != NULL; k++) {
      bool holds = strcmp(state, kind->states[k]) == 0;
      known = known || holds;
      print_state(out, kind, item, kind->states[k], holds);
    }
    if (!known)
      print_state(out, kind, item, state, true);
  }
}

static void print_kind(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const sfreport_list_t *list)
{
  for (size_t i = 0; i < kind->nfields; i++)
    print_field(out, kind, &kind->fields[i], list);
  if (kind->state != NULL)
    print_states(out, kind, list);
}

/* ---- Counters of ranks and graphs ---- */

/* A counter; consecutive rows of one name differ in the way. Counters in seconds are stored in ns. */
typedef struct count {
  const char *name, *unit, *help, *way; /* way NULL: no such label */
  size_t offset;
} count_t;

#define AT(name) offsetof(sfreport_counts_t, name)
static const char sent_help[] = "Payload sent on edges, by the way it went.";
static const count_t counts[] = {
    {"bcasts", NULL, "Operations bcast begun.", NULL, AT(bcasts)},
    {"reduces", NULL, "Operations reduce begun.", NULL, AT(reduces)},
    {"gathers", NULL, "Operations gather begun.", NULL, AT(gathers)},
    {"scatters", NULL, "Operations scatter begun.", NULL, AT(scatters)},
    {"fetch_ops", NULL, "Operations fetch_op begun.", NULL, AT(fetch_ops)},
    {"completed", NULL, "Operations ended.", NULL, AT(completed)},
    {"messages_sent", NULL, "Messages to other ranks of the node.", NULL, AT(messages_sent)},
    {"messages_received", NULL, "Messages from other ranks of the node.", NULL, AT(messages_received)},
    {"sent_bytes", "bytes", sent_help, "inline", AT(bytes_inline)},
    {"sent_bytes", "bytes", sent_help, "slots", AT(bytes_slots)},
    {"sent_bytes", "bytes", sent_help, "in-place", AT(bytes_in_place)},
    {"sent_bytes", "bytes", sent_help, "vm-read", AT(bytes_vm_read)},
    {"sent_bytes", "bytes", sent_help, "self", AT(bytes_self)},
    {"sent_bytes", "bytes", sent_help, "nodes", AT(bytes_to_nodes)},
    {"received_bytes", "bytes", "Payload received, by where it came from.", "ranks", AT(bytes_received)},
    {"received_bytes", "bytes", "Payload received, by where it came from.", "nodes", AT(bytes_from_nodes)},
    {"saved_bytes", "bytes", "Payload not carried, as leaves of a rank share a root.", NULL, AT(bytes_saved)},
    {"node_messages_sent", NULL, "Messages to other nodes, whole.", NULL, AT(node_messages_sent)},
    {"node_sent_bytes", "bytes", "Payload of the messages to other nodes.", NULL, AT(node_bytes_sent)},
    {"node_values_sent", NULL, "Values in the messages to other nodes.", NULL, AT(node_values_sent)},
    {"node_messages_received", NULL, "Messages of other nodes, whole.", NULL, AT(node_messages_received)},
    {"node_received_bytes", "bytes", "Payload of the messages of other nodes.", NULL, AT(node_bytes_received)},
    {"node_values_received", NULL, "Values in the messages of other nodes.", NULL, AT(node_values_received)},
    {"values_wanted", NULL, "Values of leaves whose roots other ranks own.", NULL, AT(values_wanted)},
    {"values_carried", NULL, "Values that travel for them, once for each root and rank.", NULL, AT(values_carried)},
    {"waits", NULL, "Waits longer than spinning.", NULL, AT(waits)},
    {"waited_seconds", "seconds", "Time in these, also while they last.", NULL, AT(waited_ns)},
    {"node_waited_seconds", "seconds", "Of this, time in which messages of other nodes were missing.", NULL,
     AT(waited_nodes_ns)},
    {"samples", NULL, "Operations of which the time was taken.", NULL, AT(samples)},
    {"pack_seconds", "seconds", "Time in which these packed and sent.", NULL, AT(pack_ns)},
    {"unpack_seconds", "seconds", "Time in which these unpacked.", NULL, AT(unpack_ns)},
};
#undef AT
#define NCOUNTS (sizeof counts / sizeof counts[0])
_Static_assert(NCOUNTS * sizeof(uint64_t) == sizeof(sfreport_counts_t), "each counter has its row");

static void print_count(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const count_t *count,
                        const sfreport_list_t *list)
{
  for (size_t i = 0; i < list->count; i++) {
    const sfreport_item_t *item = &list->items[i];
    if (item->ncounted == 0)
      continue;
    begin_sample(out, kind, item, "_total");
    if (count->way != NULL)
      sfreport_openmetrics_label(out, "way", count->way);
    uint64_t value = *(const uint64_t *)(const void *)((const char *)&item->counts + count->offset);
    if (count->unit != NULL && strcmp(count->unit, "seconds") == 0)
      sfreport_openmetrics_seconds(out, value);
    else
      sfreport_openmetrics_uint(out, value);
  }
}

static void print_counts(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const sfreport_list_t *list)
{
  for (size_t i = 0; i < NCOUNTS; i++) {
    if (i == 0 || strcmp(counts[i].name, counts[i - 1].name) != 0)
      sfreport_openmetrics_family(out, kind->prefix, counts[i].name, "counter", counts[i].unit, counts[i].help);
    print_count(out, kind, &counts[i], list);
  }
}

/* ---- Latency ---- */

#define FIRST_BUCKET 7 /* includes all below 256 ns */

/* Cumulative buckets, count and sum. The last bucket has no bound. */
static void print_histogram(sfreport_openmetrics_t *out, const sfreport_item_t *item, int kind)
{
  uint64_t operations = 0;
  for (int bucket = 0; bucket < SFSHM_LATENCY_BUCKETS; bucket++) {
    operations += item->latency.operations[kind][bucket];
    if (bucket < FIRST_BUCKET)
      continue;
    begin_sample(out, &sfreport_metric_graph, item, "_bucket");
    sfreport_openmetrics_label(out, "kind", sfreport_kind_names[kind]);
    if (bucket < SFSHM_LATENCY_BUCKETS - 1)
      sfreport_openmetrics_label_double(out, "le", (double)((UINT64_C(2) << bucket) - 1) / 1e9);
    else
      sfreport_openmetrics_label(out, "le", "+Inf");
    sfreport_openmetrics_uint(out, operations);
  }
  begin_sample(out, &sfreport_metric_graph, item, "_count");
  sfreport_openmetrics_label(out, "kind", sfreport_kind_names[kind]);
  sfreport_openmetrics_uint(out, operations);
  begin_sample(out, &sfreport_metric_graph, item, "_sum");
  sfreport_openmetrics_label(out, "kind", sfreport_kind_names[kind]);
  sfreport_openmetrics_seconds(out, item->latency.sum_ns[kind]);
}

static bool has_samples(const sfreport_item_t *item, int kind)
{
  for (int bucket = 0; bucket < SFSHM_LATENCY_BUCKETS; bucket++)
    if (item->latency.operations[kind][bucket] != 0)
      return true;
  return false;
}

static void print_latency(sfreport_openmetrics_t *out, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, sfreport_metric_graph.prefix, "latency_seconds", "histogram", "seconds",
                              "Time from begin to end of the operations of which it was taken, on any rank.");
  for (size_t i = 0; i < list->count; i++)
    for (int kind = 0; kind < SFREPORT_KINDS; kind++)
      if (has_samples(&list->items[i], kind))
        print_histogram(out, &list->items[i], kind);
}

/* ---- What is more than one field ---- */

static void print_builds(sfreport_openmetrics_t *out, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, "sfd_", "build", "info", NULL, "The daemon's software.");
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__StatusInfo *info = list->items[i].message->status_info;
    begin_sample(out, &sfreport_metric_daemon, &list->items[i], "_info");
    sfreport_openmetrics_label(out, "software", info->software);
    sfreport_openmetrics_label_uint(out, "protocol", info->protocol);
    sfreport_openmetrics_label(out, "fabric", info->fabric != NULL ? info->fabric : "none");
    sfreport_openmetrics_uint(out, 1);
  }
}

static void print_users(sfreport_openmetrics_t *out, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, sfreport_metric_job.prefix, "user", "info", NULL, "Whose job it is.");
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__JobInfo *info = list->items[i].message->job_info;
    begin_sample(out, &sfreport_metric_job, &list->items[i], "_info");
    sfreport_openmetrics_label_uint(out, "uid", info->uid);
    sfreport_openmetrics_uint(out, 1);
  }
}

static void print_processes(sfreport_openmetrics_t *out, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, sfreport_metric_rank.prefix, "process", "info", NULL,
                              "Process and program of the rank.");
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__RankInfo *info = list->items[i].message->rank_info;
    begin_sample(out, &sfreport_metric_rank, &list->items[i], "_info");
    sfreport_openmetrics_label_int(out, "pid", info->pid);
    sfreport_openmetrics_label(out, "program", info->program);
    sfreport_openmetrics_uint(out, 1);
  }
}

static void print_sleeps(sfreport_openmetrics_t *out, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, sfreport_metric_rank.prefix, "sleeps", "counter", NULL, "Waits that went to sleep.");
  for (size_t i = 0; i < list->count; i++) {
    if (list->items[i].ncounted == 0)
      continue;
    begin_sample(out, &sfreport_metric_rank, &list->items[i], "_total");
    sfreport_openmetrics_uint(out, list->items[i].sleeps);
  }
}

/* Ranks and graphs. */
static void print_oldest(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, kind->prefix, "oldest_wait_seconds", "gauge", "seconds",
                              "How long the wait lasts by now that began first.");
  for (size_t i = 0; i < list->count; i++) {
    if (list->items[i].ncounted == 0)
      continue;
    begin_sample(out, kind, &list->items[i], "");
    sfreport_openmetrics_seconds(out, list->items[i].oldest_wait_ns);
  }
}

static void print_waited_for(sfreport_openmetrics_t *out, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, sfreport_metric_rank.prefix, "waited_for_seconds", "counter", "seconds",
                              "Time that other ranks of the node have waited for the rank, added up.");
  for (size_t i = 0; i < list->count; i++) {
    if (list->items[i].ncounted == 0)
      continue;
    begin_sample(out, &sfreport_metric_rank, &list->items[i], "_total");
    sfreport_openmetrics_seconds(out, list->items[i].waited_for_ns);
  }
}

static bool is_alike(const Sfproto__RegionInfo *a, const Sfproto__RegionInfo *b)
{
  return strcmp(a->kind, b->kind) == 0 && strcmp(a->method, b->method) == 0;
}

/* Samples must differ in labels: regions of one kind and method are added up at the first. */
static void print_regions_of(sfreport_openmetrics_t *out, const sfreport_item_t *item, bool bytes)
{
  const Sfproto__RankInfo *info = item->message->rank_info;
  for (size_t first = 0; first < info->n_regions; first++) {
    const Sfproto__RegionInfo *region = info->regions[first];
    uint64_t sum = 0;
    bool told = false;
    for (size_t i = 0; i < info->n_regions && !told; i++) {
      if (!is_alike(info->regions[i], region))
        continue;
      told = i < first;
      sum += bytes ? info->regions[i]->length : 1;
    }
    if (told)
      continue;
    begin_sample(out, &sfreport_metric_rank, item, "");
    sfreport_openmetrics_label(out, "kind", region->kind);
    sfreport_openmetrics_label(out, "method", region->method);
    sfreport_openmetrics_uint(out, sum);
  }
}

static void print_regions(sfreport_openmetrics_t *out, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, sfreport_metric_rank.prefix, "regions", "gauge", NULL,
                              "Regions of memory that the daemon knows.");
  for (size_t i = 0; i < list->count; i++)
    print_regions_of(out, &list->items[i], false);
  sfreport_openmetrics_family(out, sfreport_metric_rank.prefix, "region_bytes", "gauge", "bytes",
                              "Size of these regions together.");
  for (size_t i = 0; i < list->count; i++)
    print_regions_of(out, &list->items[i], true);
}

static void print_counted(sfreport_openmetrics_t *out, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, sfreport_metric_graph.prefix, "ranks_counted", "gauge", NULL,
                              "Ranks whose counters are in those of the graph.");
  for (size_t i = 0; i < list->count; i++) {
    begin_sample(out, &sfreport_metric_graph, &list->items[i], "");
    sfreport_openmetrics_int(out, list->items[i].ncounted);
  }
}

/* Operations on arrays, or, with a unit, their bytes. */
static void print_accesses(sfreport_openmetrics_t *out, const sfreport_list_t *list, const char *name, const char *unit,
                           const char *help)
{
  sfreport_openmetrics_family(out, sfreport_metric_array.prefix, name, "counter", unit, help);
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__ArrayInfo *info = list->items[i].message->array_info;
    size_t n = unit != NULL ? info->n_bytes : info->n_operations;
    for (size_t k = 0; k < n && k < SFREPORT_ARRAY_WAYS * SFREPORT_ARRAY_ACCESSES; k++) {
      begin_sample(out, &sfreport_metric_array, &list->items[i], "_total");
      sfreport_openmetrics_label(out, "way", sfreport_array_ways[k / SFREPORT_ARRAY_ACCESSES]);
      sfreport_openmetrics_label(out, "kind", sfreport_array_accesses[k % SFREPORT_ARRAY_ACCESSES]);
      sfreport_openmetrics_uint(out, unit != NULL ? info->bytes[k] : info->operations[k]);
    }
  }
}

static void print_addresses(sfreport_openmetrics_t *out, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, sfreport_metric_peer.prefix, "address", "info", NULL,
                              "The node, as the fabric describes it.");
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__PeerInfo *info = list->items[i].message->peer_info;
    begin_sample(out, &sfreport_metric_peer, &list->items[i], "_info");
    sfreport_openmetrics_label(out, "description", info->description);
    sfreport_openmetrics_uint(out, 1);
  }
}

static void print_traffic(sfreport_openmetrics_t *out, const sfreport_metric_t *field, const sfreport_list_t *list)
{
  begin_field(out, sfreport_metric_peer.prefix, field);
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__PeerInfo *info = list->items[i].message->peer_info;
    for (size_t k = 0; k < info->n_traffic; k++) {
      begin_sample(out, &sfreport_metric_peer, &list->items[i], suffix_of(field));
      sfreport_openmetrics_label(out, "kind", info->traffic[k]->kind);
      print_value(out, field, info->traffic[k]);
    }
  }
}

sf_status_t sfreport_metrics_print(const sfreport_metrics_t *metrics, FILE *file)
{
  sfreport_openmetrics_t out = {.file = file};
  if (metrics->status.count == 0)
    return sfshm_error(SF_ERR_PROTO, "sfd answers without a message about its status");
  print_builds(&out, &metrics->status);
  print_kind(&out, &sfreport_metric_daemon, &metrics->status);
  print_users(&out, &metrics->jobs);
  print_kind(&out, &sfreport_metric_job, &metrics->jobs);
  print_processes(&out, &metrics->ranks);
  print_kind(&out, &sfreport_metric_rank, &metrics->ranks);
  print_counts(&out, &sfreport_metric_rank, &metrics->ranks);
  print_sleeps(&out, &metrics->ranks);
  print_oldest(&out, &sfreport_metric_rank, &metrics->ranks);
  print_waited_for(&out, &metrics->ranks);
  print_regions(&out, &metrics->ranks);
  print_kind(&out, &sfreport_metric_graph, &metrics->graphs);
  print_counted(&out, &metrics->graphs);
  print_counts(&out, &sfreport_metric_graph, &metrics->graphs);
  print_oldest(&out, &sfreport_metric_graph, &metrics->graphs);
  print_latency(&out, &metrics->graphs);
  print_kind(&out, &sfreport_metric_array, &metrics->arrays);
  print_accesses(&out, &metrics->arrays, "operations", NULL, "Operations on the array, by way and kind.");
  print_accesses(&out, &metrics->arrays, "operation_bytes", "bytes", "Elements that these moved.");
  print_addresses(&out, &metrics->peers);
  print_kind(&out, &sfreport_metric_peer, &metrics->peers);
  for (size_t i = 0; i < sfreport_metric_ntraffic; i++)
    print_traffic(&out, &sfreport_metric_traffic[i], &metrics->peers);
  sfreport_openmetrics_end(&out);
  return SF_OK;
}
