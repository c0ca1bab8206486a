/* Client of coordinators: see coordinator_client.h. The daemon's thread. */
#include "daemon/membership/coordinator_client.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/base.h"
#include "daemon/jobs.h"
#include "daemon/membership/coordinator.h"
#include "daemon/membership/coordinator_quota.h"
#include "daemon/membership/join.h"
#include "daemon/membership/membership.h"
#include "daemon/membership/refusal.h"
#include "daemon/net.h"
#include "shm/base/error.h"
#include "shm/base/sort.h"

/* ---- Which node it is -------------------------------------------------------------------------------------------- */

int32_t sfd_coordinator_client_first_node(const sfd_server_t *server, uint32_t uid, const char *name)
{
  uint32_t hash = 2166136261u ^ uid; /* FNV-1a */
  for (const char *p = name; *p != '\0'; p++)
    hash = (hash ^ (uint8_t)*p) * 16777619u;
  return (int32_t)(hash % (uint32_t)sfd_network_nnodes(server));
}

int32_t sfd_coordinator_client_position(const sfd_server_t *server, uint32_t uid, const char *name, int32_t node)
{
  int32_t nnodes = sfd_network_nnodes(server);
  return (node + nnodes - sfd_coordinator_client_first_node(server, uid, name)) % nnodes;
}

static int32_t position_of(const sfd_job_t *job, int32_t node)
{
  return sfd_coordinator_client_position(job->server, job->uid, job->name, node);
}

/* The first node from that position on that is not known to be lost, or -1. Nodes may choose different ones: see
 * sfd_coordinator_handle_moved. */
static int32_t choose_for(const sfd_server_t *server, uint32_t uid, const char *name, int32_t position)
{
  int32_t nnodes = sfd_network_nnodes(server), first = sfd_coordinator_client_first_node(server, uid, name);
  for (int32_t p = position; p < nnodes; p++) {
    int32_t node = (first + p) % nnodes;
    if (node == sfd_network_node(server) || !sfd_network_is_lost(server, node))
      return node;
  }
  return -1;
}

static int32_t choose(const sfd_job_t *job, int32_t position)
{
  return choose_for(job->server, job->uid, job->name, position);
}

/* ---- Joining ----------------------------------------------------------------------------------------------------- */

void sfd_coordinator_client_send(sfd_server_t *server, int32_t node, sfd_coordinator_handler_t handler,
                                 const Sfpeer__Message *message)
{
  if (node == sfd_network_node(server))
    (void)handler(server, node, message);
  else
    sfd_network_send(server, node, message);
}

/* For messages that clients can cause any number of times. */
static void send_counted(sfd_server_t *server, uint32_t uid, int32_t node, sfd_coordinator_handler_t handler,
                         const Sfpeer__Message *message)
{
  if (node == sfd_network_node(server))
    (void)handler(server, node, message);
  else
    sfd_coordinator_quota_send(server, uid, node, message);
}

/* A lost coordinator is reported elsewhere. */
static sf_status_t check_room(const sfd_server_t *server, uint32_t uid, int32_t coordinator_node)
{
  return coordinator_node < 0 || coordinator_node == sfd_network_node(server)
             ? SF_OK
             : sfd_coordinator_quota_check(server, uid, coordinator_node);
}

sf_status_t sfd_coordinator_client_check_quota(const sfd_server_t *server, uint32_t uid, const char *name)
{
  const sfd_job_t *job = sfd_job_find(server, uid, name);
  return check_room(server, uid,
                    job != NULL && job->coordinator_knows ? job->coordinator_node : choose_for(server, uid, name, 0));
}

static void send_join(sfd_job_t *job, int32_t ranks[], size_t nranks, int64_t timeout_ms)
{
  uint8_t digest[SFD_COORDINATOR_DIGEST_BYTES];
  (void)crypto_generichash(digest, sizeof digest, (const uint8_t *)job->key, strlen(job->key), NULL, 0);
  Sfpeer__Message message =
      SFPEER_MESSAGE_OF(JOB_JOIN, job_join, .uid = job->uid, .name = job->name,
                        .key_digest = (ProtobufCBinaryData){sizeof digest, digest}, .size = job->size, .ranks = ranks,
                        .n_ranks = nranks, .timeout_ms = timeout_ms, .incarnation = job->serial);
  job->coordinator_knows = true;
  send_counted(job->server, job->uid, job->coordinator_node, sfd_coordinator_handle_join, &message);
}

void sfd_coordinator_client_rank_came(sfd_rank_t *rank, int64_t timeout_ms)
{
  sfd_job_t *job = rank->job;
  if (!job->coordinator_knows)
    job->coordinator_node = choose(job, 0);
  sfd_refusal_rank_came(job);
  send_join(job, &rank->number, 1, timeout_ms); /* the job may have ended */
}

void sfd_coordinator_client_send_withdraw(sfd_server_t *server, int32_t coordinator_node, uint32_t uid,
                                          const char *name, sf_status_t status, const char *detail,
                                          const uint64_t *incarnation)
{
  Sfpeer__Message message =
      SFPEER_MESSAGE_OF(JOB_WITHDRAW, job_withdraw, .uid = uid, .name = (char *)(uintptr_t)name /* only read */,
                        .status = status, .detail = (char *)(uintptr_t)detail, .has_incarnation = incarnation != NULL,
                        .incarnation = incarnation != NULL ? *incarnation : 0);
  send_counted(server, uid, coordinator_node, sfd_coordinator_handle_withdraw, &message);
}

static void withdraw(sfd_job_t *job, sf_status_t status, const char *detail)
{
  sfd_coordinator_client_send_withdraw(job->server, job->coordinator_node, job->uid, job->name, status, detail,
                                       &job->serial);
}

void sfd_coordinator_client_all_here(sfd_job_t *job)
{
  if (job->coordinator_knows)
    withdraw(job, SF_OK, "");
}

static void remember_withdrawn(const sfd_job_t *job)
{
  sfd_withdrawn_t *withdrawn =
      &job->server->membership->withdrawn[job->server->membership->nwithdrawn++ % SFD_WITHDRAWN];
  withdrawn->serial = job->serial;
  memcpy(withdrawn->detail, job->detail, sizeof withdrawn->detail);
}

void sfd_coordinator_client_withdraw(sfd_job_t *job, sf_status_t status)
{
  if (job->server->network == NULL || job->server->stopping || !job->coordinator_knows)
    return;
  remember_withdrawn(job);
  withdraw(job, status, job->detail);
}

void sfd_coordinator_client_refuse(sfd_server_t *server, uid_t uid, const char *name, const char *detail)
{
  int32_t coordinator_node = choose_for(server, uid, name, 0);
  if (server->network != NULL && !server->stopping && coordinator_node >= 0 &&
      check_room(server, uid, coordinator_node) == SF_OK)
    sfd_coordinator_client_send_withdraw(server, coordinator_node, uid, name, SF_ERR_STATE, detail, NULL);
}

/* ---- Another coordinator ----------------------------------------------------------------------------------------- */

/* Reports all ranks here to the new coordinator. */
static void join_again(sfd_job_t *job)
{
  int32_t *ranks = malloc((size_t)job->size * sizeof *ranks);
  size_t n = 0;
  if (ranks == NULL) {
    sfd_join_dismiss_all(job, SF_ERR_NOMEM, "no memory for a list of ranks");
    return;
  }
  for (int32_t r = 0; r < job->size; r++)
    if (sfd_rank_connected(job->ranks[r]))
      ranks[n++] = r;
  uint64_t due_ms = uv_timer_get_due_in(&job->timer);
  if (n > 0)
    send_join(job, ranks, n, due_ms > SFD_COORDINATOR_ANSWERS_MS ? (int64_t)(due_ms - SFD_COORDINATOR_ANSWERS_MS) : 0);
  free(ranks);
}

static void turn_to_next(sfd_job_t *job, const char *detail)
{
  char text[SFD_TEXT_SIZE];
  int32_t lost = job->coordinator_node, next = choose(job, position_of(job, lost) + 1);
  if (next < 0) {
    snprintf(text, sizeof text,
             "node %d, the coordinator of job \"%.64s\", is lost, and no other node can replace it: %.300s", lost,
             job->name, detail);
    sfd_join_dismiss_all(job, SF_ERR_RANK_FAILED, text);
    return;
  }
  sfd_log(SFD_LOG_JOB, SFD_INFO, "node %d coordinates job \"%s\" in place of node %d: %s", next, job->name, lost,
          detail);
  job->coordinator_node = next;
  join_again(job);
}

void sfd_coordinator_client_node_lost(sfd_server_t *server, int32_t node, const char *detail)
{
  SFD_FOREACH_SAFE (sfd_job_t, job, &server->jobs->list, entry)
    if (job->state == SFD_JOB_JOINING && job->coordinator_knows && job->coordinator_node == node)
      turn_to_next(job, detail);
}

/* Positions of coordinators only increase, so that there are no cycles. */
sf_status_t sfd_coordinator_client_handle_moved(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobMoved *moved = message->job_moved;
  sfd_job_t *job = sfd_job_find(server, moved->uid, moved->name);
  if (moved->coordinator < 0 || moved->coordinator >= sfd_network_nnodes(server))
    return sfshm_error(SF_ERR_PROTO, "node %d sent a JobMoved to node %d", node, moved->coordinator);
  if (job == NULL || job->state != SFD_JOB_JOINING || !job->coordinator_knows ||
      position_of(job, moved->coordinator) <= position_of(job, job->coordinator_node))
    return SF_OK;
  job->coordinator_node = moved->coordinator;
  join_again(job);
  return SF_OK;
}

/* ---- From the coordinator ---------------------------------------------------------------------------------------- */

/* NULL: not here; a job of the same name may be. */
static sfd_job_t *find_incarnation(const sfd_server_t *server, uint32_t uid, const char *name, uint64_t incarnation)
{
  sfd_job_t *job = sfd_job_find(server, uid, name);
  return job != NULL && job->serial == incarnation ? job : NULL;
}

sf_status_t sfd_coordinator_client_handle_refuse(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobRefuse *refusal = message->job_refuse;
  sfd_job_t *job = find_incarnation(server, refusal->uid, refusal->name, refusal->incarnation);
  sf_status_t status = refusal->status < SF_OK ? (sf_status_t)refusal->status : SF_ERR_INTERNAL;
  (void)node;
  if (job == NULL || job->state != SFD_JOB_JOINING)
    return SF_OK;
  if (refusal->n_ranks == 0) {
    sfd_join_dismiss_all(job, status, refusal->detail);
    return SF_OK;
  }
  for (size_t i = 0; i < refusal->n_ranks; i++)
    if (refusal->ranks[i] >= 0 && refusal->ranks[i] < job->size)
      sfd_join_dismiss(job, refusal->ranks[i], status, refusal->detail);
  return SF_OK;
}

static const char *find_withdrawn(const sfd_server_t *server, uint64_t serial)
{
  for (unsigned i = 1; i <= SFD_WITHDRAWN && i <= server->membership->nwithdrawn; i++) { /* the latest first */
    const sfd_withdrawn_t *withdrawn =
        &server->membership->withdrawn[(server->membership->nwithdrawn - i) % SFD_WITHDRAWN];
    if (withdrawn->serial == serial)
      return withdrawn->detail;
  }
  return NULL;
}

/* Why a job that has just been started can't run here; job may be NULL. */
static void describe_loss(const sfd_server_t *server, const sfd_job_t *job, const Sfpeer__JobStart *started,
                          uint64_t incarnation, char text[SFD_TEXT_SIZE])
{
  int32_t here = sfd_network_node(server);
  size_t lost = 0;
  if (job != NULL && job->state == SFD_JOB_FAILED) {
    snprintf(text, SFD_TEXT_SIZE, "%s", job->detail);
    return;
  }
  const char *withdrawn = job == NULL ? find_withdrawn(server, incarnation) : NULL;
  if (withdrawn != NULL) {
    snprintf(text, SFD_TEXT_SIZE, "%s", withdrawn);
    return;
  }
  while (lost + 1 < started->n_rank_nodes &&
         (started->rank_nodes[lost] != here || (job != NULL && lost < (size_t)job->size && job->ranks[lost] != NULL)))
    lost++;
  snprintf(text, SFD_TEXT_SIZE, "rank %zu (on node %d) of job \"%.128s\" went while the job was joining", lost, here,
           started->name);
}

/* The job can't run here: tells the other nodes. */
static void send_impossible(sfd_server_t *server, const Sfpeer__JobStart *started, char *detail)
{
  sfd_ended_jobs_add(&server->jobs->ended, started->job, true);
  Sfpeer__JobFail fail = SFPEER_BODY(job_fail, .job = started->job, .status = SF_ERR_RANK_FAILED, .detail = detail,
                                     .uid = started->uid, .name = started->name);
  Sfpeer__Message message = SFPEER_MESSAGE(JOB_FAIL, job_fail, &fail);
  for (size_t i = 0; i < started->n_nodes; i++) {
    fail.incarnation = started->incarnations[i];
    if (started->nodes[i] != sfd_network_node(server))
      sfd_network_send(server, started->nodes[i], &message);
  }
}

/* Whether the coordinator knows exactly the ranks that are here. */
static bool is_complete(const sfd_job_t *job, const Sfpeer__JobStart *started)
{
  for (int32_t r = 0; r < job->size; r++)
    if ((job->ranks[r] != NULL) != (started->rank_nodes[r] == sfd_network_node(job->server)))
      return false;
  return true;
}

static sf_status_t begin(sfd_job_t *job, const Sfpeer__JobStart *started)
{
  size_t bytes = (size_t)job->size * sizeof started->rank_nodes[0];
  int32_t *rank_nodes = malloc(bytes);
  job->incarnations = calloc(started->n_nodes, sizeof started->incarnations[0]);
  if (rank_nodes == NULL || job->incarnations == NULL) {
    free(rank_nodes);
    return SF_ERR_NOMEM;
  }
  memcpy(rank_nodes, started->rank_nodes, bytes);
  memcpy(job->incarnations, started->incarnations, started->n_nodes * sizeof started->incarnations[0]);
  return sfd_join_start(job, started->job, rank_nodes);
}

/* Whether the message is well-formed; finds this node's position in the list of nodes. */
static bool check_start(const sfd_server_t *server, const Sfpeer__JobStart *started, size_t *position_p)
{
  int32_t nnodes = sfd_network_nnodes(server), here = sfd_network_node(server);
  bool good = started->n_nodes > 0 && started->n_nodes == started->n_incarnations && started->coordinator >= 0 &&
              started->coordinator < nnodes;
  bool found = false;
  for (size_t r = 0; r < started->n_rank_nodes && good; r++)
    good = bsearch(&started->rank_nodes[r], started->nodes, started->n_nodes, sizeof started->nodes[0],
                   sfshm_compare_int32) != NULL;
  for (size_t i = 0; i < started->n_nodes && good; i++) {
    good = started->nodes[i] > (i > 0 ? started->nodes[i - 1] : -1) && started->nodes[i] < nnodes;
    if (started->nodes[i] == here) {
      *position_p = i;
      found = true;
    }
  }
  return good && found && started->job != 0;
}

static void pass_start_on(sfd_server_t *server, size_t position, const Sfpeer__Message *message)
{
  const Sfpeer__JobStart *started = message->job_start;
  size_t first = position * SFD_TREE_CHILDREN + 1;
  for (size_t i = first; i < first + SFD_TREE_CHILDREN && i < started->n_nodes; i++)
    sfd_network_send(server, started->nodes[i], message);
}

static void send_runs(sfd_server_t *server, int32_t coordinator_node, const Sfpeer__JobStart *started,
                      uint64_t incarnation)
{
  Sfpeer__Message message = SFPEER_MESSAGE_OF(JOB_RUNS, job_runs, .uid = started->uid, .name = started->name,
                                              .job = started->job, .incarnation = incarnation);
  sfd_coordinator_client_send(server, coordinator_node, sfd_coordinator_handle_runs, &message);
}

/* This node's part of the job; job NULL: not here any more. */
static void start_here(sfd_server_t *server, sfd_job_t *job, const Sfpeer__JobStart *started, uint64_t incarnation)
{
  char text[SFD_TEXT_SIZE];
  describe_loss(server, job, started, incarnation, text);
  if (job == NULL || job->state != SFD_JOB_JOINING || started->n_rank_nodes != (size_t)job->size) {
    send_impossible(server, started, text);
    return;
  }
  bool complete = is_complete(job, started);
  if (job->coordinator_node != started->coordinator)
    send_runs(server, job->coordinator_node, started, incarnation);
  if (begin(job, started) != SF_OK) {
    snprintf(text, sizeof text, "node %d has no memory for job \"%.64s\"", sfd_network_node(server), job->name);
    sfd_log(SFD_LOG_JOB, SFD_WARN, "%s", text);
    sfd_join_dismiss_all(job, SF_ERR_NOMEM, text);
    send_impossible(server, started, text);
  } else if (!complete) {
    sfd_job_fail(job, text);
  }
}

/* The nodes below must begin even if this one can't, so that they know the job when they hear of its failure. If a node
 * below is lost before it is told, the job fails here. */
sf_status_t sfd_coordinator_client_handle_start(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobStart *started = message->job_start;
  size_t position = 0;
  if (!check_start(server, started, &position))
    return sfshm_error(SF_ERR_PROTO, "node %d sent a malformed JobStart", node);
  if (sfd_job_find_id(server, started->job) != NULL)
    return sfshm_error(SF_ERR_PROTO, "node %d sent a JobStart with the id of another job", node);
  uint64_t incarnation = started->incarnations[position];
  start_here(server, find_incarnation(server, started->uid, started->name, incarnation), started, incarnation);
  pass_start_on(server, position, message);
  if (position == 0)
    send_runs(server, started->coordinator, started, incarnation);
  return SF_OK;
}

sf_status_t sfd_coordinator_client_handle_fail(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobFail *fail = message->job_fail;
  sfd_job_t *job = find_incarnation(server, fail->uid, fail->name, fail->incarnation);
  if (job == NULL || job->state != SFD_JOB_JOINING)
    return sfd_job_handle_peer_fail(server, node, message);
  sfd_ended_jobs_add(&server->jobs->ended, fail->job, true);
  sfd_text_printable(job->detail, sizeof job->detail, fail->detail);
  sfd_coordinator_client_withdraw(job, SF_ERR_RANK_FAILED);
  sfd_join_dismiss_all(job, SF_ERR_RANK_FAILED, job->detail);
  return SF_OK;
}
