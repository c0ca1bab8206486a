/* Round 1 of a graph's set-up: edges. */
#ifndef SFD_PEERS_H
#define SFD_PEERS_H

#include "daemon/setup/setup.h"

/* Checks what GraphCreate of the rank says, which is member place of the group. */
sf_status_t sfd_peers_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                            int32_t place, const int fds[], int nfds);

/* Keeps those of the message. */
sf_status_t sfd_peers_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member);
void sfd_peers_free(sfd_job_t *job, sfd_setup_member_t *member);

#endif
