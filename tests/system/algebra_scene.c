/* Jobs for tests of graph algebra: see algebra_scene.h. */
#include "tests/system/algebra_scene.h"

#include "tests/system/cluster.h"

#define CASES 5

void scene_make(scene_t *scene, sftest_forest_t *forest, sf_graph_t **graph_p)
{
  sftest_forest_random(forest, sftest_random(&scene->random), scene->size, MAX_VERTICES);
  sftest_forest_create(scene->self, forest, scene->group, graph_p);
}

void scene_destroy(scene_t *scene, sf_graph_t *graph)
{
  SFTEST_OK(scene->self, sf_graph_destroy(graph));
}

void scene_expect(scene_t *scene, sftest_forest_t *expected, sf_graph_t *graph)
{
  sftest_forest_expect(scene->self, expected, scene->group, graph);
  scene_destroy(scene, graph);
  sftest_forest_free(expected);
}

/* The group of all, or the first few ranks in reverse; NULL: this rank is not in it. */
static sf_group_t *choose_group(sf_context_t *context, uint64_t *random)
{
  int32_t ranks[SFTEST_GROUP_MAX], size = sf_size(context);
  sf_group_t *group;
  if (sftest_below(random, 2) == 0)
    return sf_group_world(context);
  size = 1 + (int32_t)sftest_below(random, size);
  for (int32_t i = 0; i < size; i++)
    ranks[i] = size - 1 - i;
  if (sf_rank(context) >= size)
    return NULL;
  return sf_group_create(context, size, ranks, 7, &group) == SF_OK ? group : NULL;
}

SFTEST_JOINED(run_cases)
{
  uint64_t job_seed = *(const uint64_t *)self->argument;
  for (int i = 0; i < CASES; i++) {
    uint64_t seed = sftest_hash2(job_seed, (uint64_t)i);
    sf_group_t *group = choose_group(context, &seed);
    if (group == NULL)
      continue;
    scene_t scene = {self, group, sf_group_rank(group), sf_group_size(group), sftest_hash(seed)};
    for (const part_t *part = scene_parts; part->name != NULL; part++) {
      sftest_at(self, "case %d: %s", i, part->name);
      part->run(&scene);
    }
    if (group != world)
      SFTEST_OK(self, sf_group_destroy(group));
  }
}

static void run_jobs(int32_t nnodes, int njobs)
{
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, nnodes);
  for (int i = 0; i < sftest_rounds(njobs); i++) {
    int32_t places[SFTEST_GROUP_MAX];
    uint64_t seed = sftest_seed(), random = sftest_hash(seed);
    sftest_use_seed(seed);
    int32_t size = 1 + (int32_t)sftest_below(&random, SFTEST_GROUP_MAX);
    sftest_places_random(places, size, nnodes, &random);
    sftest_cluster_run(&cluster, places, size, run_cases, &seed);
  }
  sftest_cluster_stop(&cluster);
}

SFTEST(on_one_node)
{
  run_jobs(1, 10);
}

SFTEST(over_nodes)
{
  run_jobs(3, 10);
}
