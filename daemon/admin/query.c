/* Answers to queries: see query.h. The daemon's thread. */
#include "daemon/admin/query.h"
#include "daemon/clients.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/admin/query_arrays.h"
#include "daemon/admin/query_config.h"
#include "daemon/admin/query_nodes.h"
#include "daemon/admin/remote_query.h"
#include "daemon/admin/stall.h"
#include "daemon/admin/trace.h"
#include "daemon/base.h"
#include "daemon/data.h"
#include "daemon/jobs.h"
#include "daemon/memory.h"
#include "daemon/net.h"
#include "proto/report/counters_pack.h"
#include "shm/base/error.h"

/* of a rank's counters in a message; the rest is left out */
#define MAX_COUNTERS_BYTES (512 << 10)

/* so that an answer about a rank fits into a frame */
#define MAX_REGIONS_TOLD 8192

void sfd_query_send(sfd_query_t *query, Sfproto__Message *message, const int fds[], int nfds)
{
  message->request = query->request;
  query->count++;
  query->send(query->context, message, fds, nfds);
}

static double age_s(const sfd_server_t *server, uint64_t since_ms)
{
  return (double)(uv_now(server->loop) - since_ms) / 1000;
}

/* ---- The daemon ---- */

static char *name_payloads(uint32_t nontemporal)
{
  static char *const names[] = {[SFSHM_NONTEMPORAL_NONE] = "through caches",
                                [SFSHM_NONTEMPORAL_APART] = "past caches if none is shared",
                                [SFSHM_NONTEMPORAL_ALL] = "past caches"};
  return names[nontemporal];
}

static void send_status(sfd_query_t *query)
{
  const sfd_server_t *server = query->server;
  const sfshm_costs_t *costs = sfd_node_board_costs(server->board);
  char software[] = SFD_SOFTWARE;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t length = sizeof address - 1; /* leaves a final 0 */
  (void)getsockname(server->clients->listen_fd, (struct sockaddr *)&address, &length);
  Sfproto__Message message = SFPROTO_MESSAGE_OF(
      STATUS_INFO, status_info, .software = software, .protocol = SFPROTO_VERSION, .pid = (int32_t)getpid(),
      .socket = address.sun_path, .uptime_s = age_s(server, server->started_ms), .uid = server->uid,
      .cores = sfd_node_board_cores(server->board), .jobs = server->statistics.njobs,
      .ranks = server->statistics.nranks, .graphs = server->statistics.ngraphs,
      .jobs_total = server->statistics.jobs_total, .jobs_failed = server->statistics.jobs_failed,
      .refused = server->statistics.refused, .costs_measured = costs->measured != 0,
      .payloads = name_payloads(costs->nontemporal),
      .fabric = (char *)(uintptr_t)sfd_query_fabric(sfd_network_channels(server)) /* only read */, .has_drained = true,
      .drained = server->drained, .has_jobs_stalled = server->options->stall_after_ms > 0,
      .jobs_stalled = sfd_stalls_count(server), .has_node = true, .has_nodes = true, .node = sfd_network_node(server),
      .nodes = sfd_network_nnodes(server));
  sfd_query_send(query, &message, NULL, 0);
}

/* ---- Jobs ---- */

sfd_job_t *sfd_query_visible_job(const sfd_query_t *query, uint64_t serial)
{
  bool all = query->uid == 0 || query->uid == query->server->uid;
  sfd_job_t *job;
  TAILQ_FOREACH (job, &query->server->jobs->list, entry)
    if (job->serial >= serial && (all || job->uid == query->uid))
      return job;
  return NULL;
}

static char *job_state(const sfd_job_t *job)
{
  static char joining[] = "joining", running[] = "running", failed[] = "failed";
  return job->state == SFD_JOB_JOINING ? joining : job->state == SFD_JOB_RUNNING ? running : failed;
}

/* Nodes with ranks; 0: not known. */
static int32_t count_nodes(const sfd_job_t *job)
{
  int32_t count = 0;
  if (job->rank_nodes == NULL)
    return job->id != 0;
  bool *seen = calloc((size_t)sfd_network_nnodes(job->server), sizeof *seen);
  for (int32_t r = 0; seen != NULL && r < job->size; r++) {
    int32_t node = job->rank_nodes[r];
    if (node < 0 || node >= sfd_network_nnodes(job->server) || seen[node])
      continue;
    seen[node] = true;
    count++;
  }
  free(seen);
  return count;
}

/* Of the first rank here; NULL: none. */
static char *find_program(sfd_job_t *job)
{
  for (int32_t r = 0; r < job->size; r++)
    if (job->ranks[r] != NULL)
      return job->ranks[r]->program;
  return NULL;
}

static bool send_next_job(sfd_query_t *query)
{
  sfd_job_t *job = sfd_query_visible_job(query, query->next_job);
  if (job == NULL)
    return false;
  query->next_job = job->serial + 1;
  int32_t nodes = count_nodes(job);
  Sfproto__Message message = SFPROTO_MESSAGE_OF(
      JOB_INFO, job_info, .job_id = job->id, .name = job->name, .uid = job->uid, .size = job->size,
      .joined = job->id != 0 ? job->size : job->njoined, SFPROTO_HAS(here, job->njoined), .has_nodes = nodes > 0,
      .nodes = nodes, .has_stalled = query->server->options->stall_after_ms > 0, .stalled = job->stalled,
      .state = job_state(job), .groups = job->ngroups, .graphs = job->ngraphs,
      .age_s = age_s(query->server, job->created_ms), .program = find_program(job),
      .detail = job->state == SFD_JOB_FAILED ? job->detail : NULL);
  sfd_query_send(query, &message, NULL, 0);
  return true;
}

/* ---- Ranks ---- */

static char *rank_state(const sfd_rank_t *rank)
{
  static char joining[] = "joining", running[] = "running", left[] = "left", failed[] = "failed";
  if (rank->state == SFD_RANK_LEFT)
    return left;
  if (rank->state == SFD_RANK_FAILED)
    return failed;
  return rank->job->state == SFD_JOB_JOINING ? joining : running;
}

static Sfproto__RegionInfo segment_info(const sfd_segment_t *segment)
{
  static char inbox[] = "inbox", slots[] = "slots", alloc[] = "alloc", array[] = "array", in_place[] = "in-place";
  Sfproto__RegionInfo info = SFPROTO_BODY(region_info, .region = segment->number, .length = segment->length,
                                          .kind = segment->kind == SFSHM_REGION_INBOX   ? inbox
                                                  : segment->kind == SFSHM_REGION_ARRAY ? array
                                                                                        : alloc,
                                          .method = segment->kind == SFSHM_REGION_INBOX ? slots : in_place);
  return info;
}

static Sfproto__RegionInfo registered_info(const sfd_region_t *region)
{
  static char registered[] = "registered", device[] = "device", device_alloc[] = "device-alloc";
  static char copied[] = "copied", vm_read[] = "vm-read", staged[] = "staged", in_place[] = "in-place";
  static char *const methods[] = {copied, vm_read, staged, in_place}; /* by number */
  Sfproto__RegionInfo info = SFPROTO_BODY(region_info, .region = region->number, .length = region->length);
  bool is_known = region->method < sizeof methods / sizeof methods[0];
  info.kind = is_known && region->method >= SFPROTO__REGION_ADD__METHOD__STAGED ? device : registered;
  if (region->lasting_bytes > 0)
    info.kind = device_alloc;
  info.method = methods[is_known ? region->method : SFPROTO__REGION_ADD__METHOD__COPIED];
  return info;
}

static size_t describe_regions(const sfd_rank_t *rank, Sfproto__RegionInfo regions[], Sfproto__RegionInfo *pointers[],
                               size_t max)
{
  size_t n = 0;
  const sfd_segment_t *segment;
  TAILQ_FOREACH (segment, &rank->segments, entry)
    if (n < max)
      regions[n++] = segment_info(segment);
  const sfd_region_t *region;
  TAILQ_FOREACH (region, &rank->regions, entry)
    if (n < max)
      regions[n++] = registered_info(region);
  for (size_t i = 0; i < n; i++)
    pointers[i] = &regions[i];
  return n;
}

/* For tools that can't receive the descriptor. NULL: not readable. */
static void *pack_counters(const sfd_rank_t *rank, Sfproto__RankInfo *info)
{
  size_t length;
  void *packed;
  if (sfreport_counters_pack(rank->counters_fd, MAX_COUNTERS_BYTES, &packed, &length) != SF_OK)
    return NULL;
  info->has_counters = true;
  info->counters = (ProtobufCBinaryData){length, packed};
  return packed;
}

static void send_rank(sfd_query_t *query, sfd_rank_t *rank)
{
  size_t max = (size_t)(rank->nsegments + rank->nregions);
  max = max < MAX_REGIONS_TOLD ? max : MAX_REGIONS_TOLD;
  Sfproto__RegionInfo *regions = calloc(max + 1, sizeof *regions);
  Sfproto__RegionInfo **pointers = calloc(max + 1, sizeof *pointers);
  Sfproto__RankInfo info =
      SFPROTO_BODY(rank_info, .job_id = rank->job->id, .job = rank->job->name, .rank = rank->number, .pid = rank->pid,
                   .state = rank_state(rank), .program = rank->program, .has_ring_depth = rank->submit_ring != NULL,
                   .ring_depth = rank->submit_ring != NULL ? sfshm_ring_depth(&rank->submit_ring->reader) : 0,
                   .has_offloaded_bytes = rank->offers != NULL, .offloaded_bytes = sfd_offers_bytes(rank->offers));
  if (regions != NULL && pointers != NULL) {
    info.n_regions = describe_regions(rank, regions, pointers, max);
    info.regions = pointers;
  }
  Sfproto__Message message = SFPROTO_MESSAGE(RANK_INFO, rank_info, &info);
  void *counters = query->self_contained ? pack_counters(rank, &info) : NULL;
  sfd_query_send(query, &message, &rank->counters_fd, query->self_contained ? 0 : 1);
  free(counters);
  free(pointers);
  free(regions);
}

static void send_state(sfd_query_t *query, sfd_rank_t *rank)
{
  Sfproto__Message *message;
  sf_status_t status = sfd_stall_state(rank, &message);
  if (status != SF_OK) {
    sfd_log(SFD_LOG_QUERY, SFD_DEBUG, "rank %d of job \"%s\": %s", rank->number, rank->job->name, sfshm_error_detail());
    return;
  }
  sfd_query_send(query, message, NULL, 0);
  sfproto__message__free_unpacked(message, NULL);
}

sfd_rank_t *sfd_query_next_rank(sfd_query_t *query)
{
  sfd_job_t *job;
  for (; (job = sfd_query_visible_job(query, query->next_job)) != NULL; query->next_job = job->serial + 1) {
    if (job->serial != query->next_job)
      query->next_rank = 0;
    query->next_job = job->serial;
    while (query->next_rank < job->size && job->ranks[query->next_rank] == NULL)
      query->next_rank++;
    if (query->next_rank < job->size)
      return job->ranks[query->next_rank];
    query->next_rank = 0;
  }
  return NULL;
}

static bool send_next_rank(sfd_query_t *query, void (*send)(sfd_query_t *query, sfd_rank_t *rank))
{
  sfd_rank_t *rank = sfd_query_next_rank(query);
  if (rank == NULL)
    return false;
  query->next_rank++;
  send(query, rank);
  return true;
}

/* ---- Graphs ---- */

char *sfd_query_graph_state_name(const sfd_graph_t *graph)
{
  static char setup[] = "setup", ready[] = "ready", failed[] = "failed", retiring[] = "retiring";
  if (graph->setup != NULL)
    return setup;
  if (graph->state == SFD_GRAPH_FAILED || graph->group->job->state == SFD_JOB_FAILED)
    return failed;
  return graph->ndestroyed > 0 ? retiring : ready;
}

static bool send_graph(sfd_query_t *query, const sfd_graph_t *graph)
{
  const sfd_group_t *group = graph->group;
  int32_t *ranks = calloc((size_t)group->size, sizeof *ranks);
  for (int32_t i = 0; ranks != NULL && i < group->size; i++)
    ranks[i] = group->members[i].rank;
  Sfproto__Message message =
      SFPROTO_MESSAGE_OF(GRAPH_INFO, graph_info, .graph = graph->id, .job_id = group->job->id, .job = group->job->name,
                         .size = group->size, .nroots = graph->nroots, .nleaves = graph->nleaves,
                         .pairs = graph->npairs < INT32_MAX ? (int32_t)graph->npairs : INT32_MAX,
                         .state = sfd_query_graph_state_name(graph), .detail = graph->detail, .job_ranks = ranks,
                         .n_job_ranks = ranks != NULL ? (size_t)group->size : 0);
  sfd_query_send(query, &message, NULL, 0);
  free(ranks);
  return true;
}

static bool send_next_graph(sfd_query_t *query, bool (*send)(sfd_query_t *query, const sfd_graph_t *graph))
{
  sfd_job_t *job;
  for (; (job = sfd_query_visible_job(query, query->next_job)) != NULL; query->next_job = job->serial + 1) {
    if (job->serial != query->next_job)
      query->next_graph = 0;
    query->next_job = job->serial;
    const sfd_graph_t *graph;
    TAILQ_FOREACH (graph, &job->graphs, entry) {
      if (graph->serial < query->next_graph)
        continue;
      query->next_graph = graph->serial + 1;
      if (send(query, graph))
        return true;
    }
    query->next_graph = 0;
  }
  return false;
}

/* ---- Clock ---- */

static bool send_clock(sfd_query_t *query)
{
  if (query->count > 0)
    return false;
  Sfproto__Message message = SFPROTO_MESSAGE_OF(CLOCK_INFO, clock_info, .node = sfd_network_node(query->server),
                                                .now_ns = sfshm_trace_now_ns());
  sfd_query_send(query, &message, NULL, 0);
  return true;
}

/* ---- Queries ---- */

bool sfd_query_send_next(sfd_query_t *query)
{
  switch (query->what) {
  case SFPROTO__QUERY__WHAT__JOBS:
    return send_next_job(query);
  case SFPROTO__QUERY__WHAT__RANKS:
    return send_next_rank(query, send_rank);
  case SFPROTO__QUERY__WHAT__STATES:
    return send_next_rank(query, send_state);
  case SFPROTO__QUERY__WHAT__TRACE:
    return sfd_trace_send_next(query);
  case SFPROTO__QUERY__WHAT__CLOCK:
    return send_clock(query);
  case SFPROTO__QUERY__WHAT__GRAPHS:
    return send_next_graph(query, send_graph);
  case SFPROTO__QUERY__WHAT__ARRAYS:
    return send_next_graph(query, sfd_query_send_array);
  case SFPROTO__QUERY__WHAT__PEERS:
    return sfd_query_send_next_peer(query, sfd_network_channels(query->server));
  case SFPROTO__QUERY__WHAT__CONFIG:
    return sfd_query_send_next_option(query);
  case SFPROTO__QUERY__WHAT__PLAN:
    return sfd_query_send_next_plan(query);
  default:
    if (query->count > 0)
      return false;
    send_status(query);
    return true;
  }
}

sf_status_t sfd_query_begin(sfd_query_t *query, const Sfproto__Query *asked)
{
  if (protobuf_c_enum_descriptor_get_value(&sfproto__query__what__descriptor, (int)asked->what) == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "%s knows no query %d", SFD_SOFTWARE, (int)asked->what);
  if (asked->what == SFPROTO__QUERY__WHAT__PLAN && !sfd_query_has_graph(query, asked->graph))
    return sfshm_error(SF_ERR_NOT_FOUND, "no graph %" PRIu64 " is known here, or it is another user's", asked->graph);
  query->active = true;
  query->what = asked->what;
  query->next_graph = asked->graph;
  return SF_OK;
}
