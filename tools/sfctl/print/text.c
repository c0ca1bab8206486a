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

static void add_detail(sfctl_table_t *table, const char *detail)
{
  if (detail != NULL && detail[0] != '\0')
    sfctl_table_note(table, "%s", detail);
}

/* ---- The daemon ---- */

static sf_status_t print_status(const sfreport_list_t *list, FILE *file)
{
  static const sfctl_column_t columns[] = {{NULL, SFCTL_LEFT}, {NULL, SFCTL_LEFT}};
  sfctl_table_t table = {SFCTL_COLUMNS(columns)};
  if (list->count != 1)
    return sfshm_error(SF_ERR_PROTO, "sfd answers with %zu messages about its status, expected 1", list->count);
  const Sfproto__StatusInfo *info = list->items[0].message->status_info;
  sfctl_table_add(&table, SFCTL_VALUE("daemon"));
  sfctl_table_cell(&table, "%s, protocol version %u", info->software, info->protocol);
  sfctl_table_add(&table, SFCTL_VALUE("process"));
  sfctl_table_cell(&table, "%d, of uid %u", info->pid, info->uid);
  sfctl_table_add(&table, SFCTL_VALUE("socket"), SFCTL_VALUE(info->socket), SFCTL_VALUE("up"),
                  sfctl_seconds(info->uptime_s), SFCTL_VALUE("cores"), SFCTL_VALUE(info->cores), SFCTL_VALUE("costs"),
                  SFCTL_VALUE(info->costs_measured ? "measured" : "built in"));
  if (info->payloads != NULL)
    sfctl_table_add(&table, SFCTL_VALUE("payload"), SFCTL_VALUE(info->payloads));
  sfctl_table_add(&table, SFCTL_VALUE("jobs"));
  sfctl_table_cell(&table, "%d; since it started %" PRIu64 ", of which %" PRIu64 " failed", info->jobs,
                   info->jobs_total, info->jobs_failed);
  sfctl_table_add(&table, SFCTL_VALUE("ranks"), SFCTL_VALUE(info->ranks), SFCTL_VALUE("graphs"),
                  SFCTL_VALUE(info->graphs));
  if (info->fabric != NULL) {
    sfctl_table_add(&table, SFCTL_VALUE("fabric"));
    if (info->nodes > 1)
      sfctl_table_cell(&table, "%s; this is node %d of %d", info->fabric, info->node, info->nodes);
    else
      sfctl_table_cell(&table, "%s; this sfd is alone", info->fabric);
  }
  if (info->drained)
    sfctl_table_add(&table, SFCTL_VALUE("drained"), SFCTL_VALUE("takes no new jobs"));
  sfctl_table_add(&table, SFCTL_VALUE("refused"));
  sfctl_table_cell(&table, "%" PRIu64 " connection%s", info->refused, info->refused == 1 ? "" : "s");
  return sfctl_table_print(&table, 0, file);
}

/* ---- Jobs ---- */

static const sfctl_column_t job_columns[] = {
    {"ID", SFCTL_RIGHT},     {"JOB", SFCTL_LEFT},     {"PROGRAM", SFCTL_LEFT}, {"STATE", SFCTL_LEFT},
    {"JOINED", SFCTL_RIGHT}, {"AGE", SFCTL_RIGHT},    {"UID", SFCTL_RIGHT},    {"NODES", SFCTL_RIGHT},
    {"HERE", SFCTL_RIGHT},   {"GRAPHS", SFCTL_RIGHT}, {"GROUPS", SFCTL_RIGHT},
};

static void add_job(sfctl_table_t *table, const Sfproto__JobInfo *info, int digits)
{
  char id[SFCTL_ID_SIZE];
  sfctl_table_add(table, SFCTL_VALUE(sfctl_id_text(info->job_id, digits, id)), SFCTL_VALUE(info->name),
                  SFCTL_VALUE(info->program), SFCTL_VALUE(info->state));
  sfctl_table_cell(table, "%d/%d", info->joined, info->size);
  sfctl_table_add(
      table, sfctl_seconds(info->age_s), SFCTL_VALUE(info->uid), sfctl_if(info->has_nodes, SFCTL_VALUE(info->nodes)),
      sfctl_if(info->has_here, SFCTL_VALUE(info->here)), SFCTL_VALUE(info->graphs), SFCTL_VALUE(info->groups));
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
  return counts->gathers + counts->scatters + counts->fetch_ops + counts->exchanges;
}

static void add_rank_counts(sfctl_table_t *table, const sfreport_item_t *item)
{
  if (item->ncounted == 0) {
    sfctl_table_unknown(table, 9);
    return;
  }
  sfctl_table_add(table, SFCTL_VALUE(item->counts.bcasts), SFCTL_VALUE(item->counts.reduces),
                  sfctl_bytes(sfreport_counts_sent_bytes(&item->counts)), sfctl_bytes(item->counts.bytes_received),
                  sfctl_bytes(item->counts.bytes_to_nodes), sfctl_bytes(item->counts.bytes_from_nodes),
                  SFCTL_VALUE(others(&item->counts)), sfctl_bytes(item->counts.bytes_self), SFCTL_VALUE(item->sleeps));
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
  sfctl_table_add(table, SFCTL_VALUE(text));
}

static void add_regions(sfctl_table_t *table, const Sfproto__RankInfo *info)
{
  char bytes[SFREPORT_TEXT_SIZE];
  sfctl_table_add(table, SFCTL_VALUE(info->n_regions));
  for (size_t i = 0; i < info->n_regions; i++) {
    const Sfproto__RegionInfo *region = info->regions[i];
    sfctl_table_note(table, "%-10s  %10s  %-8s  region %" PRIu64, region->kind,
                     sfreport_text_bytes(region->length, bytes), region->method, region->region);
  }
}

static void add_rank(sfctl_table_t *table, const sfreport_item_t *item, bool regions)
{
  const Sfproto__RankInfo *info = item->message->rank_info;
  sfctl_table_add(table, SFCTL_VALUE(info->job), SFCTL_VALUE(info->rank), SFCTL_VALUE(info->pid),
                  SFCTL_VALUE(info->state));
  add_rank_counts(table, item);
  sfctl_table_add(table, sfctl_if(info->has_ring_depth, SFCTL_VALUE(info->ring_depth)),
                  sfctl_if(info->has_offloaded_bytes, sfctl_bytes(info->offloaded_bytes)), SFCTL_VALUE(info->program));
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
  sfctl_table_add(table, SFCTL_VALUE(sfctl_id_text(info->graph, digits, id)), SFCTL_VALUE(info->job),
                  SFCTL_VALUE(info->state), SFCTL_VALUE(info->size), SFCTL_VALUE(info->nroots),
                  SFCTL_VALUE(info->nleaves));
  if (item->ncounted > 0)
    sfctl_table_add(table, SFCTL_VALUE(counts->bcasts), SFCTL_VALUE(counts->reduces), SFCTL_VALUE(others(counts)));
  else
    sfctl_table_unknown(table, 3);
  sfctl_table_add(table, SFCTL_VALUE(info->pairs));
  if (item->ncounted > 0)
    sfctl_table_add(table, sfctl_bytes(counts->bytes_inline), sfctl_bytes(counts->bytes_slots),
                    sfctl_bytes(counts->bytes_in_place), sfctl_bytes(counts->bytes_vm_read),
                    sfctl_bytes(counts->bytes_self), sfctl_bytes(counts->bytes_to_nodes));
  else
    sfctl_table_unknown(table, 6);
  char shape[400];
  sfreport_shape_describe(&item->shape, shape, sizeof shape);
  add_detail(table, shape);
  if (item->call_site[0] != '\0')
    sfctl_table_note(table, "made at %s", item->call_site);
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
  sfctl_table_t table = {SFCTL_COLUMNS(job_columns)};
  int digits = find_digits(list, style);
  for (size_t i = 0; i < list->count; i++)
    add_job(&table, list->items[i].message->job_info, digits);
  return sfctl_table_print_all(&table, "jobs", style->width, file);
}

static sf_status_t print_ranks(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file)
{
  sfctl_table_t table = {SFCTL_COLUMNS(rank_columns)};
  for (size_t i = 0; i < list->count; i++)
    add_rank(&table, &list->items[i], style->regions);
  return sfctl_table_print_all(&table, "ranks", style->width, file);
}

static sf_status_t print_graphs(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file)
{
  sfctl_table_t table = {SFCTL_COLUMNS(graph_columns)};
  int digits = find_digits(list, style);
  for (size_t i = 0; i < list->count; i++)
    add_graph(&table, &list->items[i], digits);
  return sfctl_table_print_all(&table, "graphs", style->width, file);
}

static const sfctl_column_t option_columns[] = {{"OPTION", SFCTL_LEFT}, {"VALUE", SFCTL_LEFT}, {"FROM", SFCTL_LEFT}};

static sf_status_t print_config(const sfreport_list_t *list, FILE *file)
{
  sfctl_table_t table = {SFCTL_COLUMNS(option_columns)};
  for (size_t i = 0; i < list->count; i++) {
    const Sfproto__ConfigInfo *info = list->items[i].message->config_info;
    sfctl_table_add(&table, SFCTL_VALUE(info->name), SFCTL_VALUE(info->value), SFCTL_VALUE(info->origin));
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
