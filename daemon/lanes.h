/* Round 2 of a graph's set-up: lanes. */
#ifndef SFD_LANES_H
#define SFD_LANES_H

#include "daemon/setup.h"

/* Checks what GraphCommit of a rank, member place of the group, says. */
sf_status_t sfd_lanes_check(const Sfproto__GraphCommit *commit, const sfd_rank_t *rank, const sfd_group_t *group,
                            int32_t place);

/* Copies the lanes; SF_ERR_NOMEM. */
sf_status_t sfd_lanes_store(const Sfproto__GraphCommit *commit, sfd_setup_member_t *member);

/* Whether everybody whom a member names, names it. SF_ERR_PROTO with a detail. */
sf_status_t sfd_lanes_agree(const sfd_graph_t *graph);

/* Tells every member what the others said for it. SF_ERR_NOMEM: nobody has been told. */
sf_status_t sfd_lanes_send(sfd_graph_t *graph);

#endif
