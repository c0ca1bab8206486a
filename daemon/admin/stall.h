/* Stalls: operations in which ranks wait long, for sfctl stuck and the log. Reads the ranks' counters, which may have
 * any content. The daemon's thread. */
#ifndef SFD_ADMIN_STALL_H
#define SFD_ADMIN_STALL_H

#include "daemon/jobs.h"

/* RankState of a rank; free with sfproto__message__free_unpacked. */
sf_status_t sfd_stall_state(const sfd_rank_t *rank, Sfproto__Message **message_p);

/* Number of stalled jobs. */
int32_t sfd_stalls_count(const sfd_server_t *server);

/* Begins to look for stalls regularly, if option stall-after is set. */
void sfd_stalls_watch(sfd_server_t *server);

#endif
