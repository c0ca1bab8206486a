/* Operations to be counted, instruction by instruction, by valgrind: see tests/bench/counters. Two ranks exchange one
 * value each way, OPERATIONS times. What of an operation does not depend on time is in the functions counted_...: an
 * operation is ended when it is known that its message is there, so that nobody spins. Run by sfrun -n 2. */
#include <sf/sf.h>
#include <stdio.h>
#include <stdlib.h>

#define OPERATIONS 2048 /* of about one in 64 the time is taken */

static sf_context_t *context;

static void require(sf_status_t status)
{
  if (status == SF_OK)
    return;
  fprintf(stderr, "operations: %s\n", sf_error_detail());
  exit(1);
}

static sf_graph_t *make_graph(void)
{
  sf_graph_t *graph;
  int32_t other = 1 - sf_rank(context);
  int64_t number = 0;
  require(sf_graph_create(sf_group_world(context), 1, 1, NULL, &other, &number, SF_GRAPH_DEFAULT, &graph));
  return graph;
}

__attribute__((noinline)) sf_request_t *counted_begin(sf_graph_t *graph, const double *root, double *leaf);
__attribute__((noinline)) void counted_wait(sf_request_t *request);

__attribute__((noinline)) sf_request_t *counted_begin(sf_graph_t *graph, const double *root, double *leaf)
{
  sf_request_t *request;
  require(sf_bcast_begin(graph, SF_DOUBLE, root, leaf, SF_REPLACE, &request));
  return request;
}

__attribute__((noinline)) void counted_wait(sf_request_t *request)
{
  require(sf_wait(&request));
}

int main(void)
{
  double root, leaf, known = 0, unused;
  require(sf_init(NULL, &context));
  sf_graph_t *graph = make_graph(), *others = make_graph();
  for (int i = 0; i < OPERATIONS; i++) {
    root = i;
    sf_request_t *request = counted_begin(graph, &root, &leaf);
    require(sf_bcast(others, SF_DOUBLE, &known, &unused, SF_REPLACE)); /* behind it: then the other one's is there */
    counted_wait(request);
    require(sf_bcast(others, SF_DOUBLE, &known, &unused, SF_REPLACE));
    if (leaf != i)
      return fprintf(stderr, "operations: %g came, not %d\n", leaf, i), 1;
  }
  require(sf_graph_destroy(others));
  require(sf_graph_destroy(graph));
  require(sf_finalize(context));
  printf("operations: %d\n", OPERATIONS);
  return 0;
}
