/* Gathering of a daemon's messages and the counters that belong to them. A rank can write anything into its counters,
 * so they count only for graphs of its own job. */
#ifndef SFREPORT_GATHER_H
#define SFREPORT_GATHER_H

#include "proto/report/counters.h"
#include "proto/report/list.h"

/* How long a rank has waited, and for which. */
typedef struct sfreport_gathered_wait {
  int32_t node; /* node of the peer; 0 if nodes are not named */
  uint64_t job_id;
  int32_t rank; /* -1: the node */
  uint64_t ns;
} sfreport_gathered_wait_t;

/* Start with {0}; large. */
typedef struct sfreport_gather {
  sfreport_list_t list;
  sfreport_item_t **index; /* of its graphs, by job and number */
  sfreport_rank_counts_t counts;
  sfreport_gathered_wait_t *waits; /* of its ranks */
  size_t nwaits, waits_capacity;
} sfreport_gather_t;

/* Appends a message, which the list owns then. counters_fd: counters of a rank; -1: in the message, or unknown.
 * SF_ERR_NOMEM: the message stays the caller's. */
sf_status_t sfreport_gather_add(sfreport_gather_t *gather, Sfproto__Message *message, int counters_fd);

/* All graphs have been added; counters of ranks follow, in any order. SF_ERR_NOMEM. */
sf_status_t sfreport_gather_begin_counting(sfreport_gather_t *gather);
void sfreport_gather_count(sfreport_gather_t *gather, const Sfproto__Message *rank, int counters_fd);

/* Adds up the waits for each rank: those of ranks of its node, and, if nodes were named, its equal part of those of
 * other nodes. The list stays, for the caller to clear. */
void sfreport_gather_end(sfreport_gather_t *gather);

#endif
