/* Sessions of tools: one question at a time, answered in portions as the tool reads, by this node (query.h) or others
 * (remote_query.h). */
#ifndef SFD_ADMIN_TOOL_H
#define SFD_ADMIN_TOOL_H

#include <sf/sf_status.h>

#include "daemon/admin/query.h"
#include "daemon/clients.h"

void sfd_tool_handle_query(sfd_session_t *session, const Sfproto__Message *message);

/* SF_ERR_STATE: the last answer has not ended. */
sf_status_t sfd_tool_check_idle(const sfd_session_t *session);

/* Begins a question, answered by remote, or (NULL) here. SF_ERR_NOMEM. */
sf_status_t sfd_tool_begin(sfd_session_t *session, uint64_t request, struct sfd_remote_query *remote);

/* Sends the end of the answer. */
void sfd_tool_send_end(sfd_session_t *session);

#endif
