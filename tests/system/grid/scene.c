/* Random grids: see scene.h. */
#include "tests/system/grid/scene.h"

#include "tests/system/fake_device.h"

#define MAX_OWN 4
#define MAX_FIELDS 3
#define MAX_WORK 400000 /* points and neighbours that the serial stencil reads */
#define SENTINEL 0xa5

typedef struct scene {
  sftest_rank_t *self;
  sf_context_t *context;
  sf_grid_options_t options;
  int32_t devices[MAX_OWN];
  sf_grid_t *grid;
  sf_grid_info_t info;
  sf_grid_subdomain_t own[MAX_OWN];
  int32_t nfields;
  const sf_type_t *units[MAX_FIELDS];
  uint8_t *host[MAX_FIELDS][MAX_OWN]; /* by array: what the field has, or a copy of it */
  void *arrays[MAX_FIELDS][MAX_OWN];
} scene_t;

static int64_t total_points(const scene_t *scene)
{
  return scene->options.points[0] * scene->options.points[1] * scene->options.points[2];
}

/* ---- Choosing ---------------------------------------------------------------------------------------------------- */

static void choose_axis(sf_grid_options_t *options, int axis, uint64_t *random)
{
  static const int64_t most[] = {0, 90, 24, 12};
  bool wide = sftest_below(random, 8) == 0;
  options->points[axis] = 1 + sftest_below(random, most[options->ndims]);
  options->periodic[axis] = sftest_below(random, 2) != 0;
  options->padding[axis] = sftest_below(random, 3) == 0 ? (int32_t)sftest_below(random, 3) : 0;
  for (int side = 0; side < 2; side++)
    options->radius[axis][side] = (int32_t)sftest_below(random, wide ? options->points[axis] + 3 : 3);
}

static void choose(scene_t *scene, uint64_t *random, uint64_t *own_random, bool devices)
{
  static const sf_grid_reach_t reaches[] = {SF_GRID_CORNERS, SF_GRID_FACES, SF_GRID_EDGES};
  sf_grid_options_t *options = &scene->options;
  options->ndims = 1 + (int32_t)sftest_below(random, 3);
  for (int axis = 0; axis < 3; axis++)
    options->points[axis] = 1;
  for (int axis = 0; axis < options->ndims; axis++) {
    choose_axis(options, axis, random);
    options->order[axis] = axis;
  }
  for (int axis = options->ndims - 1; axis > 0; axis--) {
    int other = (int)sftest_below(random, axis + 1);
    int32_t old = options->order[axis];
    options->order[axis] = options->order[other];
    options->order[other] = old;
  }
  if (sftest_below(random, 4) == 0)
    memset(options->order, 0, sizeof options->order);
  options->reach = reaches[sftest_below(random, 3)];
  options->steps = (int32_t)sftest_below(random, 4);
  options->flags = (uint32_t)sftest_below(random, 3);
  bool several = sftest_below(random, 2) == 0;
  options->subdomains = several ? (int32_t)sftest_below(own_random, MAX_OWN) + 1 : 0;
  for (int i = 0; i < MAX_OWN; i++)
    scene->devices[i] = (int32_t)sftest_below(own_random, sftest_device_count() + 1) - 1;
  options->devices = devices && sftest_below(own_random, 4) > 0 ? scene->devices : NULL;
  scene->nfields = 1 + (int32_t)sftest_below(random, MAX_FIELDS);
  const sf_type_t *const units[] = {SF_UINT64, SF_UINT8, SF_UINT32};
  memcpy(scene->units, units, sizeof units);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void allocate(scene_t *scene)
{
  for (int32_t f = 0; f < scene->nfields; f++)
    for (int32_t a = 0; a < scene->info.narrays; a++) {
      int64_t units;
      SFTEST_OK(scene->self, sf_grid_array(scene->grid, a, &units, NULL));
      SFTEST_OK(scene->self, sf_grid_alloc(scene->grid, a, scene->units[f], &scene->arrays[f][a]));
      scene->host[f][a] = malloc((size_t)units * sf_type_size(scene->units[f]) + 1);
    }
}

/* Between the fields and the copies of them that the host reads. */
static void transfer(const scene_t *scene, bool to_fields)
{
  for (int32_t f = 0; f < scene->nfields; f++)
    for (int32_t a = 0; a < scene->info.narrays; a++) {
      int64_t units;
      int32_t device;
      SFTEST_OK(scene->self, sf_grid_array(scene->grid, a, &units, &device));
      void *to = to_fields ? scene->arrays[f][a] : scene->host[f][a];
      const void *from = to_fields ? (const void *)scene->host[f][a] : scene->arrays[f][a];
      size_t bytes = (size_t)units * sf_type_size(scene->units[f]);
      if (device >= 0 && bytes > 0)
        sftest_device_copy(to, from, bytes);
      else
        memcpy(to, from, bytes);
    }
}

static void release(scene_t *scene)
{
  for (int32_t f = 0; f < scene->nfields; f++)
    for (int32_t a = 0; a < scene->info.narrays; a++) {
      SFTEST_OK(scene->self, sf_free(scene->context, scene->arrays[f][a]));
      free(scene->host[f][a]);
    }
}

/* ---- Points ------------------------------------------------------------------------------------------------------ */

/* The point of the grid that a point of a subdomain is, or is a copy of; -1: there is none. */
static int64_t global_of(const scene_t *scene, const sf_grid_subdomain_t *sub, const int64_t at[3])
{
  int64_t point = 0;
  for (int axis = 2; axis >= 0; axis--) {
    int64_t n = scene->options.points[axis], c = sub->begin[axis] + at[axis];
    if (!scene->options.periodic[axis] && (c < 0 || c >= n))
      return -1;
    point = point * n + ((c % n) + n) % n;
  }
  return point;
}

/* Along how many axes the point is outside. */
static int away_of(const sf_grid_subdomain_t *sub, const int64_t at[3])
{
  int away = 0;
  for (int axis = 0; axis < 3; axis++)
    away += at[axis] < 0 || at[axis] >= sub->extent[axis];
  return away;
}

static int64_t unit_of(const sf_grid_subdomain_t *sub, const int64_t at[3])
{
  return sub->origin + at[0] * sub->stride[0] + at[1] * sub->stride[1] + at[2] * sub->stride[2];
}

static uint64_t value_of(int32_t field, int64_t point)
{
  uint64_t state = (uint64_t)point * 8 + (uint64_t)field;
  return sftest_random(&state);
}

/* Goes through a box; at starts at begin. False behind the last point. */
static bool next_point(int64_t at[3], const int64_t begin[3], const int64_t end[3])
{
  for (int axis = 0; axis < 3; axis++) {
    if (++at[axis] < end[axis])
      return true;
    at[axis] = begin[axis];
  }
  return false;
}

static bool is_empty(const int64_t begin[3], const int64_t end[3])
{
  return begin[0] >= end[0] || begin[1] >= end[1] || begin[2] >= end[2];
}

/* The own points, or with their halo. */
static void box_of(const sf_grid_subdomain_t *sub, bool halo, int64_t begin[3], int64_t end[3])
{
  for (int axis = 0; axis < 3; axis++) {
    begin[axis] = halo ? -sub->halo[axis][0] : 0;
    end[axis] = sub->extent[axis] + (halo ? sub->halo[axis][1] : 0);
  }
}

static void fill(scene_t *scene)
{
  const int64_t none[3] = {0};
  for (int32_t f = 0; f < scene->nfields; f++) {
    size_t size = sf_type_size(scene->units[f]);
    for (int32_t a = 0; a < scene->info.narrays; a++) {
      int64_t units;
      SFTEST_OK(scene->self, sf_grid_array(scene->grid, a, &units, NULL));
      memset(scene->host[f][a], SENTINEL, (size_t)units * size);
    }
    for (int32_t i = 0; i < scene->info.nown; i++) {
      const sf_grid_subdomain_t *sub = &scene->own[i];
      int64_t at[3] = {0};
      if (is_empty(none, sub->extent))
        continue;
      do {
        uint64_t value = value_of(f, global_of(scene, sub, at));
        memcpy(scene->host[f][sub->array] + (size_t)unit_of(sub, at) * size, &value, size);
      } while (next_point(at, none, sub->extent));
    }
  }
  transfer(scene, true);
}

static int reach_of(const scene_t *scene)
{
  int steps = scene->options.steps == 0 ? 1 : scene->options.steps;
  return scene->options.reach == SF_GRID_CORNERS ? 3 : (int)scene->options.reach * steps;
}

static void check_field(const scene_t *scene, int32_t f, const sf_grid_subdomain_t *sub)
{
  int64_t begin[3], end[3], at[3];
  const int64_t none[3] = {0};
  size_t size = sf_type_size(scene->units[f]);
  box_of(sub, true, begin, end);
  if (is_empty(none, sub->extent))
    return;
  memcpy(at, begin, sizeof at);
  do {
    int64_t point = global_of(scene, sub, at);
    uint64_t value = value_of(f, point);
    if (point < 0 || away_of(sub, at) > reach_of(scene))
      memset(&value, SENTINEL, sizeof value);
    sftest_require(scene->self, memcmp(scene->host[f][sub->array] + (size_t)unit_of(sub, at) * size, &value, size) == 0,
                   __FILE__, __LINE__, "field %d of subdomain %lld: point %lld, %lld, %lld", f, (long long)sub->number,
                   (long long)at[0], (long long)at[1], (long long)at[2]);
  } while (next_point(at, begin, end));
}

/* Every point has one owner, as all ranks say. */
static void check_owners(const scene_t *scene)
{
  const int64_t *n = scene->options.points;
  int64_t mine = 0, expected = 0;
  for (int64_t p = 0; p < total_points(scene); p++) {
    const int64_t point[3] = {p % n[0], p / n[0] % n[1], p / n[0] / n[1]};
    int64_t number;
    int32_t rank, own;
    SFTEST_OK(scene->self, sf_grid_find(scene->grid, point, &number, &rank, &own));
    if (rank != scene->self->rank)
      continue;
    mine++;
    for (int axis = 0; axis < 3; axis++)
      SFTEST_REQUIRE(scene->self, point[axis] >= scene->own[own].begin[axis] &&
                                      point[axis] < scene->own[own].begin[axis] + scene->own[own].extent[axis]);
    SFTEST_REQUIRE(scene->self, scene->own[own].number == number);
  }
  for (int32_t i = 0; i < scene->info.nown; i++)
    expected += scene->own[i].extent[0] * scene->own[i].extent[1] * scene->own[i].extent[2];
  SFTEST_REQUIRE(scene->self, mine == expected);
}

/* ---- The stencil ------------------------------------------------------------------------------------------------- */

/* Whether the stencil reads the neighbour at that offset: reach counts the axes along which it is away. */
static bool reads(const scene_t *scene, const int64_t offset[3])
{
  int reach = scene->options.reach == SF_GRID_CORNERS ? 3 : (int)scene->options.reach;
  return (offset[0] != 0) + (offset[1] != 0) + (offset[2] != 0) <= reach;
}

static void stencil_box(const scene_t *scene, int64_t begin[3], int64_t end[3])
{
  for (int axis = 0; axis < 3; axis++) {
    begin[axis] = -scene->options.radius[axis][0];
    end[axis] = scene->options.radius[axis][1] + 1;
  }
}

/* One point: the sum over its neighbours that exist, with weights. */
static uint64_t apply(const scene_t *scene, const sf_grid_subdomain_t *sub, const uint64_t *old, const int64_t at[3])
{
  int64_t begin[3], end[3], offset[3];
  uint64_t sum = 0;
  stencil_box(scene, begin, end);
  memcpy(offset, begin, sizeof offset);
  do {
    const int64_t there[3] = {at[0] + offset[0], at[1] + offset[1], at[2] + offset[2]};
    if (reads(scene, offset) && global_of(scene, sub, there) >= 0)
      sum += old[unit_of(sub, there)] * (uint64_t)(1 + offset[0] + 100 * offset[1] + 10000 * offset[2]);
  } while (next_point(offset, begin, end));
  return sum;
}

static int64_t stencil_size(const scene_t *scene)
{
  int64_t size = 1;
  for (int axis = 0; axis < 3; axis++)
    size *= scene->options.radius[axis][0] + scene->options.radius[axis][1] + 1;
  return size;
}

/* Steps on the whole grid, which is a subdomain whose neighbours are looked up by their place in the grid. */
static uint64_t *compute_serially(const scene_t *scene, int32_t steps)
{
  int64_t total = total_points(scene);
  const int64_t *n = scene->options.points;
  uint64_t *old = calloc((size_t)total, sizeof *old), *new = calloc((size_t)total, sizeof *new);
  sf_grid_subdomain_t whole = {.extent = {n[0], n[1], n[2]}};
  for (int64_t p = 0; p < total; p++)
    old[p] = value_of(0, p);
  for (int32_t step = 0; step < steps; step++) {
    for (int64_t p = 0; p < total; p++) {
      const int64_t at[3] = {p % n[0], p / n[0] % n[1], p / n[0] / n[1]};
      int64_t begin[3], end[3], offset[3];
      stencil_box(scene, begin, end);
      memcpy(offset, begin, sizeof offset);
      new[p] = 0;
      do {
        const int64_t there[3] = {at[0] + offset[0], at[1] + offset[1], at[2] + offset[2]};
        int64_t point = global_of(scene, &whole, there);
        if (reads(scene, offset) && point >= 0)
          new[p] += old[point] * (uint64_t)(1 + offset[0] + 100 * offset[1] + 10000 * offset[2]);
      } while (next_point(offset, begin, end));
    }
    uint64_t *swap = old;
    old = new;
    new = swap;
  }
  free(new);
  return old;
}

/* What the inner points become, before the halo is there. */
static void check_inner(const scene_t *scene, const sf_grid_subdomain_t *sub, const uint64_t *without,
                        const uint64_t *with)
{
  int64_t at[3];
  if (is_empty(sub->inner_begin, sub->inner_end))
    return;
  memcpy(at, sub->inner_begin, sizeof at);
  do
    SFTEST_REQUIRE(scene->self, apply(scene, sub, without, at) == apply(scene, sub, with, at));
  while (next_point(at, sub->inner_begin, sub->inner_end));
}

static void check_steps(const scene_t *scene, int32_t own, const uint64_t *filled, const uint64_t *serial)
{
  const sf_grid_subdomain_t *sub = &scene->own[own];
  int32_t steps = scene->options.steps == 0 ? 1 : scene->options.steps;
  int64_t units, begin[3], end[3], at[3];
  SFTEST_OK(scene->self, sf_grid_array(scene->grid, sub->array, &units, NULL));
  uint64_t *old = malloc((size_t)units * sizeof *old + 1), *new = malloc((size_t)units * sizeof *new + 1);
  memcpy(old, filled, (size_t)units * sizeof *old);
  for (int32_t step = 0; step < steps; step++) {
    SFTEST_OK(scene->self, sf_grid_step(scene->grid, own, step, begin, end));
    memset(new, SENTINEL, (size_t)units * sizeof *new);
    memcpy(at, begin, sizeof at);
    do
      new[unit_of(sub, at)] = apply(scene, sub, old, at);
    while (next_point(at, begin, end));
    uint64_t *swap = old;
    old = new;
    new = swap;
  }
  memcpy(at, begin, sizeof at);
  do
    sftest_require(scene->self, old[unit_of(sub, at)] == serial[global_of(scene, sub, at)], __FILE__, __LINE__,
                   "step %d of subdomain %lld: point %lld, %lld, %lld", steps, (long long)sub->number, (long long)at[0],
                   (long long)at[1], (long long)at[2]);
  while (next_point(at, begin, end));
  for (int axis = 0; axis < 3; axis++)
    SFTEST_REQUIRE(scene->self, begin[axis] == 0 && end[axis] == sub->extent[axis]);
  free(old);
  free(new);
}

static void check_stencil(const scene_t *scene, const uint8_t *const before[])
{
  const int64_t none[3] = {0};
  int32_t steps = scene->options.steps == 0 ? 1 : scene->options.steps;
  if (total_points(scene) * stencil_size(scene) * steps * steps * steps > MAX_WORK)
    return;
  uint64_t *serial = compute_serially(scene, steps);
  for (int32_t i = 0; i < scene->info.nown; i++) {
    const sf_grid_subdomain_t *sub = &scene->own[i];
    if (is_empty(none, sub->extent))
      continue;
    const uint64_t *filled = (const uint64_t *)(const void *)scene->host[0][sub->array];
    check_inner(scene, sub, (const uint64_t *)(const void *)before[sub->array], filled);
    check_steps(scene, i, filled, serial);
  }
  free(serial);
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

static void exchange(scene_t *scene, bool apart)
{
  sf_grid_field_t fields[MAX_FIELDS];
  sf_grid_exchange_t *exchange;
  for (int32_t f = 0; f < scene->nfields; f++)
    fields[f] = (sf_grid_field_t){scene->units[f], scene->arrays[f]};
  SFTEST_OK(scene->self, sf_grid_exchange_create(scene->grid, scene->nfields, fields, &exchange));
  for (int round = 0; round < 2; round++) {
    SFTEST_OK(scene->self, apart ? sf_grid_exchange_begin(exchange) : SF_OK);
    SFTEST_OK(scene->self, apart ? sf_grid_exchange_end(exchange) : sf_grid_exchange(exchange));
  }
  sf_graph_t *graph;
  sf_graph_info_t info;
  SFTEST_OK(scene->self, sf_grid_graph(scene->grid, 0, 0, &graph));
  SFTEST_OK(scene->self, sf_graph_info(graph, &info));
  SFTEST_REQUIRE(scene->self, info.operations == 2); /* one with all fields, each time */
  SFTEST_EXPECT(scene->self, sf_grid_destroy(scene->grid), SF_ERR_STATE);
  SFTEST_OK(scene->self, sf_grid_exchange_destroy(exchange));
}

static void check_neighbors(const scene_t *scene)
{
  for (int32_t i = 0; i < scene->info.nown; i++) {
    sf_grid_neighbor_t few[3];
    int32_t n = -1;
    SFTEST_OK(scene->self, sf_grid_neighbors(scene->grid, i, 3, few, &n));
    for (int32_t k = 0; k < n && k < 3; k++)
      SFTEST_REQUIRE(scene->self, few[k].values > 0 && few[k].rank >= 0 && few[k].rank < scene->self->size &&
                                      few[k].number != scene->own[i].number);
  }
}

void sftest_grid_check(sftest_rank_t *self, sf_context_t *context, uint64_t seed, bool devices)
{
  scene_t scene = {.self = self, .context = context};
  uint64_t random = seed, own_random = (seed << 8) + (uint64_t)self->rank + 1;
  uint8_t *before[MAX_OWN] = {NULL};
  choose(&scene, &random, &own_random, devices);
  sftest_at(self, "a grid of %d axes, seed %llu", scene.options.ndims, (unsigned long long)seed);
  SFTEST_OK(self, sf_grid_create(sf_group_world(context), &scene.options, &scene.grid));
  SFTEST_OK(self, sf_grid_info(scene.grid, &scene.info));
  SFTEST_REQUIRE(self, scene.info.placed_cost <= scene.info.linear_cost * (1 + 1e-9));
  for (int32_t i = 0; i < scene.info.nown; i++)
    SFTEST_OK(self, sf_grid_subdomain(scene.grid, i, &scene.own[i]));
  check_owners(&scene);
  check_neighbors(&scene);
  allocate(&scene);
  fill(&scene);
  for (int32_t a = 0; a < scene.info.narrays; a++) {
    int64_t units;
    SFTEST_OK(self, sf_grid_array(scene.grid, a, &units, NULL));
    before[a] = malloc((size_t)units * sizeof(uint64_t) + 1);
    memcpy(before[a], scene.host[0][a], (size_t)units * sizeof(uint64_t));
  }
  exchange(&scene, sftest_below(&random, 2) != 0);
  transfer(&scene, false);
  for (int32_t f = 0; f < scene.nfields; f++)
    for (int32_t i = 0; i < scene.info.nown; i++)
      check_field(&scene, f, &scene.own[i]);
  check_stencil(&scene, (const uint8_t *const *)before);
  for (int32_t a = 0; a < scene.info.narrays; a++)
    free(before[a]);
  release(&scene);
  SFTEST_OK(self, sf_grid_destroy(scene.grid));
}
