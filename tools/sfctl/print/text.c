/* Answers as tables. The one thread of sfctl. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/base/error.h"
#include "tools/sfctl/print/arrays.h"
#include "tools/sfctl/print/nodes.h"
#include "tools/sfctl/print/print.h"
#include "tools/sfctl/print/short_id.h"
#include "tools/sfctl/print/table.h"

#define COLUMNS(array) .columns = (array), .ncolumns = sizeof(array) / sizeof(array)[0]

static void add_detail(sfctl_table_t *table, const char *detail)
{
  if (detail != NULL && detail[0] != '\0')
    sfctl_table_note(table, "%s", detail);
}

/* ---- The daemon ---- */

static sf_status_t print_status(const sfreport_list_t *list, FILE *file)
{
  static const sfctl_column_t columns[] = {{NULL, SFCTL_LEFT}, {NULL, SFCTL_LEFT}};
  sfctl_table_t table = {COLUMNS(columns)};
  char uptime[SFREPORT_TEXT_SIZE];
  if (list->count != 1)
    return sfshm_error(SF_ERR_PROTO, "sfd answers with %zu messages about its status, expected 1", list->count);
  const Sfproto__StatusInfo *info = list->items[0].message->status_info;
  sfctl_table_cell(&table, "daemon");
  sfctl_table_cell(&table, "%s, protocol version %u", info->software, info->protocol);
  sfctl_table_cell(&table, "process");
  sfctl_table_cell(&table, "%d, of uid %u", info->pid, info->uid);
  sfctl_table_cell(&table, "socket");
  sfctl_table_cell(&table, "%s", info->socket);
  sfctl_table_cell(&table, "up");
  sfctl_table_cell(&table, "%s", sfreport_text_duration(info->uptime_s, uptime));
  sfctl_table_cell(&table, "cores");
  sfctl_table_cell(&table, "%d", info->cores);
  sfctl_table_cell(&table, "costs");
  sfctl_table_cell(&table, "%s", info->costs_measured ? "measured" : "built in");
  sfctl_table_cell(&table, "jobs");
  sfctl_table_cell(&table, "%d; since it started %" PRIu64 ", of which %" PRIu64 " failed", info->jobs,
                   info->jobs_total, info->jobs_failed);
  sfctl_table_cell(&table, "ranks");
  sfctl_table_cell(&table, "%d", info->ranks);
  sfctl_table_cell(&table, "graphs");
  sfctl_table_cell(&table, "%d", info->graphs);
  if (info->fabric != NULL) {
    sfctl_table_cell(&table, "fabric");
    if (info->nodes > 1)
      sfctl_table_cell(&table, "%s; this is node %d of %d", info->fabric, info->node, info->nodes);
    else
      sfctl_table_cell(&table, "%s; this sfd is alone", info->fabric);
  }
  if (info->drained) {
    sfctl_table_cell(&table, "drained");
    sfctl_table_cell(&table, "takes no new jobs");
  }
  sfctl_table_cell(&table, "refused");
  sfctl_table_cell(&table, "%" PRIu64 " connection%s", info->refused, info->refused == 1 ? "" : "s");
  sf_status_t status = sfctl_table_print(&table, 0, file);
  sfctl_table_clear(&table);
  return status;
}

/* ---- Jobs ---- */

static const sfctl_column_t job_columns[] = {
    {"ID", SFCTL_RIGHT},     {"JOB", SFCTL_LEFT},     {"PROGRAM", SFCTL_LEFT}, {"STATE", SFCTL_LEFT},
    {"JOINED", SFCTL_RIGHT}, {"AGE", SFCTL_RIGHT},    {"UID", SFCTL_RIGHT},    {"NODES", SFCTL_RIGHT},
    {"HERE", SFCTL_RIGHT},   {"GRAPHS", SFCTL_RIGHT}, {"GROUPS", SFCTL_RIGHT},
};

static void add_job(sfctl_table_t *table, const Sfproto__JobInfo *info, int digits)
{
  char age[SFREPORT_TEXT_SIZE], id[SFCTL_ID_SIZE];
  sfctl_table_cell(table, "%s", sfctl_id_text(info->job_id, digits, id));
  sfctl_table_cell(table, "%s", info->name);
  sfctl_table_cell(table, "%s", info->program != NULL ? info->program : "");
  sfctl_table_cell(table, "%s", info->state);
  sfctl_table_cell(table, "%d/%d", info->joined, info->size);
  sfctl_table_cell(table, "%s", sfreport_text_duration(info->age_s, age));
  sfctl_table_number(table, info->uid);
  sfctl_table_optional(table, info->has_nodes, info->nodes);
  sfctl_table_optional(table, info->has_here, info->here);
  sfctl_table_cell(table, "%d", info->graphs);
  sfctl_table_cell(table, "%d", info->groups);
  add_detail(table, info->detail);
}

/* ---- Ranks ---- */

static const sfctl_column_t rank_columns[] = {
    {"JOB", SFCTL_LEFT},       {"RANK", SFCTL_RIGHT},       {"PID", SFCTL_RIGHT},       {"STATE", SFCTL_LEFT},
    {"BCASTS", SFCTL_RIGHT},   {"REDUCES", SFCTL_RIGHT},    {"SENT", SFCTL_RIGHT},      {"RECEIVED", SFCTL_RIGHT},
    {"TO-NODES", SFCTL_RIGHT}, {"FROM-NODES", SFCTL_RIGHT}, {"OTHERS", SFCTL_RIGHT},    {"SELF", SFCTL_RIGHT},
    {"SLEEPS", SFCTL_RIGHT},   {"RING", SFCTL_RIGHT},       {"OFFLOADED", SFCTL_RIGHT}, {"PROGRAM", SFCTL_LEFT},
    {"REGIONS", SFCTL_LEFT},
};

static uint64_t others(const sfreport_counts_t *counts)
{
  return counts->gathers + counts->scatters + counts->fetch_ops;
}

static void add_rank_counts(sfctl_table_t *table, const sfreport_item_t *item)
{
  if (item->ncounted == 0) {
    sfctl_table_unknown(table, 9);
    return;
  }
  sfctl_table_number(table, item->counts.bcasts);
  sfctl_table_number(table, item->counts.reduces);
  sfctl_table_bytes(table, sfreport_counts_sent_bytes(&item->counts));
  sfctl_table_bytes(table, item->counts.bytes_received);
  sfctl_table_bytes(table, item->counts.bytes_to_nodes);
  sfctl_table_bytes(table, item->counts.bytes_from_nodes);
  sfctl_table_number(table, others(&item->counts));
  sfctl_table_bytes(table, item->counts.bytes_self);
  sfctl_table_number(table, item->sleeps);
}

/* Whether an earlier region has the same method. */
static bool is_told(const Sfproto__RankInfo *info, size_t region)
{
  for (size_t i = 0; i < region; i++)
    if (strcmp(info->regions[i]->method, info->regions[region]->method) == 0)
      return true;
  return false;
}

/* "3 in-place (1.5 MiB)": regions with the same method. */
static int write_sum(const Sfproto__RankInfo *info, size_t region, char *text, size_t size)
{
  char bytes[SFREPORT_TEXT_SIZE];
  const char *method = info->regions[region]->method;
  uint64_t length = 0;
  size_t count = 0;
  for (size_t i = region; i < info->n_regions; i++) {
    if (strcmp(info->regions[i]->method, method) != 0)
      continue;
    length += info->regions[i]->length;
    count++;
  }
  return snprintf(text, size, "%zu %.40s (%s)", count, method, sfreport_text_bytes(length, bytes));
}

static void add_region_sums(sfctl_table_t *table, const Sfproto__RankInfo *info)
{
  char text[512] = "";
  size_t used = 0;
  for (size_t i = 0; i < info->n_regions && used + 100 < sizeof text; i++) {
    if (is_told(info, i))
      continue;
    if (used > 0)
      used += (size_t)snprintf(text + used, sizeof text - used, ", ");
    used += (size_t)write_sum(info, i, text + used, sizeof text - used);
  }
  sfctl_table_cell(table, "%s", text);
}

static void add_regions(sfctl_table_t *table, const Sfproto__RankInfo *info)
{
  char bytes[SFREPORT_TEXT_SIZE];
  sfctl_table_cell(table, "%zu", info->n_regions);
  for (size_t i = 0; i < info->n_regions; i++) {
    const Sfproto__RegionInfo *region = info->regions[i];
    sfctl_table_note(table, "%-10s  %10s  %-8s  region %" PRIu64, region->kind,
                     sfreport_text_bytes(region->length, bytes), region->method, region->region);
  }
}

static void add_rank(sfctl_table_t *table, const sfreport_item_t *item, bool regions)
{
  const Sfproto__RankInfo *info = item->message->rank_info;
  sfctl_table_cell(table, "%s", info->job);
  sfctl_table_cell(table, "%d", info->rank);
  sfctl_table_cell(table, "%d", info->pid);
  sfctl_table_cell(table, "%s", info->state);
  add_rank_counts(table, item);
  sfctl_table_optional(table, info->has_ring_depth, info->ring_depth);
  if (info->has_offloaded_bytes)
    sfctl_table_bytes(table, info->offloaded_bytes);
  else
    sfctl_table_cell(table, "-");
  sfctl_table_cell(table, "%s", info->program);
  if (regions)
    add_regions(table, info);
  else
    add_region_sums(table, info);
}

/* ---- Graphs ---- */

static const sfctl_column_t graph_columns[] = {
    {"GRAPH", SFCTL_RIGHT},    {"JOB", SFCTL_LEFT},      {"STATE", SFCTL_LEFT},   {"RANKS", SFCTL_RIGHT},
    {"ROOTS", SFCTL_RIGHT},    {"LEAVES", SFCTL_RIGHT},  {"BCASTS", SFCTL_RIGHT}, {"REDUCES", SFCTL_RIGHT},
    {"OTHERS", SFCTL_RIGHT},   {"PAIRS", SFCTL_RIGHT},   {"INLINE", SFCTL_RIGHT}, {"SLOTS", SFCTL_RIGHT},
    {"IN-PLACE", SFCTL_RIGHT}, {"VM-READ", SFCTL_RIGHT}, {"SELF", SFCTL_RIGHT},   {"TO-NODES", SFCTL_RIGHT},
};

static void add_graph(sfctl_table_t *table, const sfreport_item_t *item, int digits)
{
  char id[SFCTL_ID_SIZE];
  const Sfproto__GraphInfo *info = item->message->graph_info;
  const sfreport_counts_t *counts = &item->counts;
  sfctl_table_cell(table, "%s", sfctl_id_text(info->graph, digits, id));
  sfctl_table_cell(table, "%s", info->job);
  sfctl_table_cell(table, "%s", info->state);
  sfctl_table_cell(table, "%d", info->size);
  sfctl_table_cell(table, "%" PRId64, info->nroots);
  sfctl_table_cell(table, "%" PRId64, info->nleaves);
  bool counted = item->ncounted > 0;
  if (counted) {
    sfctl_table_number(table, counts->bcasts);
    sfctl_table_number(table, counts->reduces);
    sfctl_table_number(table, others(counts));
  } else {
    sfctl_table_unknown(table, 3);
  }
  sfctl_table_cell(table, "%d", info->pairs);
  if (counted) {
    sfctl_table_bytes(table, counts->bytes_inline);
    sfctl_table_bytes(table, counts->bytes_slots);
    sfctl_table_bytes(table, counts->bytes_in_place);
    sfctl_table_bytes(table, counts->bytes_vm_read);
    sfctl_table_bytes(table, counts->bytes_self);
    sfctl_table_bytes(table, counts->bytes_to_nodes);
  } else {
    sfctl_table_unknown(table, 6);
  }
  char shape[400];
  sfreport_shape_describe(&item->shape, shape, sizeof shape);
  add_detail(table, shape);
  if (item->multi_of != 0)
    sfctl_table_note(table, "the multi-graph of graph %s", sfctl_id_text(item->multi_of, digits, id));
  add_detail(table, info->detail);
}

/* ---- All ---- */

/* Digits of ids to print; 0: all, if there is room. */
static int find_digits(const sfreport_list_t *list, const sfctl_print_style_t *style)
{
  uint64_t *ids = style->width > 0 ? sfctl_id_list(list) : NULL;
  int digits = ids != NULL ? sfctl_id_digits(ids, list->count) : 0;
  free(ids);
  return digits;
}

static sf_status_t print_jobs(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file)
{
  sfctl_table_t table = {COLUMNS(job_columns)};
  int digits = find_digits(list, style);
  for (size_t i = 0; i < list->count; i++)
    add_job(&table, list->items[i].message->job_info, digits);
  return sfctl_table_print_all(&table, "jobs", style->width, file);
}

static sf_status_t print_ranks(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file)
{
  sfctl_table_t table = {COLUMNS(rank_columns)};
  for (size_t i = 0; i < list->count; i++)
    add_rank(&table, &list->items[i], style->regions);
  return sfctl_table_print_all(&table, "ranks", style->width, file);
}

static sf_status_t print_graphs(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file)
{
  sfctl_table_t table = {COLUMNS(graph_columns)};
  int digits = find_digits(list, style);
  for (size_t i = 0; i < list->count; i++)
    add_graph(&table, &list->items[i], digits);
  return sfctl_table_print_all(&table, "graphs", style->width, file);
}

static const sfctl_column_t option_columns[] = {{"OPTION", SFCTL_LEFT}, {"VALUE", SFCTL_LEFT}, {"FROM", SFCTL_LEFT}};

static sf_status_t print_config(const sfreport_list_t *list, FILE *file)
{
  sfctl_table_t table = {COLUMNS(option_columns)};
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__ConfigInfo *info = list->items[i].message->config_info;
    sfctl_table_cell(&table, "%s", info->name);
    sfctl_table_cell(&table, "%s", info->value);
    sfctl_table_cell(&table, "%s", info->origin);
  }
  return sfctl_table_print_all(&table, "options", 0, file);
}

static sf_status_t print_one(Sfproto__Query__What what, const sfreport_list_t *list, const sfctl_print_style_t *style,
                             FILE *file)
{
  switch (what) {
  case SFPROTO__QUERY__WHAT__JOBS:
    return print_jobs(list, style, file);
  case SFPROTO__QUERY__WHAT__RANKS:
    return print_ranks(list, style, file);
  case SFPROTO__QUERY__WHAT__GRAPHS:
    return print_graphs(list, style, file);
  case SFPROTO__QUERY__WHAT__ARRAYS:
    return sfctl_print_arrays(list, find_digits(list, style), style, file);
  case SFPROTO__QUERY__WHAT__PEERS:
    return sfctl_print_peers(list, style, file);
  case SFPROTO__QUERY__WHAT__PLAN:
    return sfctl_print_plan(list, style, file);
  case SFPROTO__QUERY__WHAT__CONFIG:
    return print_config(list, file);
  default:
    return print_status(list, file);
  }
}

sf_status_t sfctl_print_text(Sfproto__Query__What what, const sfreport_list_t *list, const sfctl_print_style_t *style,
                             FILE *file)
{
  sf_status_t status = SF_OK;
  if (list->count == 0 || !list->items[0].message->has_told_by)
    return print_one(what, list, style, file);
  for (size_t i = 0, n; i < list->count && status == SF_OK; i += n) {
    int32_t node = list->items[i].message->told_by;
    for (n = 1; i + n < list->count && list->items[i + n].message->told_by == node; n++)
      ;
    const sfreport_list_t part = {.items = list->items + i, .count = n};
    fprintf(file, "%snode %d\n", i > 0 ? "\n" : "", node);
    status = print_one(what, &part, style, file);
  }
  return status;
}
