/* Collective functions on whole arrays, against a serial model: random shapes and units, arrays of one call with the
 * same or with different distributions. */
#include "tests/system/cluster.h"
#include "tests/system/model/array.h"

#define CASES 8 /* of one job */
#define STEPS 8
#define RANKS_MAX 6
#define ARRAYS 3

typedef struct scene {
  sftest_rank_t *self;
  sf_context_t *context;
  uint64_t random; /* the same on all ranks */
  sftest_array_t arrays[ARRAYS];
  sftest_array_t turned; /* as many rows as these have columns; only of two dimensions */
} scene_t;

/* Every rank puts its share, and all wait. */
static void put_numbers(scene_t *scene, sftest_array_t *array, uint64_t seed)
{
  int64_t lo[SF_ARRAY_MAX_DIMS] = {0}, extent[SF_ARRAY_MAX_DIMS], rank = scene->self->rank, size = scene->self->size;
  char *buffer = malloc((size_t)array->count * array->unit_bytes);
  for (int64_t i = 0; i < array->count; i++) {
    array->numbers[i] = sftest_number_make(array, sftest_hash2(seed, (uint64_t)i));
    sftest_number_store(array, array->numbers[i], buffer + (size_t)i * array->unit_bytes);
  }
  memcpy(extent, array->extent, sizeof extent);
  lo[0] = array->extent[0] * rank / size;
  extent[0] = array->extent[0] * (rank + 1) / size - lo[0];
  size_t row_bytes = (size_t)(array->count / array->extent[0]) * array->unit_bytes;
  SFTEST_OK(scene->self, sf_array_put(array->real, lo, extent, buffer + (size_t)lo[0] * row_bytes, NULL));
  free(buffer);
}

/* Everything, by every rank. */
static void check_numbers(scene_t *scene, const sftest_array_t *array, const char *what)
{
  static const int64_t lo[SF_ARRAY_MAX_DIMS];
  char *buffer = malloc((size_t)array->count * array->unit_bytes);
  SFTEST_OK(scene->self, sf_array_get(array->real, lo, array->extent, buffer, NULL));
  for (int64_t i = 0; i < array->count; i++)
    sftest_require(scene->self, sftest_number_is(array, buffer + (size_t)i * array->unit_bytes, array->numbers[i]),
                   __FILE__, __LINE__, "element %lld differs after %s, base %d", (long long)i, what, (int)array->base);
  free(buffer);
}

/* ---- The functions ----------------------------------------------------------------------------------------------- */

static sftest_array_t *choose_array(scene_t *scene)
{
  return &scene->arrays[sftest_below(&scene->random, ARRAYS)];
}

static void do_fill(scene_t *scene, sftest_array_t *to)
{
  char value[16];
  sftest_number_t number = sftest_number_make(to, sftest_random(&scene->random));
  sftest_number_store(to, number, value);
  SFTEST_OK(scene->self, sf_array_fill(to->real, value));
  for (int64_t i = 0; i < to->count; i++)
    to->numbers[i] = number;
  check_numbers(scene, to, "fill");
}

static void do_scale(scene_t *scene, sftest_array_t *to)
{
  char value[16];
  sftest_number_t number = sftest_number_make(to, sftest_random(&scene->random));
  sftest_number_store(to, number, value);
  SFTEST_OK(scene->self, sf_array_scale(to->real, value));
  for (int64_t i = 0; i < to->count; i++)
    to->numbers[i] = sftest_number_times(to->numbers[i], number);
  check_numbers(scene, to, "scale");
}

static void do_copy(scene_t *scene, sftest_array_t *to)
{
  const sftest_array_t *from = choose_array(scene);
  SFTEST_OK(scene->self, sf_array_copy(from->real, to->real));
  memmove(to->numbers, from->numbers, (size_t)to->count * sizeof to->numbers[0]);
  check_numbers(scene, to, "copy");
}

static void do_add(scene_t *scene, sftest_array_t *to)
{
  char alpha[16], beta[16];
  const sftest_array_t *a = choose_array(scene), *b = choose_array(scene);
  sftest_number_t first = sftest_number_make(to, sftest_random(&scene->random));
  sftest_number_t second = sftest_number_make(to, sftest_random(&scene->random));
  sftest_number_store(to, first, alpha);
  sftest_number_store(to, second, beta);
  SFTEST_OK(scene->self, sf_array_add(alpha, a->real, beta, b->real, to->real));
  for (int64_t i = 0; i < to->count; i++)
    to->numbers[i] =
        sftest_number_plus(sftest_number_times(first, a->numbers[i]), sftest_number_times(second, b->numbers[i]));
  check_numbers(scene, to, "add");
}

static void do_dot(scene_t *scene, sftest_array_t *a)
{
  _Alignas(16) char result[16];
  const sftest_array_t *b = choose_array(scene);
  sftest_number_t sum = {0};
  SFTEST_OK(scene->self, sf_array_dot(a->real, b->real, result));
  for (int64_t i = 0; i < a->count; i++)
    sum = sftest_number_plus(sum, sftest_number_times(a->numbers[i], b->numbers[i]));
  sftest_require(scene->self, sftest_number_is(a, result, sum), __FILE__, __LINE__, "dot differs, base %d",
                 (int)a->base);
}

static void do_transpose(scene_t *scene, sftest_array_t *from)
{
  sftest_array_t *to = &scene->turned;
  if (from->ndims != 2) {
    SFTEST_EXPECT(scene->self, sf_array_transpose(from->real, from->real), SF_ERR_ARG);
    return;
  }
  SFTEST_OK(scene->self, sf_array_transpose(from->real, to->real));
  for (int64_t i = 0; i < from->extent[0]; i++)
    for (int64_t j = 0; j < from->extent[1]; j++)
      to->numbers[j * from->extent[0] + i] = from->numbers[i * from->extent[1] + j];
  check_numbers(scene, to, "transpose");
}

/* Numbers stay small: all that is computed is exact. */
static void do_step(scene_t *scene)
{
  static void (*const steps[])(scene_t * scene, sftest_array_t * array) = {do_fill, do_scale, do_copy,
                                                                           do_add,  do_dot,   do_transpose};
  int64_t step = sftest_below(&scene->random, sizeof steps / sizeof steps[0]);
  sftest_at(scene->self, "step %d", (int)step);
  for (int i = 0; i < ARRAYS; i++)
    put_numbers(scene, &scene->arrays[i], sftest_random(&scene->random));
  steps[step](scene, choose_array(scene));
  SFTEST_OK(scene->self, sf_array_sync(scene->arrays[0].real));
}

/* ---- A case ------------------------------------------------------------------------------------------------------ */

static void run_case(scene_t *scene)
{
  sf_group_t *world = sf_group_world(scene->context);
  int64_t most = sftest_below(&scene->random, 8) == 0 ? 50000 : 300;
  bool same = sftest_below(&scene->random, 3) == 0;
  sftest_array_choose(&scene->arrays[0], scene->self->size, most, &scene->random);
  bool is_matrix = scene->arrays[0].ndims == 2;
  uint64_t random = scene->random;
  for (int i = 1; i < ARRAYS; i++) {
    scene->random = same ? random : scene->random;
    sftest_array_choose_like(&scene->arrays[i], &scene->arrays[0], false, &scene->random);
  }
  if (is_matrix)
    sftest_array_choose_like(&scene->turned, &scene->arrays[0], true, &scene->random);
  for (int i = 0; i < ARRAYS; i++)
    SFTEST_OK(scene->self, sftest_array_create(&scene->arrays[i], world));
  if (is_matrix)
    SFTEST_OK(scene->self, sftest_array_create(&scene->turned, world));
  for (int i = 0; i < STEPS; i++)
    do_step(scene);
  for (int i = 0; i < ARRAYS; i++) {
    SFTEST_OK(scene->self, sf_array_destroy(scene->arrays[i].real));
    sftest_array_free(&scene->arrays[i]);
  }
  if (is_matrix) {
    SFTEST_OK(scene->self, sf_array_destroy(scene->turned.real));
    sftest_array_free(&scene->turned);
  }
}

SFTEST_JOINED(run_cases)
{
  uint64_t seed = *(const uint64_t *)self->argument;
  scene_t *scene = malloc(sizeof *scene);
  for (int i = 0; i < CASES; i++) {
    scene->self = self;
    scene->context = context;
    scene->random = sftest_hash2(seed, (uint64_t)i);
    run_case(scene);
  }
  free(scene);
}

static void run_jobs(int32_t nnodes, int jobs)
{
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, nnodes);
  for (int i = 0; i < (sftest_seed_is_given() ? 1 : sftest_scale(jobs)); i++) {
    int32_t places[RANKS_MAX];
    uint64_t seed = sftest_seed(), random = sftest_hash(seed);
    int32_t size = 1 + (int32_t)sftest_below(&random, RANKS_MAX);
    sftest_use_seed(seed);
    sftest_places_choose(places, size, nnodes, &random);
    sftest_cluster_run(&cluster, places, size, run_cases, &seed);
  }
  sftest_cluster_stop(&cluster);
}

SFTEST(one_node)
{
  run_jobs(1, 8);
}

SFTEST(several_nodes)
{
  run_jobs(3, 4);
}
