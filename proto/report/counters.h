/* The counters of a rank as plain numbers. Whatever a rank writes there is data, never trusted. */
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

/* Kinds of operations, as people call them. */
#define SFREPORT_KINDS 5
extern const char *const sfreport_kind_names[SFREPORT_KINDS];

/* Of one in SFSHM_SAMPLED_EVERY operations, from begin to end: how many took from 2^bucket to below 2^(bucket + 1) ns,
 * and how long all of them together, by kind. */
typedef struct sfreport_latency {
  uint64_t operations[SFREPORT_KINDS][SFSHM_LATENCY_BUCKETS];
  uint64_t sum_ns[SFREPORT_KINDS];
} sfreport_latency_t;

typedef struct sfreport_graph_counts {
  uint64_t graph;
  uint64_t multi_of;       /* of which it is the multi-graph; 0: it is none */
  uint64_t oldest_wait_ns; /* how long the rank has waited there when it was looked at; 0: it does not */
  sfreport_counts_t counts;
  sfreport_latency_t latency;
  sfreport_degrees_t degrees;
} sfreport_graph_counts_t;

/* Of one rank: how long it has waited for another one of its node, or for another node. */
typedef struct sfreport_wait_for {
  bool node;
  int32_t peer; /* rank of the job, or node */
  uint64_t ns;
} sfreport_wait_for_t;

typedef struct sfreport_rank_counts {
  sfreport_counts_t total; /* of the graphs below, and of those that are no more */
  uint64_t sleeps;
  uint64_t oldest_wait_ns; /* on any graph, or in a call that others have to make, too */
  int ngraphs;
  sfreport_graph_counts_t graphs[SFSHM_COUNTED_GRAPHS]; /* those that live */
  int nwaits_for;
  sfreport_wait_for_t waits_for[SFSHM_COUNTED_LANES]; /* some several times: once for each graph */
} sfreport_rank_counts_t;

/* Of a rank that a daemon tells of: from the descriptor, which stays the caller's, or if that is -1 from the message.
 * Reads every counter once, with relaxed loads and without any lock: the rank does not notice. SF_ERR_NOT_FOUND: there
 * are none; SF_ERR_PROTO: not a region of counters; SF_ERR_VERSION: of another layout; SF_ERR_NOMEM, SF_ERR_SYS. The
 * second one gives them as they are, to be freed with sfshm_counters_free. */
sf_status_t sfreport_counters_of(const Sfproto__RankInfo *rank, int fd, sfreport_rank_counts_t *counts_p);
sf_status_t sfreport_counters_copy_of(const Sfproto__RankInfo *rank, int fd, sfshm_counters_t **copy_p);

/* Edges of one graph of the rank, out of its counters. */
sfreport_degrees_t sfreport_degrees_of(const sfshm_counters_t *copy, const sfshm_graph_counters_t *graph);

/* One more rank's counts of a graph. Operations are collective, so those begun are what the rank furthest ahead has
 * begun, and those completed what the last rank has; the rest is added. first: *sum holds nothing yet. */
void sfreport_counts_merge(sfreport_counts_t *sum, const sfreport_counts_t *counts, bool first);

/* Adds each bucket. */
void sfreport_latency_add(sfreport_latency_t *sum, const sfreport_latency_t *latency);

/* Payload bytes to other ranks, whatever way they went. */
uint64_t sfreport_counts_sent_bytes(const sfreport_counts_t *counts);

#endif
