/* Shared by setup.c, setup_requests.c and setup_abort.c. */
#ifndef SFD_SETUP_SETUP_INTERNAL_H
#define SFD_SETUP_SETUP_INTERNAL_H

#include "daemon/setup/setup.h"

/* Answers all members that wait with the error. */
void sfd_setup_answer_error(const sfd_graph_t *graph, sf_status_t status, const char *detail);

/* A member has left in round 2. */
void sfd_setup_enter_failed(sfd_graph_t *graph);

/* Answers the members that have arrived with the agreed error. */
void sfd_setup_answer_failed(const sfd_graph_t *graph);

/* All members of this node have arrived in round 2, or have left. */
void sfd_setup_finish_round_2(sfd_graph_t *graph);

/* Answers all members with the agreed error, and frees the graph. */
void sfd_setup_end_with_error(sfd_graph_t *graph);

/* The daemon cannot complete the graph (status, sfshm_error_detail()). One node: the error is the answer to all
 * members. */
void sfd_setup_fail_unanswered(sfd_graph_t *graph, sf_status_t status);

/* The same over nodes: other nodes use the graph already. The graph becomes ready here, and fails on all nodes. If the
 * graph has no id yet, the job fails. */
void sfd_setup_fail_ready(sfd_graph_t *graph, sf_status_t status);

#endif
