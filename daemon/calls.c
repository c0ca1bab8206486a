/* Comparing what ranks call: see calls.h. The daemon's thread. */
#include "daemon/calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/meeting.h"
#include "daemon/network.h"
#include "daemon/tree.h"
#include "shm/calls.h"
#include "shm/error.h"

/* From one look to the next: at first, and while something moves; at last, when nothing does. */
#define LOOK_MIN_MS 100
#define LOOK_MAX_MS 2000
#define LOOK_SHARE 500 /* looking takes about one part in so many of a core's time at most */

#define MAX_COUNTERS_BYTES (UINT64_C(16) << 20)

/* What one rank called. */
typedef struct one {
  int32_t rank; /* of the group */
  sfshm_calls_t calls;
} one_t;

/* What is known of a graph. */
struct sfd_calls {
  uint64_t look;  /* when it was last looked at */
  uint64_t begun; /* operations of all ranks here, then */
  uint64_t summed;
  one_t here; /* a member of this node */
  bool known; /* there is one */
  uint64_t told;
  one_t *children[SFD_TREE_CHILDREN]; /* members of the children in the tree; NULL: nothing heard */
};

void sfd_calls_free(sfd_calls_t *calls)
{
  if (calls == NULL)
    return;
  for (int i = 0; i < SFD_TREE_CHILDREN; i++)
    free(calls->children[i]);
  free(calls);
}

static sfd_calls_t *calls_of(sfd_graph_t *graph)
{
  if (graph->calls == NULL)
    graph->calls = calloc(1, sizeof *graph->calls);
  return graph->calls; /* without memory it is tried again */
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */

static void fail(sfd_graph_t *graph, const one_t *a, uint64_t called_a, const one_t *b, uint64_t called_b, bool earlier)
{
  char text_a[64], text_b[64], detail[256];
  const char *where = earlier ? ", or before," : "";
  sfshm_desc_text(called_a, text_a, sizeof text_a);
  sfshm_desc_text(called_b, text_b, sizeof text_b);
  snprintf(detail, sizeof detail, "graph %" PRIu64 ", operation %" PRIu64 "%s: rank %d called %s, rank %d called %s%s",
           graph->id, called_a & SFSHM_DESC_SEQUENCE_MASK, where, a->rank, text_a, b->rank, text_b,
           earlier ? "; not all calls before were the same" : "");
  sfd_graph_fail(graph, SF_ERR_MISMATCH, detail);
}

static void compare(sfd_graph_t *graph, const one_t *a, const one_t *b)
{
  uint64_t called_a, called_b;
  sfshm_calls_order_t order = sfshm_calls_compare(&a->calls, &b->calls, &called_a, &called_b);
  if (order != SFSHM_CALLS_ALIKE)
    fail(graph, a, called_a, b, called_b, order == SFSHM_CALLS_DIFFERED);
}

static void compare_children(sfd_graph_t *graph)
{
  const sfd_calls_t *calls = graph->calls;
  for (int i = 0; i < SFD_TREE_CHILDREN && graph->state == SFD_GRAPH_READY; i++) {
    const one_t *child = calls->children[i];
    if (child != NULL)
      sfd_meeting_compare_child(graph, i, child->rank, &child->calls);
    if (child != NULL && calls->known && graph->state == SFD_GRAPH_READY)
      compare(graph, &calls->here, child);
  }
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

static bool is_compared(const sfd_graph_t *graph)
{
  return graph->state == SFD_GRAPH_READY && graph->group->size > 1;
}

/* One entry of a rank's counters, which may say anything. */
static void look_at_entry(const sfd_rank_t *rank, const sfshm_graph_counters_t *entry, uint64_t look)
{
  uint64_t number = atomic_load_explicit(&entry->graph, memory_order_relaxed);
  sfd_graph_t *graph = number != 0 ? sfd_graph_find(rank->job, number) : NULL;
  one_t one = {.rank = *(const volatile int32_t *)&entry->rank}; /* read once: it is checked and then used */
  if (graph == NULL || !is_compared(graph) || one.rank < 0 || one.rank >= graph->group->size ||
      graph->group->members[one.rank].rank != rank->number || !sfshm_calls_read(entry, number, &one.calls))
    return;
  sfd_calls_t *calls = calls_of(graph);
  if (calls == NULL)
    return;
  sfd_meeting_compare_calls(graph, one.rank, &one.calls);
  if (calls->look == look) {
    calls->summed += one.calls.begun;
    compare(graph, &calls->here, &one);
    return;
  }
  calls->look = look;
  calls->summed = one.calls.begun;
  calls->here = one;
  calls->known = true;
}

static const sfshm_counters_t *counters_of(sfd_rank_t *rank)
{
  if (rank->state != SFD_RANK_JOINED || rank->session == NULL || rank->counters_fd < 0)
    return NULL;
  if (rank->counters.base == NULL && sfshm_region_map(rank->counters_fd, SFSHM_REGION_COUNTERS, MAX_COUNTERS_BYTES,
                                                      SFSHM_READ_ONLY, &rank->counters) != SF_OK)
    return NULL;
  return rank->counters.length_bytes >= sizeof(sfshm_counters_t) ? rank->counters.base : NULL;
}

static void look_at_rank(sfd_rank_t *rank, uint64_t look)
{
  const sfshm_counters_t *counters = counters_of(rank);
  if (counters == NULL)
    return;
  uint32_t n = atomic_load_explicit(&counters->graphs_used, memory_order_acquire);
  for (uint32_t i = 0; i < n && i < SFSHM_COUNTED_GRAPHS; i++)
    look_at_entry(rank, &counters->graphs[i], look);
}

static void tell_parent(const sfd_graph_t *graph)
{
  const sfd_group_t *group = graph->group;
  sfd_calls_t *calls = graph->calls;
  int32_t parent = sfd_tree_parent(group);
  if (parent < 0 || calls->told == calls->here.calls.begun)
    return;
  calls->told = calls->here.calls.begun;
  Sfpeer__GraphCalls told = SFPEER__GRAPH_CALLS__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  told.job = group->job->id;
  told.graph = graph->id;
  told.rank = calls->here.rank;
  told.begun = calls->here.calls.begun;
  told.n_digests = SFSHM_CALL_DIGESTS;
  told.digests = calls->here.calls.digests;
  told.n_last = SFSHM_CALLS;
  told.last = calls->here.calls.last;
  message.body_case = SFPEER__MESSAGE__BODY_GRAPH_CALLS;
  message.graph_calls = &told;
  sfd_network_send(group->job->server, parent, &message);
}

/* Whether it has moved since the look before. */
static bool end_look(sfd_graph_t *graph, uint64_t look)
{
  sfd_calls_t *calls = graph->calls;
  if (calls == NULL)
    return false;
  compare_children(graph);
  if (calls->look != look)
    return false; /* of the members here nothing is to be seen */
  bool moved = calls->summed != calls->begun;
  calls->begun = calls->summed;
  if (graph->state == SFD_GRAPH_READY)
    tell_parent(graph);
  return moved;
}

/* Whether there is something to compare; *moved_p is set if something has moved. */
static bool look_at_job(sfd_job_t *job, uint64_t look, bool *moved_p)
{
  bool compared = false;
  sfd_graph_t *graph;
  for (int32_t r = 0; r < job->size; r++)
    if (job->ranks[r] != NULL)
      look_at_rank(job->ranks[r], look);
  TAILQ_FOREACH(graph, &job->graphs, entry)
  {
    if (!is_compared(graph))
      continue;
    compared = true;
    *moved_p |= end_look(graph, look);
    sfd_meeting_look(graph);
  }
  return compared;
}

/* Of this thread: on a busy machine a look may take long without taking much. */
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
  uint64_t since_ns = cpu_ns(), look = ++server->calls_look;
  sfd_job_t *job;
  TAILQ_FOREACH(job, &server->jobs, entry)
  {
    if (job->state == SFD_JOB_RUNNING && !TAILQ_EMPTY(&job->graphs))
      compared |= look_at_job(job, look, &moved);
  }
  if (!compared)
    return;
  uint64_t pause_ms = moved ? LOOK_MIN_MS : 2 * server->calls_pause_ms;
  server->calls_least_ms = (cpu_ns() - since_ns) * LOOK_SHARE / 1000000;
  pause_ms = pause_ms > LOOK_MAX_MS ? LOOK_MAX_MS : pause_ms;
  server->calls_pause_ms = pause_ms > server->calls_least_ms ? pause_ms : server->calls_least_ms;
  uv_timer_start(timer, on_look, server->calls_pause_ms, 0);
}

/* Soon, but not sooner than its cost allows: other nodes may have news all the time. */
void sfd_calls_watch(const sfd_graph_t *graph)
{
  sfd_server_t *server = graph->group->job->server;
  uint64_t pause_ms = server->calls_least_ms > LOOK_MIN_MS ? server->calls_least_ms : LOOK_MIN_MS;
  if (!is_compared(graph) || (uv_is_active((uv_handle_t *)&server->calls) && server->calls_pause_ms <= pause_ms))
    return;
  server->calls_pause_ms = pause_ms;
  uv_timer_start(&server->calls, on_look, pause_ms, 0);
}

/* ---- Other nodes ------------------------------------------------------------------------------------------------- */

/* Of a graph that is not here any more, or has failed, nobody needs to know. */
sf_status_t sfd_calls_handle(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__GraphCalls *told = message->graph_calls;
  const sfd_job_t *job = sfd_job_find_id(server, told->job);
  sfd_graph_t *graph = job != NULL ? sfd_graph_find(job, told->graph) : NULL;
  if (graph == NULL || !is_compared(graph))
    return SF_OK;
  int32_t child = sfd_tree_child(graph->group, node);
  if (child < 0 || told->n_last != SFSHM_CALLS || told->n_digests != SFSHM_CALL_DIGESTS || told->rank < 0 ||
      told->rank >= graph->group->size || sfd_job_node_of(job, graph->group->members[told->rank].rank) != node)
    return sfshm_error(SF_ERR_PROTO, "node %d sent calls of rank %d of graph %" PRIu64 ", %zu operations", node,
                       told->rank, told->graph, told->n_last);
  sfd_calls_t *calls = calls_of(graph);
  if (calls == NULL || (calls->children[child] == NULL && (calls->children[child] = malloc(sizeof(one_t))) == NULL))
    return SF_OK; /* they are compared when more is told */
  one_t *one = calls->children[child];
  *one = (one_t){.rank = told->rank, .calls = {.begun = told->begun}};
  memcpy(one->calls.digests, told->digests, sizeof one->calls.digests);
  memcpy(one->calls.last, told->last, sizeof one->calls.last);
  sfd_calls_watch(graph);
  compare_children(graph);
  return SF_OK;
}
