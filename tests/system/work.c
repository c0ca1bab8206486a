/* Simple work: see work.h. */
#include "tests/system/work.h"

#define LARGE 100000

sf_status_t sftest_ring_create(sf_group_t *group, int64_t n, uint32_t flags, sf_graph_t **graph_p)
{
  int32_t next = (sf_group_rank(group) + 1) % sf_group_size(group), *ranks = malloc(((size_t)n + 1) * sizeof *ranks);
  int64_t *roots = malloc(((size_t)n + 1) * sizeof *roots);
  for (int64_t i = 0; i < n; i++) {
    ranks[i] = next;
    roots[i] = i;
  }
  sf_status_t status = sf_graph_create(group, n, n, NULL, ranks, roots, flags, graph_p);
  free(ranks);
  free(roots);
  return status;
}

void sftest_ring_expect_working(sftest_rank_t *self, sf_group_t *group, sf_graph_t *graph, int64_t n)
{
  int32_t rank = sf_group_rank(group), next = (rank + 1) % sf_group_size(group);
  double *roots = malloc((size_t)n * sizeof *roots), *leaves = calloc((size_t)n, sizeof *leaves);
  for (int64_t i = 0; i < n; i++)
    roots[i] = (double)i + 1000000.0 * rank;
  SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE));
  for (int64_t i = 0; i < n; i++)
    SFTEST_REQUIRE(self, leaves[i] == (double)i + 1000000.0 * next);
  free(roots);
  free(leaves);
}

/* ---- Bystanders -------------------------------------------------------------------------------------------------- */

/* One round: rank 0 says in its data whether another one follows. */
static bool play_round(sftest_rank_t *self, sf_group_t *world, sf_graph_t *small, sf_graph_t *large, int32_t round)
{
  struct sftest_bystander_shared *shared = self->argument;
  int32_t mine[2] = {self->rank != 0 || !shared->stop, round}, others[2] = {0}, sum[2] = {1, 1};
  SFTEST_OK(self, sf_bcast(small, SF_INT32, mine, others, SF_REPLACE));
  SFTEST_REQUIRE(self, others[1] == round);
  SFTEST_OK(self, sf_reduce(small, SF_INT32, mine, sum, SF_SUM));
  SFTEST_REQUIRE(self, sum[1] == round + 1);
  if (round % 10 == 0)
    sftest_ring_expect_working(self, world, large, LARGE);
  return self->rank == 0 ? mine[0] : others[0];
}

SFTEST_JOINED(stand_by)
{
  struct sftest_bystander_shared *shared = self->argument;
  sf_graph_t *small = NULL, *large = NULL;
  SFTEST_OK(self, sftest_ring_create(world, 2, 0, &small));
  SFTEST_OK(self, sftest_ring_create(world, LARGE, 0, &large));
  sftest_at(self, "its rounds");
  for (int32_t round = 0; play_round(self, world, small, large, round); round++) {
    shared->rounds = round + 1;
    sftest_sleep_ms(1); /* leaves the cores to the others, mostly */
  }
  SFTEST_OK(self, sf_graph_destroy(small));
  SFTEST_OK(self, sf_graph_destroy(large));
}

static void start_bystander(sftest_bystander_t *bystander, const sftest_node_t nodes[], const int32_t places[2])
{
  bystander->shared = sftest_shared(sizeof *bystander->shared);
  sftest_job_start_over(&bystander->job, nodes, places, 2, stand_by, bystander->shared);
  sftest_job_await(&bystander->job, &bystander->shared->rounds, 1);
}

void sftest_bystander_start(sftest_bystander_t *bystander, const sftest_node_t *node)
{
  start_bystander(bystander, node, (const int32_t[]){0, 0});
}

void sftest_bystander_start_over(sftest_bystander_t *bystander, const sftest_node_t nodes[2])
{
  start_bystander(bystander, nodes, (const int32_t[]){0, 1});
}

void sftest_bystander_stop(sftest_bystander_t *bystander)
{
  sftest_job_await(&bystander->job, &bystander->shared->rounds, bystander->shared->rounds + 1);
  bystander->shared->stop = true;
  sftest_job_end_well(&bystander->job);
}

/* ---- To be looked at --------------------------------------------------------------------------------------------- */

SFTEST_JOINED(be_shown)
{
  static double roots[SFTEST_SHOW_UNITS], leaves[SFTEST_SHOW_UNITS];
  struct sftest_show_shared *shared = self->argument;
  sf_graph_t *graph;
  SFTEST_OK(self, sftest_ring_create(world, SFTEST_SHOW_UNITS, SF_GRAPH_DEFAULT, &graph));
  for (int i = 0; i < SFTEST_SHOW_BCASTS; i++)
    SFTEST_OK(self, sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE));
  shared->nready++;
  sftest_at(self, "being looked at");
  while (!shared->over)
    sftest_sleep_ms(5);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

void sftest_show_start(sftest_show_t *show, const sftest_node_t nodes[], const int32_t places[], int32_t size)
{
  show->shared = sftest_shared(sizeof *show->shared);
  sftest_job_start_over(&show->job, nodes, places, size, be_shown, show->shared);
  sftest_job_await(&show->job, &show->shared->nready, size);
}

void sftest_show_end(sftest_show_t *show)
{
  show->shared->over = true;
  sftest_job_end_well(&show->job);
}

/* ---- Once -------------------------------------------------------------------------------------------------------- */

SFTEST_JOINED(serve_once)
{
  sf_graph_t *graph = NULL;
  SFTEST_OK(self, sftest_ring_create(world, 10, 0, &graph));
  sftest_ring_expect_working(self, world, graph, 10);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

void sftest_expect_serving(const sftest_node_t *node)
{
  sftest_job_t job;
  sftest_job_start(&job, node, 3, serve_once, NULL);
  sftest_job_end_well(&job);
}
