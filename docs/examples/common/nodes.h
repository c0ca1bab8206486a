/* Which ranks share a node, and what travels between nodes. */
#ifndef EXAMPLES_NODES_H
#define EXAMPLES_NODES_H

#include "common/job.h"
#include "common/race.h"

/* A node is what one daemon serves. Usually that is a host; sfrun --nodes starts several daemons on one. */
typedef struct nodes {
  int count;
  int *of_rank;  /* 0 .. count-1 by rank */
  bool one_host; /* all of them on one host, as MPI sees it too */
  bool first;    /* this rank is the first of its node */
} nodes_t;

/* Collective. */
nodes_t nodes_find(const job_t *job);
void nodes_free(nodes_t *nodes);

/* Counts what the daemons send to each other for one exchange, and prints it beside what messages between pairs of
 * ranks would be. Collective. */
void nodes_show_exchange(job_t *job, const nodes_t *nodes, const race_t *race);

#endif
