/* Comparison of calls: see call_compare.h. The daemon's thread. */
#include "daemon/setup/call_compare_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/data.h"
#include "daemon/jobs.h"
#include "daemon/net.h"
#include "daemon/setup/barrier.h"
#include "shm/base/error.h"
#include "shm/observe/calls.h"

/* Pause between comparisons: the shortest while calls go on, the longest while nothing changes. */
#define LOOK_MIN_MS 100
#define LOOK_MAX_MS 2000
#define LOOK_SHARE 500 /* comparisons take at most 1/500 of a core's time */

#define MAX_COUNTERS_BYTES (UINT64_C(16) << 20)

void sfd_calls_free(sfd_calls_t *calls)
{
  if (calls == NULL)
    return;
  for (int i = 0; i < NEIGHBOURS; i++)
    free(calls->far[i]);
  free(calls);
}

bool sfd_calls_are_compared(const sfd_graph_t *graph)
{
  return graph->state == SFD_GRAPH_READY && graph->group->size > 1;
}

sfd_calls_t *sfd_calls_of(sfd_graph_t *graph)
{
  if (graph->calls == NULL)
    graph->calls = calloc(1, sizeof *graph->calls);
  return graph->calls;
}

/* ---- Counters ---------------------------------------------------------------------------------------------------- */

/* NULL: not readable. */
static const sfshm_counters_t *counters_of(sfd_rank_t *rank)
{
  if (rank->session == NULL || rank->counters_fd < 0)
    return NULL;
  if (rank->counters.base == NULL && sfshm_region_map(rank->counters_fd, SFSHM_REGION_COUNTERS, MAX_COUNTERS_BYTES,
                                                      SFSHM_READ_ONLY, &rank->counters) != SF_OK)
    return NULL;
  return rank->counters.length_bytes >= sizeof(sfshm_counters_t) ? rank->counters.base : NULL;
}

/* The rank's counters of the graph, which may have any content; NULL: none. */
static const sfshm_graph_counters_t *find_entry(sfd_rank_t *rank, uint64_t graph)
{
  const sfshm_counters_t *counters = counters_of(rank);
  uint32_t n = counters != NULL ? atomic_load_explicit(&counters->graphs_used, memory_order_acquire) : 0;
  for (uint32_t i = 0; i < n && i < SFSHM_COUNTED_GRAPHS; i++)
    if (atomic_load_explicit(&counters->graphs[i].graph, memory_order_acquire) == graph)
      return &counters->graphs[i];
  return NULL;
}

/* The same; of a multi-graph the counters of its graph. */
static const sfshm_graph_counters_t *find_created(sfd_rank_t *rank, uint64_t graph)
{
  const sfshm_graph_counters_t *entry = find_entry(rank, graph);
  uint64_t multi_of = entry != NULL ? atomic_load_explicit(&entry->multi_of, memory_order_relaxed) : 0;
  return multi_of != 0 ? find_entry(rank, multi_of) : entry;
}

void sfd_calls_graph_text(const sfd_graph_t *graph, char text[], size_t text_bytes)
{
  const sfd_group_t *group = graph->group;
  const sfshm_graph_counters_t *entry = NULL;
  for (int32_t k = 0; k < group->nlocals && entry == NULL; k++) {
    sfd_rank_t *rank = sfd_group_member(group, group->locals[k]);
    entry = rank != NULL && rank->state == SFD_RANK_JOINED ? find_created(rank, graph->id) : NULL;
  }
  snprintf(text, text_bytes, "graph %" PRIu64, graph->id);
  if (entry != NULL && entry->place[0] != '\0')
    sfd_text_append(text, text_bytes, " (%.*s)", SFSHM_PLACE_BYTES - 1, entry->place);
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */

static void fail(sfd_graph_t *graph, const sfd_rank_calls_t *a, uint64_t called_a, const sfd_rank_calls_t *b,
                 uint64_t called_b, bool earlier)
{
  char name[SFD_CALLS_NAME_BYTES], text_a[64], text_b[64], detail[SFD_TEXT_SIZE];
  const char *where = earlier ? ", or before," : "";
  sfshm_desc_text(called_a, text_a, sizeof text_a);
  sfshm_desc_text(called_b, text_b, sizeof text_b);
  sfd_calls_graph_text(graph, name, sizeof name);
  snprintf(detail, sizeof detail, "%s, operation %" PRIu64 "%s: rank %d called %s, rank %d called %s%s", name,
           called_a & SFSHM_DESC_SEQUENCE_MASK, where, a->rank, text_a, b->rank, text_b,
           earlier ? "; not all calls before were the same" : "");
  sfd_graph_fail(graph, SF_ERR_MISMATCH, detail);
}

static void compare(sfd_graph_t *graph, const sfd_rank_calls_t *a, const sfd_rank_calls_t *b)
{
  uint64_t called_a, called_b;
  sfshm_calls_order_t order = sfshm_calls_compare(&a->calls, &b->calls, &called_a, &called_b);
  if (order != SFSHM_CALLS_ALIKE)
    fail(graph, a, called_a, b, called_b, order == SFSHM_CALLS_DIFFERED);
}

/* No rank continues before all have entered: a rank that has called more has called something else instead. */
static void compare_with_barrier(sfd_graph_t *graph, const sfd_rank_calls_t *one)
{
  const sfd_barrier_call_t *point = sfd_barrier_first_call(graph);
  uint64_t last = sfshm_calls_last(&one->calls);
  if (point == NULL || last == 0 || !sfshm_desc_is_later(last, point->call))
    return;
  uint64_t called = sfshm_calls_find(&one->calls, point->call);
  const sfd_rank_calls_t met = {.rank = point->rank};
  fail(graph, &met, point->call, one, called != 0 ? called : last, called == 0);
}

/* ---- Ranks that call nothing more -------------------------------------------------------------------------------- */

static void describe_ended(const sfd_graph_t *graph, const sfd_ended_rank_t *rank, int32_t node, char text[],
                           size_t text_bytes)
{
  if (rank->rank < 0)
    snprintf(text, text_bytes, "all its ranks on node %d have destroyed it, or have left", node);
  else
    snprintf(text, text_bytes, "rank %d%s after %" PRIu64 " operations", rank->rank,
             rank->left ? " has left the job" : " has destroyed the graph", rank->operations);
  if (rank->rank >= 0 && graph->group->nnodes > 1)
    sfd_text_append(text, text_bytes, " (on node %d)", node);
}

/* who called the operation of desc, and the rank on that node does not call it any more. */
static void fail_ended(sfd_graph_t *graph, const char *who, uint64_t desc, const sfd_ended_rank_t *rank, int32_t node)
{
  char name[SFD_CALLS_NAME_BYTES], called[64], ended[128], detail[SFD_TEXT_SIZE];
  sfshm_desc_text(desc, called, sizeof called);
  describe_ended(graph, rank, node, ended, sizeof ended);
  sfd_calls_graph_text(graph, name, sizeof name);
  snprintf(detail, sizeof detail, "%s, operation %" PRIu64 ": %s called %s, %s", name, desc & SFSHM_DESC_SEQUENCE_MASK,
           who, called, ended);
  sfd_graph_fail(graph, SF_ERR_MISMATCH, detail);
}

static int32_t this_node(const sfd_graph_t *graph)
{
  return sfd_network_node(graph->group->job->server);
}

/* Fails the graph if the rank has called an operation that a member here does not call any more. */
static void compare_ended(sfd_graph_t *graph, const sfd_rank_calls_t *one)
{
  const sfd_calls_t *calls = graph->calls;
  uint64_t last = sfshm_calls_last(&one->calls), next = sfshm_calls_find(&one->calls, calls->ended.operations + 1);
  char who[32];
  if (!calls->ends || last == 0 || !sfshm_desc_is_later(last, calls->ended.operations))
    return;
  snprintf(who, sizeof who, "rank %d", one->rank);
  fail_ended(graph, who, next != 0 ? next : last, &calls->ended, this_node(graph));
}

void sfd_calls_check_barrier(sfd_graph_t *graph)
{
  const sfd_calls_t *calls = graph->calls;
  const sfd_barrier_call_t *point = sfd_barrier_first_call(graph);
  char who[32];
  if (calls == NULL || point == NULL || !calls->ends || !sfshm_desc_is_later(point->call, calls->ended.operations))
    return;
  snprintf(who, sizeof who, "rank %d", point->rank);
  fail_ended(graph, who, point->call, &calls->ended, this_node(graph));
}

void sfd_calls_compare_far(sfd_graph_t *graph)
{
  const sfd_calls_t *calls = graph->calls;
  for (int i = 0; i < NEIGHBOURS && graph->state == SFD_GRAPH_READY; i++) {
    if (calls->far[i] == NULL)
      continue;
    compare_with_barrier(graph, calls->far[i]);
    compare_ended(graph, calls->far[i]);
    if (calls->known && graph->state == SFD_GRAPH_READY)
      compare(graph, &calls->here, calls->far[i]);
  }
}

void sfd_calls_fail_named(sfd_graph_t *graph, int32_t by, uint64_t desc, const sfd_ended_rank_t *rank, int32_t node)
{
  char who[48];
  snprintf(who, sizeof who, "a rank on node %d", by);
  fail_ended(graph, who, desc, rank, node);
}

/* Operations named by other nodes. */
static void compare_named(sfd_graph_t *graph)
{
  const sfd_calls_t *calls = graph->calls;
  int32_t by;
  uint64_t desc = calls->ends ? sfd_trunks_named(graph->trunks, calls->ended.operations, &by) : 0;
  if (desc != 0 && graph->state == SFD_GRAPH_READY)
    sfd_calls_fail_named(graph, by, desc, &calls->ended, this_node(graph));
}

void sfd_calls_end(sfd_graph_t *graph, const sfd_ended_rank_t *rank)
{
  sfd_calls_t *calls = sfd_calls_are_compared(graph) ? sfd_calls_of(graph) : NULL;
  if (calls == NULL)
    return;
  if (!calls->ends || sfshm_desc_is_later(calls->ended.operations, rank->operations))
    calls->ended = *rank;
  calls->ends = true;
  sfd_calls_check_barrier(graph);
  sfd_calls_watch(graph);
}

/* Whether the rank of the entry has no edges, so that other ranks do not need its calls. */
static bool has_no_edges(const sfshm_graph_counters_t *entry)
{
  return *(const volatile int64_t *)&entry->nleaves == 0 && *(const volatile uint64_t *)&entry->root_edges == 0;
}

void sfd_calls_leave(sfd_graph_t *graph, const sfd_rank_t *rank)
{
  const sfshm_graph_counters_t *entry =
      sfd_calls_are_compared(graph) ? find_entry((sfd_rank_t *)(uintptr_t)rank, graph->id) : NULL;
  const sfd_barrier_call_t *point = sfd_barrier_first_call(graph);
  sfshm_calls_t called;
  uint64_t operations = point != NULL ? point->call - 1 : 0; /* it has not entered the barrier */
  if (entry != NULL && sfshm_calls_read(entry, graph->id, &called))
    operations = sfshm_calls_last(&called);
  else if (point == NULL)
    return;
  if (operations == 0 && entry != NULL && has_no_edges(entry))
    return;
  sfd_calls_end(graph, &(sfd_ended_rank_t){.rank = sfd_group_rank_of(graph->group, rank->number),
                                           .left = true,
                                           .operations = operations & SFSHM_DESC_SEQUENCE_MASK});
}

void sfd_calls_end_graph(sfd_graph_t *graph)
{
  const sfd_calls_t *calls = graph->calls;
  if (graph->group->nnodes == 1)
    return;
  sfd_ended_graph_t ended = {.job = graph->group->job->id, .id = graph->id, .rank = {.rank = -1}};
  if (calls != NULL && calls->ends) {
    compare_named(graph);
    sfd_calls_compare_far(graph);
    ended.rank = calls->ended;
  }
  ended.failed = graph->state == SFD_GRAPH_FAILED;
  sfd_ended_jobs_add_graph(&graph->group->job->server->jobs->ended, &ended);
}

void sfd_calls_named(const sfd_graph_t *graph)
{
  if (graph->calls != NULL && graph->calls->ends)
    sfd_calls_watch(graph);
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

/* Compares one entry of a rank's counters, which may have any content. */
static void look_at_entry(const sfd_rank_t *rank, const sfshm_graph_counters_t *entry, uint64_t look)
{
  uint64_t number = atomic_load_explicit(&entry->graph, memory_order_relaxed);
  sfd_graph_t *graph = number != 0 ? sfd_graph_find(rank->job, number) : NULL;
  sfd_rank_calls_t one = {.rank = *(const volatile int32_t *)&entry->rank}; /* read once: checked, then used */
  if (graph == NULL || !sfd_calls_are_compared(graph) || one.rank < 0 || one.rank >= graph->group->size ||
      graph->group->members[one.rank].rank != rank->number || !sfshm_calls_read(entry, number, &one.calls))
    return;
  sfd_calls_t *calls = sfd_calls_of(graph);
  if (calls == NULL)
    return;
  compare_with_barrier(graph, &one);
  compare_ended(graph, &one);
  bool first = calls->look != look;
  uint64_t last = sfshm_calls_last(&one.calls);
  calls->look = look;
  calls->summed = (first ? 0 : calls->summed) + last;
  if (!first)
    compare(graph, &calls->here, &one);
  if (first || sfshm_desc_is_later(last, sfshm_calls_last(&calls->here.calls)))
    calls->here = one;
  calls->known = true;
}

static void look_at_rank(sfd_rank_t *rank, uint64_t look)
{
  const sfshm_counters_t *counters = rank->state == SFD_RANK_JOINED ? counters_of(rank) : NULL;
  if (counters == NULL)
    return;
  uint32_t n = atomic_load_explicit(&counters->graphs_used, memory_order_acquire);
  for (uint32_t i = 0; i < n && i < SFSHM_COUNTED_GRAPHS; i++)
    look_at_entry(rank, &counters->graphs[i], look);
}

/* Returns whether the calls have changed since the last comparison. */
static bool end_look(sfd_graph_t *graph, uint64_t look)
{
  sfd_calls_t *calls = graph->calls;
  if (calls == NULL)
    return false;
  sfd_calls_compare_far(graph);
  compare_named(graph);
  if (graph->state == SFD_GRAPH_READY)
    sfd_calls_send_to_neighbours(graph);
  bool moved = calls->look == look && calls->summed != calls->seen;
  if (moved)
    calls->seen = calls->summed;
  return moved;
}

/* Returns whether there is a graph to compare; sets *moved_p if calls have changed. */
static bool look_at_job(sfd_job_t *job, uint64_t look, bool *moved_p)
{
  bool compared = false;
  sfd_graph_t *graph;
  for (int32_t r = 0; r < job->size; r++)
    if (job->ranks[r] != NULL)
      look_at_rank(job->ranks[r], look);
  TAILQ_FOREACH (graph, &job->graphs, entry) {
    if (!sfd_calls_are_compared(graph))
      continue;
    compared = true;
    *moved_p |= end_look(graph, look);
    sfd_barrier_check_order(graph);
  }
  return compared;
}

/* Of this thread: elapsed time is no measure on a busy machine. */
static uint64_t cpu_ns(void)
{
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static void on_look(uv_timer_t *timer)
{
  sfd_server_t *server = timer->data;
  bool compared = false, moved = false;
  uint64_t since_ns = cpu_ns(), look = ++server->calls->look;
  sfd_job_t *job;
  TAILQ_FOREACH (job, &server->jobs->list, entry)
    if (job->state == SFD_JOB_RUNNING && !TAILQ_EMPTY(&job->graphs))
      compared |= look_at_job(job, look, &moved);
  if (!compared)
    return;
  uint64_t pause_ms = moved ? LOOK_MIN_MS : 2 * server->calls->pause_ms;
  server->calls->least_ms = (cpu_ns() - since_ns) * LOOK_SHARE / 1000000;
  pause_ms = pause_ms > LOOK_MAX_MS ? LOOK_MAX_MS : pause_ms;
  server->calls->pause_ms = pause_ms > server->calls->least_ms ? pause_ms : server->calls->least_ms;
  uv_timer_start(timer, on_look, server->calls->pause_ms, 0);
}

/* At the shortest pause that the cost of a comparison allows. */
void sfd_calls_watch(const sfd_graph_t *graph)
{
  sfd_server_t *server = graph->group->job->server;
  uint64_t pause_ms = server->calls->least_ms > LOOK_MIN_MS ? server->calls->least_ms : LOOK_MIN_MS;
  if (!sfd_calls_are_compared(graph) ||
      (uv_is_active((uv_handle_t *)&server->calls->timer) && server->calls->pause_ms <= pause_ms))
    return;
  server->calls->pause_ms = pause_ms;
  uv_timer_start(&server->calls->timer, on_look, pause_ms, 0);
}
