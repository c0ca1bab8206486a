/* The daemon as a whole: its event loop handles, its connections and jobs. One thread runs the loop and owns everything
 * in daemon/.
 *
 * A turn of the loop: callbacks read messages and change state, but write nothing and end no connection; they only mark
 * sessions for attention (sfd_session_mark). Before the loop sleeps, the marked sessions are attended to one by one:
 * their output is written, and those that are to end end, which may mark others. So nothing that a callback works on
 * disappears under its hands. */
#ifndef SFD_SERVER_H
#define SFD_SERVER_H

#include <uv.h>

#include <sf/sf_status.h>

#include "daemon/base.h"

/* Starts serving a listening, non-blocking socket, which stays the caller's, on a loop that the caller runs. The
 * options must outlive the server. */
sf_status_t sfd_server_create(uv_loop_t *loop, const sfd_options_t *options, int listen_fd, const sfshm_costs_t *costs,
                              sfd_server_t **server_p);

/* Joins the other daemons that the options name, if any, and serves metrics if they say so. Before the loop runs. */
sf_status_t sfd_server_connect(sfd_server_t *server);

/* Closes all connections and handles: when the loop has nothing left to do, the server can be destroyed. SIGTERM and
 * SIGINT do the same. */
void sfd_server_stop(sfd_server_t *server);
void sfd_server_destroy(sfd_server_t *server); /* NULL is accepted */

#endif
