/* The daemon as a whole. One thread runs the event loop and owns all state. In a turn of the loop, callbacks read
 * messages and change state; they write no output and end no connection, but mark sessions for attention
 * (sfd_session_mark). Before the loop sleeps it attends to the marked sessions: writes their output, and ends those
 * that must end, which may mark others. So no callback frees what another one works on. */
#ifndef SFD_SERVER_H
#define SFD_SERVER_H

#include <uv.h>

#include <sf/sf_status.h>

#include "daemon/base.h"

/* Begins to serve a listening, non-blocking socket of the caller, on a loop that the caller runs. The options must
 * outlive the server. */
sf_status_t sfd_server_create(uv_loop_t *loop, const sfd_options_t *options, int listen_fd, const sfshm_costs_t *costs,
                              sfd_server_t **server_p);

/* Joins other daemons and serves metrics, as the options say. Before the loop runs. */
sf_status_t sfd_server_connect(sfd_server_t *server);

/* Closes all connections and handles, as do SIGTERM and SIGINT. When the loop has nothing left, the server can be
 * destroyed. */
void sfd_server_stop(sfd_server_t *server);
void sfd_server_destroy(sfd_server_t *server); /* NULL is accepted */

#endif
