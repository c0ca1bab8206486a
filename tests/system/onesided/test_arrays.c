/* One-sided arrays against a serial model: random shapes, distributions, units, patches, leading dimensions and lists,
 * of any number of ranks. Each job has some arrays. On each there are rounds of puts, accs and gets of all ranks at the
 * same time: all functions of one seed, so that every rank knows what all have done. */
#include "tests/system/cluster.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/model/array.h"
#include "tests/system/mpi_cluster.h"

#define CASES 10 /* of one job */
#define ROUNDS 5
#define RANKS_MAX 8
#define LIST_MAX 40

typedef struct scene {
  sftest_rank_t *self;
  sf_context_t *context;
  uint64_t random; /* the same on all ranks */
  int32_t rank;
  sftest_array_t array;
} scene_t;

typedef enum kind { PUT, ACC, SCATTER, SCATTER_ACC, LOCAL, KINDS } kind_t;

/* What one rank does in a round. */
typedef struct act {
  kind_t kind;
  uint64_t seed;
  bool begins; /* with a request */
  bool scales; /* with alpha */
  sftest_number_t alpha;
  sftest_patch_t patch;
  int64_t n;
  int64_t index[LIST_MAX * SF_ARRAY_MAX_DIMS];
} act_t;

/* ---- What is done ------------------------------------------------------------------------------------------------ */

static void choose_index(const sftest_array_t *array, int32_t share, int32_t nshares, int64_t index[], uint64_t *random)
{
  for (int32_t d = 0; d < array->ndims; d++) {
    int64_t first = d == 0 ? array->extent[0] * share / nshares : 0;
    int64_t end = d == 0 ? array->extent[0] * (share + 1) / nshares : array->extent[d];
    index[d] = first + (end > first ? sftest_below(random, end - first) : 0);
  }
}

/* Puts of different ranks do not meet: only accs do. */
static void choose_act(const sftest_array_t *array, kind_t kind, uint64_t seed, int32_t rank, act_t *act)
{
  uint64_t random = seed;
  bool shares = kind == PUT || kind == SCATTER;
  *act = (act_t){.kind = kind, .seed = seed, .begins = sftest_below(&random, 2) == 0};
  act->scales = sftest_below(&random, 2) == 0;
  act->alpha = act->scales ? sftest_number_make(array, sftest_random(&random)) : (sftest_number_t){.real = 1};
  sftest_patch_choose(array, shares ? rank : 0, shares ? array->size : 1, &act->patch, &random);
  act->n = sftest_below(&random, LIST_MAX);
  if (shares && array->extent[0] * rank / array->size == array->extent[0] * (rank + 1) / array->size)
    act->n = 0; /* its share is empty */
  for (int64_t i = 0; i < act->n; i++)
    choose_index(array, shares ? rank : 0, shares ? array->size : 1, &act->index[i * array->ndims], &random);
}

static sftest_number_t number_of(const sftest_array_t *array, const act_t *act, int64_t place)
{
  return sftest_number_make(array, sftest_hash2(act->seed, (uint64_t)place));
}

static void apply_patch(sftest_array_t *array, const act_t *act)
{
  int64_t at[SF_ARRAY_MAX_DIMS] = {-1};
  while (sftest_patch_next(array, &act->patch, at)) {
    sftest_number_t value = number_of(array, act, sftest_patch_place(array, &act->patch, at));
    sftest_number_t *number = &array->numbers[sftest_patch_number(array, &act->patch, at)];
    *number = act->kind == PUT ? value : sftest_number_plus(*number, sftest_number_times(act->alpha, value));
  }
}

static void apply_list(sftest_array_t *array, const act_t *act)
{
  for (int64_t i = 0; i < act->n; i++) {
    /* A put of an element that occurs several times: all are the same. */
    int64_t at = sftest_array_number(array, &act->index[i * array->ndims]);
    sftest_number_t value = number_of(array, act, act->kind == SCATTER ? at : i), *number = &array->numbers[at];
    *number = act->kind == SCATTER ? value : sftest_number_plus(*number, sftest_number_times(act->alpha, value));
  }
}

static void apply_local(sftest_array_t *array, const act_t *act, int32_t rank)
{
  sftest_patch_t whole = {.lo = {0}};
  int64_t at[SF_ARRAY_MAX_DIMS] = {-1}, element;
  memcpy(whole.extent, array->extent, sizeof whole.extent);
  while (sftest_patch_next(array, &whole, at))
    if (sftest_array_owner(array, at, &element) == rank)
      array->numbers[sftest_array_number(array, at)] = number_of(array, act, element);
}

static void apply(sftest_array_t *array, const act_t *act, int32_t rank)
{
  if (act->kind == PUT || act->kind == ACC)
    apply_patch(array, act);
  else if (act->kind == LOCAL)
    apply_local(array, act, rank);
  else
    apply_list(array, act);
}

/* ---- Doing it ---------------------------------------------------------------------------------------------------- */

static void end_request(scene_t *scene, sf_request_t *request)
{
  bool done = false;
  while (!done && sftest_below(&scene->random, 2) == 0)
    SFTEST_OK(scene->self, sf_test(&request, &done));
  SFTEST_OK(scene->self, sf_wait(&request));
}

static void do_patch(scene_t *scene, const act_t *act)
{
  sftest_array_t *array = &scene->array;
  const int64_t *ld = act->patch.is_dense ? NULL : act->patch.ld;
  char alpha[16], *buffer = malloc((size_t)act->patch.room * array->unit_bytes + 1);
  sf_request_t *request = NULL;
  uint64_t random = scene->random; /* stays what it is on all ranks */
  for (int64_t i = 0; i < act->patch.room; i++)
    sftest_number_store(array, number_of(array, act, i), buffer + (size_t)i * array->unit_bytes);
  sftest_number_store(array, act->alpha, alpha);
  const int64_t *lo = act->patch.lo, *extent = act->patch.extent;
  if (act->kind == PUT && act->begins)
    SFTEST_OK(scene->self, sf_array_put_begin(array->real, lo, extent, buffer, ld, &request));
  else if (act->kind == PUT)
    SFTEST_OK(scene->self, sf_array_put(array->real, lo, extent, buffer, ld));
  else if (act->begins)
    SFTEST_OK(scene->self,
              sf_array_acc_begin(array->real, lo, extent, buffer, ld, act->scales ? alpha : NULL, &request));
  else
    SFTEST_OK(scene->self, sf_array_acc(array->real, lo, extent, buffer, ld, act->scales ? alpha : NULL));
  end_request(scene, request);
  memset(buffer, 0xa5, (size_t)act->patch.room * array->unit_bytes); /* it is the caller's again */
  free(buffer);
  scene->random = random;
}

static void do_list(scene_t *scene, const act_t *act)
{
  sftest_array_t *array = &scene->array;
  char alpha[16], *values = malloc((size_t)act->n * array->unit_bytes + 1);
  for (int64_t i = 0; i < act->n; i++) {
    int64_t at = sftest_array_number(array, &act->index[i * array->ndims]);
    sftest_number_store(array, number_of(array, act, act->kind == SCATTER ? at : i),
                        values + (size_t)i * array->unit_bytes);
  }
  sftest_number_store(array, act->alpha, alpha);
  if (act->kind == SCATTER)
    SFTEST_OK(scene->self, sf_array_scatter(array->real, act->n, act->index, values));
  else
    SFTEST_OK(scene->self, sf_array_scatter_acc(array->real, act->n, act->index, values, act->scales ? alpha : NULL));
  memset(values, 0xa5, (size_t)act->n * array->unit_bytes);
  free(values);
}

static int64_t global_index(const sf_array_part_t *part, int32_t d, int64_t local)
{
  return part->first[d] + local / part->block[d] * part->stride[d] + local % part->block[d];
}

/* Calls the function for each own element: its number in the part, its index, and where it is. */
static void visit_local(scene_t *scene,
                        void (*visit)(scene_t *scene, const act_t *act, int64_t element, const int64_t index[],
                                      char *value),
                        const act_t *act)
{
  sf_array_part_t part;
  void *data;
  sftest_array_t *array = &scene->array;
  SFTEST_OK(scene->self, sf_array_local(array->real, &part, &data));
  sftest_patch_t own = {.lo = {0}};
  int64_t at[SF_ARRAY_MAX_DIMS] = {-1}, index[SF_ARRAY_MAX_DIMS], element = 0;
  memcpy(own.extent, part.extent, sizeof own.extent);
  for (; sftest_patch_next(array, &own, at); element++) {
    for (int32_t d = 0; d < array->ndims; d++)
      index[d] = global_index(&part, d, at[d]);
    visit(scene, act, element, index, (char *)data + (size_t)element * array->unit_bytes);
  }
}

static void write_element(scene_t *scene, const act_t *act, int64_t element, const int64_t index[], char *value)
{
  (void)index;
  sftest_number_store(&scene->array, number_of(&scene->array, act, element), value);
}

static void check_element(scene_t *scene, const act_t *act, int64_t element, const int64_t index[], char *value)
{
  int64_t expected;
  (void)act;
  SFTEST_REQUIRE(scene->self, sftest_array_owner(&scene->array, index, &expected) == scene->rank);
  SFTEST_REQUIRE(scene->self, element == expected);
  sftest_require(
      scene->self,
      sftest_number_is(&scene->array, value, scene->array.numbers[sftest_array_number(&scene->array, index)]), __FILE__,
      __LINE__, "own element %lld differs", (long long)element);
}

static void do_act(scene_t *scene, const act_t *act)
{
  if (act->kind == PUT || act->kind == ACC)
    do_patch(scene, act);
  else if (act->kind == LOCAL)
    visit_local(scene, write_element, act);
  else
    do_list(scene, act);
  if (act->kind == LOCAL)
    SFTEST_OK(scene->self, sf_array_release(scene->array.real));
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

static void check_get(scene_t *scene, uint64_t *own)
{
  sftest_array_t *array = &scene->array;
  sftest_patch_t patch;
  sf_request_t *request = NULL;
  int64_t at[SF_ARRAY_MAX_DIMS] = {-1}, touched = 0;
  sftest_patch_choose(array, 0, 1, &patch, own);
  size_t unit = array->unit_bytes;
  char *buffer = malloc((size_t)patch.room * unit + 1);
  memset(buffer, 0x5a, (size_t)patch.room * unit);
  if (sftest_below(own, 2) == 0)
    SFTEST_OK(scene->self, sf_array_get(array->real, patch.lo, patch.extent, buffer, patch.is_dense ? NULL : patch.ld));
  else
    SFTEST_OK(scene->self, sf_array_get_begin(array->real, patch.lo, patch.extent, buffer,
                                              patch.is_dense ? NULL : patch.ld, &request));
  SFTEST_OK(scene->self, sf_wait(&request));
  while (sftest_patch_next(array, &patch, at)) {
    char *value = buffer + (size_t)sftest_patch_place(array, &patch, at) * unit;
    sftest_require(scene->self, sftest_number_is(array, value, array->numbers[sftest_patch_number(array, &patch, at)]),
                   __FILE__, __LINE__, "element (%lld, %lld, %lld, %lld) of a patch differs", (long long)at[0],
                   (long long)at[1], (long long)at[2], (long long)at[3]);
    memset(value, 0x5a, unit);
  }
  for (int64_t i = 0; i < patch.room * (int64_t)unit; i++) /* gaps stay what they were */
    touched += buffer[i] != 0x5a;
  SFTEST_REQUIRE(scene->self, touched == 0);
  free(buffer);
}

static void check_gather(scene_t *scene, uint64_t *own)
{
  sftest_array_t *array = &scene->array;
  int64_t n = sftest_below(own, LIST_MAX), index[LIST_MAX * SF_ARRAY_MAX_DIMS], element;
  _Alignas(16) char values[LIST_MAX * 16];
  for (int64_t i = 0; i < n; i++)
    choose_index(array, 0, 1, &index[i * array->ndims], own);
  SFTEST_OK(scene->self, sf_array_gather(array->real, n, index, values));
  for (int64_t i = 0; i < n; i++) {
    int32_t owner;
    SFTEST_REQUIRE(scene->self, sftest_number_is(array, values + (size_t)i * array->unit_bytes,
                                                 array->numbers[sftest_array_number(array, &index[i * array->ndims])]));
    SFTEST_OK(scene->self, sf_array_owner(array->real, &index[i * array->ndims], &owner));
    SFTEST_REQUIRE(scene->self, owner == sftest_array_owner(array, &index[i * array->ndims], &element));
  }
}

/* ---- A case ------------------------------------------------------------------------------------------------------ */

static void run_round(scene_t *scene)
{
  sftest_array_t *array = &scene->array;
  kind_t kind = (kind_t)sftest_below(&scene->random, KINDS);
  uint64_t seed = sftest_random(&scene->random), own = sftest_hash2(seed, (uint64_t)scene->rank + 1000);
  act_t act;
  sftest_at(scene->self, "kind %d of %d dimensions, base %d", (int)kind, array->ndims, (int)array->base);
  for (int32_t rank = 0; rank < array->size; rank++) {
    choose_act(array, kind, sftest_hash2(seed, (uint64_t)rank), rank, &act);
    apply(array, &act, rank);
    if (rank == scene->rank)
      do_act(scene, &act);
  }
  if (sftest_below(&own, 2) == 0)
    SFTEST_OK(scene->self, sf_array_flush(array->real, SF_ARRAY_ALL_RANKS));
  SFTEST_OK(scene->self, sf_array_sync(array->real));
  check_get(scene, &own);
  check_gather(scene, &own);
  visit_local(scene, check_element, NULL);
  SFTEST_OK(scene->self, sf_array_sync(array->real));
}

/* The world, or a group of some ranks backwards; NULL: this rank is not in it. */
static sf_group_t *choose_group(scene_t *scene)
{
  int32_t ranks[RANKS_MAX], n = 0;
  if (sftest_below(&scene->random, 2) == 0)
    return sf_group_world(scene->context);
  uint64_t set = sftest_random(&scene->random);
  for (int32_t rank = scene->self->size - 1; rank >= 0; rank--)
    if ((set >> rank & 1) != 0)
      ranks[n++] = rank;
  if ((set >> scene->self->rank & 1) == 0)
    return NULL;
  sf_group_t *group;
  SFTEST_OK(scene->self, sf_group_create(scene->context, n, ranks, 5, &group));
  return group;
}

static void run_case(scene_t *scene)
{
  sf_group_t *group = choose_group(scene);
  if (group == NULL)
    return;
  scene->rank = sf_group_rank(group);
  int64_t most = sftest_below(&scene->random, 4) == 0 ? 20000 : 400;
  sftest_array_choose(&scene->array, sf_group_size(group), most, &scene->random);
  sftest_at(scene->self, "creation");
  SFTEST_OK(scene->self, sftest_array_create(&scene->array, group));
  if (group != sf_group_world(scene->context)) /* the array keeps what it needs */
    SFTEST_OK(scene->self, sf_group_destroy(group));
  for (int i = 0; i < ROUNDS; i++)
    run_round(scene);
  sftest_at(scene->self, "destruction");
  SFTEST_OK(scene->self, sf_array_destroy(scene->array.real));
  sftest_array_free(&scene->array);
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

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

static void run_job(const sftest_node_t nodes[], int32_t nnodes)
{
  int32_t places[RANKS_MAX];
  uint64_t seed = sftest_seed(), random = sftest_hash(seed);
  int32_t size = 1 + (int32_t)sftest_below(&random, RANKS_MAX);
  sftest_use_seed(seed);
  sftest_places_choose(places, size, nnodes, &random);
  sftest_run_over(nodes, places, size, run_cases, &seed);
}

static void run_jobs(const sftest_node_t nodes[], int32_t nnodes, int jobs)
{
  for (int i = 0; i < (sftest_seed_is_given() ? 1 : sftest_scale(jobs)); i++)
    run_job(nodes, nnodes);
}

static void run_over_tcp(int32_t nnodes, int jobs)
{
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, nnodes);
  run_jobs(cluster.nodes, nnodes, jobs);
  sftest_cluster_settle(&cluster);
  sftest_cluster_stop(&cluster);
}

SFTEST(one_node)
{
  run_over_tcp(1, 12);
}

SFTEST(two_nodes)
{
  run_over_tcp(2, 6);
}

SFTEST(three_nodes)
{
  run_over_tcp(3, 6);
}

/* Long operations are those of workers. */
SFTEST(with_workers)
{
  setenv("SFD_OFFLOAD_WORKERS", "2", 1);
  run_over_tcp(2, 2);
}

/* Bytes take a while, and arrive in random pieces. */
SFTEST_FOR(over_loop, 2)
{
  sftest_loop_cluster_t cluster;
  sftest_loop_cluster_start(&cluster, 3, (unsigned)_i * 3, sftest_seed() | 1);
  run_jobs(cluster.nodes, 3, 2);
  sftest_loop_cluster_stop(&cluster);
}

SFTEST(over_mpi)
{
  sftest_mpi_cluster_t cluster;
  if (sftest_mpi_cluster_lacks() != NULL) {
    printf("part skipped: %s\n", sftest_mpi_cluster_lacks());
    return;
  }
  sftest_mpi_cluster_start(&cluster, 3);
  run_jobs(cluster.nodes, 3, 2);
  sftest_mpi_cluster_stop(&cluster, false);
}
