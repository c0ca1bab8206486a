/* Times one ghost exchange by sf beside the same by plain MPI. */
#ifndef EXAMPLES_RACE_H
#define EXAMPLES_RACE_H

#include "common/job.h"

/* The exchange: leaf k of the graph is ghosts[k], a copy of entry ghost_index[k] of rank ghost_rank[k]; ranks ascend.
 */
typedef struct race {
  sf_graph_t *graph;
  int32_t nroots, nghosts;
  const int32_t *ghost_rank, *ghost_index;
  double *ghosts;
} race_t;

/* Prints both times, and checks that both deliver the same. Collective. */
void race_run(job_t *job, const race_t *race);

#endif
