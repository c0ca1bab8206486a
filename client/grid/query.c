/* Queries of grids: subdomains, neighbours, owners, graphs, arrays. Local; any thread. */
#include <string.h>

#include "client/core.h"
#include "client/grid/grid.h"
#include "shm/base/error.h"

static sf_status_t check(const char *caller, const sf_grid_t *grid, const void *result)
{
  if (grid == NULL || result == NULL)
    return sfshm_error(SF_ERR_ARG, "%s: %s is NULL", caller, grid == NULL ? "grid" : "the place for the result");
  return sfc_context_check(grid->group->context, caller);
}

static sf_status_t check_index(const char *caller, const char *what, int64_t index, int64_t n)
{
  if (index >= 0 && index < n)
    return SF_OK;
  return sfshm_error(SF_ERR_RANGE, "%s: %s %lld; 0 to %lld expected", caller, what, (long long)index, (long long)n - 1);
}

static const sfc_grid_place_t *own_place(const sf_grid_t *grid, int32_t own)
{
  return &grid->places[grid->first_place[grid->group->rank] + own];
}

sf_status_t sf_grid_info(const sf_grid_t *grid, sf_grid_info_t *info_p)
{
  sf_status_t status = check(__func__, grid, info_p);
  if (status != SF_OK)
    return status;
  *info_p = (sf_grid_info_t){.nsubdomains = grid->count,
                             .nown = grid->nown,
                             .narrays = grid->narrays,
                             .linear_cost = grid->linear.total,
                             .placed_cost = grid->placed.total,
                             .linear_time = grid->linear.busiest,
                             .placed_time = grid->placed.busiest};
  memcpy(info_p->nodes, grid->partition.outer, sizeof info_p->nodes);
  memcpy(info_p->subdomains, grid->partition.inner, sizeof info_p->subdomains);
  return SF_OK;
}

/* Whether a subdomain has a neighbour below (side 0) or above (side 1) along an axis. */
static bool has_neighbor(const sf_grid_t *grid, const sf_grid_subdomain_t *subdomain, int axis, int side)
{
  if (grid->options.periodic[axis])
    return true;
  return side == 0 ? subdomain->begin[axis] > 0
                   : subdomain->begin[axis] + subdomain->extent[axis] < grid->options.points[axis];
}

static void find_inner(const sf_grid_t *grid, sf_grid_subdomain_t *subdomain)
{
  for (int axis = 0; axis < SFC_AXES; axis++) {
    int64_t extent = subdomain->extent[axis];
    int64_t begin = has_neighbor(grid, subdomain, axis, 0) ? grid->options.radius[axis][0] : 0;
    int64_t end = extent - (has_neighbor(grid, subdomain, axis, 1) ? grid->options.radius[axis][1] : 0);
    subdomain->inner_begin[axis] = begin < extent ? begin : extent;
    subdomain->inner_end[axis] = end > subdomain->inner_begin[axis] ? end : subdomain->inner_begin[axis];
  }
}

sf_status_t sf_grid_subdomain(const sf_grid_t *grid, int32_t own, sf_grid_subdomain_t *subdomain_p)
{
  sf_status_t status = check(__func__, grid, subdomain_p);
  if (status == SF_OK)
    status = check_index(__func__, "own subdomain", own, grid->nown);
  if (status != SF_OK)
    return status;
  const sfc_grid_place_t *place = own_place(grid, own);
  sf_grid_subdomain_t subdomain = {
      .number = place->number, .array = place->array, .device = grid->devices[place->array], .origin = place->origin};
  sfc_partition_parts_of(&grid->partition, place->number, subdomain.part);
  const sfc_grid_layout_t layout = sfc_grid_layout_of(grid, place->number);
  memcpy(subdomain.begin, layout.begin, sizeof layout.begin);
  memcpy(subdomain.extent, layout.extent, sizeof layout.extent);
  memcpy(subdomain.stride, layout.stride, sizeof layout.stride);
  memcpy(subdomain.halo, grid->halo.width, sizeof grid->halo.width);
  find_inner(grid, &subdomain);
  *subdomain_p = subdomain;
  return SF_OK;
}

sf_status_t sf_grid_neighbors(const sf_grid_t *grid, int32_t own, int32_t capacity, sf_grid_neighbor_t list[],
                              int32_t *n_p)
{
  sfc_neighbors_t neighbors;
  int64_t number, values;
  int32_t n = 0;
  sf_status_t status = check(__func__, grid, n_p);
  if (status == SF_OK)
    status = check_index(__func__, "own subdomain", own, grid->nown);
  if (status == SF_OK && capacity > 0 && list == NULL)
    status = sfshm_error(SF_ERR_ARG, "%s: neighbors is NULL, with capacity %d", __func__, capacity);
  if (status != SF_OK)
    return status;
  if (!sfc_neighbors_begin(&neighbors, &grid->partition, &grid->halo, own_place(grid, own)->number))
    return sfshm_error(SF_ERR_NOMEM, "%s: list of neighbours", __func__);
  for (; sfc_neighbors_next(&neighbors, &number, &values); n++) {
    const sfc_grid_place_t *place = &grid->places[grid->place_of[number]];
    if (n >= capacity)
      continue;
    list[n] = (sf_grid_neighbor_t){.number = number, .rank = place->rank, .own = place->own, .values = values};
    sfc_partition_parts_of(&grid->partition, number, list[n].part);
  }
  sfc_neighbors_end(&neighbors);
  *n_p = n;
  return SF_OK;
}

sf_status_t sf_grid_step(const sf_grid_t *grid, int32_t own, int32_t step, int64_t begin[SF_GRID_AXES],
                         int64_t end[SF_GRID_AXES])
{
  sf_grid_subdomain_t subdomain;
  sf_status_t status = check(__func__, grid, begin != NULL ? end : NULL);
  if (status == SF_OK)
    status = check_index(__func__, "step", step, grid->options.steps);
  if (status == SF_OK)
    status = sf_grid_subdomain(grid, own, &subdomain);
  if (status != SF_OK)
    return status;
  bool empty = subdomain.extent[0] == 0 || subdomain.extent[1] == 0 || subdomain.extent[2] == 0;
  for (int axis = 0; axis < SFC_AXES; axis++) {
    int64_t later = empty ? 0 : grid->options.steps - 1 - step;
    int64_t first = -later * grid->options.radius[axis][0], at = subdomain.begin[axis];
    int64_t last = subdomain.extent[axis] + later * grid->options.radius[axis][1], n = grid->options.points[axis];
    bool ends = !grid->options.periodic[axis];
    begin[axis] = ends && first < -at ? -at : first;
    end[axis] = ends && last > n - at ? n - at : last;
  }
  return SF_OK;
}

sf_status_t sf_grid_find(const sf_grid_t *grid, const int64_t point[SF_GRID_AXES], int64_t *number_p, int32_t *rank_p,
                         int32_t *own_p)
{
  int32_t part[SFC_AXES];
  sf_status_t status = check(__func__, grid, point != NULL ? number_p : NULL);
  for (int axis = 0; status == SF_OK && axis < SFC_AXES; axis++) {
    status = check_index(__func__, "point", axis < grid->options.ndims ? point[axis] : 0, grid->options.points[axis]);
    if (status == SF_OK)
      part[axis] = sfc_partition_part_at(&grid->partition, axis, axis < grid->options.ndims ? point[axis] : 0);
  }
  if (status != SF_OK)
    return status;
  *number_p = sfc_partition_number(&grid->partition, part);
  const sfc_grid_place_t *place = &grid->places[grid->place_of[*number_p]];
  if (rank_p != NULL)
    *rank_p = place->rank;
  if (own_p != NULL)
    *own_p = place->own;
  return SF_OK;
}

sf_status_t sf_grid_graph(const sf_grid_t *grid, int32_t root_array, int32_t leaf_array, sf_graph_t **graph_p)
{
  sf_status_t status = check(__func__, grid, graph_p);
  if (status == SF_OK)
    status = check_index(__func__, "root array", root_array, grid->narrays_most);
  if (status == SF_OK)
    status = check_index(__func__, "leaf array", leaf_array, grid->narrays_most);
  if (status == SF_OK)
    *graph_p = grid->graphs[root_array * grid->narrays_most + leaf_array];
  return status;
}

sf_status_t sf_grid_array(const sf_grid_t *grid, int32_t array, int64_t *units_p, int32_t *device_p)
{
  sf_status_t status = check(__func__, grid, units_p);
  if (status == SF_OK)
    status = check_index(__func__, "array", array, grid->narrays);
  if (status != SF_OK)
    return status;
  *units_p = grid->units[array];
  if (device_p != NULL)
    *device_p = grid->devices[array];
  return SF_OK;
}

sf_status_t sf_grid_alloc(const sf_grid_t *grid, int32_t array, const sf_type_t *unit, void **address_p)
{
  int64_t units;
  int32_t device;
  size_t bytes;
  sf_status_t status = check(__func__, grid, address_p);
  if (status == SF_OK && unit == NULL)
    status = sfshm_error(SF_ERR_ARG, "%s: unit is NULL", __func__);
  if (status == SF_OK)
    status = sf_grid_array(grid, array, &units, &device);
  if (status != SF_OK)
    return status;
  if (__builtin_mul_overflow((size_t)(units > 0 ? units : 1), sf_type_size(unit), &bytes))
    return sfshm_error(SF_ERR_RANGE, "%s: %lld units of %zu bytes", __func__, (long long)units, sf_type_size(unit));
  sf_context_t *context = grid->group->context;
  return device < 0 ? sf_alloc(context, bytes, address_p) : sf_alloc_on_device(context, device, bytes, address_p);
}
