/* Round 1 of a graph's set-up: checks the edge blocks that ranks send with GraphCreate, and keeps them. */
#ifndef SFD_SETUP_ROUND1_EDGES_H
#define SFD_SETUP_ROUND1_EDGES_H

#include "daemon/setup/setup.h"

/* Checks what GraphCreate of the rank says, which is member place of the group. */
sf_status_t sfd_setup_edges_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                                  int32_t group_rank, const int fds[], int nfds);

/* Keeps those of the message. */
sf_status_t sfd_setup_edges_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member);
void sfd_setup_edges_free(sfd_job_t *job, sfd_setup_member_t *member);

#endif
