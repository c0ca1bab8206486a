/* Ranks of jobs of which some wait in calls that all have to make, and that are not known themselves. */
#ifndef SFCTL_ABSENT_H
#define SFCTL_ABSENT_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"

typedef struct sfctl_absent {
  const Sfproto__RankState *state; /* of a rank of the job that waits */
  int32_t rank;
} sfctl_absent_t;

/* Of a list of RankState messages; by job, then by rank. *absent_p is to be freed. SF_ERR_NOMEM: there is none then. */
sf_status_t sfctl_absent_find(const sfreport_list_t *states, uint64_t threshold_ns, sfctl_absent_t **absent_p,
                              size_t *n_p);

#endif
