/* Round 1 of a graph's set-up: edges. */
#ifndef SFD_PEERS_H
#define SFD_PEERS_H

#include "daemon/setup/setup.h"

/* Checks what GraphCreate of the rank says, which is member place of the group. */
sf_status_t sfd_peers_check(const Sfproto__GraphCreate *create, const sfd_rank_t *rank, const sfd_group_t *group,
                            int32_t place, const int fds[], int nfds);

/* Parts of that check, also for another message, which is named: the blocks of a rank with so many leaves at that place
 * of a group of that size, and the sealed edge list in which they lie. */
sf_status_t sfd_peers_check_blocks(const char *what, Sfproto__EdgeBlock *const blocks[], size_t n, int64_t nleaves,
                                   int32_t size, int32_t place);
sf_status_t sfd_peers_check_list(const char *what, Sfproto__EdgeBlock *const blocks[], size_t n, int32_t place, int fd);

/* Copies blocks; SF_ERR_NOMEM. *blocks_p: malloc, NULL without blocks. */
sf_status_t sfd_peers_copy_blocks(Sfproto__EdgeBlock *const blocks[], size_t n, sfd_block_t **blocks_p);

/* Keeps those of the message. */
sf_status_t sfd_peers_store(const Sfproto__GraphCreate *create, sfd_setup_member_t *member);
void sfd_peers_free(sfd_job_t *job, sfd_setup_member_t *member);

#endif
