/* Traffic between ranks or nodes, from the counters of ranks. */
#ifndef SFCTL_TRAFFIC_H
#define SFCTL_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfctl/connection.h"

typedef enum sfctl_party_kind { SFCTL_PARTY_RANK = 0, SFCTL_PARTY_NODE = 1, SFCTL_PARTY_OTHERS = 2 } sfctl_party_kind_t;

/* A rank, or a node; others: those that a rank does not count separately. */
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
  sfctl_flow_t *flows; /* by from and to; each pair once, none empty */
  size_t nflows, capacity;
  uint64_t job_id; /* 0: no ranks */
  char job[64];
  int32_t nunknown; /* ranks whose counters can't be read */
} sfctl_traffic_t;

typedef enum sfctl_by {
  SFCTL_BY_RANKS, /* sent by ranks: to ranks of the node, and to other nodes */
  SFCTL_BY_NODES, /* sent by daemons to other nodes; of arrays that exist, the elements of requests to other nodes */
  SFCTL_BY_PAIRS, /* from rank to rank: on one node as sent, else the payload that the pair needs, without messages */
} sfctl_by_t;

/* What to count. */
typedef struct sfctl_traffic_question {
  const char *job; /* NULL: the only job */
  uint64_t graph;  /* 0: all, with destroyed ones */
  sfctl_by_t by;
} sfctl_traffic_question_t;

/* Collects traffic; free it. SF_ERR_ARG: several jobs, and none is named; SF_ERR_NOT_FOUND: no such graph or job;
 * errors of sfctl_collect. */
sf_status_t sfctl_traffic_ask(sfctl_connection_t *connection, const sfctl_traffic_question_t *question,
                              sfctl_traffic_t *traffic_p);

/* Subtracts earlier traffic. */
void sfctl_traffic_subtract(sfctl_traffic_t *traffic, const sfctl_traffic_t *before);
void sfctl_traffic_free(sfctl_traffic_t *traffic);

/* Orders by kind and number. */
int sfctl_party_compare(const sfctl_party_t *a, const sfctl_party_t *b);

#endif
