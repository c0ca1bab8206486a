/* What the driver copies on streams in place of kernels (SF_STREAM_COPY=on), on a stand-in for it: only what is large,
 * contiguous and replaces, by any way between two ranks, and with the same bits. */
#include <stdlib.h>

#include "tests/system/fake_device.h"
#include "tests/system/harness.h"
#include "tests/unit/runner.h"

#define MUCH (64 << 10) /* bytes from which on they are copied */
#define BYTES (MUCH + 1)

/* Kernels and copies of a bcast, to pack and to unpack; a kernel moves along the rank's own edge, with what else is for
 * kernels then. */
typedef struct way {
  const char *variable; /* beside SF_STREAM_COPY; NULL: none */
  const char *value;
  int devices; /* on which the ranks' memory is */
  bool on_default;
  bool adds;
  int32_t n; /* from one rank to the other */
  int64_t ncopies;
  int64_t nkernels;
} way_t;

static const way_t ways[] = {
    {NULL, NULL, 1, false, false, MUCH, 2, 1},
    {NULL, NULL, 1, false, false, MUCH - 1, 0, 2},
    {NULL, NULL, 1, false, true, MUCH, 1, 1},                 /* what is combined is not copied */
    {NULL, NULL, 1, true, false, MUCH, 0, 2},                 /* nor is anything in a default stream */
    {NULL, NULL, 2, false, false, MUCH, 2, 1},                /* to another device */
    {"SF_DEVICE_SHARE", "off", 2, false, false, MUCH, 2, 1},  /* to pinned memory */
    {"SF_STREAM_COPY", "off", 2, false, false, MUCH, 0, 2},   /* only if it is wanted */
    {"SF_STREAM_MEMOPS", "off", 1, false, false, MUCH, 2, 3}, /* two of which wait */
};

typedef struct scene {
  sftest_rank_t *self;
  const way_t *way;
  sf_context_t *context;
  sf_graph_t *graph;
  void *stream;
  uint8_t *data[2]; /* roots, leaves */
  sf_region_t *regions[2];
} scene_t;

/* n roots of each rank are leaves of the other one, and its last root is one of its own. */
static void make_graph(scene_t *scene)
{
  int32_t n = scene->way->n, *ranks = malloc(((size_t)n + 1) * sizeof *ranks);
  int64_t *roots = malloc(((size_t)n + 1) * sizeof *roots);
  for (int32_t i = 0; i <= n; i++) {
    ranks[i] = i < n ? 1 - scene->self->rank : scene->self->rank;
    roots[i] = i;
  }
  SFTEST_OK(scene->self, sf_graph_create(sf_group_world(scene->context), n + 1, n + 1, NULL, ranks, roots,
                                         SF_GRAPH_DEFAULT, &scene->graph));
  free(ranks);
  free(roots);
}

static void make(sftest_rank_t *self, scene_t *scene)
{
  const way_t *way = self->argument;
  int device = self->rank % way->devices;
  setenv("SF_STREAM_COPY", "on", 1);
  if (way->variable != NULL)
    setenv(way->variable, way->value, 1);
  SFTEST_REQUIRE(self, sftest_device_is_there());
  *scene = (scene_t){.self = self, .way = way, .context = sftest_join(self)};
  scene->stream = way->on_default ? NULL : sftest_device_stream(device);
  for (int side = 0; side < 2; side++) {
    scene->data[side] = sftest_device_alloc(device, BYTES);
    SFTEST_OK(self, sf_register(scene->context, scene->data[side], BYTES, SF_MEMORY_CUDA, &scene->regions[side]));
  }
  make_graph(scene);
}

static void destroy(scene_t *scene)
{
  SFTEST_OK(scene->self, sf_graph_destroy(scene->graph));
  for (int side = 0; side < 2; side++) {
    SFTEST_OK(scene->self, sf_unregister(scene->regions[side]));
    sftest_device_free(scene->data[side]);
  }
  if (scene->stream != NULL)
    sftest_device_stream_free(scene->stream);
  SFTEST_OK(scene->self, sf_finalize(scene->context));
}

static uint8_t value_of(int32_t rank, int32_t i, int round)
{
  return (uint8_t)(i / 7 + i + 5 * rank + 2 * round);
}

static void operate(const scene_t *scene, int round)
{
  const way_t *way = scene->way;
  int32_t rank = scene->self->rank;
  const sf_op_t *op = way->adds ? SF_SUM : SF_REPLACE;
  uint8_t host[BYTES];
  for (int32_t i = 0; i <= way->n; i++)
    host[i] = value_of(rank, i, round);
  for (int side = 0; side < 2; side++)
    sftest_device_copy(scene->data[side], host, BYTES);
  SFTEST_OK(scene->self, sf_bcast_on_stream(scene->graph, SF_UINT8, scene->data[0], scene->data[1], op, scene->stream));
  SFTEST_OK(scene->self, sf_streams_wait(scene->graph));
  sftest_device_copy(host, scene->data[1], BYTES);
  for (int32_t i = 0; i <= way->n; i++) {
    int sum = value_of(i < way->n ? 1 - rank : rank, i, round) + (way->adds ? value_of(rank, i, round) : 0);
    SFTEST_REQUIRE(scene->self, host[i] == (uint8_t)sum);
  }
}

static int count(sftest_rank_t *self)
{
  scene_t scene;
  make(self, &scene);
  operate(&scene, 0);                       /* makes what is needed */
  for (int round = 1; round < 7; round++) { /* more than there are slots */
    int64_t copied = sftest_device_copied(), launched = sftest_device_launched();
    operate(&scene, round);
    SFTEST_REQUIRE(self, sftest_device_copied() - copied == scene.way->ncopies);
    SFTEST_REQUIRE(self, sftest_device_launched() - launched == scene.way->nkernels);
  }
  destroy(&scene);
  return 0;
}

START_TEST(test_ways)
{
  ck_assert(sftest_device_for_programs());
  sftest_run_alone(2, count, (void *)(uintptr_t)&ways[_i]);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("copies on streams");
  TCase *tests = tcase_create("copies");
  if (sftest_device_can_fail())
    tcase_add_loop_test(tests, test_ways, 0, (int)(sizeof ways / sizeof ways[0]));
  suite_add_tcase(suite, tests);
  return sftest_device_run(suite);
}
