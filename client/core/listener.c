/* The listener thread: see listener.h. */
#include "client/core/listener.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/core/context.h"
#include "shm/base/error.h"
#include "shm/base/thread.h"

#define STACK_BYTES ((size_t)256 << 10) /* far above Linux's minimum */

sf_status_t sfc_listener_open(sfc_listener_t *listener, const sfc_listener_ops_t *ops)
{
  int ends[2];
  *listener = (sfc_listener_t){.ops = ops, .daemon_end = -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "socket pair for alerts");
  sf_status_t status = sfproto_conn_create(ends[0], &listener->conn);
  if (status != SF_OK) {
    close(ends[1]);
    return status;
  }
  listener->daemon_end = ends[1];
  return SF_OK;
}

static void carry_out(sf_context_t *context, const Sfproto__Alert *alert)
{
  const char *detail = alert->detail != NULL ? alert->detail : "";
  const sfc_listener_ops_t *ops = context->listener.ops;
  switch (alert->kind) {
  case SFPROTO__ALERT__KIND__JOB_FAILED:
    sfc_context_fail(context, alert->has_status ? (sf_status_t)alert->status : SF_ERR_RANK_FAILED, detail);
    break;
  case SFPROTO__ALERT__KIND__GRAPH_FAILED:
    ops->graph_failed(context, alert->graph, alert->has_status ? (sf_status_t)alert->status : SF_ERR_MISMATCH, detail);
    break;
  case SFPROTO__ALERT__KIND__GRAPH_RETIRED:
    ops->graph_gone(context, alert->graph);
    break;
  case SFPROTO__ALERT__KIND__SEGMENT_REMOVED:
    sfc_peers_forget(&context->peers, alert->rank, alert->segment);
    break;
  case SFPROTO__ALERT__KIND__REGION_REVOKED:
    sfc_peers_revoke(&context->peers, alert->rank, alert->region);
    break;
  default: /* from a newer daemon; optional */
    break;
  }
}

/* ended: why the socket ended. If an alert cannot be received, this rank fails for all. The daemon ends the socket also
 * if this rank could not receive an answer. */
static void fail_context(sf_context_t *context, sf_status_t ended)
{
  if (ended != SF_ERR_DAEMON_LOST)
    (void)sfc_daemon_give_up(&context->control, ended);
  sf_status_t status = sfc_daemon_failure(&context->control);
  if (status == SF_OK || status == SF_ERR_DAEMON_LOST)
    sfc_context_fail(context, SF_ERR_DAEMON_LOST, "sfd has closed the connection or died");
  else
    sfc_context_fail(context, status, sfshm_error_detail());
}

static void *listen_for_alerts(void *argument)
{
  sf_context_t *context = argument;
  sfproto_incoming_t incoming;
  sf_status_t status;
  while ((status = sfproto_conn_receive(context->listener.conn, -1, &incoming)) == SF_OK) {
    if (incoming.message->body_case == SFPROTO__MESSAGE__BODY_ALERT)
      carry_out(context, incoming.message->alert);
    sfproto_incoming_free(&incoming);
  }
  /* Also reached at the end of sf_finalize. */
  atomic_store(&context->daemon_gone, true);
  fail_context(context, status);
  return NULL;
}

sf_status_t sfc_listener_start(sfc_listener_t *listener, sf_context_t *context)
{
  int error = sfshm_thread_start(&listener->thread, STACK_BYTES, listen_for_alerts, context);
  if (error != 0)
    return sfshm_error(SF_ERR_SYS, "starting the alert listener: %s", strerror(error));
  pthread_setname_np(listener->thread, "sf-alerts");
  listener->running = true;
  return SF_OK;
}

void sfc_listener_close(sfc_listener_t *listener)
{
  if (listener->running) {
    shutdown(sfproto_conn_fd(listener->conn), SHUT_RDWR);
    pthread_join(listener->thread, NULL);
    listener->running = false;
  }
  if (listener->daemon_end >= 0)
    close(listener->daemon_end);
  listener->daemon_end = -1;
  sfproto_conn_destroy(listener->conn);
  listener->conn = NULL;
}
