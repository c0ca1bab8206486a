/* Edges of grids: each halo point of this rank's subdomains is a leaf of the point that it is a copy of. */
#include "client/grid/grid.h"

void sfc_grid_box(const sf_grid_t *grid, int64_t number, int64_t begin[SFC_AXES], int64_t extent[SFC_AXES])
{
  int32_t part[SFC_AXES];
  sfc_partition_parts_of(&grid->partition, number, part);
  for (int axis = 0; axis < SFC_AXES; axis++) {
    begin[axis] = sfc_partition_begin(&grid->partition, axis, part[axis]);
    extent[axis] = sfc_partition_begin(&grid->partition, axis, part[axis] + 1) - begin[axis];
  }
}

int64_t sfc_grid_strides(const sf_grid_t *grid, const int64_t extent[SFC_AXES], int64_t stride[SFC_AXES])
{
  int64_t units = 1;
  for (int i = 0; i < SFC_AXES; i++) {
    int axis = grid->options.order[i];
    stride[axis] = units;
    units *= extent[axis] + grid->halo.width[axis][0] + grid->halo.width[axis][1] + grid->options.padding[axis];
  }
  return extent[0] == 0 || extent[1] == 0 || extent[2] == 0 ? 0 : units;
}

int64_t sfc_grid_units(const sf_grid_t *grid, int64_t number, int64_t *origin_p)
{
  int64_t begin[SFC_AXES], extent[SFC_AXES], stride[SFC_AXES];
  sfc_grid_box(grid, number, begin, extent);
  int64_t units = sfc_grid_strides(grid, extent, stride);
  *origin_p = 0;
  for (int axis = 0; axis < SFC_AXES; axis++)
    *origin_p += units > 0 ? grid->halo.width[axis][0] * stride[axis] : 0;
  return units;
}

/* A subdomain whose halo is being connected. */
typedef struct viewer {
  const sf_grid_t *grid;
  int32_t root_array;
  int64_t origin, stride[SFC_AXES];
  int64_t nedges;       /* counted, if derive is NULL */
  sfc_derive_t *derive; /* where edges are added */
} viewer_t;

/* The boxes of the owner and of the viewer, line by line in the order of storage. */
static void add_box(viewer_t *viewer, const sfc_segment_t segments[SFC_AXES], const sfc_grid_place_t *owner)
{
  const int32_t *order = viewer->grid->options.order;
  int64_t begin[SFC_AXES], extent[SFC_AXES], stride[SFC_AXES], root = owner->origin, leaf = viewer->origin;
  sfc_grid_box(viewer->grid, owner->number, begin, extent);
  (void)sfc_grid_strides(viewer->grid, extent, stride);
  for (int axis = 0; axis < SFC_AXES; axis++) {
    root += (segments[axis].begin - begin[axis]) * stride[axis];
    leaf += segments[axis].at * viewer->stride[axis];
  }
  for (int64_t k = 0; k < segments[order[2]].n; k++)
    for (int64_t j = 0; j < segments[order[1]].n; j++)
      for (int64_t i = 0; i < segments[order[0]].n; i++)
        sfc_derive_add(viewer->derive, leaf + i + j * viewer->stride[order[1]] + k * viewer->stride[order[2]],
                       owner->rank, root + i + j * stride[order[1]] + k * stride[order[2]]);
}

static void take_box(viewer_t *viewer, const sfc_segment_t segments[SFC_AXES])
{
  const sf_grid_t *grid = viewer->grid;
  int32_t part[SFC_AXES], away = 0;
  for (int axis = 0; axis < SFC_AXES; axis++) {
    part[axis] = segments[axis].part;
    away += segments[axis].side != 0;
  }
  if (away == 0 || away > grid->halo.reach)
    return;
  const sfc_grid_place_t *owner = &grid->places[grid->place_of[sfc_partition_number(&grid->partition, part)]];
  if (owner->array != viewer->root_array)
    return;
  if (viewer->derive == NULL)
    viewer->nedges += segments[0].n * segments[1].n * segments[2].n;
  else
    add_box(viewer, segments, owner);
}

static void view(viewer_t *viewer, int64_t number)
{
  const sf_grid_t *grid = viewer->grid;
  int32_t part[SFC_AXES];
  sfc_segment_t segments[SFC_AXES];
  sfc_partition_parts_of(&grid->partition, number, part);
  sfc_segments_t z =
      sfc_segments_of(&grid->partition, grid->options.order[2], part[grid->options.order[2]], &grid->halo);
  while (sfc_segments_next(&z, &segments[z.axis])) {
    sfc_segments_t y =
        sfc_segments_of(&grid->partition, grid->options.order[1], part[grid->options.order[1]], &grid->halo);
    while (sfc_segments_next(&y, &segments[y.axis])) {
      sfc_segments_t x =
          sfc_segments_of(&grid->partition, grid->options.order[0], part[grid->options.order[0]], &grid->halo);
      while (sfc_segments_next(&x, &segments[x.axis]))
        take_box(viewer, segments);
    }
  }
}

static void view_all(viewer_t *viewer, int32_t leaf_array)
{
  const sf_grid_t *grid = viewer->grid;
  const sfc_grid_place_t *own = &grid->places[grid->first_place[grid->group->rank]];
  for (int32_t i = 0; i < grid->nown; i++) {
    int64_t begin[SFC_AXES], extent[SFC_AXES];
    if (own[i].array != leaf_array)
      continue;
    sfc_grid_box(grid, own[i].number, begin, extent);
    (void)sfc_grid_strides(grid, extent, viewer->stride);
    viewer->origin = own[i].origin;
    view(viewer, own[i].number);
  }
}

void sfc_grid_edges(sfc_derive_t *derive, const sf_grid_t *grid, int32_t root_array, int32_t leaf_array)
{
  viewer_t viewer = {.grid = grid, .root_array = root_array};
  derive->nroots = root_array < grid->narrays ? grid->units[root_array] : 0;
  view_all(&viewer, leaf_array);
  sfc_derive_reserve(derive, viewer.nedges);
  viewer.derive = derive;
  if (!derive->starved)
    view_all(&viewer, leaf_array);
}
