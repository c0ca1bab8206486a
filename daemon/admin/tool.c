/* Sessions of tools: see tool.h. The daemon's thread. */
#include "daemon/admin/tool.h"

#include <stdlib.h>

#include "daemon/admin/remote_query.h"
#include "shm/base/error.h"

#define PORTION 64 /* messages sent before others are served */

/* ---- The role ---------------------------------------------------------------------------------------------------- */

static bool has_more(const sfd_session_t *session)
{
  return session->query->active && !sfd_remote_query_waits(session->query->remote);
}

/* Sends the next portion. */
static void on_writable(sfd_session_t *session)
{
  if (!session->query->active)
    return;
  if (session->query->remote != NULL) {
    sfd_remote_query_continue(session->query->remote);
    return;
  }
  for (int i = 0; i < PORTION; i++)
    if (!sfd_query_send_next(session->query)) {
      sfd_tool_send_end(session);
      return;
    }
}

static void on_closed(sfd_session_t *session)
{
  sfd_remote_query_free(session->query->remote);
  free(session->query);
  session->query = NULL;
}

static const sfd_session_role_t tool_role = {.has_more = has_more, .writable = on_writable, .closed = on_closed};

/* ---- Questions --------------------------------------------------------------------------------------------------- */

static void send_to_session(void *context, const Sfproto__Message *message, const int fds[], int nfds)
{
  sfd_session_send(context, message, fds, nfds);
}

sf_status_t sfd_tool_check_idle(const sfd_session_t *session)
{
  if (session->query == NULL || !session->query->active)
    return SF_OK;
  return sfshm_error(SF_ERR_STATE, "the query before is not answered yet");
}

sf_status_t sfd_tool_begin(sfd_session_t *session, uint64_t request, sfd_remote_query_t *remote)
{
  if (session->query == NULL)
    session->query = malloc(sizeof *session->query);
  if (session->query == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a query");
  session->role = &tool_role;
  *session->query = (sfd_query_t){.server = session->server,
                                  .uid = session->uid,
                                  .send = send_to_session,
                                  .context = session,
                                  .active = remote != NULL,
                                  .request = request,
                                  .remote = remote};
  return SF_OK;
}

void sfd_tool_send_end(sfd_session_t *session)
{
  Sfproto__Message message = SFPROTO_MESSAGE_OF(QUERY_END, query_end, .count = session->query->count);
  message.request = session->query->request;
  session->query->active = false;
  sfd_session_send(session, &message, NULL, 0);
}

static sf_status_t begin(sfd_session_t *session, const Sfproto__Message *message)
{
  const Sfproto__Query *asked = message->query;
  sf_status_t status = sfd_tool_check_idle(session);
  if (status != SF_OK)
    return status;
  if (asked->has_node || asked->all_nodes)
    return sfd_remote_query_begin(session, message);
  status = sfd_tool_begin(session, message->request, NULL);
  return status == SF_OK ? sfd_query_begin(session->query, asked) : status;
}

void sfd_tool_handle_query(sfd_session_t *session, const Sfproto__Message *message)
{
  sf_status_t status = begin(session, message);
  if (status != SF_OK)
    sfd_session_send_error(session, message->request, status, sfshm_error_detail());
  else
    sfd_session_mark(session);
}
