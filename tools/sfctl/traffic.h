/* Who has sent how much to whom, out of the counters of ranks. */
#ifndef SFCTL_TRAFFIC_H
#define SFCTL_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfctl/connection.h"

typedef enum sfctl_party_kind { SFCTL_PARTY_RANK = 0, SFCTL_PARTY_NODE = 1, SFCTL_PARTY_OTHERS = 2 } sfctl_party_kind_t;

/* A rank of a job, or a node; others: ranks or nodes that a rank does not count apart. */
typedef struct sfctl_party {
  sfctl_party_kind_t kind;
  int32_t number;
} sfctl_party_t;

typedef struct sfctl_flow {
  sfctl_party_t from, to;
  uint64_t messages, bytes;
} sfctl_flow_t;

/* Start with {0}. */
typedef struct sfctl_traffic {
  sfctl_flow_t *flows; /* sorted by from and to; each pair once; none of nothing */
  size_t nflows, capacity;
  uint64_t job_id; /* of the ranks; 0: there are none */
  char job[64];
  int32_t nunknown; /* ranks whose counters can't be read */
} sfctl_traffic_t;

typedef enum sfctl_by {
  SFCTL_BY_RANKS, /* what ranks send: to ranks of the same node, and to other nodes */
  SFCTL_BY_NODES, /* from node to node: what daemons send */
  SFCTL_BY_PAIRS, /* from rank to rank: on one node what they send, else the payload that the pair needs; no messages */
} sfctl_by_t;

/* What to count. */
typedef struct sfctl_traffic_question {
  const char *job; /* NULL: the only one that there is */
  uint64_t graph;  /* 0: all, those that are gone included */
  sfctl_by_t by;
} sfctl_traffic_question_t;

/* Asks. SF_ERR_ARG: there are several jobs and none is named; SF_ERR_NOT_FOUND: no such graph, or job; others as
 * sfctl_collect. To be freed. */
sf_status_t sfctl_traffic_ask(sfctl_connection_t *connection, const sfctl_traffic_question_t *question,
                              sfctl_traffic_t *traffic_p);

/* Subtracts what had been sent before. */
void sfctl_traffic_subtract(sfctl_traffic_t *traffic, const sfctl_traffic_t *before);
void sfctl_traffic_free(sfctl_traffic_t *traffic);

/* Orders by kind and number. */
int sfctl_party_compare(const sfctl_party_t *a, const sfctl_party_t *b);

#endif
