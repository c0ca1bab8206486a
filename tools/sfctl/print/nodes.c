/* Tables of channels and plans. The one thread of sfctl. */
#include "tools/sfctl/print/nodes.h"

#include <inttypes.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/base/error.h"
#include "tools/sfctl/print/table.h"

/* ---- Peers ---- */

/* Figures with a slash: sent/received. */
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

/* State of the stream in the kernel. */
static void add_link(sfctl_table_t *table, const Sfproto__PeerInfo *info)
{
  if (!info->has_send_queue_bytes) {
    sfctl_table_unknown(table, 4);
    return;
  }
  sfctl_table_add(table, sfctl_bytes(info->send_queue_bytes));
  sfctl_table_cell(table, "%.3f ms", (double)info->rtt_us / 1000);
  sfctl_table_add(table, SFCTL_VALUE(info->retransmits), sfctl_seconds((double)info->busy_us / 1e6));
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
  sfctl_table_add(table, SFCTL_VALUE(info->node), SFCTL_VALUE(info->description), SFCTL_VALUE(info->state));
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

sf_status_t sfctl_print_peers(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file)
{
  sfctl_table_t table = {SFCTL_COLUMNS(peer_columns)};
  for (size_t i = 0; i < list->count; i++)
    add_peer(&table, list->items[i].message->peer_info);
  return sfctl_table_print_all(&table, "peers: this sfd is alone", style->width, file);
}

/* ---- Plans ---- */

static const sfctl_column_t plan_columns[] = {
    {"NODE", SFCTL_RIGHT},       {"HERE", SFCTL_LEFT},    {"MEMBERS", SFCTL_RIGHT}, {"BCAST", SFCTL_RIGHT},
    {"REDUCE", SFCTL_RIGHT},     {"VALUES", SFCTL_RIGHT}, {"REDUCED", SFCTL_RIGHT}, {"BEFORE", SFCTL_RIGHT},
    {"CONTIGUOUS", SFCTL_RIGHT}, {"BOXES", SFCTL_RIGHT},  {"SENT", SFCTL_RIGHT},    {"RECEIVED", SFCTL_RIGHT},
};

/* of: 100 %. */
static void add_percent(sfctl_table_t *table, bool known, int64_t values, int64_t of)
{
  known = known && of > 0;
  sfctl_table_cell(table, known ? "%d%%" : "-", known ? (int)(100 * ((double)values / (double)of)) : 0);
}

static void add_side(sfctl_table_t *table, const Sfproto__PlanSide *side)
{
  int64_t of = side->has_values_before ? side->values_before : side->bcast_values;
  sfctl_table_add(table, SFCTL_VALUE(side->node), SFCTL_VALUE(side->as_root ? "roots" : "leaves"),
                  SFCTL_VALUE(side->members));
  sfctl_table_cell(table, "%d %s", side->bcast_values > 0, side->as_root ? "out" : "in");
  sfctl_table_cell(table, "%d %s", side->reduce_values > 0, side->as_root ? "in" : "out");
  sfctl_table_add(table, SFCTL_VALUE(side->bcast_values), SFCTL_VALUE(side->reduce_values),
                  sfctl_if(side->has_values_before, SFCTL_VALUE(side->values_before)));
  add_percent(table, true, side->contiguous_values, of);
  add_percent(table, side->has_box_values, side->box_values, of);
  sfctl_table_add(table, SFCTL_VALUE(side->messages_sent), SFCTL_VALUE(side->messages_received));
}

static const sfctl_column_t pair_columns[] = {{"FROM", SFCTL_RIGHT},  {"TO", SFCTL_RIGHT}, {"VALUES", SFCTL_RIGHT},
                                              {"EDGES", SFCTL_RIGHT}, {"WAY", SFCTL_LEFT}, {"STREAMS", SFCTL_LEFT}};

/* Pairs of ranks of the node. */
static sf_status_t print_within(const sfctl_print_style_t *style, int32_t node, FILE *file)
{
  sfctl_table_t table = {SFCTL_COLUMNS(pair_columns)};
  uint64_t npairs = 0, values = 0;
  for (size_t i = 0; i < style->within->npairs; i++) {
    const sfctl_pair_t *pair = &style->within->pairs[i];
    if (pair->node != node)
      continue;
    npairs++;
    values += pair->values;
    sfctl_table_add(&table, sfctl_if(pair->from >= 0, SFCTL_VALUE(pair->from)), SFCTL_VALUE(pair->to),
                    SFCTL_VALUE(pair->values), SFCTL_VALUE(pair->edges), SFCTL_VALUE(pair->way),
                    SFCTL_VALUE(pair->streams));
  }
  fprintf(file, "within the node: %" PRIu64 " pairs of ranks, %" PRIu64 " values\n", npairs, values);
  sf_status_t status = style->pairs && npairs > 0 ? sfctl_table_print(&table, style->width, file) : SF_OK;
  sfctl_table_clear(&table);
  if (status == SF_OK)
    status = sfctl_print_degrees_text(style, node, file);
  return status;
}

/* The messages differ in their sides only. */
sf_status_t sfctl_print_plan(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file)
{
  sfctl_table_t table = {SFCTL_COLUMNS(plan_columns)};
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
