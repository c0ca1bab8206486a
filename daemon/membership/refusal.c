/* Refusals between daemons: see refusal.h. The daemon's thread. */
#include "daemon/membership/refusal.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/base.h"
#include "daemon/membership/coordinator.h"
#include "daemon/membership/coordinator_client.h"
#include "daemon/membership/join.h"
#include "daemon/membership/membership.h"
#include "daemon/net.h"

#define WARN_EVERY_MS 60000
#define CLAIMS_HOLD_MS 60000
#define ASKED_MAX 32 /* nodes that are asked about one job */

sfd_refusals_t *sfd_refusals_create(int32_t nnodes)
{
  sfd_refusals_t *refusals;
  return calloc(1, sizeof *refusals + (size_t)nnodes * sizeof refusals->nodes[0]);
}

/* The same on all nodes; can't be computed without the job's key. */
static uint64_t digest_of(uint32_t uid, const char *name, const uint8_t key_digest[SFD_COORDINATOR_DIGEST_BYTES])
{
  crypto_generichash_state state;
  uint8_t bytes[crypto_generichash_BYTES_MIN];
  uint64_t digest = 0;
  (void)crypto_generichash_init(&state, key_digest, SFD_COORDINATOR_DIGEST_BYTES, sizeof bytes);
  (void)crypto_generichash_update(&state, (const uint8_t *)&uid, sizeof uid);
  (void)crypto_generichash_update(&state, (const uint8_t *)name, strlen(name));
  (void)crypto_generichash_final(&state, bytes, sizeof bytes);
  memcpy(&digest, bytes, sizeof digest);
  return digest != 0 ? digest : 1;
}

static uint64_t digest_of_job(const sfd_job_t *job)
{
  uint8_t key_digest[SFD_COORDINATOR_DIGEST_BYTES];
  (void)crypto_generichash(key_digest, sizeof key_digest, (const uint8_t *)job->key, strlen(job->key), NULL, 0);
  return digest_of(job->uid, job->name, key_digest);
}

static bool is_joining(const sfd_coordinator_t *coordinator)
{
  return coordinator->state == SFD_COORDINATOR_JOINING;
}

static sfd_coordinator_t *find(const sfd_server_t *server, uint64_t cause)
{
  sfd_coordinator_t *coordinator;
  TAILQ_FOREACH (coordinator, &server->membership->coordinators, entry)
    if (cause != 0 && is_joining(coordinator) &&
        digest_of(coordinator->uid, coordinator->name, coordinator->digest) == cause)
      return coordinator;
  return NULL;
}

/* The node's bit in uninformed; 0: not asked. */
static uint32_t bit_of(const sfd_server_t *server, int32_t node)
{
  int32_t nnodes = sfd_network_nnodes(server), behind = (node + nnodes - sfd_network_node(server)) % nnodes;
  return behind >= 1 && behind <= ASKED_MAX ? UINT32_C(1) << (behind - 1) : 0;
}

static sfd_coordinator_t *find_uninformed(const sfd_server_t *server, int32_t node)
{
  sfd_coordinator_t *coordinator;
  TAILQ_FOREACH (coordinator, &server->membership->coordinators, entry)
    if (is_joining(coordinator) && (coordinator->uninformed & bit_of(server, node)) != 0)
      break;
  return coordinator;
}

/* -1: not there. */
static int find_cause(const sfd_causes_t *causes, uint64_t cause)
{
  for (int i = 0; i < SFD_CAUSES; i++)
    if (cause != 0 && causes->latest[i] == cause)
      return i;
  return -1;
}

static bool has_cause(const sfd_causes_t *causes, uint64_t cause)
{
  return find_cause(causes, cause) >= 0;
}

/* Returns its place; -1: there is no cause. */
static int add_cause(sfd_causes_t *causes, uint64_t cause)
{
  int place = find_cause(causes, cause);
  if (cause == 0 || place >= 0)
    return place;
  place = (int)(causes->n++ % SFD_CAUSES);
  causes->latest[place] = cause;
  return place;
}

static bool take_cause(sfd_causes_t *causes, uint64_t cause)
{
  int place = find_cause(causes, cause);
  if (place >= 0)
    causes->latest[place] = 0;
  return place >= 0;
}

static bool has_claims(const sfd_server_t *server)
{
  const sfd_refusals_t *refusals = server->refusals;
  return refusals != NULL && refusals->claimed_ms != 0 && uv_now(server->loop) - refusals->claimed_ms < CLAIMS_HOLD_MS;
}

/* Whether ranks here wait for the node: it is their coordinator, or was refused for their job. Any node may be the one
 * that was refused under a number without meaning. */
static bool needs(const sfd_job_t *job, int32_t node)
{
  const sfd_refused_node_t *nodes = job->server->refusals->nodes;
  int32_t here = sfd_network_node(job->server);
  if (job->state != SFD_JOB_JOINING || !job->coordinator_knows)
    return false;
  if (job->coordinator_node == node && node != here)
    return true;
  uint64_t digest = digest_of_job(job);
  return has_cause(&nodes[node].claims, digest) || (has_claims(job->server) && has_cause(&nodes[here].claims, digest));
}

static bool is_claimed_by(const sfd_coordinator_t *coordinator, int32_t node)
{
  return is_joining(coordinator) &&
         (coordinator->claimed_by == node || coordinator->claimed_by == sfd_network_node(coordinator->server));
}

/* Connects to a node that was refused; if its number had no meaning, to others, one of which it may be. answer: a job
 * to name to them; or 0. */
static void connect_to(sfd_server_t *server, int32_t claimer, uint64_t answer)
{
  int32_t nnodes = sfd_network_nnodes(server), here = sfd_network_node(server);
  int place = add_cause(&server->refusals->answers, answer);
  int32_t first = claimer == here ? 1 : (claimer + nnodes - here) % nnodes, last = claimer == here ? ASKED_MAX : first;
  for (int32_t i = first; i < nnodes && i <= last; i++) {
    server->refusals->nodes[(here + i) % nnodes].unanswered |= place >= 0 ? UINT32_C(1) << place : 0;
    sfd_network_open(server, (here + i) % nnodes);
  }
}

static bool is_needed(const sfd_server_t *server, int32_t node)
{
  const sfd_job_t *job;
  TAILQ_FOREACH (job, &server->jobs->list, entry)
    if (needs(job, node))
      break;
  return job != NULL;
}

static uint64_t take_answer(sfd_server_t *server, int32_t node)
{
  uint32_t *unanswered = &server->refusals->nodes[node].unanswered;
  if (*unanswered == 0)
    return 0;
  int place = __builtin_ctz(*unanswered);
  *unanswered &= *unanswered - 1;
  return server->refusals->answers.latest[place];
}

/* Digest of the job to name when connecting to the node: one that waits for the node, one for which the node was
 * refused, one about which the node is asked, or one about which it has asked. 0: none. */
static uint64_t choose_cause(sfd_server_t *server, int32_t node)
{
  const sfd_job_t *job;
  sfd_coordinator_t *coordinator;
  TAILQ_FOREACH (job, &server->jobs->list, entry)
    if (needs(job, node))
      return digest_of_job(job);
  TAILQ_FOREACH (coordinator, &server->membership->coordinators, entry)
    if (is_claimed_by(coordinator, node))
      return digest_of(coordinator->uid, coordinator->name, coordinator->digest);
  coordinator = find_uninformed(server, node);
  if (coordinator == NULL)
    return take_answer(server, node);
  coordinator->uninformed &= ~bit_of(server, node);
  return digest_of(coordinator->uid, coordinator->name, coordinator->digest);
}

uint64_t sfd_refusal_cause(sfd_server_t *server, int32_t node)
{
  server->refusals->tells_causes = true;
  return server->refusals->nodes[node].told = choose_cause(server, node);
}

void sfd_refusal_heard(sfd_server_t *server, int32_t node, uint64_t cause, const char *detail)
{
  sfd_refused_node_t *refused = &server->refusals->nodes[node];
  sfd_coordinator_t *coordinator = find(server, cause);
  uint64_t now_ms = uv_now(server->loop);
  bool here = node == sfd_network_node(server);
  /* when both connect at once, one connection ends without a reason to warn */
  bool tell = detail != NULL && (here || sfd_channel_state(sfd_network_channels(server), node) == SFD_CHANNEL_CLOSED) &&
              (refused->warned_ms == 0 || now_ms - refused->warned_ms >= WARN_EVERY_MS);
  if (detail != NULL)
    sfd_log(SFD_LOG_NETWORK, tell ? SFD_WARN : SFD_DEBUG, "%s", detail);
  if (tell)
    refused->warned_ms = now_ms;
  server->refusals->claimed_ms = now_ms;
  (void)add_cause(&refused->claims, cause);
  if (coordinator != NULL && (here || coordinator->claimed_by != sfd_network_node(server)))
    coordinator->claimed_by = node;
  bool dismissed = take_cause(&server->refusals->dismissed, cause);
  if (coordinator != NULL || dismissed || (cause != 0 && is_needed(server, node)))
    connect_to(server, node, dismissed ? cause : 0);
}

/* -1: none. */
static int32_t find_claimer(const sfd_server_t *server, uint64_t cause)
{
  int32_t here = sfd_network_node(server);
  if (has_cause(&server->refusals->nodes[here].claims, cause))
    return here;
  for (int32_t node = 0; node < sfd_network_nnodes(server); node++)
    if (has_cause(&server->refusals->nodes[node].claims, cause))
      return node;
  return -1;
}

void sfd_refusal_begin(sfd_coordinator_t *coordinator)
{
  sfd_server_t *server = coordinator->server;
  if (!has_claims(server))
    return;
  coordinator->claimed_by = find_claimer(server, digest_of(coordinator->uid, coordinator->name, coordinator->digest));
  if (coordinator->claimed_by >= 0)
    connect_to(server, coordinator->claimed_by, 0);
}

void sfd_refusal_rank_came(const sfd_job_t *job)
{
  sfd_server_t *server = job->server;
  int32_t node = has_claims(server) ? find_claimer(server, digest_of_job(job)) : -1;
  if (node >= 0)
    connect_to(server, node, 0);
}

void sfd_refusal_ask(sfd_coordinator_t *coordinator)
{
  sfd_server_t *server = coordinator->server;
  coordinator->uninformed = UINT32_MAX;
  connect_to(server, sfd_network_node(server), 0);
}

/* Dismisses the ranks of the job named to the node, or, if the fabric sends no digests, of all jobs that wait for it.
 * Returns whether other jobs wait for the node. */
static bool dismiss(sfd_server_t *server, int32_t node, sf_status_t status, const char *detail)
{
  char text[SFD_TEXT_SIZE];
  bool others = false;
  SFD_FOREACH_SAFE (sfd_job_t, job, &server->jobs->list, entry) {
    if (!needs(job, node))
      continue;
    if (server->refusals->tells_causes && digest_of_job(job) != server->refusals->nodes[node].told) {
      others = true;
      continue;
    }
    snprintf(text, sizeof text, "job \"%.64s\" needs node %d, with which this one can't talk: %.360s", job->name, node,
             detail);
    sfd_log(SFD_LOG_JOB, SFD_WARN, "%s", text);
    (void)add_cause(&server->refusals->dismissed, digest_of_job(job));
    sfd_join_dismiss_all(job, status, text);
  }
  return others;
}

/* The same for coordinated jobs for which the node was refused. */
static bool refuse_claimed(sfd_server_t *server, int32_t node, sf_status_t status, const char *detail)
{
  char text[SFD_TEXT_SIZE];
  bool others = false;
  SFD_FOREACH_SAFE (sfd_coordinator_t, coordinator, &server->membership->coordinators, entry) {
    if (!is_claimed_by(coordinator, node))
      continue;
    if (digest_of(coordinator->uid, coordinator->name, coordinator->digest) != server->refusals->nodes[node].told) {
      others = true;
      continue;
    }
    snprintf(text, sizeof text, "job \"%.64s\" has ranks on a node that node %d can't talk to: %.360s",
             coordinator->name, sfd_network_node(server), detail);
    sfd_log(SFD_LOG_JOB, SFD_WARN, "%s", text);
    sfd_coordinator_refuse(coordinator, status, text);
  }
  return others;
}

bool sfd_refusal_handle(sfd_server_t *server, int32_t node, sf_status_t status, const char *detail)
{
  sfd_coordinators_node_lost(server, node, detail);
  bool needed = sfd_jobs_fail_on(server, node, detail);
  bool others = refuse_claimed(server, node, status, detail);
  others = dismiss(server, node, status, detail) || others;
  others = others || server->refusals->nodes[node].unanswered != 0;
  if (others || (server->refusals->tells_causes && find_uninformed(server, node) != NULL))
    sfd_network_open(server, node);
  return needed || server->refusals->nodes[node].told != 0;
}
