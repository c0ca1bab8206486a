/* OpenMetrics text of collected messages. Names are documented in docs/man/sfctl.1: add, never change. Families of
 * one value are in the tables of metrics_kinds.c; others have a function each. One thread. */
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

static const void *body_of(const sfreport_item_t *item)
{
  return item->message->status_info; /* all bodies are pointers in one union */
}

/* ---- Values by their type ---- */

static void print_label(sfreport_openmetrics_t *out, const sfreport_metric_label_t *label, const void *base)
{
  const void *value = (const char *)base + label->field.offset;
  if (label->field.type == SFREPORT_METRIC_TEXT)
    sfreport_openmetrics_label(out, label->name, *(char *const *)value != NULL ? *(char *const *)value : "none");
  else if (label->field.type == SFREPORT_METRIC_INT32)
    sfreport_openmetrics_label_int(out, label->name, *(const int32_t *)value);
  else if (label->field.type == SFREPORT_METRIC_UINT32)
    sfreport_openmetrics_label_uint(out, label->name, *(const uint32_t *)value);
  else
    sfreport_openmetrics_label_uint(out, label->name, *(const uint64_t *)value);
}

static void print_labels(sfreport_openmetrics_t *out, const sfreport_metric_label_t labels[], const void *base)
{
  for (size_t i = 0; i < SFREPORT_METRIC_LABELS && labels[i].name != NULL; i++)
    print_label(out, &labels[i], base);
}

static void print_value(sfreport_openmetrics_t *out, const sfreport_metric_field_t *field, const void *base)
{
  const void *value = (const char *)base + field->offset;
  switch (field->type) {
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
  case SFREPORT_METRIC_NS:
    sfreport_openmetrics_seconds(out, *(const uint64_t *)value);
    break;
  case SFREPORT_METRIC_TEXT: /* a label */
    break;
  }
}

/* ---- Families of the tables ---- */

/* Labels of the sample's object; the node if nodes are numbered. */
static void begin_sample(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const sfreport_item_t *item,
                         const char *suffix)
{
  sfreport_openmetrics_begin(out, suffix);
  if (item->message->has_told_by)
    sfreport_openmetrics_label_int(out, "node", item->message->told_by);
  print_labels(out, kind->labels, body_of(item));
}

static const char *suffix_of(const sfreport_metric_t *metric)
{
  return strcmp(metric->type, "counter") == 0 ? "_total" : "";
}

/* Metrics of the items, or of their bodies. */
static void print_table(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const sfreport_list_t *list,
                        const sfreport_metric_table_t *table, bool of_body)
{
  for (size_t i = 0; i < table->n; i++) {
    const sfreport_metric_t *metric = &table->rows[i];
    if (i == 0 || strcmp(metric->name, metric[-1].name) != 0)
      sfreport_openmetrics_family(out, kind->prefix, metric->name, metric->type, metric->help);
    for (size_t k = 0; k < list->count; k++) {
      const void *base = of_body ? body_of(&list->items[k]) : &list->items[k];
      if (metric->field.known != 0 && *(const int *)(const void *)((const char *)base + metric->field.known) == 0)
        continue;
      begin_sample(out, kind, &list->items[k], suffix_of(metric));
      if (metric->way != NULL)
        sfreport_openmetrics_label(out, "way", metric->way);
      print_value(out, &metric->field, base);
    }
  }
}

static void print_info(sfreport_openmetrics_t *out, const sfreport_metric_kind_t *kind, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, kind->prefix, kind->info, "info", kind->info_help);
  for (size_t i = 0; i < list->count; i++) {
    begin_sample(out, kind, &list->items[i], "_info");
    print_labels(out, kind->info_labels, body_of(&list->items[i]));
    sfreport_openmetrics_uint(out, 1);
  }
}

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
  sfreport_openmetrics_family(out, kind->prefix, "state", "stateset", "Which of its states it is in.");
  for (size_t i = 0; i < list->count; i++) {
    const sfreport_item_t *item = &list->items[i];
    const char *state = *(char *const *)(const void *)((const char *)body_of(item) + kind->state);
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
  if (kind->info != NULL)
    print_info(out, kind, list);
  print_table(out, kind, list, &kind->fields, true);
  if (kind->states != NULL)
    print_states(out, kind, list);
  if (kind->counted.n > 0)
    print_table(out, kind, list, &sfreport_metric_counts, false);
  print_table(out, kind, list, &kind->counted, false);
}

/* ---- Latency ---- */

#define FIRST_BUCKET 7 /* includes all below 256 ns */

static void begin_latency(sfreport_openmetrics_t *out, const sfreport_item_t *item, int kind, const char *suffix)
{
  begin_sample(out, &sfreport_metric_graph, item, suffix);
  sfreport_openmetrics_label(out, "kind", sfreport_kind_names[kind]);
}

/* Cumulative buckets, count and sum. The last bucket has no bound. */
static void print_histogram(sfreport_openmetrics_t *out, const sfreport_item_t *item, int kind)
{
  uint64_t operations = 0;
  for (int bucket = 0; bucket < SFSHM_LATENCY_BUCKETS; bucket++) {
    operations += item->latency.operations[kind][bucket];
    if (bucket < FIRST_BUCKET)
      continue;
    begin_latency(out, item, kind, "_bucket");
    if (bucket < SFSHM_LATENCY_BUCKETS - 1)
      sfreport_openmetrics_label_double(out, "le", (double)((UINT64_C(2) << bucket) - 1) / 1e9);
    else
      sfreport_openmetrics_label(out, "le", "+Inf");
    sfreport_openmetrics_uint(out, operations);
  }
  begin_latency(out, item, kind, "_count");
  sfreport_openmetrics_uint(out, operations);
  begin_latency(out, item, kind, "_sum");
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
  sfreport_openmetrics_family(out, sfreport_metric_graph.prefix, "latency_seconds", "histogram",
                              "Time from begin to end of the operations of which it was taken, on any rank.");
  for (size_t i = 0; i < list->count; i++)
    for (int kind = 0; kind < SFREPORT_KINDS; kind++)
      if (has_samples(&list->items[i], kind))
        print_histogram(out, &list->items[i], kind);
}

/* ---- What is more than one field ---- */

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

static void print_regions(sfreport_openmetrics_t *out, const sfreport_list_t *list, const char *name, const char *help,
                          bool bytes)
{
  sfreport_openmetrics_family(out, sfreport_metric_rank.prefix, name, "gauge", help);
  for (size_t i = 0; i < list->count; i++)
    print_regions_of(out, &list->items[i], bytes);
}

/* Operations on arrays, or their bytes. */
static void print_accesses(sfreport_openmetrics_t *out, const sfreport_list_t *list, const char *name, const char *help,
                           bool bytes)
{
  sfreport_openmetrics_family(out, sfreport_metric_array.prefix, name, "counter", help);
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__ArrayInfo *info = list->items[i].message->array_info;
    size_t n = bytes ? info->n_bytes : info->n_operations;
    for (size_t k = 0; k < n && k < SFREPORT_ARRAY_WAYS * SFREPORT_ARRAY_ACCESSES; k++) {
      begin_sample(out, &sfreport_metric_array, &list->items[i], "_total");
      sfreport_openmetrics_label(out, "way", sfreport_array_ways[k / SFREPORT_ARRAY_ACCESSES]);
      sfreport_openmetrics_label(out, "kind", sfreport_array_accesses[k % SFREPORT_ARRAY_ACCESSES]);
      sfreport_openmetrics_uint(out, bytes ? info->bytes[k] : info->operations[k]);
    }
  }
}

static void print_traffic(sfreport_openmetrics_t *out, const sfreport_metric_t *metric, const sfreport_list_t *list)
{
  sfreport_openmetrics_family(out, sfreport_metric_peer.prefix, metric->name, metric->type, metric->help);
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__PeerInfo *info = list->items[i].message->peer_info;
    for (size_t k = 0; k < info->n_traffic; k++) {
      begin_sample(out, &sfreport_metric_peer, &list->items[i], suffix_of(metric));
      sfreport_openmetrics_label(out, "kind", info->traffic[k]->kind);
      print_value(out, &metric->field, info->traffic[k]);
    }
  }
}

sf_status_t sfreport_metrics_print(const sfreport_metrics_t *metrics, FILE *file)
{
  sfreport_openmetrics_t out = {.file = file};
  if (metrics->status.count == 0)
    return sfshm_error(SF_ERR_PROTO, "sfd answers without a message about its status");
  print_kind(&out, &sfreport_metric_daemon, &metrics->status);
  print_kind(&out, &sfreport_metric_job, &metrics->jobs);
  print_kind(&out, &sfreport_metric_rank, &metrics->ranks);
  print_regions(&out, &metrics->ranks, "regions", "Regions of memory that the daemon knows.", false);
  print_regions(&out, &metrics->ranks, "region_bytes", "Size of these regions together.", true);
  print_kind(&out, &sfreport_metric_graph, &metrics->graphs);
  print_latency(&out, &metrics->graphs);
  print_kind(&out, &sfreport_metric_array, &metrics->arrays);
  print_accesses(&out, &metrics->arrays, "operations", "Operations on the array, by way and kind.", false);
  print_accesses(&out, &metrics->arrays, "operation_bytes", "Elements that these moved.", true);
  print_kind(&out, &sfreport_metric_peer, &metrics->peers);
  for (size_t i = 0; i < sfreport_metric_traffic.n; i++)
    print_traffic(&out, &sfreport_metric_traffic.rows[i], &metrics->peers);
  sfreport_openmetrics_end(&out);
  return SF_OK;
}
