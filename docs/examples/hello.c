/* The smallest complete program: the ranks of a job form a ring, each looks at its right neighbour's value and adds
 * what it saw back into it. Run it with: sfrun -n 4 hello */
#include <sf/sf.h>
#include <stdio.h>

int main(void)
{
  sf_context_t *context;
  sf_graph_t *graph;
  if (sf_init(NULL, &context) != SF_OK)
    return fprintf(stderr, "sf_init: %s\n", sf_error_detail()), 1;
  int32_t rank = sf_rank(context), right = (rank + 1) % sf_size(context);
  int64_t number = 0; /* my one leaf is connected to root 0 of my right neighbour */
  double root = rank, leaf = -1;
  if (sf_graph_create(sf_group_world(context), 1, 1, NULL, &right, &number, SF_GRAPH_DEFAULT, &graph) != SF_OK ||
      sf_bcast(graph, SF_DOUBLE, &root, &leaf, SF_REPLACE) != SF_OK || /* leaf = root of the right neighbour */
      sf_reduce(graph, SF_DOUBLE, &leaf, &root, SF_SUM) != SF_OK)      /* that root = itself + leaf */
    return fprintf(stderr, "rank %d: %s\n", rank, sf_error_detail()), 1;
  printf("rank %d: saw %g at rank %d; my own root is now %g\n", rank, leaf, right, root);
  sf_graph_destroy(graph);
  sf_finalize(context);
  return leaf == right && root == 2 * rank ? 0 : 1;
}
