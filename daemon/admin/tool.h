/* Sessions of tools: one question at a time, answered in portions as the tool reads them, here (query.h) or by other
 * nodes (remote_query.h). */
#ifndef SFD_ADMIN_TOOL_H
#define SFD_ADMIN_TOOL_H

#include <sf/sf_status.h>

#include "daemon/admin/query.h"
#include "daemon/clients.h"

void sfd_tool_handle_query(sfd_session_t *session, const Sfproto__Message *message);

/* SF_ERR_STATE: the answer to the question before has not ended. */
sf_status_t sfd_tool_check_idle(const sfd_session_t *session);

/* Begins a new question of the session: what is to be answered by remote, or, NULL, here. SF_ERR_NOMEM. */
sf_status_t sfd_tool_begin(sfd_session_t *session, uint64_t request, struct sfd_remote_query *remote);

/* Ends the answer. */
void sfd_tool_send_end(sfd_session_t *session);

#endif
