/* Joining: from Hello to Welcome. */
#ifndef SFD_JOIN_H
#define SFD_JOIN_H

#include "daemon/session.h"

/* An Error in answer to Hello is final: the connection ends. */
void sfd_join_handle_hello(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

#endif
