/* Counters of a rank as plain numbers. A rank can write anything there, so nothing is trusted. */
#ifndef SFREPORT_COUNTERS_H
#define SFREPORT_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/report/shape.h"
#include "proto/sf_control.pb-c.h"
#include "shm/observe/counters.h"

/* The fields of sfshm_counter_set_t. */
typedef struct sfreport_counts {
#define SFREPORT_COUNT_FIELD(field, text) uint64_t field;
  SFSHM_COUNTER_TABLE(SFREPORT_COUNT_FIELD)
#undef SFREPORT_COUNT_FIELD
} sfreport_counts_t;

/* kinds of operations, by their public names */
#define SFREPORT_KINDS 6
extern const char *const sfreport_kind_names[SFREPORT_KINDS];

/* Of one in SFSHM_SAMPLED_EVERY operations: by kind, how many took from 2^bucket to below 2^(bucket + 1) ns, and the
 * sum. */
typedef struct sfreport_latency {
  uint64_t operations[SFREPORT_KINDS][SFSHM_LATENCY_BUCKETS];
  uint64_t sum_ns[SFREPORT_KINDS];
} sfreport_latency_t;

typedef struct sfreport_graph_counts {
  uint64_t graph;
  uint64_t multi_of;                 /* graph of which this is the multi-graph; 0: none */
  uint64_t oldest_wait_ns;           /* how long the rank had waited when read; 0: it does not wait */
  char call_site[SFSHM_PLACE_BYTES]; /* of its creation; "": unknown */
  sfreport_counts_t counts;
  sfreport_latency_t latency;
  sfreport_degrees_t degrees;
} sfreport_graph_counts_t;

/* How long a rank has waited for another rank of its node, or for another node. */
typedef struct sfreport_wait_for {
  bool node;
  int32_t peer; /* rank of the job, or node */
  uint64_t ns;
} sfreport_wait_for_t;

typedef struct sfreport_rank_counts {
  sfreport_counts_t total; /* of the graphs below, and of destroyed ones */
  uint64_t sleeps;
  uint64_t oldest_wait_ns; /* on any graph, or in another collective call */
  int ngraphs;
  sfreport_graph_counts_t graphs[SFSHM_COUNTED_GRAPHS]; /* existing ones */
  int nwaits_for;
  sfreport_wait_for_t waits_for[SFSHM_COUNTED_LANES]; /* a peer may occur several times, once per graph */
} sfreport_rank_counts_t;

/* Reads the counters of a rank that a daemon describes: from the descriptor, which stays the caller's, or (-1) from the
 * message; each counter once, without disturbing the rank. SF_ERR_NOT_FOUND: no counters; SF_ERR_PROTO: not a counters
 * region; SF_ERR_VERSION: another layout; SF_ERR_NOMEM, SF_ERR_SYS. The second function returns a copy; free with
 * sfshm_counters_free. */
sf_status_t sfreport_counters_of(const Sfproto__RankInfo *rank, int fd, sfreport_rank_counts_t *counts_p);
sf_status_t sfreport_counters_copy_of(const Sfproto__RankInfo *rank, int fd, sfshm_counters_t **copy_p);

/* Degrees of one graph of the rank. */
sfreport_degrees_t sfreport_degrees_of(const sfshm_counters_t *copy, const sfshm_graph_counters_t *graph);

/* Merges one more rank's counts of a graph. Operations are collective: begun is the maximum over the ranks, completed
 * the minimum; the rest is added. first: *sum is empty. */
void sfreport_counts_merge(sfreport_counts_t *sum, const sfreport_counts_t *counts, bool first);

/* Adds each bucket. */
void sfreport_latency_add(sfreport_latency_t *sum, const sfreport_latency_t *latency);

/* Payload bytes sent to other ranks, by any protocol. */
uint64_t sfreport_counts_sent_bytes(const sfreport_counts_t *counts);

#endif
