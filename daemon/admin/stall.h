/* Looking into what ranks do: for sfctl stuck, and for the log, which tells of each stall once. Reads their counters,
 * which may say anything; who they are the daemon knows. The daemon's thread. */
#ifndef SFD_ADMIN_STALL_H
#define SFD_ADMIN_STALL_H

#include "daemon/jobs.h"

/* The RankState of a rank; to be freed by sfproto__message__free_unpacked. */
sf_status_t sfd_stall_state(const sfd_rank_t *rank, Sfproto__Message **message_p);

/* Jobs that are stalled. */
int32_t sfd_stalls_count(const sfd_server_t *server);

/* Looks for stalls now and then, if the options say so. */
void sfd_stalls_watch(sfd_server_t *server);

#endif
