/* Shared by session.c (handles, input, end) and session_send.c (output). */
#ifndef SFD_CLIENTS_SESSION_INTERNAL_H
#define SFD_CLIENTS_SESSION_INTERNAL_H

#include "daemon/clients/session.h"

static inline bool sfd_session_serves(const sfd_session_t *session)
{
  return session->state < SFD_SESSION_ENDING;
}

/* The session can't be served any more; reason "": the other end is gone. */
void sfd_session_lose_for(sfd_session_t *session, const char *reason);

/* Attends to the session, and reads from it, after at most so long. */
void sfd_session_retry_in(sfd_session_t *session, uint64_t ms);

#endif
