/* What was collected, in tables for people. The one thread of sfctl. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/error.h"
#include "tools/sfctl/print.h"
#include "tools/sfctl/short_id.h"
#include "tools/sfctl/table.h"

#define COLUMNS(array) .columns = (array), .ncolumns = sizeof(array) / sizeof(array)[0]

static void add_number(sfctl_table_t *table, uint64_t number)
{
  sfctl_table_cell(table, "%" PRIu64, number);
}

static void add_bytes(sfctl_table_t *table, uint64_t bytes)
{
  char text[SFREPORT_TEXT_SIZE];
  sfctl_table_cell(table, "%s", sfreport_text_bytes(bytes, text));
}

static void add_optional(sfctl_table_t *table, bool known, int64_t number)
{
  if (known)
    sfctl_table_cell(table, "%" PRId64, number);
  else
    sfctl_table_cell(table, "-");
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
  add_number(table, info->uid);
  add_optional(table, info->has_nodes, info->nodes);
  add_optional(table, info->has_here, info->here);
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
    add_missing(table, 9);
    return;
  }
  add_number(table, item->counts.bcasts);
  add_number(table, item->counts.reduces);
  add_bytes(table, sfreport_counts_sent_bytes(&item->counts));
  add_bytes(table, item->counts.bytes_received);
  add_bytes(table, item->counts.bytes_to_nodes);
  add_bytes(table, item->counts.bytes_from_nodes);
  add_number(table, others(&item->counts));
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
  add_optional(table, info->has_ring_depth, info->ring_depth);
  if (info->has_offloaded_bytes)
    add_bytes(table, info->offloaded_bytes);
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
    add_number(table, counts->bcasts);
    add_number(table, counts->reduces);
    add_number(table, others(counts));
  } else {
    add_missing(table, 3);
  }
  sfctl_table_cell(table, "%d", info->pairs);
  if (counted) {
    add_bytes(table, counts->bytes_inline);
    add_bytes(table, counts->bytes_slots);
    add_bytes(table, counts->bytes_in_place);
    add_bytes(table, counts->bytes_vm_read);
    add_bytes(table, counts->bytes_self);
    add_bytes(table, counts->bytes_to_nodes);
  } else {
    add_missing(table, 6);
  }
  char shape[400];
  sfreport_shape_describe(&item->shape, shape, sizeof shape);
  add_detail(table, shape);
  if (item->multi_of != 0)
    sfctl_table_note(table, "the multi-graph of graph %s", sfctl_id_text(item->multi_of, digits, id));
  if (item->runs_of != 0)
    sfctl_table_note(table, "carries contributions of graph %s between nodes",
                     sfctl_id_text(item->runs_of, digits, id));
  add_detail(table, info->detail);
}

/* ---- Peers ---- */

/* Figures with a stroke are of what was sent, and of what was received. */
static const sfctl_column_t peer_columns[] = {
    {"NODE", SFCTL_RIGHT},     {"PEER", SFCTL_LEFT},    {"STATE", SFCTL_LEFT},    {"QUEUED", SFCTL_RIGHT},
    {"SENDQ", SFCTL_RIGHT},    {"RTT", SFCTL_RIGHT},    {"RETRANS", SFCTL_RIGHT}, {"BUSY", SFCTL_RIGHT},
    {"MESSAGES", SFCTL_RIGHT}, {"WIRE", SFCTL_RIGHT},   {"PAYLOAD", SFCTL_RIGHT}, {"FRAMES", SFCTL_RIGHT},
    {"DATA", SFCTL_RIGHT},     {"CREDIT", SFCTL_RIGHT}, {"CONTROL", SFCTL_RIGHT},
};

typedef struct traffic {
  uint64_t messages_sent, messages_received, payload_sent, payload_received;
} traffic_t;

static void add_traffic(traffic_t *sum, const Sfproto__PeerTraffic *traffic)
{
  sum->messages_sent += traffic->messages_sent;
  sum->messages_received += traffic->messages_received;
  sum->payload_sent += traffic->payload_sent;
  sum->payload_received += traffic->payload_received;
}

static void add_two(sfctl_table_t *table, uint64_t sent, uint64_t received)
{
  sfctl_table_cell(table, "%" PRIu64 "/%" PRIu64, sent, received);
}

static void add_two_bytes(sfctl_table_t *table, uint64_t sent, uint64_t received)
{
  char a[SFREPORT_TEXT_SIZE], b[SFREPORT_TEXT_SIZE];
  sfctl_table_cell(table, "%s/%s", sfreport_text_bytes(sent, a), sfreport_text_bytes(received, b));
}

/* What the kernel knows of the stream. */
static void add_link(sfctl_table_t *table, const Sfproto__PeerInfo *info)
{
  char bytes[SFREPORT_TEXT_SIZE], busy[SFREPORT_TEXT_SIZE];
  if (!info->has_send_queue_bytes) {
    add_missing(table, 4);
    return;
  }
  sfctl_table_cell(table, "%s", sfreport_text_bytes(info->send_queue_bytes, bytes));
  sfctl_table_cell(table, "%.3f ms", (double)info->rtt_us / 1000);
  add_number(table, info->retransmits);
  sfctl_table_cell(table, "%s", sfreport_text_duration((double)info->busy_us / 1e6, busy));
}

static void add_peer(sfctl_table_t *table, const Sfproto__PeerInfo *info)
{
  char bytes[SFREPORT_TEXT_SIZE];
  traffic_t all = {0}, data = {0}, credit = {0}, control = {0};
  for (size_t i = 0; i < info->n_traffic; i++) {
    const Sfproto__PeerTraffic *traffic = info->traffic[i];
    bool is_data = strcmp(traffic->kind, "data") == 0, is_credit = strcmp(traffic->kind, "credit") == 0;
    add_traffic(&all, traffic);
    add_traffic(is_data ? &data : is_credit ? &credit : &control, traffic);
  }
  sfctl_table_cell(table, "%d", info->node);
  sfctl_table_cell(table, "%s", info->description);
  sfctl_table_cell(table, "%s", info->state);
  sfctl_table_cell(table, "%" PRIu64 " (%s)", info->queued_messages, sfreport_text_bytes(info->queued_bytes, bytes));
  add_link(table, info);
  add_two(table, all.messages_sent, all.messages_received);
  add_two_bytes(table, info->wire_sent, info->wire_received);
  add_two_bytes(table, all.payload_sent, all.payload_received);
  add_two(table, info->frames_sent, info->frames_received);
  add_two(table, data.messages_sent, data.messages_received);
  add_two(table, credit.messages_sent, credit.messages_received);
  add_two(table, control.messages_sent, control.messages_received);
}

/* ---- Plans ---- */

static const sfctl_column_t plan_columns[] = {
    {"NODE", SFCTL_RIGHT},       {"HERE", SFCTL_LEFT},    {"MEMBERS", SFCTL_RIGHT}, {"BCAST", SFCTL_RIGHT},
    {"REDUCE", SFCTL_RIGHT},     {"VALUES", SFCTL_RIGHT}, {"REDUCED", SFCTL_RIGHT}, {"BEFORE", SFCTL_RIGHT},
    {"CONTIGUOUS", SFCTL_RIGHT}, {"BOXES", SFCTL_RIGHT},  {"SENT", SFCTL_RIGHT},    {"RECEIVED", SFCTL_RIGHT},
    {"DEVICE", SFCTL_LEFT},
};

/* 100: all. */
static void add_percent(sfctl_table_t *table, bool known, int64_t values, int64_t of)
{
  if (known && of > 0)
    sfctl_table_cell(table, "%d%%", (int)(100 * ((double)values / (double)of)));
  else
    sfctl_table_cell(table, "-");
}

static void add_side(sfctl_table_t *table, const Sfproto__PlanSide *side)
{
  int64_t of = side->has_values_before ? side->values_before : side->bcast_values;
  sfctl_table_cell(table, "%d", side->node);
  sfctl_table_cell(table, "%s", side->as_root ? "roots" : "leaves");
  sfctl_table_cell(table, "%d", side->members);
  sfctl_table_cell(table, "%d %s", side->bcast_values > 0, side->as_root ? "out" : "in");
  sfctl_table_cell(table, "%d %s", side->reduce_values > 0, side->as_root ? "in" : "out");
  sfctl_table_cell(table, "%" PRId64, side->bcast_values);
  sfctl_table_cell(table, "%" PRId64, side->reduce_values);
  add_optional(table, side->has_values_before, side->values_before);
  add_percent(table, true, side->contiguous_values, of);
  add_percent(table, side->has_box_values, side->box_values, of);
  add_number(table, side->messages_sent);
  add_number(table, side->messages_received);
  const char *on_device = sfctl_plan_device(side);
  sfctl_table_cell(table, "%s", on_device != NULL ? on_device : "-");
}

static const sfctl_column_t pair_columns[] = {{"FROM", SFCTL_RIGHT},  {"TO", SFCTL_RIGHT}, {"VALUES", SFCTL_RIGHT},
                                              {"EDGES", SFCTL_RIGHT}, {"WAY", SFCTL_LEFT}, {"STREAMS", SFCTL_LEFT}};

/* Pairs of ranks of the node that tells of them. */
static sf_status_t print_within(const sfctl_print_style_t *style, int32_t node, FILE *file)
{
  sfctl_table_t table = {COLUMNS(pair_columns)};
  uint64_t npairs = 0, values = 0;
  for (size_t i = 0; i < style->within->npairs; i++) {
    const sfctl_pair_t *pair = &style->within->pairs[i];
    if (pair->node != node)
      continue;
    npairs++;
    values += pair->values;
    add_optional(&table, pair->from >= 0, pair->from);
    sfctl_table_cell(&table, "%d", pair->to);
    add_number(&table, pair->values);
    add_number(&table, pair->edges);
    sfctl_table_cell(&table, "%s", pair->way != NULL ? pair->way : "-");
    sfctl_table_cell(&table, "%s", pair->streams != NULL ? pair->streams : "-");
  }
  fprintf(file, "within the node: %" PRIu64 " pairs of ranks, %" PRIu64 " values\n", npairs, values);
  sf_status_t status = style->pairs && npairs > 0 ? sfctl_table_print(&table, style->width, file) : SF_OK;
  sfctl_table_clear(&table);
  if (status == SF_OK)
    status = sfctl_print_degrees_text(style, node, file);
  return status;
}

/* The messages differ in their sides only. */
static sf_status_t print_plan(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file)
{
  sfctl_table_t table = {COLUMNS(plan_columns)};
  sf_status_t status = SF_OK;
  size_t nsides = 0;
  if (list->count == 0)
    return sfshm_error(SF_ERR_PROTO, "sfd answers with no message about the plan");
  const Sfproto__PlanInfo *info = list->items[0].message->plan_info;
  for (size_t i = 0; i < list->count; i++)
    for (size_t k = 0; k < list->items[i].message->plan_info->n_sides; k++, nsides++)
      add_side(&table, list->items[i].message->plan_info->sides[k]);
  char job[SFREPORT_PRINTABLE_SIZE(256)];
  fprintf(file, "graph %" PRIu64 " of job %s: %s, %d ranks, seen from node %d\n", info->graph,
          sfreport_text_printable(info->job, job, sizeof job), info->state, info->size, info->node);
  if (nsides > 0)
    status = sfctl_table_print(&table, style->width, file);
  else
    fprintf(file, "no edges between this node and others\n");
  sfctl_table_clear(&table);
  if (status == SF_OK && style->within != NULL)
    status = print_within(style, list->items[0].message->told_by, file);
  return status;
}

/* ---- All ---- */

static sf_status_t print_table(sfctl_table_t *table, const char *name, const sfreport_list_t *list, int width,
                               FILE *file)
{
  sf_status_t status = SF_OK;
  if (list->count > 0)
    status = sfctl_table_print(table, width, file);
  else
    fprintf(file, "no %s\n", name);
  sfctl_table_clear(table);
  return status;
}

/* How many of the last digits of numbers are shown; 0: all of them, as there is room. */
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
  return print_table(&table, "jobs", list, style->width, file);
}

static sf_status_t print_ranks(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file)
{
  sfctl_table_t table = {COLUMNS(rank_columns)};
  for (size_t i = 0; i < list->count; i++)
    add_rank(&table, &list->items[i], style->regions);
  return print_table(&table, "ranks", list, style->width, file);
}

static sf_status_t print_graphs(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file)
{
  sfctl_table_t table = {COLUMNS(graph_columns)};
  int digits = find_digits(list, style);
  for (size_t i = 0; i < list->count; i++)
    add_graph(&table, &list->items[i], digits);
  return print_table(&table, "graphs", list, style->width, file);
}

static sf_status_t print_peers(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file)
{
  sfctl_table_t table = {COLUMNS(peer_columns)};
  for (size_t i = 0; i < list->count; i++)
    add_peer(&table, list->items[i].message->peer_info);
  return print_table(&table, "peers: this sfd is alone", list, style->width, file);
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
  return print_table(&table, "options", list, 0, file);
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
  case SFPROTO__QUERY__WHAT__PEERS:
    return print_peers(list, style, file);
  case SFPROTO__QUERY__WHAT__PLAN:
    return print_plan(list, style, file);
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
