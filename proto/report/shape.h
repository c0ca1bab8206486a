/* How the edges of a graph are spread over its ranks: who has most, and the root to which most of them lead. Pure
 * functions. */
#ifndef SFREPORT_SHAPE_H
#define SFREPORT_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one rank. */
typedef struct sfreport_degrees {
  int32_t rank;        /* of the job */
  uint64_t leaf_edges; /* from any root to leaves of the rank */
  uint64_t root_edges; /* from roots of the rank to any leaf; contributions of a node that travel as one are one */
  int32_t top_rank;    /* whose root has most leaves on the rank, */
  int64_t top_root;    /* which root, */
  uint64_t top_leaves; /* and how many; 0: not known */
} sfreport_degrees_t;

typedef struct sfreport_most {
  uint64_t edges, sum; /* of the rank that has most, and of all */
  int32_t rank;
} sfreport_most_t;

typedef struct sfreport_top {
  int32_t rank;
  int64_t root;
  uint64_t leaves;
} sfreport_top_t;

/* Of a graph. Start with {0}. */
typedef struct sfreport_shape {
  int32_t nranks; /* that have been added */
  sfreport_most_t leaves, roots;
  sfreport_top_t tops[4]; /* roots that ranks name as theirs with most leaves; the first one has most */
  uint64_t unnamed;       /* leaves of others that ranks name, and of ranks that name none */
} sfreport_shape_t;

void sfreport_shape_add(sfreport_shape_t *shape, const sfreport_degrees_t *degrees);

/* Leaves of the root with most. *exact_p: it has no more; else other ranks, which name another root, may have some. */
uint64_t sfreport_shape_top(const sfreport_shape_t *shape, bool *exact_p);

/* `rank 3 has 11300 of 16400 edges on its roots, 5.5 times the mean; root 17 of rank 3 has 11265 leaves`: what of this
 * makes a rank wait for another one. A rank is named if it has twice the mean, a root if it has half as many leaves as
 * the mean rank; "" if none is. */
void sfreport_shape_describe(const sfreport_shape_t *shape, char *text, size_t text_size);

#endif
