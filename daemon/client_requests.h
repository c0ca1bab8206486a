/* Requests of clients and tools: table of handlers, and the states in which requests are allowed. */
#ifndef SFD_CLIENT_REQUESTS_H
#define SFD_CLIENT_REQUESTS_H

#include "daemon/clients.h"

/* Handles a message. A malformed or misplaced message ends the connection. Handlers replace descriptors that they keep
 * by -1. */
void sfd_client_requests_handle(sfd_session_t *session, sfproto_incoming_t *incoming);

#endif
