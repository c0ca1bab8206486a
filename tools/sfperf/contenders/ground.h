/* What contenders of one pattern are compared on: its edges, and vectors for it in each kind of memory that they want.
 */
#ifndef SFPERF_CONTENDERS_GROUND_H
#define SFPERF_CONTENDERS_GROUND_H

#include "tools/sfperf/contenders/method.h"

typedef struct sfperf_ground {
  sf_context_t *context;
  sfperf_pattern_t pattern;
  sfperf_edges_t edges;
  sfperf_vectors_t plain;
  sfperf_vectors_t other;
  sfperf_memory_t memory; /* of the other ones */
} sfperf_ground_t;

/* Takes the pattern over. Collective. */
void sfperf_ground_init(sfperf_ground_t *ground, sf_context_t *context, const sfperf_pattern_t *pattern,
                        sfperf_memory_t memory);
void sfperf_ground_free(sfperf_ground_t *ground);

/* What a contender is given here, to replace roots by leaves. */
sfperf_task_t sfperf_ground_task(const sfperf_ground_t *ground, const sfperf_method_t *method);

#endif
