/* Numbers the nodes of a job. Runs in each rank's only thread. */
#include "tools/sfperf/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "client/core.h"
#include "tools/sfperf/fail.h"

void sfperf_nodes_init(sfperf_nodes_t *nodes, const sf_context_t *context)
{
  int size = sf_size(context);
  int *number = sfperf_malloc((size_t)context->nnodes * sizeof number[0]); /* by the daemons' number, -1: none yet */
  int *ranks = sfperf_malloc((size_t)size * sizeof ranks[0]);              /* by number in *nodes */
  memset(number, -1, (size_t)context->nnodes * sizeof number[0]);
  *nodes = (sfperf_nodes_t){.of_rank = sfperf_malloc((size_t)size * sizeof nodes->of_rank[0])};
  for (int rank = 0; rank < size; rank++) {
    int *mine = &number[sfc_context_node_of(context, rank)];
    bool is_first = *mine < 0;
    if (is_first) {
      *mine = nodes->count++;
      ranks[*mine] = 0;
    }
    nodes->of_rank[rank] = *mine;
    if (rank == sf_rank(context))
      nodes->is_first = is_first;
    if (++ranks[*mine] > nodes->most_ranks)
      nodes->most_ranks = ranks[*mine];
  }
  free(number);
  free(ranks);
}

void sfperf_nodes_free(sfperf_nodes_t *nodes)
{
  free(nodes->of_rank);
}
