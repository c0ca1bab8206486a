/* Joining: from Hello to Welcome. */
#ifndef SFD_MEMBERSHIP_JOIN_H
#define SFD_MEMBERSHIP_JOIN_H

#include "daemon/clients.h"
#include "daemon/jobs.h"

/* An Error in answer to Hello is final: the connection ends. */
void sfd_join_handle_hello(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds);

/* How many ranks a job may have where the daemon knows so many nodes: where each of them is has to fit into a message
 * between these. Alone there is no such limit. */
int32_t sfd_join_most_ranks(int32_t nnodes);

/* All ranks of the job have come, to this node or others (rank_nodes, taken over; NULL: all are here): welcomes those
 * of this node. SF_ERR_NOMEM: it did not start; those of this node are to be dismissed. */
sf_status_t sfd_join_start(sfd_job_t *job, uint64_t id, int32_t *rank_nodes);

/* Turns away one rank of a job that is joining, or all that are here, with which the job ends here. */
void sfd_join_dismiss(sfd_job_t *job, int32_t number, sf_status_t status, const char *detail);
void sfd_join_dismiss_all(sfd_job_t *job, sf_status_t status, const char *detail);

/* Leaving: Goodbye of a rank, and JobLeft of another node. */
void sfd_leave_handle_goodbye(sfd_session_t *session, const Sfproto__Message *message);
sf_status_t sfd_leave_handle_peer_left(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

#endif
