/* Which request may come when, and who handles it. */
#ifndef SFD_CLIENT_REQUESTS_H
#define SFD_CLIENT_REQUESTS_H

#include "daemon/clients.h"

/* Handles a message. What is malformed or out of place ends the connection. Handlers that keep a descriptor put -1 in
 * its place. */
void sfd_client_requests_handle(sfd_session_t *session, sfproto_incoming_t *incoming);

#endif
