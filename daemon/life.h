/* What the rooms do when ranks, jobs, groups and graphs fail or end, in order: see jobs/life.h. */
#ifndef SFD_LIFE_H
#define SFD_LIFE_H

#include "daemon/jobs.h"

extern const sfd_life_t sfd_life;

#endif
