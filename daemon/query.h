/* Answering sfctl: what there is, as far as the asking user may see it. Long answers are told in portions, each when
 * the one before has been read, so that nothing piles up here and nobody else waits. */
#ifndef SFD_QUERY_H
#define SFD_QUERY_H

#include "daemon/session.h"

void sfd_query_handle(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

/* Tells the next portion of the active query. */
void sfd_query_continue(sfd_session_t *session);

#endif
