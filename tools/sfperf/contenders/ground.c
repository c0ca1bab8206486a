/* What contenders are compared on: see ground.h. Each rank's only thread. */
#include "tools/sfperf/contenders/ground.h"

void sfperf_ground_init(sfperf_ground_t *ground, sf_context_t *context, const sfperf_pattern_t *pattern,
                        sfperf_memory_t memory)
{
  *ground = (sfperf_ground_t){.context = context, .pattern = *pattern, .memory = memory};
  sfperf_edges_init(&ground->edges, &ground->pattern);
  sfperf_vectors_init(&ground->plain, context, SFPERF_PLAIN, pattern->nroots, pattern->nleaves);
  sfperf_vectors_init(&ground->other, context, memory, pattern->nroots, pattern->nleaves);
}

void sfperf_ground_free(sfperf_ground_t *ground)
{
  sfperf_vectors_free(&ground->plain, ground->context, SFPERF_PLAIN);
  sfperf_vectors_free(&ground->other, ground->context, ground->memory);
  sfperf_edges_free(&ground->edges);
  sfperf_pattern_free(&ground->pattern);
}

sfperf_task_t sfperf_ground_task(const sfperf_ground_t *ground, const sfperf_method_t *method)
{
  return (sfperf_task_t){
      .context = ground->context,
      .pattern = &ground->pattern,
      .edges = &ground->edges,
      .vectors = method->memory == SFPERF_PLAIN ? ground->plain : ground->other,
  };
}
