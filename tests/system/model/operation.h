/* What bcast and reduce do on the graphs of graph.h, one edge at a time. */
#ifndef SFTEST_MODEL_OPERATION_H
#define SFTEST_MODEL_OPERATION_H

#include "tests/system/model/graph.h"

/* What an operation is done with. The value of a vertex is a function of the seed, the side, the rank and its number.
 */
typedef struct sftest_operation {
  const sftest_graph_t *graph;
  bool bcast;
  sftest_unit_t unit;
  sftest_op_t op;
  uint64_t seed;

  /* The node of each rank if contributions of one node are combined before they travel: those of each rank, then those
   * of the ranks, and the owner takes the result in the turn of the lowest of them. NULL: one by one. */
  const int32_t *places;
} sftest_operation_t;

typedef enum sftest_side { SFTEST_ROOTS, SFTEST_LEAVES } sftest_side_t;

/* Vertices of a side on a rank. */
int64_t sftest_operation_vertices(const sftest_operation_t *operation, sftest_side_t side, int32_t rank);

/* Fills an array with the values before the operation. */
void sftest_operation_fill(const sftest_operation_t *operation, sftest_side_t side, int32_t rank, char *array);

/* Applies the operation to an array filled so, of the side that receives. */
void sftest_operation_apply(const sftest_operation_t *operation, int32_t rank, char *target);

/* Index of the first byte that differs, -1 if none does. */
int64_t sftest_first_difference(const char *a, const char *b, int64_t bytes);

#endif
