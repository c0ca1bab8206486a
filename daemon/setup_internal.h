/* What setup.c and setup_end.c share. */
#ifndef SFD_SETUP_INTERNAL_H
#define SFD_SETUP_INTERNAL_H

#include "daemon/setup.h"

/* Gives all who wait the error. */
void sfd_setup_answer_error(const sfd_graph_t *graph, sf_status_t status, const char *detail);

/* Those who are here need not wait for the rest. */
void sfd_setup_answer_doomed(const sfd_graph_t *graph);

/* All members of this node have said their part of round 2, or have left. */
void sfd_setup_finish_round_2(sfd_graph_t *graph);

/* The error that was agreed on is the answer, and the graph is forgotten. */
void sfd_setup_end_with_error(sfd_graph_t *graph);

#endif
