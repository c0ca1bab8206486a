/* What was collected, as OpenMetrics text. Names are documented in docs/man/sfctl.1: add, never change. Plain values
 * have their tables in metrics_kinds.c; families that need more than that have a function each. One thread. */
#include "proto/report/metrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "proto/report/metrics_kinds.h"
#include "proto/report/openmetrics.h"
#include "shm/error.h"

void sfreport_metrics_clear(sfreport_metrics_t *metrics)
{
  sfreport_list_clear(&metrics->status);
  sfreport_list_clear(&metrics->jobs);
  sfreport_list_clear(&metrics->ranks);
  sfreport_list_clear(&metrics->graphs);
  sfreport_list_clear(&metrics->peers);
}

void sfreport_metrics_drop_unnumbered(sfreport_list_t *graphs)
{
  size_t kept = 0;
  for (size_t i = 0; i < graphs->count; i++) {
    sfreport_item_t *item = &graphs->items[i];
    if (item->message->graph_info->graph != 0)
      graphs->items[kept++] = *item;
    else
      sfproto__message__free_unpacked(item->message, NULL);
  }
  graphs->count = kept;
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
    sfreport_openmetrics_begin(out, suffix_of(field));
    kind->label(out, body);
    print_value(out, field, body);
  }
}

/* ---- States ---- */

static void print_state(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const void *body,
                        const char *state, bool holds)
{
  sfreport_openmetrics_begin(out, "");
  kind->label(out, body);
  sfreport_openmetrics_label(out, out->family, state);
  sfreport_openmetrics_int(out, holds);
}

/* Those that are known, and the one that it has if a later daemon has more. */
static void print_states(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, kind->prefix, "state", "stateset", NULL, "Which of its states it is in.");
  for (size_t i = 0; i < list->count; i++) {
    const void *body = kind->body(list->items[i].message);
    const char *state = kind->state(body);
    bool known = false;
    for (size_t k = 0; kind->states[k] != NULL; k++) {
      bool holds = strcmp(state, kind->states[k]) == 0;
      known = known || holds;
      print_state(out, kind, body, kind->states[k], holds);
    }
    if (!known)
      print_state(out, kind, body, state, true);
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

/* A counter; rows of one name follow each other, and differ in the way. Those in seconds are counted in ns. */
typedef struct count {
  const char *name, *unit, *help, *way; /* way: NULL: no such label */
  size_t offset;
} count_t;

#define AT(name) offsetof(sfreport_counts_t, name)
static const char sent_help[] = "Payload sent on edges, by the way it went.";
static const count_t counts[] = {
    {"bcasts", NULL, "Operations bcast begun.", NULL, AT(bcasts)},
    {"reduces", NULL, "Operations reduce begun.", NULL, AT(reduces)},
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
    {"saved_bytes", "bytes", "Payload not carried, as several leaves of a rank share a root.", NULL, AT(bytes_saved)},
    {"node_messages_sent", NULL, "Messages to other nodes, whole.", NULL, AT(node_messages_sent)},
    {"node_sent_bytes", "bytes", "Payload of the messages to other nodes.", NULL, AT(node_bytes_sent)},
    {"node_values_sent", NULL, "Values in the messages to other nodes.", NULL, AT(node_values_sent)},
    {"node_messages_received", NULL, "Messages of other nodes, whole.", NULL, AT(node_messages_received)},
    {"node_received_bytes", "bytes", "Payload of the messages of other nodes.", NULL, AT(node_bytes_received)},
    {"node_values_received", NULL, "Values in the messages of other nodes.", NULL, AT(node_values_received)},
    {"values_wanted", NULL, "Values of leaves whose roots other ranks own.", NULL, AT(values_wanted)},
    {"values_carried", NULL, "Values that travel for them, once for each root and rank.", NULL, AT(values_carried)},
    {"waits", NULL, "Waits longer than spinning.", NULL, AT(waits)},
    {"waited_seconds", "seconds", "Time in these.", NULL, AT(waited_ns)},
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
    sfreport_openmetrics_begin(out, "_total");
    kind->label(out, kind->body(item->message));
    if (count->way != NULL)
      sfreport_openmetrics_label(out, "way", count->way);
    uint64_t value = *(const uint64_t *)(const void *)((const char *)&item->counts + count->offset);
    if (count->unit != NULL && strcmp(count->unit, "seconds") == 0)
      sfreport_openmetrics_double(out, (double)value / 1e9);
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

/* ---- What is more than one field ---- */

static void print_build(sfreport_openmetrics_t *out, const Sfproto__StatusInfo *info)
{
  sfreport_openmetrics_family(out, "sfd_", "build", "info", NULL, "The daemon's software.");
  sfreport_openmetrics_begin(out, "_info");
  sfreport_openmetrics_label(out, "software", info->software);
  sfreport_openmetrics_label_uint(out, "protocol", info->protocol);
  sfreport_openmetrics_label(out, "fabric", info->fabric != NULL ? info->fabric : "none");
  sfreport_openmetrics_uint(out, 1);
}

static void print_users(sfreport_openmetrics_t *out, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, sfreport_metric_job.prefix, "user", "info", NULL, "Whose job it is.");
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__JobInfo *info = list->items[i].message->job_info;
    sfreport_openmetrics_begin(out, "_info");
    sfreport_metric_job.label(out, info);
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
    sfreport_openmetrics_begin(out, "_info");
    sfreport_metric_rank.label(out, info);
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
    sfreport_openmetrics_begin(out, "_total");
    sfreport_metric_rank.label(out, list->items[i].message->rank_info);
    sfreport_openmetrics_uint(out, list->items[i].sleeps);
  }
}

static bool is_alike(const Sfproto__RegionInfo *a, const Sfproto__RegionInfo *b)
{
  return strcmp(a->kind, b->kind) == 0 && strcmp(a->method, b->method) == 0;
}

/* Samples must differ in their labels: regions of one kind and method are added up where the first of them stands. */
static void print_regions_of(sfreport_openmetrics_t *out, const Sfproto__RankInfo *info, bool bytes)
{
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
    sfreport_openmetrics_begin(out, "");
    sfreport_metric_rank.label(out, info);
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
    print_regions_of(out, list->items[i].message->rank_info, false);
  sfreport_openmetrics_family(out, sfreport_metric_rank.prefix, "region_bytes", "gauge", "bytes",
                              "Size of these regions together.");
  for (size_t i = 0; i < list->count; i++)
    print_regions_of(out, list->items[i].message->rank_info, true);
}

static void print_counted(sfreport_openmetrics_t *out, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, sfreport_metric_graph.prefix, "ranks_counted", "gauge", NULL,
                              "Ranks whose counters are in those of the graph.");
  for (size_t i = 0; i < list->count; i++) {
    sfreport_openmetrics_begin(out, "");
    sfreport_metric_graph.label(out, list->items[i].message->graph_info);
    sfreport_openmetrics_int(out, list->items[i].ncounted);
  }
}

static void print_addresses(sfreport_openmetrics_t *out, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, sfreport_metric_peer.prefix, "address", "info", NULL,
                              "The node, as the fabric describes it.");
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__PeerInfo *info = list->items[i].message->peer_info;
    sfreport_openmetrics_begin(out, "_info");
    sfreport_metric_peer.label(out, info);
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
      sfreport_openmetrics_begin(out, suffix_of(field));
      sfreport_metric_peer.label(out, info);
      sfreport_openmetrics_label(out, "kind", info->traffic[k]->kind);
      print_value(out, field, info->traffic[k]);
    }
  }
}

sf_status_t sfreport_metrics_print(const sfreport_metrics_t *metrics, FILE *file)
{
  sfreport_openmetrics_t out = {.file = file};
  if (metrics->status.count != 1)
    return sfshm_error(SF_ERR_PROTO, "sfd answers with %zu messages about its status, expected 1",
                       metrics->status.count);
  print_build(&out, metrics->status.items[0].message->status_info);
  print_kind(&out, &sfreport_metric_daemon, &metrics->status);
  print_users(&out, &metrics->jobs);
  print_kind(&out, &sfreport_metric_job, &metrics->jobs);
  print_processes(&out, &metrics->ranks);
  print_kind(&out, &sfreport_metric_rank, &metrics->ranks);
  print_counts(&out, &sfreport_metric_rank, &metrics->ranks);
  print_sleeps(&out, &metrics->ranks);
  print_regions(&out, &metrics->ranks);
  print_kind(&out, &sfreport_metric_graph, &metrics->graphs);
  print_counted(&out, &metrics->graphs);
  print_counts(&out, &sfreport_metric_graph, &metrics->graphs);
  print_addresses(&out, &metrics->peers);
  print_kind(&out, &sfreport_metric_peer, &metrics->peers);
  for (size_t i = 0; i < sfreport_metric_ntraffic; i++)
    print_traffic(&out, &sfreport_metric_traffic[i], &metrics->peers);
  sfreport_openmetrics_end(&out);
  return SF_OK;
}
