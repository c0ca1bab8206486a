/* Stalls: see stall.h. */
#include "daemon/admin/stall.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/admin/admin.h"
#include "daemon/admin/query_arrays.h"
#include "daemon/base.h"
#include "daemon/jobs.h"
#include "daemon/net.h"
#include "proto/report/state.h"
#include "proto/report/stuck.h"
#include "shm/base/error.h"
#include "shm/observe/counters_read.h"

#define LOOK_MIN_MS 100
#define LOOK_MAX_MS 5000

/* ---- One rank ---------------------------------------------------------------------------------------------------- */

static bool replace(char **text, const char *by)
{
  char *copy = strdup(by);
  if (copy == NULL)
    return false;
  free(*text);
  *text = copy;
  return true;
}

sf_status_t sfd_stall_state(const sfd_rank_t *rank, Sfproto__Message **message_p)
{
  Sfproto__Message *message;
  sf_status_t status = sfreport_state_read(rank->counters_fd, rank->pid, &message);
  if (status != SF_OK)
    return status;
  Sfproto__RankState *state = message->rank_state;
  state->job_id = rank->job->id;
  state->rank = rank->number;
  state->has_job_size = true;
  state->job_size = rank->job->size;
  state->node = sfd_network_node(rank->job->server);
  if (!replace(&state->job, rank->job->name) || !replace(&state->program, rank->program) ||
      sfd_query_add_array_waits(rank, state) != SF_OK) {
    sfproto__message__free_unpacked(message, NULL);
    return sfshm_error(SF_ERR_NOMEM, "no memory for the state of a rank");
  }
  *message_p = message;
  return SF_OK;
}

/* ---- For the log ------------------------------------------------------------------------------------------------- */

static bool waits_long(const sfd_job_t *job, uint64_t threshold_ns)
{
  uint64_t wait_ns;
  for (int32_t r = 0; r < job->size; r++)
    if (job->ranks[r] != NULL && sfshm_counters_longest_wait(job->ranks[r]->counters_fd, &wait_ns) == SF_OK &&
        wait_ns >= threshold_ns)
      return true;
  return false;
}

static sf_status_t collect(const sfd_job_t *job, sfreport_list_t *list)
{
  sf_status_t status = SF_OK;
  for (int32_t r = 0; r < job->size && status == SF_OK; r++) {
    Sfproto__Message *message;
    sfreport_item_t *item;
    if (job->ranks[r] == NULL || sfd_stall_state(job->ranks[r], &message) != SF_OK)
      continue;
    status = sfreport_list_add(list, message, &item);
    if (status != SF_OK)
      sfproto__message__free_unpacked(message, NULL);
  }
  return status;
}

/* Once for each operation that ranks report. */
static void log_stall(const sfd_job_t *job, const sfreport_stall_t *stall)
{
  char text[2 * SFD_TEXT_SIZE];
  sfd_graph_t *graph = sfd_graph_find(job, stall->graph);
  if (graph == NULL || stall->sequence <= graph->stall_told)
    return;
  graph->stall_told = stall->sequence;
  sfreport_stall_describe(stall, text, sizeof text);
  sfd_log(SFD_LOG_GRAPH, SFD_WARN, "job \"%s\" (%" PRIu64 ") is stuck: %s", job->name, job->id, text);
}

static void look_at(const sfd_job_t *job, uint64_t threshold_ns)
{
  sfreport_list_t list = {0};
  sfreport_stalls_t stalls;
  sf_status_t status = collect(job, &list);
  if (status == SF_OK)
    status = sfreport_stalls_find(&list, threshold_ns, &stalls);
  if (status == SF_OK) {
    for (size_t i = 0; i < stalls.count; i++)
      log_stall(job, &stalls.stalls[i]);
    sfreport_stalls_clear(&stalls);
  }
  sfreport_list_clear(&list);
}

static void on_look(uv_timer_t *timer)
{
  const sfd_server_t *server = timer->data;
  uint64_t threshold_ns = (uint64_t)server->options->stall_after_ms * 1000000;
  sfd_job_t *job;
  TAILQ_FOREACH (job, &server->jobs->list, entry) {
    job->stalled = job->state != SFD_JOB_FAILED && waits_long(job, threshold_ns);
    if (job->stalled && job->state == SFD_JOB_RUNNING)
      look_at(job, threshold_ns);
  }
}

int32_t sfd_stalls_count(const sfd_server_t *server)
{
  int32_t n = 0;
  const sfd_job_t *job;
  TAILQ_FOREACH (job, &server->jobs->list, entry)
    n += job->stalled;
  return n;
}

void sfd_stalls_watch(sfd_server_t *server)
{
  uint64_t period_ms = (uint64_t)server->options->stall_after_ms / 4;
  period_ms = period_ms < LOOK_MIN_MS ? LOOK_MIN_MS : period_ms > LOOK_MAX_MS ? LOOK_MAX_MS : period_ms;
  server->admin->stalls.data = server;
  if (server->options->stall_after_ms > 0)
    uv_timer_start(&server->admin->stalls, on_look, period_ms, period_ms);
}
