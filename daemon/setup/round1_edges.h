/* Edge blocks of GraphCreate (round 1 of set-up): checked and stored. */
#ifndef SFD_SETUP_ROUND1_EDGES_H
#define SFD_SETUP_ROUND1_EDGES_H

#include "daemon/setup/setup.h"

/* Checks the GraphCreate of a rank. */
sf_status_t sfd_setup_edges_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                                  int32_t group_rank, const int fds[], int nfds);

sf_status_t sfd_setup_edges_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member);
void sfd_setup_edges_free(sfd_job_t *job, sfd_setup_member_t *member);

#endif
