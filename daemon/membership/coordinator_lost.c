/* Assemblies of jobs that have lost a node: see coordinator.h. The daemon's thread. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/membership/coordinator.h"
#include "daemon/membership/coordinator_internal.h"
#include "daemon/net/network.h"
#include "shm/base/error.h"

/* How long the reason is kept for ranks that come late. Not longer than it takes to start the ranks of a job, as a job
 * that is started again may have the same name. */
#define REFUSED_FOR_MS 10000

/* ---- Joining ----------------------------------------------------------------------------------------------------- */

static void on_forgotten(uv_timer_t *timer)
{
  sfd_assembly_forget(timer->data);
}

/* Tells the ranks that have come, and keeps the reason for the others. Without memory for it they wait until their own
 * deadline. */
static void lose_joining(sfd_assembly_t *assembly, const char *text)
{
  if (assembly->refused != NULL)
    return;
  assembly->refused = strdup(text);
  if (assembly->refused == NULL) {
    sfd_assembly_refuse(assembly, SF_ERR_RANK_FAILED, text);
    return;
  }
  uv_timer_start(&assembly->timer, on_forgotten, REFUSED_FOR_MS, 0);
  sfd_assembly_tell_refused(assembly, SF_ERR_RANK_FAILED, text);
}

/* Whether all of these ranks belong to the job and have not been told. */
static bool are_late(const sfd_assembly_t *assembly, const Sfpeer__JobJoin *join)
{
  bool late = assembly->size == join->size &&
              sodium_memcmp(assembly->digest, join->key_digest.data, SFD_HOME_DIGEST_BYTES) == 0;
  for (size_t i = 0; i < join->n_ranks && late; i++)
    late = assembly->rank_nodes[join->ranks[i]] < 0;
  return late;
}

bool sfd_assembly_refuse_late(sfd_assembly_t *assembly, int32_t node, const Sfpeer__JobJoin *join)
{
  if (!are_late(assembly, join)) {
    sfd_assembly_forget(assembly);
    return false;
  }
  for (size_t i = 0; i < join->n_ranks; i++)
    if (assembly->rank_nodes[join->ranks[i]] < 0) {
      assembly->rank_nodes[join->ranks[i]] = node;
      assembly->ncame++;
    }
  sfd_assembly_refuse_join(assembly->server, node, join, sfshm_error(SF_ERR_RANK_FAILED, "%s", assembly->refused));
  if (assembly->ncame == assembly->size)
    sfd_assembly_forget(assembly);
  return true;
}

void sfd_assembly_tell_home(const sfd_assembly_t *assembly, int32_t home)
{
  Sfpeer__JobWithdraw withdraw = SFPEER__JOB_WITHDRAW__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  withdraw.uid = assembly->uid;
  withdraw.name = (char *)(uintptr_t)assembly->name; /* only read; protobuf-c has no const */
  withdraw.status = SF_ERR_RANK_FAILED;
  withdraw.detail = assembly->refused;
  message.body_case = SFPEER__MESSAGE__BODY_JOB_WITHDRAW;
  message.job_withdraw = &withdraw;
  sfd_home_send(assembly->server, home, sfd_assembly_handle_withdraw, &message);
}

/* ---- In place of another home ------------------------------------------------------------------------------------ */

/* What it was told may have been lost with the channel, which may have been dead for a while before that was noticed. A
 * node that has really gone is not told for ever. */
static void tell_home_before_again(sfd_assembly_t *assembly, int32_t node)
{
  sfd_server_t *server = assembly->server;
  int32_t here = sfd_network_node(server);
  if (assembly->job != 0 || assembly->moved_to >= 0 || assembly->refused != NULL || assembly->told_again ||
      sfd_home_position(server, assembly->uid, assembly->name, node) >=
          sfd_home_position(server, assembly->uid, assembly->name, here))
    return;
  assembly->told_again = true;
  sfd_assembly_send_moved(assembly, here, node);
}

/* ---- Starting ---------------------------------------------------------------------------------------------------- */

/* The node may not have heard that the job starts: the others are told. */
static void fail_starting(sfd_assembly_t *assembly, int32_t node, const char *text)
{
  Sfpeer__JobFail fail = SFPEER__JOB_FAIL__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  fail.job = assembly->job;
  fail.status = SF_ERR_RANK_FAILED;
  fail.detail = (char *)(uintptr_t)text; /* only read; protobuf-c has no const */
  message.body_case = SFPEER__MESSAGE__BODY_JOB_FAIL;
  message.job_fail = &fail;
  sfd_assembly_set_node(assembly, node, SFD_ASSEMBLY_OVER);
  sfd_assembly_send_to_all(assembly, sfd_job_handle_peer_fail, &message, NULL);
  sfd_assembly_forget(assembly);
}

/* Its other nodes notice what they lose themselves. */
static void lose_started(sfd_assembly_t *assembly, int32_t node, const char *text)
{
  if (assembly->started_here &&
      assembly->rank_nodes[sfd_assembly_find_rank_on(assembly, node)] == SFD_ASSEMBLY_AWAITED) {
    fail_starting(assembly, node, text);
    return;
  }
  sfd_assembly_set_node(assembly, node, SFD_ASSEMBLY_OVER);
  sfd_assembly_forget_if_done(assembly);
}

/* ---- Either ------------------------------------------------------------------------------------------------------ */

void sfd_assemblies_node_lost(sfd_server_t *server, int32_t node, const char *detail)
{
  char text[SFD_TEXT_SIZE];
  snprintf(text, sizeof text, "node %d is lost: %.400s", node, detail);
  for (sfd_assembly_t *assembly = TAILQ_FIRST(&server->assemblies), *next; assembly != NULL; assembly = next) {
    next = TAILQ_NEXT(assembly, entry);
    if (sfd_assembly_find_rank_on(assembly, node) < 0)
      tell_home_before_again(assembly, node);
    else if (assembly->job == 0)
      lose_joining(assembly, text);
    else
      lose_started(assembly, node, text);
  }
}
