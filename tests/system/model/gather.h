/* A serial model of gather, scatter and fetch_op, and of bcast and reduce with ops of the application, on random
 * graphs: what each array holds before and after. */
#ifndef SFTEST_MODEL_GATHER_H
#define SFTEST_MODEL_GATHER_H

#include "tests/system/model/graph.h"

typedef enum sftest_kind { KIND_GATHER, KIND_SCATTER, KIND_FETCH, KIND_REDUCE, KIND_BCAST, KIND_COUNT } sftest_kind_t;
typedef enum sftest_place { PLACE_ROOTS, PLACE_SLOTS, PLACE_LEAVES, PLACE_UPDATE, PLACE_COUNT } sftest_place_t;

/* A graph, and what follows from it. */
typedef struct sftest_slots {
  sftest_graph_t graph;
  int64_t nslots[SFTEST_GROUP_MAX];
  int64_t *slot[SFTEST_GROUP_MAX]; /* of each edge, by leaf, on the rank of its root */
  sf_graph_t *real;
} sftest_slots_t;

/* One operation. */
typedef struct sftest_gather {
  sftest_kind_t kind;
  const sftest_slots_t *model;
  sftest_unit_t unit;
  sftest_op_t op;
  bool own_op;      /* it is sftest_mix instead */
  bool commutative; /* or then sftest_add, which is declared so */
  bool one_array;   /* leafupdate is leafdata */
  uint64_t seed;
} sftest_gather_t;

/* Numbers the slots of the graph: by root, then rank, then leaf. */
void sftest_slots_number(sftest_slots_t *model);
void sftest_slots_free(sftest_slots_t *model);

/* Asks the library some questions about the edges, in some order, and compares. rank: this one's in the group. */
void sftest_slots_ask(sftest_rank_t *self, const sftest_slots_t *model, int32_t rank, uint64_t *random);

/* Makes a graph's multi-graph by a persistent fetch_op of zeros. */
void sftest_multi_make(sftest_rank_t *self, sf_graph_t *graph);

/* How many units the rank's array has. */
int64_t sftest_gather_vertices(const sftest_gather_t *act, sftest_place_t place, int32_t rank);

/* What the array holds before, and after the operation. */
void sftest_gather_fill(const sftest_gather_t *act, sftest_place_t place, int32_t rank, char *array);
void sftest_gather_expect(const sftest_gather_t *act, sftest_place_t place, int32_t rank, char *array);

/* The op of the application, neither associative nor commutative, and its context. */
void sftest_mix(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context);
extern int sftest_mix_by;

/* One that is both. */
void sftest_add(const void *in, void *inout, int64_t n, size_t unit_bytes, void *context);

#endif
