/* What group.c and group_leave.c share. */
#ifndef SFD_JOBS_GROUP_INTERNAL_H
#define SFD_JOBS_GROUP_INTERNAL_H

#include "daemon/jobs/group.h"

/* Nobody can refer to it any more, except graphs. */
void sfd_group_unlist(sfd_group_t *group);

/* It is not being formed any more. */
void sfd_group_end_forming(sfd_group_t *group);

/* Answers those who wait for a group that is being formed, and forgets it. */
void sfd_group_fail_forming(sfd_group_t *group, sf_status_t status, const char *detail);

/* The member takes part in nothing new. */
void sfd_group_mark_gone(sfd_group_t *group, int32_t group_rank);

#endif
