/* Whether roots have leaves on several ranks: random lists of roots, near each other and far apart, against looking at
 * all pairs; and how much memory it takes to find out. */
#include "client/graph/combine_order.h"

#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define LISTS 4
#define MAX_N 60
#define ROUNDS 3000

/* One list for each source: the rank itself first, then those of its lanes. */
typedef struct scene {
  sf_graph_t graph;
  sfc_lane_t lanes[LISTS - 1];
  int64_t roots[LISTS][MAX_N];
  int64_t n[LISTS];
} scene_t;

static scene_t scene;

static sfc_link_t *link_of(int source)
{
  return source == 0 ? &scene.graph.plan.self : &scene.lanes[source - 1].as_root;
}

static void fill_link(int source)
{
  sfc_link_t *link = link_of(source);
  link->nedges = link->nvalues = scene.n[source];
  link->value_root = sfshm_pattern_from_index64(scene.roots[source], scene.n[source]);
  link->root_max = -1;
  for (int64_t i = 0; i < scene.n[source]; i++)
    if (scene.roots[source][i] > link->root_max)
      link->root_max = scene.roots[source][i];
}

static bool is_in(int source, int64_t n, int64_t root)
{
  for (int64_t i = 0; i < n; i++)
    if (scene.roots[source][i] == root)
      return true;
  return false;
}

/* Each root once in a list. */
static void make_list(int source, uint64_t *random, int64_t range, int64_t distance)
{
  int64_t n = sftest_random(random) % 3 == 0 ? 0 : sftest_random(random) % MAX_N;
  scene.n[source] = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t root = (int64_t)(sftest_random(random) % (uint64_t)range) * distance;
    if (!is_in(source, scene.n[source], root))
      scene.roots[source][scene.n[source]++] = root;
  }
}

static bool expected(void)
{
  for (int source = 1; source < LISTS; source++)
    for (int64_t i = 0; i < scene.n[source]; i++)
      for (int other = 0; other < source; other++)
        if (is_in(other, scene.n[other], scene.roots[source][i]))
          return true;
  return false;
}

static void expect_found(void)
{
  memset(&scene.graph, 0, sizeof scene.graph);
  memset(scene.lanes, 0, sizeof scene.lanes);
  scene.graph.lanes = scene.lanes;
  scene.graph.nlanes = LISTS - 1;
  for (int source = 0; source < LISTS; source++)
    fill_link(source);
  sfc_graph_find_bounds(&scene.graph);
  ck_assert_int_eq(sfc_graph_find_shared_roots(&scene.graph), SF_OK);
  ck_assert_int_eq(scene.graph.plan.roots_shared, expected());
}

SFTEST(shared_roots)
{
  static const int64_t ranges[] = {20, 1000, 100000}, distances[] = {1, 3, 1000000, INT64_C(1) << 40};
  uint64_t random = sftest_seed(1);
  for (int round = 0; round < ROUNDS; round++) {
    for (int source = 0; source < LISTS; source++)
      make_list(source, &random, ranges[round % 3], distances[round / 3 % 4]);
    expect_found();
  }
}

static long peak_kib(void)
{
  char line[128];
  long kib = -1;
  FILE *file = fopen("/proc/self/status", "re");
  ck_assert_ptr_nonnull(file);
  while (kib < 0 && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "VmPeak: %ld", &kib) != 1)
      kib = -1;
  fclose(file);
  return kib;
}

/* Not a bit for each root below the highest. */
SFTEST(memory)
{
  long before = peak_kib();
  for (int source = 0; source < LISTS; source++) {
    scene.n[source] = MAX_N;
    for (int64_t i = 0; i < MAX_N; i++)
      scene.roots[source][i] = (INT64_C(5) << 32) + i * (source + 1);
  }
  expect_found();
  ck_assert_int_lt(peak_kib() - before, 1 << 18);
}
