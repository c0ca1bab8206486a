/* What a graph would send that nobody has made yet: messages and values of one exchange, from the wants of its ranks,
 * by the code by which daemons plan it. */
#ifndef SFCTL_PLAN_FORECAST_H
#define SFCTL_PLAN_FORECAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfctl/plan/wants.h"

/* A graph: who wants what. */
typedef struct sfctl_problem {
  int32_t nranks;
  int32_t per_node;
  bool cyclic; /* rank r is on node r % nnodes; else on node r / per_node */
  sf_status_t (*wants)(const void *context, int32_t rank, sfctl_wants_t *wants);
  const void *context;
} sfctl_problem_t;

typedef struct sfctl_load {
  int64_t messages, values;
} sfctl_load_t;

/* In a bcast. A reduce sends the same the other way. */
typedef struct sfctl_node_load {
  sfctl_load_t flat_out, flat_in; /* as a library in each process would: one message for two ranks of different nodes */
  sfctl_load_t out, in;           /* one message for two nodes, each root once */
  sfctl_load_t within;            /* between ranks of the node: through shared memory */
} sfctl_node_load_t;

typedef struct sfctl_node_pair {
  int32_t from, to; /* roots are on from */
  sfctl_load_t flat, coalesced;
} sfctl_node_pair_t;

typedef struct sfctl_forecast {
  int32_t nnodes;
  sfctl_node_load_t *nodes;
  sfctl_node_pair_t *pairs; /* by (to, from); those with edges */
  size_t npairs, pairs_capacity;
} sfctl_forecast_t;

/* Memory for one node's wants at a time, and two sums per node and pair of nodes. SF_ERR_NOMEM, SF_ERR_LIMIT, and what
 * problem->wants returns. */
sf_status_t sfctl_forecast_make(const sfctl_problem_t *problem, sfctl_forecast_t *forecast_p);
void sfctl_forecast_free(sfctl_forecast_t *forecast);

#endif
