/* Puts together what the daemon tells, message by message, with the counters that belong to it. A rank can write what
 * it likes into its counters, so they count only for its own job's graphs. */
#ifndef SFREPORT_GATHER_H
#define SFREPORT_GATHER_H

#include "proto/report/counters.h"
#include "proto/report/list.h"

/* How long a rank has waited: for whom. */
typedef struct sfreport_gathered_wait {
  int32_t node; /* where that is; 0 if no nodes were named */
  uint64_t job_id;
  int32_t rank; /* -1: for the node */
  uint64_t ns;
} sfreport_gathered_wait_t;

/* Start with {0}; large. */
typedef struct sfreport_gather {
  sfreport_list_t list;
  sfreport_item_t **index; /* of the graphs in it, by job and number */
  sfreport_rank_counts_t counts;
  sfreport_gathered_wait_t *waits; /* of the ranks in the list */
  size_t nwaits, waits_capacity;
} sfreport_gather_t;

/* Appends the message, which is then the list's. counters_fd: of a rank, its counters; -1: they are in the
 * message, or unknown. SF_ERR_NOMEM: it stays
 * the caller's. */
sf_status_t sfreport_gather_add(sfreport_gather_t *gather, Sfproto__Message *message, int counters_fd);

/* All graphs have been added, and now their counters come: from each rank, in any order. SF_ERR_NOMEM. */
sf_status_t sfreport_gather_begin_counting(sfreport_gather_t *gather);
void sfreport_gather_count(sfreport_gather_t *gather, const Sfproto__Message *rank, int counters_fd);

/* Adds up who was waited for, if ranks have been added: by ranks of the node, and if nodes were named by those of other
 * nodes, which know the node only: each rank of the job there gets an equal part. The list stays, and is the caller's
 * to clear. */
void sfreport_gather_end(sfreport_gather_t *gather);

#endif
