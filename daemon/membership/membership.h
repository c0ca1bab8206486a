/* State of joining jobs in a daemon, besides the jobs. */
#ifndef SFD_MEMBERSHIP_MEMBERSHIP_H
#define SFD_MEMBERSHIP_MEMBERSHIP_H

#include <stdint.h>
#include <sys/queue.h>

#include "daemon/base.h"

struct sfd_coordinator;
struct sfd_coordinator_quota;
TAILQ_HEAD(sfd_coordinator_list, sfd_coordinator);
LIST_HEAD(sfd_coordinator_quota_list, sfd_coordinator_quota);

/* Why a joining job failed here, for a JobStart that was sent before the coordinator knew. */
#define SFD_WITHDRAWN 8
typedef struct sfd_withdrawn {
  uint64_t serial; /* of the job */
  char detail[SFD_TEXT_SIZE];
} sfd_withdrawn_t;

typedef struct sfd_membership {
  struct sfd_coordinator_list coordinators; /* see coordinator.h */
  sfd_withdrawn_t withdrawn[SFD_WITHDRAWN]; /* the last ones */
  unsigned nwithdrawn;                      /* added so far */
  struct sfd_coordinator_quota_list quotas; /* see coordinator_quota.h */
} sfd_membership_t;

#endif
