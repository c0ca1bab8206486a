/* Forecast of a graph's traffic before it exists: messages and values of one exchange, from the roots that its ranks
 * need, by the code of the daemons. */
#ifndef SFCTL_PLAN_FORECAST_H
#define SFCTL_PLAN_FORECAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfctl/plan/wants.h"

/* A graph, by the roots that each rank needs. */
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

void sfctl_load_add(sfctl_load_t *load, int64_t messages, int64_t values);

/* Of a bcast; a reduce sends the same in the other direction. */
typedef struct sfctl_node_load {
  sfctl_load_t flat_out, flat_in; /* as with a library per process: a message per pair of ranks on different nodes */
  sfctl_load_t out, in;           /* a message per pair of nodes, each root once */
  sfctl_load_t within;            /* between ranks of the node, in shared memory */
} sfctl_node_load_t;

typedef struct sfctl_node_pair {
  int32_t from, to; /* from: node of the roots */
  sfctl_load_t flat, coalesced;
} sfctl_node_pair_t;

typedef struct sfctl_forecast {
  int32_t nnodes;
  sfctl_node_load_t *nodes;
  sfctl_node_pair_t *pairs; /* by (to, from), with edges */
  size_t npairs, pairs_capacity;
} sfctl_forecast_t;

/* Needs memory for one node at a time, and two sums per node and pair of nodes. SF_ERR_NOMEM, SF_ERR_LIMIT, errors of
 * problem->wants. */
sf_status_t sfctl_forecast_make(const sfctl_problem_t *problem, sfctl_forecast_t *forecast_p);
void sfctl_forecast_free(sfctl_forecast_t *forecast);

#endif
