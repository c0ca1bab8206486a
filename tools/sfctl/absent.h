/* Absent ranks: of jobs with ranks that wait in collective calls, the ranks of which no state is known. */
#ifndef SFCTL_ABSENT_H
#define SFCTL_ABSENT_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"

typedef struct sfctl_absent {
  const Sfproto__RankState *state; /* of a waiting rank of the job */
  int32_t rank;
} sfctl_absent_t;

/* From RankState messages; by job, then rank. Free *absent_p. SF_ERR_NOMEM: it is not set. */
sf_status_t sfctl_absent_find(const sfreport_list_t *states, uint64_t threshold_ns, sfctl_absent_t **absent_p,
                              size_t *n_p);

#endif
