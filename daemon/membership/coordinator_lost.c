/* Coordinator of jobs that lose a node, or whose home is another one: see coordinator.h. The daemon's thread. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/membership/coordinator.h"
#include "daemon/membership/coordinator_internal.h"
#include "daemon/membership/membership.h"
#include "daemon/net.h"
#include "shm/base/error.h"

/* How long the reason is kept for ranks that come late. Not longer than it takes to start the ranks of a job, as a job
 * that is started again may have the same name. */
#define REFUSED_FOR_MS 10000
#define REMEMBER_MOVED_MS 60000

/* ---- Joining ----------------------------------------------------------------------------------------------------- */

static void on_forgotten(uv_timer_t *timer)
{
  sfd_coordinator_forget(timer->data);
}

/* Tells the ranks that have come, and keeps the reason for the others. Without memory for it they wait until their own
 * deadline. */
static void lose(sfd_coordinator_t *assembly, const char *text)
{
  if (assembly->state == SFD_COORDINATOR_REFUSED)
    return;
  assembly->refused = strdup(text);
  if (assembly->refused == NULL) {
    sfd_coordinator_refuse(assembly, SF_ERR_RANK_FAILED, text);
    return;
  }
  assembly->state = SFD_COORDINATOR_REFUSED;
  uv_timer_start(&assembly->timer, on_forgotten, REFUSED_FOR_MS, 0);
  sfd_coordinator_send_refused(assembly, SF_ERR_RANK_FAILED, text);
}

/* Whether all of these ranks belong to the job and have not been told. */
static bool are_late(const sfd_coordinator_t *assembly, const Sfpeer__JobJoin *join)
{
  bool late = assembly->size == join->size &&
              sodium_memcmp(assembly->digest, join->key_digest.data, SFD_COORDINATOR_DIGEST_BYTES) == 0;
  for (size_t i = 0; i < join->n_ranks && late; i++)
    late = assembly->rank_nodes[join->ranks[i]] < 0;
  return late;
}

bool sfd_coordinator_refuse_late(sfd_coordinator_t *assembly, int32_t node, const Sfpeer__JobJoin *join)
{
  if (!are_late(assembly, join)) {
    sfd_coordinator_forget(assembly);
    return false;
  }
  for (size_t i = 0; i < join->n_ranks; i++)
    if (assembly->rank_nodes[join->ranks[i]] < 0) {
      assembly->rank_nodes[join->ranks[i]] = node;
      assembly->ncame++;
    }
  sfd_coordinator_refuse_join(assembly->server, node, join, sfshm_error(SF_ERR_RANK_FAILED, "%s", assembly->refused));
  if (assembly->ncame == assembly->size)
    sfd_coordinator_forget(assembly);
  return true;
}

/* ---- In place of another home ------------------------------------------------------------------------------------ */

void sfd_coordinator_send_moved(const sfd_coordinator_t *assembly, int32_t home, int32_t node)
{
  Sfpeer__JobMoved moved = SFPEER__JOB_MOVED__INIT;
  Sfpeer__Message message = SFPEER_MESSAGE(JOB_MOVED, job_moved, &moved);
  moved.uid = assembly->uid;
  moved.name = (char *)(uintptr_t)assembly->name; /* only read; protobuf-c has no const */
  moved.home = home;
  if (node >= 0)
    sfd_coordinator_client_send(assembly->server, node, sfd_coordinator_client_handle_moved, &message);
  else
    sfd_coordinator_send_to_all(assembly, sfd_coordinator_client_handle_moved, &message, NULL);
}

void sfd_coordinator_redirect_earlier(const sfd_coordinator_t *assembly)
{
  sfd_server_t *server = assembly->server;
  int32_t here = sfd_network_node(server),
          first = sfd_coordinator_client_first_node(server, assembly->uid, assembly->name);
  for (int32_t node = first; node != here; node = (node + 1) % sfd_network_nnodes(server))
    sfd_coordinator_send_moved(assembly, here, node);
}

/* Those who came before are told, and those who come yet are told then. */
static void move_to(sfd_coordinator_t *assembly, int32_t home)
{
  assembly->state = SFD_COORDINATOR_MOVED;
  assembly->moved_to = home;
  sfd_coordinator_send_moved(assembly, home, -1);
  assembly->size = 0;
  uv_timer_start(&assembly->timer, on_forgotten, REMEMBER_MOVED_MS, 0);
}

sf_status_t sfd_coordinator_handle_moved(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobMoved *moved = message->job_moved;
  if (!sfd_text_is_name(moved->name) || moved->home < 0 || moved->home >= sfd_network_nnodes(server))
    return sfshm_error(SF_ERR_PROTO, "node %d sent a malformed JobMoved", node);
  sfd_coordinator_t *assembly = sfd_coordinator_find(server, moved->uid, moved->name);
  if (assembly != NULL && assembly->state == SFD_COORDINATOR_REFUSED) {
    sfd_coordinator_client_send_withdraw(server, moved->home, assembly->uid, assembly->name, SF_ERR_RANK_FAILED,
                                         assembly->refused, NULL);
    return sfd_coordinator_client_handle_moved(server, node, message);
  }
  int32_t home =
      assembly != NULL && assembly->state == SFD_COORDINATOR_MOVED ? assembly->moved_to : sfd_network_node(server);
  if (sfd_coordinator_client_position(server, moved->uid, moved->name, moved->home) >
      sfd_coordinator_client_position(server, moved->uid, moved->name, home)) {
    if (assembly != NULL || sfd_coordinator_create(server, moved->uid, moved->name, 0, &assembly) == SF_OK)
      move_to(assembly, moved->home);
  }
  return sfd_coordinator_client_handle_moved(server, node, message);
}

/* What it was told may have been lost with the channel, which may have been dead for a while before that was noticed. A
 * node that has really gone is not told for ever. */
static void tell_home_before_again(sfd_coordinator_t *assembly, int32_t node)
{
  sfd_server_t *server = assembly->server;
  int32_t here = sfd_network_node(server);
  if (assembly->state != SFD_COORDINATOR_JOINING || assembly->told_again ||
      sfd_coordinator_client_position(server, assembly->uid, assembly->name, node) >=
          sfd_coordinator_client_position(server, assembly->uid, assembly->name, here))
    return;
  assembly->told_again = true;
  sfd_coordinator_send_moved(assembly, here, node);
}

/* ---- Either ------------------------------------------------------------------------------------------------------ */

void sfd_coordinators_node_lost(sfd_server_t *server, int32_t node, const char *detail)
{
  char text[SFD_TEXT_SIZE];
  snprintf(text, sizeof text, "node %d is lost: %.400s", node, detail);
  for (sfd_coordinator_t *assembly = TAILQ_FIRST(&server->membership->assemblies), *next; assembly != NULL;
       assembly = next) {
    next = TAILQ_NEXT(assembly, entry);
    if (sfd_coordinator_find_rank_on(assembly, node) < 0)
      tell_home_before_again(assembly, node);
    else if (assembly->state != SFD_COORDINATOR_STARTING ||
             assembly->root == node) /* the other nodes are told of the start by those before */
      lose(assembly, text);
  }
}
