/* Coordinators that lose a node or their job: see coordinator.h. The daemon's thread. */
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

/* How long late ranks are refused: less than starting a job takes, as a new job may have the same name. */
#define REFUSED_FOR_MS 10000
#define REMEMBER_MOVED_MS 60000

/* ---- Joining ----------------------------------------------------------------------------------------------------- */

static void on_forgotten(uv_timer_t *timer)
{
  sfd_coordinator_forget(timer->data);
}

/* Refuses the ranks that have come, and keeps the detail for late ones. Without memory late ranks wait for their
 * deadline. */
static void lose(sfd_coordinator_t *coordinator, const char *text)
{
  if (coordinator->state == SFD_COORDINATOR_REFUSED)
    return;
  coordinator->refused = strdup(text);
  if (coordinator->refused == NULL) {
    sfd_coordinator_refuse(coordinator, SF_ERR_RANK_FAILED, text);
    return;
  }
  coordinator->state = SFD_COORDINATOR_REFUSED;
  uv_timer_start(&coordinator->timer, on_forgotten, REFUSED_FOR_MS, 0);
  sfd_coordinator_send_refused(coordinator, SF_ERR_RANK_FAILED, text);
}

/* Whether all ranks belong to the job and have not been refused. */
static bool are_late(const sfd_coordinator_t *coordinator, const Sfpeer__JobJoin *join)
{
  bool late = coordinator->size == join->size &&
              sodium_memcmp(coordinator->digest, join->key_digest.data, SFD_COORDINATOR_DIGEST_BYTES) == 0;
  for (size_t i = 0; i < join->n_ranks && late; i++)
    late = coordinator->rank_nodes[join->ranks[i]] < 0;
  return late;
}

bool sfd_coordinator_refuse_late(sfd_coordinator_t *coordinator, int32_t node, const Sfpeer__JobJoin *join)
{
  if (!are_late(coordinator, join)) {
    sfd_coordinator_forget(coordinator);
    return false;
  }
  for (size_t i = 0; i < join->n_ranks; i++)
    if (coordinator->rank_nodes[join->ranks[i]] < 0) {
      coordinator->rank_nodes[join->ranks[i]] = node;
      coordinator->ncame++;
    }
  sfd_coordinator_refuse_join(coordinator->server, node, join,
                              sfshm_error(SF_ERR_RANK_FAILED, "%s", coordinator->refused));
  if (coordinator->ncame == coordinator->size)
    sfd_coordinator_forget(coordinator);
  return true;
}

/* ---- In place of another coordinator ----------------------------------------------------------------------------- */

void sfd_coordinator_send_moved(const sfd_coordinator_t *coordinator, int32_t coordinator_node, int32_t node)
{
  Sfpeer__Message message =
      SFPEER_MESSAGE_OF(JOB_MOVED, job_moved, .uid = coordinator->uid,
                        .name = (char *)(uintptr_t)coordinator->name /* only read */, .coordinator = coordinator_node);
  if (node >= 0)
    sfd_coordinator_client_send(coordinator->server, node, sfd_coordinator_client_handle_moved, &message);
  else
    sfd_coordinator_send_to_all(coordinator, sfd_coordinator_client_handle_moved, &message, NULL);
}

void sfd_coordinator_redirect_earlier(const sfd_coordinator_t *coordinator)
{
  sfd_server_t *server = coordinator->server;
  int32_t here = sfd_network_node(server),
          first = sfd_coordinator_client_first_node(server, coordinator->uid, coordinator->name);
  for (int32_t node = first; node != here; node = (node + 1) % sfd_network_nnodes(server))
    sfd_coordinator_send_moved(coordinator, here, node);
}

/* Ranks that came are told now, and later ones when they come. */
static void move_to(sfd_coordinator_t *coordinator, int32_t coordinator_node)
{
  coordinator->state = SFD_COORDINATOR_MOVED;
  coordinator->moved_to = coordinator_node;
  sfd_coordinator_send_moved(coordinator, coordinator_node, -1);
  coordinator->size = 0;
  uv_timer_start(&coordinator->timer, on_forgotten, REMEMBER_MOVED_MS, 0);
}

sf_status_t sfd_coordinator_handle_moved(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobMoved *moved = message->job_moved;
  if (!sfd_text_is_name(moved->name) || moved->coordinator < 0 || moved->coordinator >= sfd_network_nnodes(server))
    return sfshm_error(SF_ERR_PROTO, "node %d sent a malformed JobMoved", node);
  sfd_coordinator_t *coordinator = sfd_coordinator_find(server, moved->uid, moved->name);
  if (coordinator != NULL && coordinator->state == SFD_COORDINATOR_REFUSED) {
    sfd_coordinator_client_send_withdraw(server, moved->coordinator, coordinator->uid, coordinator->name,
                                         SF_ERR_RANK_FAILED, coordinator->refused, NULL);
    return sfd_coordinator_client_handle_moved(server, node, message);
  }
  int32_t coordinator_node = coordinator != NULL && coordinator->state == SFD_COORDINATOR_MOVED
                                 ? coordinator->moved_to
                                 : sfd_network_node(server);
  if (sfd_coordinator_client_position(server, moved->uid, moved->name, moved->coordinator) >
      sfd_coordinator_client_position(server, moved->uid, moved->name, coordinator_node)) {
    if (coordinator != NULL || sfd_coordinator_create(server, moved->uid, moved->name, 0, &coordinator) == SF_OK)
      move_to(coordinator, moved->coordinator);
  }
  return sfd_coordinator_client_handle_moved(server, node, message);
}

/* JobMoved may have been lost with the channel. It is sent again once: the node may really be gone. */
static void redirect_earlier_again(sfd_coordinator_t *coordinator, int32_t node)
{
  sfd_server_t *server = coordinator->server;
  int32_t here = sfd_network_node(server);
  if (coordinator->state != SFD_COORDINATOR_JOINING || coordinator->redirected_again ||
      sfd_coordinator_client_position(server, coordinator->uid, coordinator->name, node) >=
          sfd_coordinator_client_position(server, coordinator->uid, coordinator->name, here))
    return;
  coordinator->redirected_again = true;
  sfd_coordinator_send_moved(coordinator, here, node);
}

/* ---- Either ------------------------------------------------------------------------------------------------------ */

void sfd_coordinators_node_lost(sfd_server_t *server, int32_t node, const char *detail)
{
  char text[SFD_TEXT_SIZE];
  snprintf(text, sizeof text, "node %d is lost: %.400s", node, detail);
  SFD_FOREACH_SAFE (sfd_coordinator_t, coordinator, &server->membership->coordinators, entry) {
    if (sfd_coordinator_find_rank_on(coordinator, node) < 0)
      redirect_earlier_again(coordinator, node);
    else if (coordinator->state != SFD_COORDINATOR_STARTING ||
             coordinator->root == node) /* other nodes are told of the start by their parents */
      lose(coordinator, text);
  }
}
