/* Arrays: wrong arguments, calls that do not match, and the death of ranks at random moments. */
#include <pthread.h>
#include <time.h>

#include "client/onesided/array.h"
#include "tests/system/cluster.h"

#define RANKS 4
#define KILLS 100 /* on one node, on two and on three */

/* ---- Creation ---------------------------------------------------------------------------------------------------- */

typedef struct creation {
  const sf_type_t *unit;
  int32_t ndims;
  int64_t extent[SF_ARRAY_MAX_DIMS];
  sf_array_distribution_t distribution;
} creation_t;

static sf_status_t create(sf_context_t *context, const creation_t *creation, sf_array_t **array_p)
{
  return sf_array_create(sf_group_world(context), creation->unit, creation->ndims, creation->extent,
                         &creation->distribution, array_p);
}

/* All ranks, or only the last one, give wrong arguments: all get the error. */
static void expect_refused(sftest_rank_t *self, sf_context_t *context, const creation_t *wrong, const char *text)
{
  const creation_t right = {.unit = SF_DOUBLE, .ndims = 2, .extent = {40, 50}};
  sf_array_t *array = NULL;
  SFTEST_EXPECT(self, create(context, wrong, &array), SF_ERR_ARG);
  SFTEST_DETAIL(self, text);
  SFTEST_EXPECT(self, create(context, self->rank == self->size - 1 ? wrong : &right, &array), SF_ERR_ARG);
  SFTEST_DETAIL(self, text);
  SFTEST_REQUIRE(self, array == NULL);
}

static void refuse_arguments(sftest_rank_t *self, sf_context_t *context)
{
  static const int64_t bounds[] = {0, 30, 20, 40}, short_bounds[] = {0, 10};
  const sf_type_t *block;
  creation_t right = {.unit = SF_DOUBLE, .ndims = 2, .extent = {40, 50}}, wrong;
  SFTEST_OK(self, sf_type_create_block(2, SF_DOUBLE, &block));
#define EXPECT_REFUSED(field, value, text)                                                                             \
  do {                                                                                                                 \
    wrong = right;                                                                                                     \
    wrong.field = value;                                                                                               \
    expect_refused(self, context, &wrong, text);                                                                       \
  } while (0)
  EXPECT_REFUSED(unit, NULL, "unit is NULL");
  EXPECT_REFUSED(unit, SF_DOUBLE_INT32, "predefined number");
  EXPECT_REFUSED(unit, block, "predefined number");
  EXPECT_REFUSED(ndims, 0, "0 dimensions");
  EXPECT_REFUSED(ndims, 5, "5 dimensions");
  EXPECT_REFUSED(extent[1], 0, "extent[1] is 0");
  EXPECT_REFUSED(extent[1], INT64_MAX, "2^56 bytes");
  EXPECT_REFUSED(distribution.grid[0], 3, "grid[0] is 3");
  EXPECT_REFUSED(distribution.grid[1], -1, "grid[1] is -1");
  EXPECT_REFUSED(distribution.block[1], -2, "block[1] is -2");
  EXPECT_REFUSED(distribution.bounds[0], bounds, "need grid[0] > 0");
  right.distribution.grid[0] = 1;
  EXPECT_REFUSED(distribution.grid[1], 2, "has 2 ranks");
  EXPECT_REFUSED(distribution.bounds[0], short_bounds, "from 0 to 40 expected, from 0 to 10 found");
  SFTEST_OK(self, sf_type_destroy(block));
}

static void refuse_mismatches(sftest_rank_t *self, sf_context_t *context)
{
  creation_t creation = {.unit = SF_DOUBLE, .ndims = 2, .extent = {40, 50 + (self->rank == 2)}};
  sf_array_t *array = NULL;
  sf_graph_t *graph;
  SFTEST_EXPECT(self, create(context, &creation, &array), SF_ERR_MISMATCH);
  SFTEST_DETAIL(self, "51 on");
  creation.extent[1] = 50;
  creation.unit = self->rank == 0 ? SF_FLOAT : SF_DOUBLE;
  SFTEST_EXPECT(self, create(context, &creation, &array), SF_ERR_MISMATCH);
  creation.unit = SF_DOUBLE;
  SFTEST_EXPECT(self, create(context, &creation, self->rank == 1 ? NULL : &array), SF_ERR_ARG);
  if (self->rank == 3)
    SFTEST_EXPECT(self, sf_graph_create(sf_group_world(context), 0, 0, NULL, NULL, NULL, SF_GRAPH_DEFAULT, &graph),
                  SF_ERR_MISMATCH);
  else
    SFTEST_EXPECT(self, create(context, &creation, &array), SF_ERR_MISMATCH);
  SFTEST_EXPECT(self, sf_graph_create(sf_group_world(context), 0, 0, NULL, NULL, NULL, 1 << 8, &graph), SF_ERR_ARG);
  sf_array_t *other;
  SFTEST_OK(self, create(context, &creation, &other));
  SFTEST_OK(self, create(context, &creation, &array));
  SFTEST_OK(self, sf_array_sync(other)); /* all have it */
  sf_status_t status =
      self->rank == 0 ? sf_array_sync(array) : sf_array_fill(array, (const double[]){1}); /* not the same */
  SFTEST_EXPECT(self, status, SF_ERR_MISMATCH);
  SFTEST_EXPECT(self, sf_array_sync(array), SF_ERR_MISMATCH);
  SFTEST_EXPECT(self, sf_array_destroy(array), SF_ERR_MISMATCH);
  SFTEST_OK(self, sf_array_destroy(other));
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* As a rank without elements may say. */
static void accept_empty_patch(sftest_rank_t *self, sf_array_t *array)
{
  const int64_t lo[] = {0, 51}, extent[] = {0, 2}, ld[] = {1};
  sf_request_t *request;
  SFTEST_OK(self, sf_array_get(array, lo, extent, NULL, ld));
  SFTEST_OK(self, sf_array_put_begin(array, lo, extent, NULL, ld, &request));
  SFTEST_REQUIRE(self, request == NULL);
}

static void refuse_operations(sftest_rank_t *self, sf_context_t *context)
{
  creation_t creation = {.unit = SF_DOUBLE, .ndims = 2, .extent = {40, 50}};
  double buffer[100] = {0}, value = 1;
  int64_t lo[] = {0, 0}, extent[] = {2, 3}, ld[] = {3}, list[] = {0, 0, 39, 50}, previous;
  int32_t rank;
  sf_array_part_t part;
  sf_array_t *array;
  sf_request_t *request;
  SFTEST_OK(self, create(context, &creation, &array));
  SFTEST_EXPECT(self, sf_array_put(NULL, lo, extent, buffer, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_array_put(array, NULL, extent, buffer, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_array_get(array, lo, extent, NULL, NULL), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_array_get_begin(array, lo, extent, buffer, NULL, NULL), SF_ERR_ARG);
  extent[1] = 51;
  SFTEST_EXPECT(self, sf_array_put(array, lo, extent, buffer, NULL), SF_ERR_RANGE);
  SFTEST_DETAIL(self, "dimension 1: lo 0, extent 51; the array has 50 indices");
  lo[1] = -1;
  extent[1] = 2;
  SFTEST_EXPECT(self, sf_array_acc(array, lo, extent, buffer, NULL, NULL), SF_ERR_RANGE);
  lo[1] = 49;
  request = (sf_request_t *)&lo;
  SFTEST_EXPECT(self, sf_array_get_begin(array, lo, extent, buffer, NULL, &request), SF_ERR_RANGE);
  SFTEST_REQUIRE(self, request == (sf_request_t *)&lo);
  lo[1] = INT64_MAX;
  SFTEST_EXPECT(self, sf_array_get(array, lo, extent, buffer, NULL), SF_ERR_RANGE);
  lo[1] = 0;
  ld[0] = 1;
  SFTEST_EXPECT(self, sf_array_get(array, lo, extent, buffer, ld), SF_ERR_RANGE);
  SFTEST_DETAIL(self, "ld[0] is 1");
  ld[0] = INT64_MAX;
  SFTEST_EXPECT(self, sf_array_get(array, lo, extent, buffer, ld), SF_ERR_RANGE);
  accept_empty_patch(self, array);
  SFTEST_EXPECT(self, sf_array_scatter(array, 2, list, buffer), SF_ERR_RANGE);
  SFTEST_DETAIL(self, "element 1 of the list: sf_array_scatter: index[1] is 50; 0 to 49 expected");
  SFTEST_EXPECT(self, sf_array_gather(array, -1, list, buffer), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_array_fetch_op(array, lo, &value, &value, SF_SUM), SF_ERR_ARG);
  SFTEST_DETAIL(self, "op sum is not defined for double");
  SFTEST_EXPECT(self, sf_array_read_inc(array, lo, 1, &previous), SF_ERR_ARG);
  SFTEST_EXPECT(self, sf_array_owner(array, &list[2], &rank), SF_ERR_RANGE);
  SFTEST_EXPECT(self, sf_array_distribution(array, self->size, &part), SF_ERR_RANGE);
  SFTEST_EXPECT(self, sf_array_flush(array, -2), SF_ERR_RANGE);
  SFTEST_EXPECT(self, sf_array_transpose(array, array), SF_ERR_ARG);
  /* Nothing has been accessed, and the array is as good as before. */
  SFTEST_OK(self, sf_array_dot(array, array, &value));
  SFTEST_REQUIRE(self, value == 0);
  SFTEST_OK(self, sf_array_destroy(array));
  SFTEST_OK(self, sf_array_destroy(NULL));
}

/* Elements that are longer than the bits of an atomic operation. */
static void refuse_long_elements(sftest_rank_t *self, sf_context_t *context)
{
  creation_t creation = {.unit = SF_DOUBLE_COMPLEX, .ndims = 2, .extent = {40, 50}};
  double buffer[2] = {0};
  int64_t index[] = {0, 0};
  sf_array_t *array;
  SFTEST_OK(self, create(context, &creation, &array));
  SFTEST_EXPECT(self, sf_array_fetch_op(array, index, buffer, buffer, SF_SUM), SF_ERR_ARG);
  SFTEST_DETAIL(self, "op sum is not defined for");
  SFTEST_EXPECT(self, sf_array_compare_swap(array, index, buffer, buffer, buffer), SF_ERR_ARG);
  SFTEST_OK(self, sf_array_destroy(array));
}

SFTEST_JOINED(make_errors)
{
  sftest_at(self, "arguments");
  refuse_arguments(self, context);
  sftest_at(self, "operations");
  refuse_operations(self, context);
  refuse_long_elements(self, context);
  sftest_at(self, "mismatches");
  refuse_mismatches(self, context);
}

SFTEST_BETWEEN(errors, 1, 3)
{
  int32_t places[RANKS];
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, _i);
  sftest_places_cyclic(places, RANKS, _i);
  sftest_cluster_run(&cluster, places, RANKS, make_errors, NULL);
  sftest_cluster_stop(&cluster);
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

#define SEGMENTS 5 /* of a rank, its inbox included */

/* A rank that has no segment left fails the creation for all. Arrays that are not destroyed end with the job. */
SFTEST_JOINED(use_up_segments)
{
  const creation_t creation = {.unit = SF_DOUBLE, .ndims = 2, .extent = {40, 50}};
  sf_array_t *arrays[SEGMENTS], *more = NULL;
  void *memory;
  int n = SEGMENTS - 2;
  if (self->rank == 1)
    SFTEST_OK(self, sf_alloc(context, 4096, &memory));
  for (int i = 0; i < n; i++)
    SFTEST_OK(self, create(context, &creation, &arrays[i]));
  SFTEST_EXPECT(self, create(context, &creation, &more), SF_ERR_LIMIT);
  SFTEST_DETAIL(self, "rank 1: ");
  SFTEST_OK(self, sf_array_destroy(arrays[0]));
  SFTEST_OK(self, create(context, &creation, &more));
  SFTEST_OK(self, sf_array_sync(more));
}

SFTEST(limits)
{
  static const char *const options[] = {"--max-segments=5", NULL};
  sftest_node_t node;
  sftest_node_start(&node, options);
  sftest_run_job(&node, 3, use_up_segments, NULL);
  sftest_node_stop(&node);
}

/* ---- Death ------------------------------------------------------------------------------------------------------- */

typedef struct doom {
  uint64_t seed;
  int32_t victim;
  int64_t after_us; /* when the victim kills itself */
} doom_t;

static void *end_it(void *argument)
{
  const doom_t *doom = argument;
  struct timespec pause = {.tv_nsec = doom->after_us * 1000};
  nanosleep(&pause, NULL);
  raise(SIGKILL);
  return NULL;
}

/* One of everything; at the first error nothing more. */
static sf_status_t do_something(sf_array_t *array, sf_array_t *counter, uint64_t *random)
{
  static double buffer[60 * 70];
  int64_t lo[] = {sftest_below(random, 30), sftest_below(random, 30)}, previous;
  int64_t extent[] = {1 + sftest_below(random, 30), 1 + sftest_below(random, 40)}, zero = 0;
  sf_request_t *request = NULL;
  sf_status_t status;
  switch (sftest_below(random, 8)) {
  case 0:
    return sf_array_put(array, lo, extent, buffer, NULL);
  case 1:
    return sf_array_acc(array, lo, extent, buffer, NULL, NULL);
  case 2:
    return sf_array_get(array, lo, extent, buffer, NULL);
  case 3:
    return sf_array_read_inc(counter, &zero, 1, &previous);
  case 4:
    status = sf_array_get_begin(array, lo, extent, buffer, NULL, &request);
    return status == SF_OK ? sf_wait(&request) : status;
  case 5:
    return sf_array_flush(array, SF_ARRAY_ALL_RANKS);
  default:
    return sf_array_scatter_acc(array, 1, lo, buffer, NULL);
  }
}

static void live_and_die(sftest_rank_t *self)
{
  const doom_t *doom = self->argument;
  const int64_t extent[] = {60, 70}, one = 1;
  char name[32];
  sf_context_t *context = sftest_join(self);
  sf_array_t *array = NULL, *counter = NULL;
  uint64_t random = sftest_hash2(doom->seed, (uint64_t)self->rank);
  pthread_t thread;
  if (self->rank == doom->victim)
    SFTEST_REQUIRE(self, pthread_create(&thread, NULL, end_it, (void *)(uintptr_t)doom) == 0);
  sf_array_distribution_t cyclic = {.block = {1, 1}};
  sf_status_t status = sf_array_create(sf_group_world(context), SF_DOUBLE, 2, extent, &cyclic, &array);
  if (status == SF_OK)
    status = sf_array_create(sf_group_world(context), SF_INT64, 1, &one, NULL, &counter);
  for (int i = 1; status == SF_OK; i++)
    status = i % 50 == 0 ? sf_array_sync(array) : do_something(array, counter, &random);
  snprintf(name, sizeof name, "rank %d", doom->victim);
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, name);
  if (counter != NULL)
    SFTEST_EXPECT(self, sf_array_destroy(counter), SF_ERR_RANK_FAILED);
  if (array != NULL)
    SFTEST_EXPECT(self, sf_array_destroy(array), SF_ERR_RANK_FAILED);
  SFTEST_EXPECT(self, sf_finalize(context), SF_ERR_RANK_FAILED);
}

SFTEST_BETWEEN(kills, 1, 4)
{
  int rounds = sftest_rounds(KILLS);
  int32_t places[RANKS];
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, _i);
  for (int i = 0; i < rounds; i++) {
    sftest_job_t job;
    uint64_t random = sftest_seed();
    doom_t doom = {.seed = random, .victim = (int32_t)sftest_below(&random, RANKS)};
    doom.after_us = sftest_below(&random, 20000);
    sftest_use_seed(doom.seed);
    sftest_places_cyclic(places, RANKS, _i);
    sftest_job_start_over(&job, cluster.nodes, places, RANKS, live_and_die, &doom);
    sftest_job_wait(&job);
    sftest_job_expect_all_but(&job, doom.victim);
  }
  sftest_cluster_warm(&cluster); /* still serves */
  sftest_cluster_stop(&cluster);
}

/* Rank 1 is killed while it holds the locks of its part: the others, which wait for a lock, get the failure. */
static void hold_locks_and_die(sftest_rank_t *self)
{
  const creation_t creation = {.unit = SF_DOUBLE, .ndims = 1, .extent = {RANKS * 1000}};
  const int64_t lo = 900, extent = 1000;
  static double values[1000];
  const doom_t doom = {.after_us = 20000};
  sf_context_t *context = sftest_join(self);
  sf_array_t *array;
  SFTEST_OK(self, create(context, &creation, &array));
  if (self->rank == 1)
    for (uint64_t block = 0; block < SFSHM_ARRAY_LOCKS; block++)
      atomic_store(&sfshm_array_lock_of(array->region.base, block)->holder, 2);
  SFTEST_OK(self, sf_array_sync(array));
  if (self->rank == 1)
    (void)end_it((void *)(uintptr_t)&doom);
  sf_status_t status = self->rank == 0 ? sf_array_scatter_acc(array, 1, (const int64_t[]){1500}, values, NULL)
                                       : sf_array_acc(array, &lo, &extent, values, NULL, NULL);
  SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  SFTEST_DETAIL(self, "rank 1");
  SFTEST_EXPECT(self, sf_array_destroy(array), SF_ERR_RANK_FAILED);
  SFTEST_EXPECT(self, sf_finalize(context), SF_ERR_RANK_FAILED);
}

SFTEST(killed_holder)
{
  sftest_cluster_t cluster;
  sftest_job_t job;
  int32_t places[RANKS];
  sftest_cluster_start(&cluster, 1);
  sftest_places_cyclic(places, RANKS, 1);
  sftest_job_start_over(&job, cluster.nodes, places, RANKS, hold_locks_and_die, NULL);
  sftest_job_wait(&job);
  sftest_job_expect_all_but(&job, 1);
  sftest_cluster_stop(&cluster);
}
