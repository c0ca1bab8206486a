/* Samples and rates: see table.h. The one thread of sfctl. */
#include "tools/sfctl/top/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "proto/report/arrays.h"
#include "shm/base/error.h"
#include "shm/base/room.h"
#include "tools/sfctl/collect.h"

#define ABOUT_EVERY_NS INT64_C(1000000000)

const char *const sfctl_view_names[SFCTL_VIEWS] = {"jobs", "ranks", "graphs", "arrays", "channels"};

/* Columns of jobs, ranks and graphs, of arrays, and of channels; the first one makes the history. WAITING: ranks that
 * wait; of a rank: ranks that wait for it. */
enum { OPS, WAIT, WAITING, OLDEST, SENT, RECEIVED, MESSAGES, NODES, NODE_WAIT, LAST };
enum {
  CALLS,
  BY_OWN,
  BY_NODE,
  BY_DAEMON,
  PUTS,
  GETS,
  ACCS,
  ATOMICS,
  IN_FLIGHT,
  PART_BYTES,
  RANKS_HERE,
};
enum {
  FRAMES,
  QUEUED,
  BUSY,
  SEND_QUEUE,
  RTT,
  RETRANSMITS,
  WIRE_SENT,
  WIRE_RECEIVED,
  MESSAGES_SENT,
  DATA,
  MESSAGES_RECEIVED
};

#define ACTIVITY                                                                                                       \
  [OPS] = {"OPS/s", "ops_per_s", SFCTL_FIGURE_RATE}, [WAIT] = {"WAIT", "wait_share", SFCTL_FIGURE_SHARE},              \
  [OLDEST] = {"OLDEST", "oldest_wait_s", SFCTL_FIGURE_TIME},                                                           \
  [SENT] = {"SENT/s", "sent_bytes_per_s", SFCTL_FIGURE_BYTES},                                                         \
  [RECEIVED] = {"RECV/s", "received_bytes_per_s", SFCTL_FIGURE_BYTES},                                                 \
  [MESSAGES] = {"MSG/s", "messages_per_s", SFCTL_FIGURE_RATE},                                                         \
  [NODES] = {"NODES/s", "to_nodes_bytes_per_s", SFCTL_FIGURE_BYTES},                                                   \
  [NODE_WAIT] = {"NODEWAIT", "node_wait_share", SFCTL_FIGURE_SHARE}

#define WAITING_RANKS                                                                                                  \
  {                                                                                                                    \
    "WAITING", "waiting_ranks", SFCTL_FIGURE_RANKS                                                                     \
  }

static const sfctl_top_column_t columns[SFCTL_VIEWS][SFCTL_TOP_COLUMNS] = {
    {ACTIVITY, [WAITING] = WAITING_RANKS, [LAST] = {"RANKS", "ranks", SFCTL_FIGURE_COUNT}},
    {ACTIVITY, [WAITING] = {"WAITED", "waited_for_ranks", SFCTL_FIGURE_RANKS},
     [LAST] = {"PID", "pid", SFCTL_FIGURE_COUNT}},
    {ACTIVITY, [WAITING] = WAITING_RANKS, [LAST] = {"RANKS", "ranks", SFCTL_FIGURE_COUNT}},
    {[CALLS] = {"OPS/s", "operations_per_s", SFCTL_FIGURE_RATE},
     [BY_OWN] = {"OWN/s", "own_bytes_per_s", SFCTL_FIGURE_BYTES},
     [BY_NODE] = {"NODE/s", "node_bytes_per_s", SFCTL_FIGURE_BYTES},
     [BY_DAEMON] = {"DAEMON/s", "daemon_bytes_per_s", SFCTL_FIGURE_BYTES},
     [PUTS] = {"PUT/s", "puts_per_s", SFCTL_FIGURE_RATE},
     [GETS] = {"GET/s", "gets_per_s", SFCTL_FIGURE_RATE},
     [ACCS] = {"ACC/s", "accs_per_s", SFCTL_FIGURE_RATE},
     [ATOMICS] = {"ATOMIC/s", "atomics_per_s", SFCTL_FIGURE_RATE},
     [IN_FLIGHT] = {"FLIGHT", "in_flight_requests", SFCTL_FIGURE_COUNT},
     [PART_BYTES] = {"SIZE", "part_bytes", SFCTL_FIGURE_SIZE},
     [RANKS_HERE] = {"RANKS", "ranks", SFCTL_FIGURE_COUNT}},
    {[FRAMES] = {"FRAMES/s", "frames_sent_per_s", SFCTL_FIGURE_RATE},
     [QUEUED] = {"QUEUED", "queued_messages", SFCTL_FIGURE_COUNT},
     [BUSY] = {"BUSY", "busy_share", SFCTL_FIGURE_SHARE},
     [SEND_QUEUE] = {"SENDQ", "send_queue_bytes", SFCTL_FIGURE_SIZE},
     [RTT] = {"RTT", "rtt_s", SFCTL_FIGURE_TIME},
     [RETRANSMITS] = {"RETRANS/s", "retransmits_per_s", SFCTL_FIGURE_RATE},
     [WIRE_SENT] = {"SENT/s", "wire_sent_bytes_per_s", SFCTL_FIGURE_BYTES},
     [WIRE_RECEIVED] = {"RECV/s", "wire_received_bytes_per_s", SFCTL_FIGURE_BYTES},
     [MESSAGES_SENT] = {"MSG/s", "messages_sent_per_s", SFCTL_FIGURE_RATE},
     [DATA] = {"DATA/s", "data_sent_bytes_per_s", SFCTL_FIGURE_BYTES},
     [MESSAGES_RECEIVED] = {"RMSG/s", "messages_received_per_s", SFCTL_FIGURE_RATE}},
};

const sfctl_top_column_t *sfctl_top_columns(sfctl_view_t view)
{
  return columns[view];
}

bool sfctl_top_says_where(const sfctl_top_table_t *table)
{
  return table->all_nodes && table->view != SFCTL_VIEW_JOBS;
}

int sfctl_top_ncolumns(sfctl_view_t view)
{
  int n = SFCTL_TOP_COLUMNS;
  while (columns[view][n - 1].title == NULL)
    n--;
  return n;
}

int sfctl_top_find_column(sfctl_view_t view, const char *title)
{
  for (int c = 0; c < sfctl_top_ncolumns(view); c++)
    if (strcasecmp(columns[view][c].title, title) == 0 || strcasecmp(columns[view][c].name, title) == 0)
      return c;
  return -1;
}

uint64_t sfctl_top_number(const sfctl_top_table_t *table, const sfctl_top_row_t *row)
{
  return table->view == SFCTL_VIEW_JOBS ? row->key[1] : row->key[2];
}

/* ---- Rows of one sample ---- */

typedef struct sample {
  sfctl_top_row_t *rows;
  size_t nrows, capacity;
} sample_t;

static sf_status_t add_row(sample_t *sample, const sfctl_top_row_t *row)
{
  if (!sfshm_make_room(&sample->rows, &sample->capacity, sample->nrows + 1, sizeof *sample->rows))
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu rows", sample->nrows + 1);
  sample->rows[sample->nrows++] = *row;
  return SF_OK;
}

static sfctl_top_row_t make_row(uint64_t node, uint64_t job, uint64_t number, const char *name, const char *state)
{
  sfctl_top_row_t row = {.key = {node, job, number}};
  snprintf(row.name, sizeof row.name, "%s", name);
  snprintf(row.state, sizeof row.state, "%s", state);
  return row;
}

/* Counts of n ranks. Times are divided by n, so that shares are of the time. */
static void set_counts(sfctl_top_row_t *row, const sfreport_counts_t *counts, int32_t n)
{
  row->total[OPS] = (double)counts->completed;
  row->total[MESSAGES] = (double)(counts->messages_sent + counts->node_messages_sent);
  row->total[SENT] = (double)sfreport_counts_sent_bytes(counts);
  row->total[RECEIVED] = (double)(counts->bytes_received + counts->bytes_from_nodes);
  row->total[NODES] = (double)counts->bytes_to_nodes;
  row->total[WAIT] = (double)counts->waited_ns / 1e9 / n;
  row->total[NODE_WAIT] = (double)counts->waited_nodes_ns / 1e9 / n;
  row->total[WAITING] = (double)counts->waited_ns / 1e9;
}

/* n 0: not known. */
static sf_status_t add_counted(sample_t *sample, sfctl_top_row_t *row, const sfreport_counts_t *counts, int32_t n)
{
  if (n > 0)
    set_counts(row, counts, n);
  for (int c = 0; c < LAST && n == 0; c++)
    row->total[c] = NAN;
  return add_row(sample, row);
}

static uint64_t node_of(const sfreport_item_t *item)
{
  return (uint64_t)item->message->told_by;
}

static sf_status_t sample_ranks(sample_t *sample, const sfreport_list_t *list)
{
  sf_status_t status = SF_OK;
  for (size_t i = 0; i < list->count && status == SF_OK; i++) {
    const sfreport_item_t *item = &list->items[i];
    const Sfproto__RankInfo *info = item->message->rank_info;
    sfctl_top_row_t row = make_row(node_of(item), info->job_id, (uint64_t)info->rank, info->job, info->state);
    row.total[LAST] = info->pid;
    row.total[OLDEST] = (double)item->oldest_wait_ns / 1e9;
    row.waited_for_s = (double)(item->waited_for_ns + item->waited_far_ns) / 1e9;
    status = add_counted(sample, &row, &item->counts, item->ncounted > 0);
  }
  return status;
}

static sf_status_t sample_graphs(sample_t *sample, const sfreport_list_t *list)
{
  sf_status_t status = SF_OK;
  for (size_t i = 0; i < list->count && status == SF_OK; i++) {
    const sfreport_item_t *item = &list->items[i];
    const Sfproto__GraphInfo *info = item->message->graph_info;
    sfctl_top_row_t row = make_row(node_of(item), info->job_id, info->graph, info->job, info->state);
    row.total[LAST] = info->size;
    row.total[OLDEST] = (double)item->oldest_wait_ns / 1e9;
    status = add_counted(sample, &row, &item->counts, item->ncounted);
  }
  return status;
}

/* Operations and bytes of the ranks of the answering node. */
static sf_status_t sample_arrays(sample_t *sample, const sfreport_list_t *list)
{
  sf_status_t status = SF_OK;
  for (size_t i = 0; i < list->count && status == SF_OK; i++) {
    const Sfproto__ArrayInfo *info = list->items[i].message->array_info;
    sfctl_top_row_t row = make_row(node_of(&list->items[i]), info->job_id, info->graph, info->job, info->state);
    for (int way = 0; way < SFREPORT_ARRAY_WAYS; way++)
      for (int access = 0; access < SFREPORT_ARRAY_ACCESSES; access++) {
        double n = (double)sfreport_array_count(info->operations, info->n_operations, way, access);
        row.total[CALLS] += n;
        row.total[PUTS + access] += n;
        row.total[BY_OWN + way] += (double)sfreport_array_count(info->bytes, info->n_bytes, way, access);
      }
    row.total[IN_FLIGHT] = info->in_flight;
    row.total[PART_BYTES] = (double)info->length;
    row.total[RANKS_HERE] = info->here;
    status = add_row(sample, &row);
  }
  return status;
}

/* Sums over the job's ranks, on all nodes if several answer. */
static void add_up(sfreport_counts_t *sum, int32_t *n, uint64_t *oldest_ns, const sfreport_list_t *ranks,
                   uint64_t job_id)
{
  for (size_t i = 0; i < ranks->count; i++) {
    const sfreport_item_t *item = &ranks->items[i];
    if (item->ncounted == 0 || item->message->rank_info->job_id != job_id)
      continue;
    sfreport_counts_merge(sum, &item->counts, *n == 0);
    *oldest_ns = item->oldest_wait_ns > *oldest_ns ? item->oldest_wait_ns : *oldest_ns;
    ++*n;
  }
}

/* All nodes of a job describe it; the one with the lowest number counts. A joining job has no id. */
static bool is_told_elsewhere(const sfreport_list_t *list, const sfreport_item_t *item)
{
  uint64_t id = item->message->job_info->job_id;
  for (size_t i = 0; i < list->count && id != 0; i++)
    if (list->items[i].message->job_info->job_id == id && node_of(&list->items[i]) < node_of(item))
      return true;
  return false;
}

static sf_status_t sample_jobs(sample_t *sample, const sfreport_list_t *list, const sfreport_list_t *ranks)
{
  sf_status_t status = SF_OK;
  for (size_t i = 0; i < list->count && status == SF_OK; i++) {
    const sfreport_item_t *item = &list->items[i];
    const Sfproto__JobInfo *info = item->message->job_info;
    sfctl_top_row_t row = make_row(node_of(item), info->job_id, 0, info->name, info->state);
    sfreport_counts_t sum = {0};
    uint64_t oldest_ns = 0;
    int32_t n = 0;
    if (is_told_elsewhere(list, item))
      continue;
    row.total[LAST] = info->size;
    if (info->job_id != 0)
      add_up(&sum, &n, &oldest_ns, ranks, info->job_id);
    row.total[OLDEST] = (double)oldest_ns / 1e9;
    status = add_counted(sample, &row, &sum, n);
  }
  return status;
}

static sf_status_t sample_channels(sample_t *sample, const sfreport_list_t *list)
{
  sf_status_t status = SF_OK;
  for (size_t i = 0; i < list->count && status == SF_OK; i++) {
    const sfreport_item_t *item = &list->items[i];
    const Sfproto__PeerInfo *info = item->message->peer_info;
    sfctl_top_row_t row = make_row(node_of(item), 0, (uint64_t)info->node, info->description, info->state);
    for (size_t k = 0; k < info->n_traffic; k++) {
      row.total[MESSAGES_SENT] += (double)info->traffic[k]->messages_sent;
      row.total[MESSAGES_RECEIVED] += (double)info->traffic[k]->messages_received;
      if (strcmp(info->traffic[k]->kind, "data") == 0)
        row.total[DATA] = (double)info->traffic[k]->payload_sent;
    }
    row.total[FRAMES] = (double)info->frames_sent;
    row.total[WIRE_SENT] = (double)info->wire_sent;
    row.total[WIRE_RECEIVED] = (double)info->wire_received;
    row.total[QUEUED] = (double)info->queued_messages;
    row.total[BUSY] = info->has_busy_us ? (double)info->busy_us / 1e6 : NAN;
    row.total[SEND_QUEUE] = info->has_send_queue_bytes ? (double)info->send_queue_bytes : NAN;
    row.total[RTT] = info->has_rtt_us ? (double)info->rtt_us / 1e6 : NAN;
    row.total[RETRANSMITS] = info->has_retransmits ? (double)info->retransmits : NAN;
    status = add_row(sample, &row);
  }
  return status;
}

static sf_status_t take_sample(sfctl_view_t view, sample_t *sample, sfctl_connection_t *connection, const char *job)
{
  static const Sfproto__Query__What whats[SFCTL_VIEWS] = {SFPROTO__QUERY__WHAT__JOBS, SFPROTO__QUERY__WHAT__RANKS,
                                                          SFPROTO__QUERY__WHAT__GRAPHS, SFPROTO__QUERY__WHAT__ARRAYS,
                                                          SFPROTO__QUERY__WHAT__PEERS};
  static sf_status_t (*const samplers[SFCTL_VIEWS])(sample_t * sample, const sfreport_list_t *list) = {
      NULL, sample_ranks, sample_graphs, sample_arrays, sample_channels};
  sfreport_list_t list = {0}, ranks = {0};
  if (view == SFCTL_VIEW_JOBS)
    sfctl_will_ask(connection, 2 * (1 + (job != NULL)));
  sf_status_t status = sfctl_collect(connection, whats[view], view == SFCTL_VIEW_CHANNELS ? NULL : job, &list);
  if (status == SF_OK && view == SFCTL_VIEW_JOBS)
    status = sfctl_collect(connection, SFPROTO__QUERY__WHAT__RANKS, job, &ranks);
  if (status == SF_OK)
    status = view == SFCTL_VIEW_JOBS ? sample_jobs(sample, &list, &ranks) : samplers[view](sample, &list);
  sfreport_list_clear(&list);
  sfreport_list_clear(&ranks);
  return status;
}

/* ---- Rates ---- */

static int compare_keys(const void *a, const void *b)
{
  const sfctl_top_row_t *x = a, *y = b;
  for (int k = 0; k < 3; k++)
    if (x->key[k] != y->key[k])
      return x->key[k] < y->key[k] ? -1 : 1;
  return 0;
}

/* A counter that decreased belongs to a rank of a new job, or is false. */
static double rate(double now, double before, double seconds)
{
  return now >= before && seconds > 0 ? (now - before) / seconds : NAN;
}

/* Ranks that wait for it beyond its own waiting, so that of ranks that wait for each other the first is shown. */
static void find_waited_for(sfctl_top_row_t *row, const sfctl_top_row_t *last, double seconds)
{
  double others = last != NULL ? rate(row->waited_for_s, last->waited_for_s, seconds) : NAN;
  row->figure[WAITING] = others * (1 - row->figure[WAIT]);
}

static void compare_with_last(sfctl_top_row_t *row, const sfctl_top_row_t *last, sfctl_view_t view, double seconds)
{
  for (int c = 0; c < sfctl_top_ncolumns(view); c++) {
    sfctl_figure_t figure = columns[view][c].figure;
    if (sfctl_top_is_level(figure))
      row->figure[c] = row->total[c];
    else
      row->figure[c] = last != NULL ? rate(row->total[c], last->total[c], seconds) : NAN;
    if (figure == SFCTL_FIGURE_SHARE && row->figure[c] > 1)
      row->figure[c] = 1;
  }
  if (view == SFCTL_VIEW_RANKS)
    find_waited_for(row, last, seconds);
  if (last == NULL)
    return;
  row->known = true;
  memcpy(row->history, last->history + 1, sizeof row->history - sizeof row->history[0]);
  row->history[SFCTL_TOP_HISTORY - 1] = isnan(row->figure[0]) ? 0 : (float)row->figure[0];
}

/* Queries sizes and locations at most once per second, or when rows have come or gone: frequent refreshes are about
 * rates, and each query takes processor time. */
static sf_status_t ask_about(sfctl_top_table_t *table, sfctl_connection_t *connection, size_t nrows, int64_t now_ns)
{
  sfreport_list_t about = {0};
  if (table->asked_ns != 0 && nrows == table->nrows && now_ns - table->asked_ns < ABOUT_EVERY_NS) {
    table->uptime_s += (double)(now_ns - table->sampled_ns) / 1e9;
    return SF_OK;
  }
  sfctl_target_t target = connection->target;
  connection->target = (sfctl_target_t){0};
  sf_status_t status = sfctl_collect(connection, SFPROTO__QUERY__WHAT__STATUS, NULL, &about);
  connection->target = target;
  if (status == SF_OK && about.count > 0) {
    const Sfproto__StatusInfo *info = about.items[0].message->status_info;
    table->njobs = info->jobs;
    table->nranks = info->ranks;
    table->ngraphs = info->graphs;
    table->node = info->node;
    table->nnodes = info->nodes;
    table->uptime_s = info->uptime_s;
    table->asked_ns = now_ns;
  }
  sfreport_list_clear(&about);
  return status;
}

sf_status_t sfctl_top_sample(sfctl_top_table_t *table, sfctl_connection_t *connection, const char *job, int64_t now_ns)
{
  sample_t sample = {0};
  double seconds = (double)(now_ns - table->sampled_ns) / 1e9;
  sf_status_t status = take_sample(table->view, &sample, connection, job);
  if (status == SF_OK)
    status = ask_about(table, connection, sample.nrows, now_ns);
  if (status != SF_OK) {
    free(sample.rows);
    return status;
  }
  if (table->nrows > 0)
    qsort(table->rows, table->nrows, sizeof *table->rows, compare_keys);
  for (size_t i = 0; i < sample.nrows; i++) {
    const sfctl_top_row_t *last =
        table->nrows > 0 ? bsearch(&sample.rows[i], table->rows, table->nrows, sizeof *table->rows, compare_keys)
                         : NULL;
    compare_with_last(&sample.rows[i], last, table->view, seconds);
  }
  free(table->rows);
  table->rows = sample.rows;
  table->nrows = sample.nrows;
  table->capacity = sample.capacity;
  table->sampled_ns = now_ns;
  return SF_OK;
}

/* ---- Order ---- */

typedef struct order {
  int column;
  bool ascending;
} order_t;

static int compare_figures(const void *a, const void *b, void *context)
{
  const sfctl_top_row_t *x = a, *y = b;
  const order_t *order = context;
  double fx = x->figure[order->column], fy = y->figure[order->column];
  if (isnan(fx) != isnan(fy))
    return isnan(fx) ? 1 : -1; /* unknown ones last */
  if (!isnan(fx) && fx < fy)
    return order->ascending ? -1 : 1;
  if (!isnan(fx) && fx > fy)
    return order->ascending ? 1 : -1;
  return compare_keys(a, b);
}

void sfctl_top_sort(sfctl_top_table_t *table, int column, bool ascending)
{
  order_t order = {column, ascending};
  if (table->nrows > 0)
    qsort_r(table->rows, table->nrows, sizeof *table->rows, compare_figures, &order);
}

void sfctl_top_clear(sfctl_top_table_t *table)
{
  free(table->rows);
  table->rows = NULL;
  table->nrows = table->capacity = 0;
  table->sampled_ns = table->asked_ns = 0;
}
