/* Traces: see trace.h. The daemon's thread. */
#include "daemon/admin/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/admin/admin.h"
#include "daemon/admin/query.h"
#include "daemon/base.h"
#include "daemon/jobs.h"
#include "daemon/net.h"
#include "shm/base/error.h"
#include "shm/observe/counters_read.h"
#include "shm/trunk/trunk.h"

#define EVENTS_IN_MESSAGE 1024
#define MAX_COUNTERS_BYTES ((uint64_t)16 << 20)

static sfshm_trace_t *own; /* kept when the daemon stops writing */

static void forget_all_kept(void);

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

sf_status_t sfd_trace_start(sfd_server_t *server)
{
  if (own == NULL)
    own = aligned_alloc(_Alignof(sfshm_trace_t), sizeof *own);
  if (own == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a trace of %zu bytes", sizeof *own);
  if (server->admin->trace_since_ns == 0 || server->admin->trace_until_ns != 0) {
    memset(own, 0, sizeof *own);
    forget_all_kept();
    server->admin->trace_since_ns = sfshm_trace_now_ns();
    server->admin->trace_until_ns = 0;
  }
  sfd_event_ring = own;
  sfd_node_board_set_tracing(server->board, true);
  return SF_OK;
}

void sfd_trace_stop(sfd_server_t *server)
{
  if (server->admin->trace_since_ns != 0 && server->admin->trace_until_ns == 0)
    server->admin->trace_until_ns = sfshm_trace_now_ns();
  sfd_event_ring = NULL;
  sfd_node_board_set_tracing(server->board, false);
}

void sfd_trace_forget(sfd_server_t *server)
{
  if (server->admin->trace_since_ns == 0)
    return;
  sfd_event_ring = NULL;
  forget_all_kept();
  free(own);
  own = NULL;
}

/* ---- Telling ----------------------------------------------------------------------------------------------------- */

typedef struct kept {
  uint64_t job_id;
  uid_t uid;
  int32_t rank;
  int32_t pid;
  int counters_fd;
  char job[SFD_NAME_SIZE];
  char program[SFD_NAME_SIZE];
} kept_t;

/* Ranks that have gone. */
static kept_t *kept[SFD_TRACES_KEPT];
static uint32_t nkept; /* added so far; the oldest is replaced */

static bool sees_all(const sfd_query_t *query)
{
  return query->uid == 0 || query->uid == query->server->uid;
}

/* Whether the job, which may have ended, is one of the user. */
static bool is_own_job(const sfd_query_t *query, uint64_t id)
{
  const sfd_job_t *job = sfd_job_find_id(query->server, id);
  bool own_job = job != NULL && job->uid == query->uid;
  for (uint32_t i = 0; i < SFD_TRACES_KEPT && !own_job; i++)
    own_job = kept[i] != NULL && kept[i]->job_id == id && kept[i]->uid == query->uid;
  return own_job;
}

/* Drops records from before the trace began, and of the daemon's those of other users' jobs, and frames. */
static uint32_t drop(const sfd_query_t *query, sfshm_trace_record_t records[], uint32_t n, bool of_daemon)
{
  uint64_t since_ns = query->server->admin->trace_since_ns;
  bool all = !of_daemon || sees_all(query);
  uint32_t left = 0;
  for (uint32_t i = 0; i < n; i++)
    if (records[i].end_ns >= since_ns && (all || is_own_job(query, sfd_event_ring_job(records[i].number))))
      records[left++] = records[i];
  return left;
}

/* Sends some records of a ring (NULL: none) and moves the query on. Returns whether they are the last. */
static bool send_events(sfd_query_t *query, const sfshm_trace_t *trace, Sfproto__TraceInfo *info)
{
  static sfshm_trace_record_t records[EVENTS_IN_MESSAGE]; /* too large for the stack */
  const sfd_server_t *server = query->server;
  uint64_t next = query->next_graph, lost = 0;
  uint32_t n = trace != NULL ? sfshm_trace_read(trace, &next, records, EVENTS_IN_MESSAGE, &lost) : 0;
  bool last = n < EVENTS_IN_MESSAGE;
  query->next_graph = next;
  n = drop(query, records, n, trace == own);
  info->node = sfd_network_node(server);
  info->lost = lost;
  info->since_ns = server->admin->trace_since_ns;
  info->now_ns = sfshm_trace_now_ns();
  info->tracing = server->admin->trace_since_ns != 0 && server->admin->trace_until_ns == 0;
  info->events = (ProtobufCBinaryData){n * sizeof records[0], (uint8_t *)records};
  Sfproto__Message message = SFPROTO_MESSAGE(TRACE_INFO, trace_info, info);
  sfd_query_send(query, &message, NULL, 0);
  return last;
}

static bool send_own(sfd_query_t *query)
{
  static char software[] = SFD_SOFTWARE, none[] = "";
  Sfproto__TraceInfo info =
      SFPROTO_BODY(trace_info, .rank = -1, .pid = (int32_t)getpid(), .program = software, .job = none);
  return send_events(query, own, &info);
}

/* Call sites of the rank's graphs, also of destroyed ones as long as their entries are not reused. */
static size_t list_places(const sfshm_counters_t *copy, Sfproto__Place places[], Sfproto__Place *pointers[])
{
  size_t n = 0;
  for (uint32_t i = 0; i < copy->graphs_used; i++) {
    const sfshm_graph_counters_t *graph = &copy->graphs[i];
    if (graph->made == 0 || graph->place[0] == '\0')
      continue;
    places[n] = (Sfproto__Place)SFPROTO_BODY(place, .graph = graph->made,
                                             .place = (char *)(uintptr_t)graph->place /* only read */);
    pointers[n] = &places[n];
    n++;
  }
  return n;
}

/* The rank's trace is in its counters. */
static bool send_counters(sfd_query_t *query, int counters_fd, Sfproto__TraceInfo *info)
{
  static Sfproto__Place places[SFSHM_COUNTED_GRAPHS];
  static Sfproto__Place *pointers[SFSHM_COUNTED_GRAPHS];
  sfshm_region_t region = {.fd = -1};
  const sfshm_trace_t *trace = NULL;
  sfshm_counters_t *copy = NULL;
  bool torn;
  if (query->next_graph == 0 && sfshm_counters_copy(counters_fd, &copy, &torn) == SF_OK) {
    info->n_places = list_places(copy, places, pointers);
    info->places = pointers;
  }
  if (sfshm_region_map(counters_fd, SFSHM_REGION_COUNTERS, MAX_COUNTERS_BYTES, SFSHM_READ_ONLY, &region) == SF_OK &&
      region.length_bytes >= sizeof(sfshm_counters_t)) {
    const sfshm_counters_t *counters = region.base;
    if (atomic_load_explicit(&counters->traced, memory_order_acquire) == 1)
      trace = &counters->trace;
  }
  bool last = send_events(query, trace, info);
  sfshm_region_destroy(&region);
  sfshm_counters_free(copy);
  return last;
}

static bool send_rank(sfd_query_t *query, const sfd_rank_t *rank)
{
  Sfproto__TraceInfo info =
      SFPROTO_BODY(trace_info, .job_id = rank->job->id, .job = rank->job->name, .rank = rank->number, .pid = rank->pid,
                   .program = (char *)(uintptr_t)rank->program /* only read */);
  return send_counters(query, rank->counters_fd, &info);
}

/* ---- Ranks that have gone ---- */

static void forget_kept(uint32_t i)
{
  if (kept[i] == NULL)
    return;
  sfd_deferred_close_received(kept[i]->counters_fd);
  free(kept[i]);
  kept[i] = NULL;
}

static void forget_all_kept(void)
{
  for (uint32_t i = 0; i < SFD_TRACES_KEPT; i++)
    forget_kept(i);
  nkept = 0;
}

void sfd_trace_keep(sfd_rank_t *rank)
{
  const sfd_server_t *server = rank->job->server;
  kept_t *entry;
  if (server->admin->trace_since_ns == 0 || rank->counters_fd < 0 || (entry = malloc(sizeof *entry)) == NULL)
    return;
  *entry = (kept_t){.job_id = rank->job->id,
                    .uid = rank->job->uid,
                    .rank = rank->number,
                    .pid = rank->pid,
                    .counters_fd = rank->counters_fd};
  memcpy(entry->job, rank->job->name, sizeof entry->job);
  memcpy(entry->program, rank->program, sizeof entry->program);
  rank->counters_fd = -1;
  forget_kept(nkept % SFD_TRACES_KEPT);
  kept[nkept++ % SFD_TRACES_KEPT] = entry;
}

static bool send_kept(sfd_query_t *query, const kept_t *entry)
{
  Sfproto__TraceInfo info =
      SFPROTO_BODY(trace_info, .job_id = entry->job_id, .job = (char *)(uintptr_t)entry->job, .rank = entry->rank,
                   .pid = entry->pid, .program = (char *)(uintptr_t)entry->program);
  return send_counters(query, entry->counters_fd, &info);
}

/* next_rank is negative: the index in the table. */
static bool send_next_kept(sfd_query_t *query)
{
  bool all = sees_all(query);
  for (; query->next_rank < 0; query->next_rank++) {
    const kept_t *entry = kept[-1 - query->next_rank];
    if (entry == NULL || (!all && entry->uid != query->uid))
      continue;
    if (send_kept(query, entry)) {
      query->next_rank++;
      query->next_graph = 0;
    }
    return true;
  }
  return false;
}

/* ---- All ---- */

/* next_job 0 is the daemon's own trace, as serial numbers of jobs begin with 1; ranks that have gone follow, then the
 * others. next_graph is the number of the next event. */
bool sfd_trace_send_next(sfd_query_t *query)
{
  if (query->next_job == 0) {
    if (send_own(query)) {
      query->next_job = 1;
      query->next_rank = -SFD_TRACES_KEPT;
      query->next_graph = 0;
    }
    return true;
  }
  if (query->next_rank < 0 && send_next_kept(query))
    return true;
  sfd_rank_t *rank = sfd_query_next_rank(query);
  if (rank == NULL)
    return false;
  if (send_rank(query, rank)) {
    query->next_rank++;
    query->next_graph = 0;
  }
  return true;
}
