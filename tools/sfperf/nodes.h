/* Which ranks share a node: an sfd, with the memory that it manages. Several of them may be on one host. */
#ifndef SFPERF_NODES_H
#define SFPERF_NODES_H

#include <stdbool.h>

#include <sf/sf.h>

typedef struct sfperf_nodes {
  int count;      /* nodes with ranks of the job */
  int most_ranks; /* on one of them */
  int *of_rank;   /* by rank: its node, 0 .. count-1, numbered in the order of their first ranks */
  bool is_first;  /* this rank is the first of its node */
} sfperf_nodes_t;

/* Local; all ranks come to the same numbers. */
void sfperf_nodes_init(sfperf_nodes_t *nodes, const sf_context_t *context);

void sfperf_nodes_free(sfperf_nodes_t *nodes);

#endif
