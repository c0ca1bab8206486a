/* How many kernels operations on streams take, on a stand-in for the driver: one for all neighbours that a rank sends
 * to and one for all that it gets something from, however many there are, with the bits of an ordinary operation. */
#include "tests/system/fake_device.h"

#define FEW 5
#define MANY 15  /* more than one kernel takes: two sets each */
#define ROOTS 2  /* of each rank */
#define LEAVES 3 /* of each rank on each: root 0 has two of them */
#define OPERATIONS 6

typedef struct scene {
  sftest_rank_t *self;
  sf_context_t *context;
  sf_graph_t *graph;
  void *stream;
  int64_t n[2]; /* roots, leaves */
  double *host[2];
  double *device[2];
  sf_region_t *regions[2];
} scene_t;

/* Every rank has leaves on the roots of all. */
static sf_graph_t *make_graph(sftest_rank_t *self, sf_context_t *context)
{
  sf_graph_t *graph;
  int64_t n = (int64_t)LEAVES * self->size;
  int32_t *ranks = malloc((size_t)n * sizeof *ranks);
  int64_t *roots = malloc((size_t)n * sizeof *roots);
  for (int64_t i = 0; i < n; i++) {
    ranks[i] = (int32_t)(i % self->size);
    roots[i] = i / self->size % ROOTS;
  }
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), ROOTS, n, NULL, ranks, roots, SF_GRAPH_DEFAULT, &graph));
  free(ranks);
  free(roots);
  return graph;
}

static void make(sftest_rank_t *self, scene_t *scene)
{
  SFTEST_REQUIRE(self, sftest_device_is_there());
  *scene = (scene_t){.self = self, .context = sftest_join(self), .n = {ROOTS, (int64_t)LEAVES * self->size}};
  scene->graph = make_graph(self, scene->context);
  scene->stream = sftest_device_stream(0);
  for (int side = 0; side < 2; side++) {
    size_t bytes = (size_t)scene->n[side] * sizeof(double);
    scene->host[side] = malloc(bytes);
    for (int64_t i = 0; i < scene->n[side]; i++)
      scene->host[side][i] = 1.0 / (double)(3 + i + 100 * self->rank);
    scene->device[side] = sftest_device_alloc(0, bytes);
    sftest_device_copy(scene->device[side], scene->host[side], bytes);
    SFTEST_OK(self, sf_register(scene->context, scene->device[side], bytes, SF_MEMORY_CUDA, &scene->regions[side]));
  }
}

static void destroy(scene_t *scene)
{
  SFTEST_OK(scene->self, sf_graph_destroy(scene->graph));
  for (int side = 0; side < 2; side++) {
    SFTEST_OK(scene->self, sf_unregister(scene->regions[side]));
    sftest_device_free(scene->device[side]);
    free(scene->host[side]);
  }
  sftest_device_stream_free(scene->stream);
  SFTEST_OK(scene->self, sf_finalize(scene->context));
}

/* A reduce, or a bcast, on the stream and on the host, where all that the stream did is waited for first. */
static void operate(const scene_t *scene, bool bcast, const sf_op_t *op)
{
  double *const *d = scene->device, *const *h = scene->host;
  if (bcast)
    SFTEST_OK(scene->self, sf_bcast_on_stream(scene->graph, SF_DOUBLE, d[0], d[1], op, scene->stream));
  else
    SFTEST_OK(scene->self, sf_reduce_on_stream(scene->graph, SF_DOUBLE, d[1], d[0], op, scene->stream));
  SFTEST_OK(scene->self, sf_streams_wait(scene->graph));
  if (bcast)
    SFTEST_OK(scene->self, sf_bcast(scene->graph, SF_DOUBLE, h[0], h[1], op));
  else
    SFTEST_OK(scene->self, sf_reduce(scene->graph, SF_DOUBLE, h[1], h[0], op));
}

static void compare(const scene_t *scene)
{
  for (int side = 0; side < 2; side++) {
    size_t bytes = (size_t)scene->n[side] * sizeof(double);
    double *found = malloc(bytes);
    sftest_device_copy(found, scene->device[side], bytes);
    SFTEST_REQUIRE(scene->self, memcmp(found, scene->host[side], bytes) == 0);
    free(found);
  }
}

/* Kernels that each operation takes, to pack and to unpack. */
static void count(sftest_rank_t *self)
{
  const sf_op_t *const ops[] = {SF_SUM, SF_REPLACE, SF_PROD};
  int64_t sends = 1, receives = self->size > FEW ? 2 : 1;
  scene_t scene;
  make(self, &scene);
  operate(&scene, true, SF_REPLACE);
  for (int i = 0; i < OPERATIONS; i++) {
    int64_t before = sftest_device_launched();
    operate(&scene, i % 2 == 0, ops[i / 2]);
    SFTEST_REQUIRE(self, sftest_device_launched() - before == sends + receives);
    compare(&scene);
  }
  destroy(&scene);
}

SFTEST_FOR(test_few, sftest_device_can_fail() ? 1 : 0)
{
  sftest_run_alone(FEW, count, NULL);
}

SFTEST_FOR(test_many, sftest_device_can_fail() ? 1 : 0)
{
  sftest_run_alone(MANY, count, NULL);
}

SFTEST_DEVICE_MAIN(true);
