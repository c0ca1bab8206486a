/* Distribution of a graph's edges over its ranks: the ranks with most edges, and the root with most leaves. Pure
 * functions. */
#ifndef SFREPORT_SHAPE_H
#define SFREPORT_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Degrees of one rank. */
typedef struct sfreport_degrees {
  int32_t rank;        /* of the job */
  uint64_t leaf_edges; /* from any root to leaves of the rank */
  uint64_t root_edges; /* from roots of the rank to any leaf; contributions combined on a node count as one */
  int32_t top_rank;    /* owner of the root with most leaves on the rank, */
  int64_t top_root;    /* its index, */
  uint64_t top_leaves; /* and the number of these leaves; 0: not known */
} sfreport_degrees_t;

typedef struct sfreport_most {
  uint64_t edges, sum; /* maximum of a rank, and sum */
  int32_t rank;
} sfreport_most_t;

typedef struct sfreport_top {
  int32_t rank;
  int64_t root;
  uint64_t leaves;
} sfreport_top_t;

/* Of a graph. Start with {0}. */
typedef struct sfreport_shape {
  int32_t nranks; /* added so far */
  sfreport_most_t leaves, roots;
  sfreport_top_t tops[4]; /* roots with most leaves according to the ranks, the largest first */
  uint64_t unnamed;       /* leaves of other named roots, and of ranks that name none */
} sfreport_shape_t;

void sfreport_shape_add(sfreport_shape_t *shape, const sfreport_degrees_t *degrees);

/* Leaves of the root with most. *exact_p: false if ranks that name another root may have more of it. */
uint64_t sfreport_shape_top(const sfreport_shape_t *shape, bool *exact_p);

/* Describes imbalance that makes ranks wait: `rank 3 has 11300 of 16400 edges on its roots, 5.5 times the mean; root 17
 * of rank 3 has 11265 leaves`. Names a rank with twice the mean, and a root with half as many leaves as the mean rank;
 * "" otherwise. */
void sfreport_shape_describe(const sfreport_shape_t *shape, char *text, size_t text_size);

#endif
