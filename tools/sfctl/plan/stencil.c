/* Plans of stencils: see stencil.h. */
#include "tools/sfctl/plan/stencil.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/base/room.h"
#include "shm/lane/lane.h"
#include "tools/sfctl/plan/grid.h"
#include "tools/sfctl/print/table.h"

static sf_status_t no_memory(int64_t n)
{
  return sfshm_error(SF_ERR_NOMEM, "no memory to plan for %" PRId64 " ranks", n);
}

/* ---- Placement --------------------------------------------------------------------------------------------------- */

/* Reads a matrix of n * n numbers, separated by white space or commas. */
static sf_status_t read_distances(const char *path, int32_t n, double distances[])
{
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return sfshm_error_errno(SF_ERR_SYS, "--distances %s", path);
  sf_status_t status = SF_OK;
  double rest;
  for (int64_t i = 0; i < (int64_t)n * n && status == SF_OK; i++)
    if (fscanf(file, " %lf ,", &distances[i]) != 1 || !(distances[i] >= 0 && distances[i] < 1e100))
      status =
          sfshm_error(SF_ERR_ARG, "--distances %s: expected %d times %d numbers from 0 on; number %" PRId64 " is none",
                      path, n, n, i + 1);
  if (status == SF_OK && fscanf(file, " %lf", &rest) != EOF)
    status = sfshm_error(SF_ERR_ARG, "--distances %s: more than %d times %d numbers", path, n, n);
  fclose(file);
  return status;
}

/* A placement problem and its solution, kept for other nodes: most nodes have the same flow, because their shares have
 * the same shape. */
typedef struct solved {
  double *flow;
  int32_t *place;
  sfc_placement_cost_t linear, best;
} solved_t;

typedef struct placer {
  sfctl_stencil_t *stencil;
  double *distances, *flow;
  int32_t *scratch;
  solved_t *solved;
  size_t nsolved, capacity;
} placer_t;

static solved_t *find_solved(placer_t *placer)
{
  int32_t n = placer->stencil->per_node;
  size_t bytes = (size_t)n * (size_t)n * sizeof *placer->flow;
  for (size_t i = 0; i < placer->nsolved; i++)
    if (memcmp(placer->solved[i].flow, placer->flow, bytes) == 0)
      return &placer->solved[i];
  if (!sfshm_make_room(&placer->solved, &placer->capacity, placer->nsolved + 1, sizeof *placer->solved))
    return NULL;
  solved_t *solved = &placer->solved[placer->nsolved];
  *solved = (solved_t){.flow = malloc(bytes), .place = calloc((size_t)n, sizeof *solved->place)};
  placer->nsolved++;
  if (solved->flow == NULL || solved->place == NULL)
    return NULL;
  memcpy(solved->flow, placer->flow, bytes);
  for (int32_t i = 0; i < n; i++)
    solved->place[i] = i;
  solved->linear = sfc_placement_cost(n, placer->flow, placer->distances, solved->place);
  sfc_placement_find(n, placer->flow, placer->distances, solved->place, placer->scratch);
  solved->best = sfc_placement_cost(n, placer->flow, placer->distances, solved->place);
  return solved;
}

static void add_cost(sfc_placement_cost_t *sum, const sfc_placement_cost_t *cost)
{
  sum->total += cost->total;
  sum->busiest = cost->busiest > sum->busiest ? cost->busiest : sum->busiest;
}

static sf_status_t place_nodes(placer_t *placer)
{
  sfctl_stencil_t *stencil = placer->stencil;
  int32_t n = stencil->per_node;
  for (int64_t first = 0; first < (int64_t)stencil->nnodes * n; first += n) {
    sfc_placement_flow(&stencil->partition, &stencil->halo, first, n, placer->flow);
    const solved_t *solved = find_solved(placer);
    if (solved == NULL)
      return no_memory(n);
    for (int32_t i = 0; i < n; i++)
      stencil->rank_of[first + i] = (int32_t)first + solved->place[i];
    add_cost(&stencil->linear, &solved->linear);
    add_cost(&stencil->best, &solved->best);
  }
  stencil->placed = true;
  return SF_OK;
}

static sf_status_t place_all(sfctl_stencil_t *stencil, const char *path)
{
  size_t n = (size_t)stencil->per_node;
  placer_t placer = {.stencil = stencil,
                     .distances = calloc(n * n, sizeof *placer.distances),
                     .flow = calloc(n * n, sizeof *placer.flow),
                     .scratch = calloc(n, sizeof *placer.scratch)};
  sf_status_t status = placer.distances != NULL && placer.flow != NULL && placer.scratch != NULL
                           ? read_distances(path, stencil->per_node, placer.distances)
                           : no_memory(stencil->per_node);
  if (status == SF_OK)
    status = place_nodes(&placer);
  for (size_t i = 0; i < placer.nsolved; i++) {
    free(placer.solved[i].flow);
    free(placer.solved[i].place);
  }
  free(placer.solved);
  free(placer.distances);
  free(placer.flow);
  free(placer.scratch);
  return status;
}

/* ---- Partition --------------------------------------------------------------------------------------------------- */

sf_status_t sfctl_stencil_init(const sfctl_options_t *options, sfctl_stencil_t *stencil_p)
{
  sfctl_grid_t grid;
  sf_status_t status = sfctl_grid_init(options->grid, options->stencil, 1, &grid);
  if (status != SF_OK)
    return status;
  static const int32_t axes[SFC_AXES] = {0, 1, 2}; /* as for arrays whose last axis is the fastest */
  bool periodic[SFC_AXES];
  sfctl_stencil_t stencil = {.nnodes = (int32_t)options->nodes,
                             .per_node = (int32_t)options->per_node,
                             .unit_bytes = options->fields * options->unit,
                             .halo.reach = grid.corners ? SFC_AXES : 1};
  for (int axis = 0; axis < SFC_AXES; axis++) {
    bool there = grid.points[axis] > 1;
    periodic[axis] = options->periodic && there;
    stencil.halo.width[axis][0] = stencil.halo.width[axis][1] = there ? options->radius : 0;
  }
  stencil.partition = sfc_partition_make(grid.points, periodic, axes, stencil.nnodes, stencil.per_node);
  int64_t count = (int64_t)stencil.nnodes * stencil.per_node;
  stencil.rank_of = calloc((size_t)count, sizeof *stencil.rank_of);
  if (stencil.rank_of == NULL)
    return no_memory(count);
  for (int64_t i = 0; i < count; i++)
    stencil.rank_of[i] = (int32_t)i;
  if (options->distances != NULL)
    status = place_all(&stencil, options->distances);
  if (status == SF_OK)
    *stencil_p = stencil;
  else
    sfctl_stencil_free(&stencil);
  return status;
}

void sfctl_stencil_free(sfctl_stencil_t *stencil)
{
  free(stencil->rank_of);
}

/* ---- Forecast ---------------------------------------------------------------------------------------------------- */

typedef struct maker {
  const sfctl_stencil_t *stencil;
  sfctl_forecast_t forecast;
  size_t *pair_of; /* pair of each sending node with the current receiving node */
} maker_t;

/* Adds the pairs of a receiving node with one message each. */
static sf_status_t add_pairs(maker_t *maker, const sfc_partition_t *nodes, int32_t to)
{
  sfctl_forecast_t *forecast = &maker->forecast;
  sfc_neighbors_t neighbors;
  int64_t from, values;
  sf_status_t status = SF_OK;
  if (!sfc_neighbors_begin(&neighbors, nodes, &maker->stencil->halo, to))
    return no_memory(to);
  while (status == SF_OK && sfc_neighbors_next(&neighbors, &from, &values)) {
    if (!sfshm_make_room(&forecast->pairs, &forecast->pairs_capacity, forecast->npairs + 1, sizeof *forecast->pairs)) {
      status = no_memory(to);
      continue;
    }
    maker->pair_of[from] = forecast->npairs;
    forecast->pairs[forecast->npairs++] = (sfctl_node_pair_t){(int32_t)from, to, {0, 0}, {1, values}};
    sfctl_load_add(&forecast->nodes[from].out, 1, values);
    sfctl_load_add(&forecast->nodes[to].in, 1, values);
  }
  sfc_neighbors_end(&neighbors);
  return status;
}

static sf_status_t add_subdomain(maker_t *maker, int64_t number)
{
  const sfctl_stencil_t *stencil = maker->stencil;
  sfctl_forecast_t *forecast = &maker->forecast;
  sfc_neighbors_t neighbors;
  int64_t other, values, to = number / stencil->per_node;
  if (!sfc_neighbors_begin(&neighbors, &stencil->partition, &stencil->halo, number))
    return no_memory(number);
  while (sfc_neighbors_next(&neighbors, &other, &values)) {
    int64_t from = other / stencil->per_node;
    if (from == to) {
      sfctl_load_add(&forecast->nodes[to].within, 1, values);
      continue;
    }
    sfctl_load_add(&forecast->nodes[from].flat_out, 1, values);
    sfctl_load_add(&forecast->nodes[to].flat_in, 1, values);
    sfctl_load_add(&forecast->pairs[maker->pair_of[from]].flat, 1, values);
  }
  sfc_neighbors_end(&neighbors);
  return SF_OK;
}

static int compare_pairs(const void *a, const void *b)
{
  const sfctl_node_pair_t *x = a, *y = b;
  if (x->to != y->to)
    return x->to < y->to ? -1 : 1;
  return (x->from > y->from) - (x->from < y->from);
}

sf_status_t sfctl_stencil_forecast(const sfctl_stencil_t *stencil, sfctl_forecast_t *forecast_p)
{
  sfc_partition_t nodes = sfc_partition_of_nodes(&stencil->partition);
  size_t n = (size_t)stencil->nnodes;
  maker_t maker = {.stencil = stencil, .forecast.nnodes = stencil->nnodes};
  maker.forecast.nodes = calloc(n, sizeof *maker.forecast.nodes);
  maker.pair_of = calloc(n, sizeof *maker.pair_of);
  sf_status_t status = maker.forecast.nodes != NULL && maker.pair_of != NULL ? SF_OK : no_memory(stencil->nnodes);
  for (int32_t to = 0; to < stencil->nnodes && status == SF_OK; to++) {
    status = add_pairs(&maker, &nodes, to);
    for (int32_t i = 0; i < stencil->per_node && status == SF_OK; i++)
      status = add_subdomain(&maker, (int64_t)to * stencil->per_node + i);
  }
  free(maker.pair_of);
  if (status != SF_OK) {
    sfctl_forecast_free(&maker.forecast);
    return status;
  }
  if (maker.forecast.npairs > 0)
    qsort(maker.forecast.pairs, maker.forecast.npairs, sizeof *maker.forecast.pairs, compare_pairs);
  *forecast_p = maker.forecast;
  return SF_OK;
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

#define IN_PLACE_BYTES (SFSHM_LANE_SLOTS * (32 << 10)) /* the library's: payloads above are read in place */

/* Protocol of the library for that many values between two ranks, in memory of sf_alloc. */
static const char *way_of(const sfctl_stencil_t *stencil, int64_t to, int64_t from, int64_t values)
{
  if (to / stencil->per_node != from / stencil->per_node)
    return "trunk";
  if (values * stencil->unit_bytes > IN_PLACE_BYTES)
    return "in-place";
  return values * stencil->unit_bytes <= SFSHM_INLINE_BYTES ? "inline" : "slots";
}

/* Calls visit for each pair of ranks, in the order of the receiving ranks. */
static sf_status_t visit_pairs(const sfctl_stencil_t *stencil,
                               void (*visit)(void *context, const sfctl_stencil_t *stencil, int64_t to, int64_t from,
                                             int64_t values),
                               void *context)
{
  for (int64_t number = 0; number < sfc_partition_count(&stencil->partition); number++) {
    sfc_neighbors_t neighbors;
    int64_t other, values;
    if (!sfc_neighbors_begin(&neighbors, &stencil->partition, &stencil->halo, number))
      return no_memory(number);
    while (sfc_neighbors_next(&neighbors, &other, &values))
      visit(context, stencil, number, other, values);
    sfc_neighbors_end(&neighbors);
  }
  return SF_OK;
}

static void print_pair(void *context, const sfctl_stencil_t *stencil, int64_t to, int64_t from, int64_t values)
{
  sfctl_table_t *table = context;
  sfctl_table_add(table, SFCTL_VALUE(stencil->rank_of[from]), SFCTL_VALUE(stencil->rank_of[to]), SFCTL_VALUE(values),
                  SFCTL_VALUE(way_of(stencil, to, from, values)));
}

static void format_size(const sfc_partition_t *partition, char text[96])
{
  int64_t size[SFC_AXES];
  for (int axis = 0; axis < SFC_AXES; axis++)
    size[axis] = sfc_partition_begin(partition, axis, 1);
  snprintf(text, 96, "%" PRId64 "x%" PRId64 "x%" PRId64, size[0], size[1], size[2]);
}

sf_status_t sfctl_stencil_print(const sfctl_stencil_t *stencil, bool pairs, FILE *file)
{
  static const sfctl_column_t columns[] = {
      {"FROM", SFCTL_RIGHT}, {"TO", SFCTL_RIGHT}, {"VALUES", SFCTL_RIGHT}, {"WAY", SFCTL_LEFT}};
  const int32_t *outer = stencil->partition.outer, *inner = stencil->partition.inner;
  char size[96];
  format_size(&stencil->partition, size);
  fprintf(file, "partition: %dx%dx%d nodes, each of %dx%dx%d subdomains, of up to %s points\n", outer[0], outer[1],
          outer[2], inner[0], inner[1], inner[2], size);
  if (stencil->placed)
    fprintf(file, "placement: cost %.4g, in order %.4g; busiest place %.4g, in order %.4g: %.1f %% less\n",
            stencil->best.total, stencil->linear.total, stencil->best.busiest, stencil->linear.busiest,
            stencil->linear.busiest > 0 ? 100 * (1 - stencil->best.busiest / stencil->linear.busiest) : 0.0);
  else
    fputs("placement: in order, as no --distances are given\n", file);
  sfctl_table_t table = {SFCTL_COLUMNS(columns)};
  sf_status_t status = pairs ? visit_pairs(stencil, print_pair, &table) : SF_OK;
  if (status == SF_OK && pairs)
    status = sfctl_table_print(&table, 0, file);
  sfctl_table_clear(&table);
  return status;
}

static void write_pair(void *context, const sfctl_stencil_t *stencil, int64_t to, int64_t from, int64_t values)
{
  sfctl_json_t *json = context;
  sfctl_json_object(json, NULL, SFCTL_MEMBER("from", stencil->rank_of[from]), SFCTL_MEMBER("to", stencil->rank_of[to]),
                    SFCTL_MEMBER("values", values), SFCTL_MEMBER("way", way_of(stencil, to, from, values)));
}

sf_status_t sfctl_stencil_write(const sfctl_stencil_t *stencil, bool pairs, sfctl_json_t *json)
{
  sf_status_t status = SF_OK;
  sfctl_json_put_numbers(json, "node_parts", stencil->partition.outer, SFC_AXES);
  sfctl_json_put_numbers(json, "subdomain_parts", stencil->partition.inner, SFC_AXES);
  if (stencil->placed) {
    sfctl_json_add(
        json, SFCTL_MEMBER("linear_cost", stencil->linear.total), SFCTL_MEMBER("placed_cost", stencil->best.total),
        SFCTL_MEMBER("linear_time", stencil->linear.busiest), SFCTL_MEMBER("placed_time", stencil->best.busiest));
  }
  if (pairs) {
    sfctl_json_begin_array(json, "rank_pairs");
    status = visit_pairs(stencil, write_pair, json);
    sfctl_json_end_array(json);
  }
  return status;
}
