/* What a daemon keeps of jobs that are joining, beside the jobs themselves. */
#ifndef SFD_MEMBERSHIP_MEMBERSHIP_H
#define SFD_MEMBERSHIP_MEMBERSHIP_H

#include <stdint.h>
#include <sys/queue.h>

#include "daemon/base.h"

struct sfd_assembly;
struct sfd_unsent;
TAILQ_HEAD(sfd_assembly_list, sfd_assembly);
LIST_HEAD(sfd_unsent_list, sfd_unsent);

/* Why a job that was joining has failed here: its home may find that all have come before it hears of that. */
#define SFD_WITHDRAWN 8
typedef struct sfd_withdrawn {
  uint64_t serial; /* of the job */
  char detail[SFD_TEXT_SIZE];
} sfd_withdrawn_t;

typedef struct sfd_membership {
  struct sfd_assembly_list assemblies;      /* see coordinator.h */
  sfd_withdrawn_t withdrawn[SFD_WITHDRAWN]; /* the last ones */
  unsigned nwithdrawn;                      /* so far */
  struct sfd_unsent_list unsent;            /* see coordinator_quota.h */
} sfd_membership_t;

#endif
