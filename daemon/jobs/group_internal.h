/* Shared by group.c and group_leave.c. */
#ifndef SFD_JOBS_GROUP_INTERNAL_H
#define SFD_JOBS_GROUP_INTERNAL_H

#include "daemon/jobs/group.h"

/* Takes the group out of the tables; graphs may still refer to it. */
void sfd_group_unlist(sfd_group_t *group);

void sfd_group_end_forming(sfd_group_t *group);

/* Answers the ranks that wait for a forming group, and frees it. */
void sfd_group_fail_forming(sfd_group_t *group, sf_status_t status, const char *detail);

/* The member has left or destroyed the group. */
void sfd_group_mark_gone(sfd_group_t *group, int32_t group_rank);

#endif
