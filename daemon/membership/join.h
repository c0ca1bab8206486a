/* Joining: from Hello to Welcome. */
#ifndef SFD_MEMBERSHIP_JOIN_H
#define SFD_MEMBERSHIP_JOIN_H

#include "daemon/clients.h"
#include "daemon/jobs.h"

/* An Error as answer ends the connection. */
void sfd_join_handle_hello(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

/* Maximum ranks of a job in a cluster of nnodes: their nodes must fit into a message between daemons. Alone there is no
 * such limit. */
int32_t sfd_join_most_ranks(int32_t nnodes);

/* All ranks have come (rank_nodes: taken over; NULL: all here): sends Welcome to those here. SF_ERR_NOMEM: the job did
 * not start, and the caller dismisses its ranks. */
sf_status_t sfd_join_start(sfd_job_t *job, uint64_t id, int32_t *rank_nodes);

/* Turns away one rank of a joining job; or all ranks here, which ends the job here. */
void sfd_join_dismiss(sfd_job_t *job, int32_t number, sf_status_t status, const char *detail);
void sfd_join_dismiss_all(sfd_job_t *job, sf_status_t status, const char *detail);

/* Leaving: Goodbye of a rank, and JobLeft of another node. */
void sfd_leave_handle_goodbye(sfd_session_t *session, const Sfproto__Message *message);
sf_status_t sfd_leave_handle_peer_left(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif
