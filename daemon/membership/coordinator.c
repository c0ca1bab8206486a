/* Coordinators: see coordinator.h. The daemon's thread. */
#include "daemon/membership/coordinator.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/base.h"
#include "daemon/membership/coordinator_client.h"
#include "daemon/membership/coordinator_internal.h"
#include "daemon/membership/join.h"
#include "daemon/membership/membership.h"
#include "daemon/membership/refusal.h"
#include "daemon/net.h"
#include "shm/base/error.h"

#define MAX_TIMEOUT_MS (INT64_C(1000) * 86400 * 365)
#define ASK_AFTER_MS 1000 /* ranks have been missing so long: see sfd_refusal_ask */

sfd_coordinator_t *sfd_coordinator_find(const sfd_server_t *server, uint32_t uid, const char *name)
{
  sfd_coordinator_t *coordinator;
  TAILQ_FOREACH (coordinator, &server->membership->coordinators, entry)
    if (coordinator->state != SFD_COORDINATOR_STARTING && coordinator->uid == uid &&
        strcmp(coordinator->name, name) == 0)
      return coordinator;
  return NULL;
}

static sfd_coordinator_t *find_starting(const sfd_server_t *server, uint64_t job)
{
  sfd_coordinator_t *coordinator;
  TAILQ_FOREACH (coordinator, &server->membership->coordinators, entry)
    if (coordinator->state == SFD_COORDINATOR_STARTING && coordinator->job == job)
      break;
  return coordinator;
}

static void on_timer_closed(uv_handle_t *handle)
{
  sfd_coordinator_t *coordinator = handle->data;
  free(coordinator->incarnations);
  free(coordinator->refused);
  free(coordinator);
}

void sfd_coordinator_forget(sfd_coordinator_t *coordinator)
{
  TAILQ_REMOVE(&coordinator->server->membership->coordinators, coordinator, entry);
  uv_close((uv_handle_t *)&coordinator->timer, on_timer_closed);
}

void sfd_coordinators_free(sfd_server_t *server)
{
  while (!TAILQ_EMPTY(&server->membership->coordinators))
    sfd_coordinator_forget(TAILQ_FIRST(&server->membership->coordinators));
}

/* The lowest rank on each node, -1: none. Free it. NULL: no memory. */
static int32_t *find_lowest_ranks(const sfd_coordinator_t *coordinator)
{
  int32_t nnodes = sfd_network_nnodes(coordinator->server);
  int32_t *ranks = malloc((size_t)nnodes * sizeof *ranks);
  for (int32_t node = 0; ranks != NULL && node < nnodes; node++)
    ranks[node] = -1;
  for (int32_t r = coordinator->size - 1; ranks != NULL && r >= 0; r--)
    if (coordinator->rank_nodes[r] >= 0)
      ranks[coordinator->rank_nodes[r]] = r;
  return ranks;
}

int32_t sfd_coordinator_find_rank_on(const sfd_coordinator_t *coordinator, int32_t node)
{
  for (int32_t r = 0; r < coordinator->size; r++)
    if (coordinator->rank_nodes[r] == node)
      return r;
  return -1;
}

void sfd_coordinator_send_to_all(const sfd_coordinator_t *coordinator, sfd_coordinator_handler_t handler,
                                 const Sfpeer__Message *message, uint64_t *incarnation_p)
{
  int32_t nnodes = sfd_network_nnodes(coordinator->server);
  int32_t *ranks = find_lowest_ranks(coordinator);
  for (int32_t node = 0; node < nnodes; node++) {
    int32_t rank = ranks != NULL ? ranks[node] : sfd_coordinator_find_rank_on(coordinator, node);
    if (rank < 0)
      continue;
    if (incarnation_p != NULL)
      *incarnation_p = coordinator->incarnations[rank];
    sfd_coordinator_client_send(coordinator->server, node, handler, message);
  }
  free(ranks);
}

void sfd_coordinator_refuse_join(sfd_server_t *server, int32_t node, const Sfpeer__JobJoin *join, sf_status_t status)
{
  char detail[SFD_TEXT_SIZE];
  sfd_text_printable(detail, sizeof detail, sfshm_error_detail());
  Sfpeer__Message message = SFPEER_MESSAGE_OF(JOB_REFUSE, job_refuse, .uid = join->uid, .name = join->name,
                                              .status = status, .detail = detail, .ranks = join->ranks,
                                              .n_ranks = join->n_ranks, .incarnation = join->incarnation);
  sfd_coordinator_client_send(server, node, sfd_coordinator_client_handle_refuse, &message);
}

void sfd_coordinator_send_refused(const sfd_coordinator_t *coordinator, sf_status_t status, const char *detail)
{
  Sfpeer__JobRefuse refusal =
      SFPEER_BODY(job_refuse, .uid = coordinator->uid, .name = (char *)(uintptr_t)coordinator->name /* only read */,
                  .status = status, .detail = (char *)(uintptr_t)detail);
  Sfpeer__Message message = SFPEER_MESSAGE(JOB_REFUSE, job_refuse, &refusal);
  sfd_coordinator_send_to_all(coordinator, sfd_coordinator_client_handle_refuse, &message, &refusal.incarnation);
}

void sfd_coordinator_refuse(sfd_coordinator_t *coordinator, sf_status_t status, const char *detail)
{
  sfd_coordinator_send_refused(coordinator, status, detail);
  sfd_coordinator_forget(coordinator);
}

static bool is_missing(const void *context, int32_t rank)
{
  return ((const sfd_coordinator_t *)context)->rank_nodes[rank] < 0;
}

static int32_t position_of(const sfd_coordinator_t *coordinator)
{
  return sfd_coordinator_client_position(coordinator->server, coordinator->uid, coordinator->name,
                                         sfd_network_node(coordinator->server));
}

/* Ranks may be missing because they report to another coordinator. sfd_refusal_ask has tried to connect to all. */
static void append_unreached(const sfd_coordinator_t *coordinator, char *text, size_t text_size)
{
  for (int32_t node = 0; node < sfd_network_nnodes(coordinator->server); node++) {
    const char *why =
        node != sfd_network_node(coordinator->server) ? sfd_network_why_away(coordinator->server, node) : NULL;
    if (why == NULL || sfd_coordinator_find_rank_on(coordinator, node) >= 0)
      continue;
    sfd_text_append(text, text_size, "; node %d could not be reached (%.200s)", node, why);
    return;
  }
}

static void on_timeout(uv_timer_t *timer)
{
  sfd_coordinator_t *coordinator = timer->data;
  char missing[SFD_TEXT_SIZE / 2], text[SFD_TEXT_SIZE];
  int32_t nmissing = coordinator->size - coordinator->ncame;
  int32_t first = sfd_coordinator_client_first_node(coordinator->server, coordinator->uid, coordinator->name);
  sfd_text_ranges(missing, sizeof missing, coordinator->size, is_missing, coordinator);
  snprintf(text, sizeof text, "%d of %d ranks of job \"%.64s\" did not come in time: rank%s %s", nmissing,
           coordinator->size, coordinator->name, nmissing > 1 ? "s" : "", missing);
  if (position_of(coordinator) > 0)
    sfd_text_append(text, sizeof text, "; node %d coordinated the job because node %d could not be reached (%.200s)",
                    sfd_network_node(coordinator->server), first, sfd_network_why_lost(coordinator->server, first));
  else
    append_unreached(coordinator, text, sizeof text);
  sfd_log(SFD_LOG_JOB, SFD_WARN, "%s", text);
  sfd_coordinator_refuse(coordinator, SF_ERR_TIMEOUT, text);
}

/* Nodes with ranks, and the incarnations that they sent. */
static sf_status_t list_nodes(const sfd_coordinator_t *coordinator, Sfpeer__JobStart *started)
{
  size_t nnodes = (size_t)sfd_network_nnodes(coordinator->server), n = 0;
  int32_t *ranks = find_lowest_ranks(coordinator);
  started->nodes = malloc(nnodes * sizeof *started->nodes);
  started->incarnations = malloc(nnodes * sizeof *started->incarnations);
  bool done = ranks != NULL && started->nodes != NULL && started->incarnations != NULL;
  for (size_t node = 0; done && node < nnodes; node++)
    if (ranks[node] >= 0) {
      started->nodes[n] = (int32_t)node;
      started->incarnations[n++] = coordinator->incarnations[ranks[node]];
    }
  started->n_nodes = started->n_incarnations = n;
  free(ranks);
  return done ? SF_OK : SF_ERR_NOMEM;
}

static void send_start(sfd_coordinator_t *coordinator, Sfpeer__JobStart *started)
{
  sfd_server_t *server = coordinator->server;
  Sfpeer__Message message = SFPEER_MESSAGE(JOB_START, job_start, started);
  char text[SFD_TEXT_SIZE];
  started->job = sfd_network_new_id(server);
  started->uid = coordinator->uid;
  started->name = coordinator->name;
  started->rank_nodes = coordinator->rank_nodes;
  started->n_rank_nodes = (size_t)coordinator->size;
  started->coordinator = sfd_network_node(server);
  if (sfpeer__message__get_packed_size(&message) > SFD_CHANNEL_CONTROL_MAX) {
    snprintf(text, sizeof text, "job \"%.64s\" has %d ranks on %zu nodes: no message holds where each of them is",
             coordinator->name, coordinator->size, started->n_nodes);
    sfd_coordinator_refuse(coordinator, SF_ERR_LIMIT, text);
    return;
  }
  uv_timer_stop(&coordinator->timer);
  coordinator->state = SFD_COORDINATOR_STARTING;
  coordinator->job = started->job;
  coordinator->root = started->nodes[0];
  sfd_coordinator_client_send(server, coordinator->root, sfd_coordinator_client_handle_start, &message);
}

static void start(sfd_coordinator_t *coordinator)
{
  Sfpeer__JobStart started = SFPEER__JOB_START__INIT;
  if (list_nodes(coordinator, &started) == SF_OK)
    send_start(coordinator, &started);
  else
    sfd_coordinator_refuse(coordinator, SF_ERR_NOMEM, "no memory for the list of nodes");
  free(started.nodes);
  free(started.incarnations);
}

sf_status_t sfd_coordinator_create(sfd_server_t *server, uint32_t uid, const char *name, int32_t size,
                                   sfd_coordinator_t **coordinator_p)
{
  sfd_coordinator_t *coordinator = calloc(1, sizeof *coordinator + (size_t)size * sizeof coordinator->rank_nodes[0]);
  uint64_t *incarnations = calloc((size_t)size + 1, sizeof *incarnations);
  if (coordinator == NULL || incarnations == NULL) {
    free(coordinator);
    free(incarnations);
    return sfshm_error(SF_ERR_NOMEM, "no memory for a job of %d ranks", size);
  }
  coordinator->incarnations = incarnations;
  coordinator->server = server;
  coordinator->uid = uid;
  snprintf(coordinator->name, sizeof coordinator->name, "%s", name);
  coordinator->size = size;
  coordinator->claimed_by = -1;
  for (int32_t r = 0; r < size; r++)
    coordinator->rank_nodes[r] = -1;
  uv_timer_init(server->loop, &coordinator->timer);
  coordinator->timer.data = coordinator;
  TAILQ_INSERT_TAIL(&server->membership->coordinators, coordinator, entry);
  *coordinator_p = coordinator;
  return SF_OK;
}

/* ---- Joining ----------------------------------------------------------------------------------------------------- */

static sf_status_t begin(sfd_server_t *server, const Sfpeer__JobJoin *join, sfd_coordinator_t **coordinator_p)
{
  sf_status_t status = sfd_coordinator_create(server, join->uid, join->name, join->size, coordinator_p);
  if (status != SF_OK)
    return status;
  memcpy((*coordinator_p)->digest, join->key_digest.data, SFD_COORDINATOR_DIGEST_BYTES);
  sfd_coordinator_redirect_earlier(*coordinator_p);
  sfd_refusal_begin(*coordinator_p);
  return SF_OK;
}

static sf_status_t check_join(const sfd_coordinator_t *coordinator, const Sfpeer__JobJoin *join)
{
  if (sodium_memcmp(coordinator->digest, join->key_digest.data, SFD_COORDINATOR_DIGEST_BYTES) != 0)
    return sfshm_error(SF_ERR_PERM, "job \"%.64s\" has another key", join->name);
  if (coordinator->size != join->size)
    return sfshm_error(SF_ERR_ARG, "rank %d says that job \"%.64s\" has %d ranks, those before it said %d",
                       join->ranks[0], join->name, join->size, coordinator->size);
  for (size_t i = 0; i < join->n_ranks; i++)
    if (coordinator->rank_nodes[join->ranks[i]] >= 0)
      return sfshm_error(SF_ERR_EXISTS, "job \"%.64s\" has a rank %d already, on node %d", join->name, join->ranks[i],
                         coordinator->rank_nodes[join->ranks[i]]);
  return SF_OK;
}

static void on_timer(uv_timer_t *timer)
{
  sfd_coordinator_t *coordinator = timer->data;
  uint64_t now_ms = uv_now(coordinator->server->loop);
  if (now_ms >= coordinator->deadline_ms) {
    on_timeout(timer);
    return;
  }
  coordinator->asked = true;
  uv_timer_start(timer, on_timer, coordinator->deadline_ms - now_ms, 0);
  sfd_refusal_ask(coordinator);
}

static void set_deadline(sfd_coordinator_t *coordinator, int64_t timeout_ms)
{
  uint64_t timeout = (uint64_t)(timeout_ms > MAX_TIMEOUT_MS ? MAX_TIMEOUT_MS : timeout_ms < 0 ? 0 : timeout_ms);
  uint64_t deadline_ms = uv_now(coordinator->server->loop) + timeout;
  if (coordinator->deadline_ms != 0 && coordinator->deadline_ms <= deadline_ms)
    return;
  bool first = coordinator->deadline_ms == 0;
  coordinator->deadline_ms = deadline_ms;
  if (coordinator->asked)
    uv_timer_start(&coordinator->timer, on_timer, timeout, 0);
  else if (first || uv_timer_get_due_in(&coordinator->timer) > timeout)
    uv_timer_start(&coordinator->timer, on_timer, timeout < ASK_AFTER_MS ? timeout : ASK_AFTER_MS, 0);
}

sf_status_t sfd_coordinator_handle_join(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobJoin *join = message->job_join;
  sfd_coordinator_t *coordinator = sfd_coordinator_find(server, join->uid, join->name);
  if (join->key_digest.len != SFD_COORDINATOR_DIGEST_BYTES || !sfd_text_is_name(join->name) || join->size < 1 ||
      join->n_ranks < 1)
    return sfshm_error(SF_ERR_PROTO, "node %d sent a malformed JobJoin", node);
  for (size_t i = 0; i < join->n_ranks; i++)
    if (join->ranks[i] < 0 || join->ranks[i] >= join->size)
      return sfshm_error(SF_ERR_PROTO, "node %d sent a JobJoin for rank %d of %d", node, join->ranks[i], join->size);
  if (coordinator != NULL && coordinator->state == SFD_COORDINATOR_REFUSED) {
    if (sfd_coordinator_refuse_late(coordinator, node, join))
      return SF_OK;
    coordinator = NULL;
  }
  if (coordinator != NULL && coordinator->state == SFD_COORDINATOR_MOVED) {
    sfd_coordinator_send_moved(coordinator, coordinator->moved_to, node);
    return SF_OK;
  }
  sf_status_t status = coordinator == NULL ? begin(server, join, &coordinator) : check_join(coordinator, join);
  if (status != SF_OK) {
    sfd_coordinator_refuse_join(server, node, join, status);
    return SF_OK;
  }
  for (size_t i = 0; i < join->n_ranks; i++)
    if (coordinator->rank_nodes[join->ranks[i]] < 0) {
      coordinator->rank_nodes[join->ranks[i]] = node;
      coordinator->incarnations[join->ranks[i]] = join->incarnation;
      coordinator->ncame++;
    }
  if (coordinator->ncame == coordinator->size)
    start(coordinator);
  else
    set_deadline(coordinator, join->timeout_ms);
  return SF_OK;
}

/* Removes the ranks of a node, of one incarnation or (NULL) of any. */
static void remove_ranks(sfd_coordinator_t *coordinator, int32_t node, const uint64_t *incarnation)
{
  for (int32_t r = 0; r < coordinator->size; r++)
    if (coordinator->rank_nodes[r] == node && (incarnation == NULL || coordinator->incarnations[r] == *incarnation)) {
      coordinator->rank_nodes[r] = -1;
      coordinator->ncame--;
    }
}

/* The job runs with all its ranks on that node. */
static void refuse_others(sfd_coordinator_t *coordinator, int32_t node)
{
  char text[SFD_TEXT_SIZE];
  snprintf(text, sizeof text, "job \"%.64s\" runs, with all its ranks on node %d", coordinator->name, node);
  remove_ranks(coordinator, node, NULL);
  sfd_coordinator_refuse(coordinator, SF_ERR_EXISTS, text);
}

/* Whether the message is about ranks that have come. The node may have sent it for an earlier job of the name. */
static bool is_concerned(const sfd_coordinator_t *coordinator, int32_t node, const Sfpeer__JobWithdraw *withdraw)
{
  bool concerned = !withdraw->has_incarnation;
  for (int32_t r = 0; r < coordinator->size && !concerned; r++)
    concerned = coordinator->rank_nodes[r] == node && coordinator->incarnations[r] == withdraw->incarnation;
  return concerned;
}

sf_status_t sfd_coordinator_handle_withdraw(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobWithdraw *withdraw = message->job_withdraw;
  sfd_coordinator_t *coordinator = sfd_coordinator_find(server, withdraw->uid, withdraw->name);
  if (coordinator == NULL || coordinator->state != SFD_COORDINATOR_JOINING ||
      !is_concerned(coordinator, node, withdraw))
    return SF_OK;
  if (withdraw->status == SF_OK)
    refuse_others(coordinator, node);
  else
    sfd_coordinator_refuse(coordinator, withdraw->status < SF_OK ? (sf_status_t)withdraw->status : SF_ERR_INTERNAL,
                           withdraw->detail);
  return SF_OK;
}

/* The first node starts all others. Any other node had turned to this coordinator in vain. */
sf_status_t sfd_coordinator_handle_runs(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobRuns *runs = message->job_runs;
  sfd_coordinator_t *coordinator = find_starting(server, runs->job);
  if (runs->job == 0)
    return sfshm_error(SF_ERR_PROTO, "node %d sent a malformed JobRuns", node);
  if (coordinator != NULL) {
    if (node == coordinator->root)
      sfd_coordinator_forget(coordinator);
    return SF_OK;
  }
  coordinator = sfd_coordinator_find(server, runs->uid, runs->name);
  if (coordinator == NULL || coordinator->state != SFD_COORDINATOR_JOINING)
    return SF_OK;
  remove_ranks(coordinator, node, &runs->incarnation);
  if (coordinator->ncame == 0)
    sfd_coordinator_forget(coordinator);
  return SF_OK;
}
