/* What setup.c, setup_requests.c and setup_end.c share. */
#ifndef SFD_SETUP_SETUP_INTERNAL_H
#define SFD_SETUP_SETUP_INTERNAL_H

#include "daemon/setup/setup.h"

/* Gives all who wait the error. */
void sfd_setup_answer_error(const sfd_graph_t *graph, sf_status_t status, const char *detail);

/* Round 2 can't succeed any more: a member has left. */
void sfd_setup_enter_failed(sfd_graph_t *graph);

/* Those who are here need not wait for the rest. */
void sfd_setup_answer_failed(const sfd_graph_t *graph);

/* All members of this node have said their part of round 2, or have left. */
void sfd_setup_finish_round_2(sfd_graph_t *graph);

/* The error that was agreed on is the answer, and the graph is forgotten. */
void sfd_setup_end_with_error(sfd_graph_t *graph);

/* The daemon can't do what is left, with that status and text. On one node, where nobody has been told of the graph, it
 * is an error of all. */
void sfd_setup_fail_unanswered(sfd_graph_t *graph, sf_status_t status);

/* The same over nodes, others of which believe that the graph is there, and go on to what those here would never come
 * to. So it is there for all, and fails for all. A graph that has not even got its id goes with its job. */
void sfd_setup_fail_ready(sfd_graph_t *graph, sf_status_t status);

#endif
