/* Messages of different sizes on one graph of streams over nodes, on a stand-in for the driver or (SFTEST_CUDA=real) a
 * real one: the number of messages that may be under way depends on their size, and none may be written over another
 * one that has not been read. */
#include "shm/trunk/trunk.h"
#include "tests/system/fake_device.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"

#define NODES 2
#define VALUES 10000               /* doubles of a message: 78 KiB */
#define WIDE 8                     /* doubles of the first unit: of messages of such units fewer may be under way */
#define MESSAGES SFSHM_TRUNK_SLOTS /* as many as may be under way, of that size */

static const int32_t places[NODES] = {0, 1};

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

/* What test and ranks tell each other. */
typedef struct plot {
  bool bcast; /* from rank 0 to rank 1; else a reduce, from rank 1 to rank 0 */
} plot_t;

typedef struct scene {
  sftest_rank_t *self;
  bool bcast, sends;
  sf_context_t *context;
  sf_graph_t *graph; /* leaf i of rank 1 is connected to root i of rank 0 */
  sf_graph_t *gate;  /* the same with one value */
  void *stream;
  double *data; /* of all messages, one behind the other */
  sf_region_t *region;
} scene_t;

static void make_graph(const scene_t *scene, int64_t n, sf_graph_t **graph_p)
{
  int32_t *ranks = calloc((size_t)n, sizeof *ranks);
  int64_t *roots = calloc((size_t)n, sizeof *roots), nleaves = scene->self->rank == 1 ? n : 0;
  for (int64_t i = 0; i < n; i++)
    roots[i] = i;
  SFTEST_OK(scene->self, sf_graph_create(sf_group_world(scene->context), scene->self->rank == 0 ? n : 0, nleaves, NULL,
                                         ranks, roots, SF_GRAPH_DEFAULT, graph_p));
  free(ranks);
  free(roots);
}

static void make_scene(sftest_rank_t *self, scene_t *scene)
{
  const plot_t *plot = self->argument;
  size_t bytes = MESSAGES * VALUES * sizeof(double);
  SFTEST_REQUIRE(self, sftest_device_is_there());
  *scene = (scene_t){.self = self, .context = sftest_join(self)};
  scene->bcast = plot->bcast;
  scene->sends = plot->bcast == (self->rank == 0);
  scene->stream = sftest_device_stream(0);
  scene->data = sftest_device_alloc(0, bytes);
  SFTEST_OK(self, sf_register(scene->context, scene->data, bytes, SF_MEMORY_CUDA, &scene->region));
  make_graph(scene, VALUES, &scene->graph);
  make_graph(scene, 1, &scene->gate);
}

static void free_scene(scene_t *scene)
{
  SFTEST_OK(scene->self, sf_graph_destroy(scene->gate));
  SFTEST_OK(scene->self, sf_graph_destroy(scene->graph));
  SFTEST_OK(scene->self, sf_unregister(scene->region));
  sftest_device_free(scene->data);
  sftest_device_stream_free(scene->stream);
  sftest_leave(scene->self, scene->context);
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

static void give(const scene_t *scene, sf_graph_t *graph, const sf_type_t *unit, double *data)
{
  double *roots = scene->self->rank == 0 ? data : NULL, *leaves = scene->self->rank == 1 ? data : NULL;
  if (scene->bcast)
    SFTEST_OK(scene->self, sf_bcast_on_stream(graph, unit, roots, leaves, SF_REPLACE, scene->stream));
  else
    SFTEST_OK(scene->self, sf_reduce_on_stream(graph, unit, leaves, roots, SF_REPLACE, scene->stream));
}

static void give_all(const scene_t *scene)
{
  for (int64_t k = 0; k < MESSAGES; k++)
    give(scene, scene->graph, SF_DOUBLE, scene->data + k * VALUES);
}

/* By the sender with its values, by the reader with others. */
static void fill(const scene_t *scene, double *values)
{
  for (int64_t i = 0; i < MESSAGES * VALUES; i++)
    values[i] = scene->sends ? (double)i : -1;
  sftest_device_copy(scene->data, values, MESSAGES * VALUES * sizeof *values);
}

/* The first operations make the slots, for units of their size. */
static void make_slots(const scene_t *scene)
{
  const sf_type_t *wide;
  SFTEST_OK(scene->self, sf_type_create_block(WIDE, SF_DOUBLE, &wide));
  give(scene, scene->graph, wide, scene->data);
  give(scene, scene->gate, SF_DOUBLE, scene->data);
  SFTEST_OK(scene->self, sf_streams_wait(scene->graph));
  SFTEST_OK(scene->self, sf_streams_wait(scene->gate));
  SFTEST_OK(scene->self, sf_type_destroy(wide));
}

/* The reader's stream reads nothing before a message has come through the gate, and that is sent behind all that may be
 * under way: messages between two nodes arrive in order. */
static void run_ahead(sftest_rank_t *self)
{
  scene_t scene;
  double *values = malloc(MESSAGES * VALUES * sizeof *values);
  make_scene(self, &scene);
  make_slots(&scene);
  fill(&scene, values);
  if (!scene.sends)
    give(&scene, scene.gate, SF_DOUBLE, scene.data);
  give_all(&scene);
  if (scene.sends)
    give(&scene, scene.gate, SF_DOUBLE, scene.data);
  SFTEST_OK(self, sf_streams_wait(scene.graph));
  sftest_device_copy(values, scene.data, MESSAGES * VALUES * sizeof *values);
  for (int64_t i = 0; i < MESSAGES * VALUES; i++)
    sftest_require(self, values[i] == (double)i, __FILE__, __LINE__, "message %lld, value %lld: %g",
                   (long long)(i / VALUES), (long long)(i % VALUES), values[i]);
  free(values);
  free_scene(&scene);
}

SFTEST_FOR(test_ahead, 2)
{
  sftest_loop_cluster_t cluster;
  plot_t *plot = sftest_shared(sizeof *plot);
  sftest_loop_cluster_start(&cluster, NODES, 0, 0);
  plot->bcast = _i == 0;
  sftest_run_over(cluster.nodes, places, NODES, run_ahead, plot);
  sftest_loop_cluster_stop(&cluster);
}

SFTEST_DEVICE_MAIN(true);
