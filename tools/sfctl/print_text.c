/* What was collected, in tables for people. The one thread of sfctl. */
#include <inttypes.h>
#include <string.h>

#include "shm/error.h"
#include "tools/sfctl/print.h"
#include "tools/sfctl/table.h"
#include "tools/sfctl/text.h"

#define COLUMNS(array) .columns = (array), .ncolumns = sizeof(array) / sizeof(array)[0]

static void add_number(sfctl_table_t *table, uint64_t number)
{
  sfctl_table_cell(table, "%" PRIu64, number);
}

static void add_bytes(sfctl_table_t *table, uint64_t bytes)
{
  char text[SFCTL_TEXT_SIZE];
  sfctl_table_cell(table, "%s", sfctl_text_bytes(bytes, text));
}

static void add_missing(sfctl_table_t *table, int count)
{
  for (int i = 0; i < count; i++)
    sfctl_table_cell(table, "-");
}

static void add_detail(sfctl_table_t *table, const char *detail)
{
  if (detail != NULL && detail[0] != '\0')
    sfctl_table_note(table, "%s", detail);
}

/* ---- The daemon ---- */

static sf_status_t print_status(const sfctl_list_t *list, FILE *file)
{
  static const sfctl_column_t columns[] = {{NULL, SFCTL_LEFT}, {NULL, SFCTL_LEFT}};
  sfctl_table_t table = {COLUMNS(columns)};
  char uptime[SFCTL_TEXT_SIZE];
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
  sfctl_table_cell(&table, "%s", sfctl_text_duration(info->uptime_s, uptime));
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
  sfctl_table_cell(&table, "refused");
  sfctl_table_cell(&table, "%" PRIu64 " connection%s", info->refused, info->refused == 1 ? "" : "s");
  sf_status_t status = sfctl_table_print(&table, file);
  sfctl_table_clear(&table);
  return status;
}

/* ---- Jobs ---- */

static const sfctl_column_t job_columns[] = {
    {"ID", SFCTL_RIGHT},     {"JOB", SFCTL_LEFT},     {"UID", SFCTL_RIGHT},    {"STATE", SFCTL_LEFT},
    {"JOINED", SFCTL_RIGHT}, {"GROUPS", SFCTL_RIGHT}, {"GRAPHS", SFCTL_RIGHT}, {"AGE", SFCTL_RIGHT},
};

static void add_job(sfctl_table_t *table, const Sfproto__JobInfo *info)
{
  char age[SFCTL_TEXT_SIZE];
  add_number(table, info->job_id);
  sfctl_table_cell(table, "%s", info->name);
  add_number(table, info->uid);
  sfctl_table_cell(table, "%s", info->state);
  sfctl_table_cell(table, "%d/%d", info->joined, info->size);
  sfctl_table_cell(table, "%d", info->groups);
  sfctl_table_cell(table, "%d", info->graphs);
  sfctl_table_cell(table, "%s", sfctl_text_duration(info->age_s, age));
  add_detail(table, info->detail);
}

/* ---- Ranks ---- */

static const sfctl_column_t rank_columns[] = {
    {"JOB", SFCTL_LEFT},       {"RANK", SFCTL_RIGHT},   {"PID", SFCTL_RIGHT},     {"STATE", SFCTL_LEFT},
    {"PROGRAM", SFCTL_LEFT},   {"BCASTS", SFCTL_RIGHT}, {"REDUCES", SFCTL_RIGHT}, {"SENT", SFCTL_RIGHT},
    {"RECEIVED", SFCTL_RIGHT}, {"SELF", SFCTL_RIGHT},   {"SLEEPS", SFCTL_RIGHT},  {"REGIONS", SFCTL_LEFT},
};

static void add_rank_counts(sfctl_table_t *table, const sfctl_item_t *item)
{
  if (item->ncounted == 0) {
    add_missing(table, 6);
    return;
  }
  add_number(table, item->counts.bcasts);
  add_number(table, item->counts.reduces);
  add_bytes(table, sfctl_counts_sent_bytes(&item->counts));
  add_bytes(table, item->counts.bytes_received);
  add_bytes(table, item->counts.bytes_self);
  add_number(table, item->sleeps);
}

/* Whether a region before that one has the same method. */
static bool is_told(const Sfproto__RankInfo *info, size_t region)
{
  for (size_t i = 0; i < region; i++)
    if (strcmp(info->regions[i]->method, info->regions[region]->method) == 0)
      return true;
  return false;
}

/* "3 in-place (1.5 MiB)": the regions with that one's method. */
static int write_sum(const Sfproto__RankInfo *info, size_t region, char *text, size_t size)
{
  char bytes[SFCTL_TEXT_SIZE];
  const char *method = info->regions[region]->method;
  uint64_t length = 0;
  size_t count = 0;
  for (size_t i = region; i < info->n_regions; i++) {
    if (strcmp(info->regions[i]->method, method) != 0)
      continue;
    length += info->regions[i]->length;
    count++;
  }
  return snprintf(text, size, "%zu %.40s (%s)", count, method, sfctl_text_bytes(length, bytes));
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
  char bytes[SFCTL_TEXT_SIZE];
  sfctl_table_cell(table, "%zu", info->n_regions);
  for (size_t i = 0; i < info->n_regions; i++) {
    const Sfproto__RegionInfo *region = info->regions[i];
    sfctl_table_note(table, "%-10s  %10s  %-8s  region %" PRIu64, region->kind, sfctl_text_bytes(region->length, bytes),
                     region->method, region->region);
  }
}

static void add_rank(sfctl_table_t *table, const sfctl_item_t *item, bool regions)
{
  const Sfproto__RankInfo *info = item->message->rank_info;
  sfctl_table_cell(table, "%s", info->job);
  sfctl_table_cell(table, "%d", info->rank);
  sfctl_table_cell(table, "%d", info->pid);
  sfctl_table_cell(table, "%s", info->state);
  sfctl_table_cell(table, "%s", info->program);
  add_rank_counts(table, item);
  if (regions)
    add_regions(table, info);
  else
    add_region_sums(table, info);
}

/* ---- Graphs ---- */

static const sfctl_column_t graph_columns[] = {
    {"GRAPH", SFCTL_RIGHT},   {"JOB", SFCTL_LEFT},     {"RANKS", SFCTL_RIGHT}, {"ROOTS", SFCTL_RIGHT},
    {"LEAVES", SFCTL_RIGHT},  {"PAIRS", SFCTL_RIGHT},  {"STATE", SFCTL_LEFT},  {"BCASTS", SFCTL_RIGHT},
    {"REDUCES", SFCTL_RIGHT}, {"INLINE", SFCTL_RIGHT}, {"SLOTS", SFCTL_RIGHT}, {"IN-PLACE", SFCTL_RIGHT},
    {"VM-READ", SFCTL_RIGHT}, {"SELF", SFCTL_RIGHT},
};

static void add_graph(sfctl_table_t *table, const sfctl_item_t *item)
{
  const Sfproto__GraphInfo *info = item->message->graph_info;
  const sfctl_counts_t *counts = &item->counts;
  add_number(table, info->graph);
  sfctl_table_cell(table, "%s", info->job);
  sfctl_table_cell(table, "%d", info->size);
  sfctl_table_cell(table, "%" PRId64, info->nroots);
  sfctl_table_cell(table, "%" PRId64, info->nleaves);
  sfctl_table_cell(table, "%d", info->pairs);
  sfctl_table_cell(table, "%s", info->state);
  if (item->ncounted > 0) {
    add_number(table, counts->bcasts);
    add_number(table, counts->reduces);
    add_bytes(table, counts->bytes_inline);
    add_bytes(table, counts->bytes_slots);
    add_bytes(table, counts->bytes_in_place);
    add_bytes(table, counts->bytes_vm_read);
    add_bytes(table, counts->bytes_self);
  } else {
    add_missing(table, 7);
  }
  add_detail(table, info->detail);
}

/* ---- All ---- */

static sf_status_t print_table(sfctl_table_t *table, const char *name, const sfctl_list_t *list, FILE *file)
{
  sf_status_t status = SF_OK;
  if (list->count > 0)
    status = sfctl_table_print(table, file);
  else
    fprintf(file, "no %s\n", name);
  sfctl_table_clear(table);
  return status;
}

static sf_status_t print_jobs(const sfctl_list_t *list, FILE *file)
{
  sfctl_table_t table = {COLUMNS(job_columns)};
  for (size_t i = 0; i < list->count; i++)
    add_job(&table, list->items[i].message->job_info);
  return print_table(&table, "jobs", list, file);
}

static sf_status_t print_ranks(const sfctl_list_t *list, bool regions, FILE *file)
{
  sfctl_table_t table = {COLUMNS(rank_columns)};
  for (size_t i = 0; i < list->count; i++)
    add_rank(&table, &list->items[i], regions);
  return print_table(&table, "ranks", list, file);
}

static sf_status_t print_graphs(const sfctl_list_t *list, FILE *file)
{
  sfctl_table_t table = {COLUMNS(graph_columns)};
  for (size_t i = 0; i < list->count; i++)
    add_graph(&table, &list->items[i]);
  return print_table(&table, "graphs", list, file);
}

sf_status_t sfctl_print_text(Sfproto__Query__What what, const sfctl_list_t *list, bool regions, FILE *file)
{
  switch (what) {
  case SFPROTO__QUERY__WHAT__JOBS:
    return print_jobs(list, file);
  case SFPROTO__QUERY__WHAT__RANKS:
    return print_ranks(list, regions, file);
  case SFPROTO__QUERY__WHAT__GRAPHS:
    return print_graphs(list, file);
  default:
    return print_status(list, file);
  }
}
