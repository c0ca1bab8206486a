/* Table of listeners for the ends of ranks, jobs, groups and graphs: see jobs/life.h. */
#ifndef SFD_LIFE_H
#define SFD_LIFE_H

#include "daemon/jobs.h"

extern const sfd_life_t sfd_life;

#endif
