/* Bcast and reduce, of one array or several, on random graphs, in every form and kind of memory, with every unit and
 * op, compared bit by bit with a serial model, on one node and over several on all fabrics, with the ranks placed in
 * every way. Each job does a few random cases, all functions of one seed. */
#include "tests/system/cluster.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/mpi_cluster.h"
#include "tests/system/operations/property_case.h"

/* How large the cases are. */
typedef struct sizes {
  int64_t vertices;
  int64_t many_vertices;  /* now and then */
  int64_t bytes;          /* of one array */
  int32_t operations_max; /* in flight */
  int ncases;             /* of one job */
  uint64_t seed;
} sizes_t;

static const sizes_t small_sizes = {
    .vertices = 200, .many_vertices = 4000, .bytes = 300000, .operations_max = SFTEST_OPERATIONS_MAX, .ncases = 12};
static const sizes_t large_sizes = {
    .vertices = 100000, .many_vertices = 300000, .bytes = 4 << 20, .operations_max = 3, .ncases = 3};

/* ---- A case ------------------------------------------------------------------------------------------------------ */

/* The world, or some of its ranks in some order; NULL if this rank is not in it. The world is the context's. */
static sf_group_t *choose_group(sftest_case_t *scene)
{
  uint64_t *random = &scene->random;
  int32_t world = scene->self->size, ranks[SFTEST_GROUP_MAX];
  memcpy(scene->places, scene->self->places, (size_t)world * sizeof scene->places[0]);
  if (sftest_below(random, 2) == 0)
    return sf_group_world(scene->context);
  for (int32_t i = 0; i < world; i++)
    ranks[i] = i;
  for (int32_t i = world - 1; i > 0; i--) {
    int32_t k = (int32_t)sftest_below(random, i + 1), kept = ranks[i];
    ranks[i] = ranks[k];
    ranks[k] = kept;
  }
  int32_t size = 1 + (int32_t)sftest_below(random, world), tag = (int32_t)sftest_random(random);
  sf_group_t *group = NULL;
  for (int32_t i = 0; i < size; i++) {
    scene->places[i] = scene->self->places[ranks[i]];
    if (ranks[i] != sf_rank(scene->context))
      continue;
    SFTEST_OK(scene->self, sf_group_create(scene->context, size, ranks, tag, &group));
    SFTEST_REQUIRE(scene->self, sf_group_rank(group) == i && sf_group_size(group) == size);
  }
  return group;
}

static void make_graphs(sftest_case_t *scene, const sizes_t *sizes)
{
  scene->ngraphs = 1 + (int32_t)sftest_below(&scene->random, SFTEST_CASE_GRAPHS);
  for (int32_t i = 0; i < scene->ngraphs; i++) {
    int64_t max = sftest_below(&scene->random, 12) == 0 ? sizes->many_vertices : sizes->vertices;
    uint64_t seed = sftest_random(&scene->random);
    uint32_t flags = sftest_below(&scene->random, 4) == 0 ? SF_GRAPH_COPY : SF_GRAPH_DEFAULT;
    if (sftest_below(&scene->random, 2) == 0)
      flags |= SF_GRAPH_REPRODUCIBLE;
    scene->flags[i] = flags;
    sftest_at(scene->self, "creation of graph %d", i);
    sftest_graph_make(&scene->graphs[i], seed, sf_group_size(scene->group), max);
    SFTEST_OK(scene->self, sftest_graph_create(&scene->graphs[i], scene->group, sftest_below(&scene->own, 2) == 0,
                                               flags, &scene->real[i]));
    sftest_graph_check_info(scene->self, &scene->graphs[i], scene->real[i], scene->rank, scene->places,
                            (flags & SF_GRAPH_REPRODUCIBLE) == 0);
  }
}

static void run_case(sftest_case_t *scene, const sizes_t *sizes)
{
  scene->group = choose_group(scene);
  if (scene->group == NULL)
    return;
  scene->rank = sf_group_rank(scene->group);
  make_graphs(scene, sizes);
  scene->form = (sftest_form_t)sftest_below(&scene->random, SFTEST_FORM_COUNT);
  scene->nacts = 1 + (int32_t)sftest_below(&scene->random, sizes->operations_max);
  for (int32_t i = 0; i < scene->nacts; i++) {
    sftest_case_choose(scene, sizes->bytes, &scene->acts[i]);
    sftest_act_make_buffers(scene, &scene->acts[i]);
  }
  sftest_play(&(sftest_play_t){.self = scene->self,
                               .operations = &sftest_case_operations,
                               .test = scene,
                               .form = scene->form,
                               .n = scene->nacts,
                               .random = &scene->random,
                               .own = sftest_random(&scene->own)});
  for (int32_t i = 0; i < scene->nacts; i++)
    sftest_act_free_buffers(scene, &scene->acts[i]);
  for (int32_t i = 0; i < scene->ngraphs; i++) {
    sftest_at(scene->self, "destruction of graph %d", i);
    SFTEST_OK(scene->self, sf_graph_destroy(scene->real[i]));
    sftest_graph_free(&scene->graphs[i]);
  }
  if (scene->group != sf_group_world(scene->context))
    SFTEST_OK(scene->self, sf_group_destroy(scene->group));
}

SFTEST_JOINED(run_cases)
{
  const sizes_t *sizes = self->argument;
  sftest_case_t *scene = malloc(sizeof *scene);
  for (int i = 0; i < sizes->ncases; i++) {
    uint64_t seed = sftest_hash2(sizes->seed, (uint64_t)i);
    *scene = (sftest_case_t){
        .self = self, .context = context, .random = seed, .own = sftest_hash2(seed, (uint64_t)self->rank)};
    run_case(scene, sizes);
  }
  free(scene);
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

static void run_job(const sftest_node_t nodes[], int32_t nnodes, const sizes_t *sizes)
{
  sizes_t job_sizes = *sizes;
  int32_t places[SFTEST_GROUP_MAX];
  job_sizes.seed = sftest_seed();
  sftest_use_seed(job_sizes.seed);
  uint64_t random = sftest_hash(job_sizes.seed);
  int32_t size = 1 + (int32_t)(random % SFTEST_GROUP_MAX);
  sftest_places_choose(places, size, nnodes, &random);
  sftest_run_over(nodes, places, size, run_cases, &job_sizes);
}

/* cluster: lets go of what each job has used; or NULL. */
static void run_jobs(const sftest_node_t nodes[], int32_t nnodes, const sftest_cluster_t *cluster, const sizes_t *sizes,
                     int njobs)
{
  for (int i = 0; i < sftest_rounds(njobs); i++) {
    run_job(nodes, nnodes, sizes);
    if (cluster != NULL)
      sftest_cluster_settle(cluster);
  }
}

static void run_over_tcp(const sizes_t *sizes, int32_t max_nodes, int njobs)
{
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, max_nodes);
  run_jobs(cluster.nodes, max_nodes, &cluster, sizes, njobs);
  sftest_cluster_stop(&cluster);
}

/* Bytes take a while, and arrive in random pieces. */
static void run_over_loop(const sizes_t *sizes, unsigned delay, int njobs)
{
  sftest_loop_cluster_t cluster;
  sftest_loop_cluster_start(&cluster, SFTEST_LOOP_NODES, delay, sftest_seed() | 1);
  run_jobs(cluster.nodes, SFTEST_LOOP_NODES, NULL, sizes, njobs);
  sftest_loop_cluster_stop(&cluster);
}

static void run_over_mpi(const sizes_t *sizes, int njobs)
{
  sftest_mpi_cluster_t cluster;
  if (sftest_mpi_cluster_lacks() != NULL) {
    printf("part skipped: %s\n", sftest_mpi_cluster_lacks());
    return;
  }
  sftest_mpi_cluster_start(&cluster, SFTEST_MPI_NODES);
  run_jobs(cluster.nodes, SFTEST_MPI_NODES, NULL, sizes, njobs);
  sftest_mpi_cluster_stop(&cluster, false);
}

SFTEST(small_graphs)
{
  run_over_tcp(&small_sizes, 1, 16);
}

SFTEST(large_graphs)
{
  setenv("SFD_OFFLOAD_WORKERS", "2", 1); /* for the daemons: what is large and in sf_alloc memory they copy, too */
  run_over_tcp(&large_sizes, 1, 5);
}

SFTEST(small_graphs_over_nodes)
{
  run_over_tcp(&small_sizes, SFTEST_NODES_MAX, 10);
}

SFTEST(large_graphs_over_nodes)
{
  setenv("SFD_OFFLOAD_WORKERS", "2", 1);
  run_over_tcp(&large_sizes, SFTEST_NODES_MAX, 2);
}

SFTEST(small_graphs_over_loop)
{
  run_over_loop(&small_sizes, 3, 4);
}

SFTEST(large_graphs_over_loop)
{
  run_over_loop(&large_sizes, 0, 2);
}

SFTEST(small_graphs_over_mpi)
{
  run_over_mpi(&small_sizes, 3);
}

SFTEST(large_graphs_over_mpi)
{
  run_over_mpi(&large_sizes, 1);
}
