/* Edges of grids: each halo point of this rank's subdomains is a leaf, and its root is the owner's point. */
#include <stdlib.h>

#include "client/grid/grid.h"
#include "shm/base/error.h"

sfc_grid_layout_t sfc_grid_layout_of(const sf_grid_t *grid, int64_t number)
{
  sfc_grid_layout_t layout = {.units = 1};
  int32_t part[SFC_AXES];
  bool empty = false;
  sfc_partition_parts_of(&grid->partition, number, part);
  for (int i = 0; i < SFC_AXES; i++) {
    int axis = grid->options.order[i];
    const int64_t *width = grid->halo.width[axis];
    layout.begin[axis] = sfc_partition_begin(&grid->partition, axis, part[axis]);
    layout.extent[axis] = sfc_partition_begin(&grid->partition, axis, part[axis] + 1) - layout.begin[axis];
    layout.stride[axis] = layout.units;
    layout.origin += width[0] * layout.units;
    layout.units *= layout.extent[axis] + width[0] + width[1] + grid->options.padding[axis];
    empty = empty || layout.extent[axis] == 0;
  }
  if (empty)
    layout.units = layout.origin = 0;
  return layout;
}

/* Consecutive points of one owner in each line of a box. */
typedef struct piece {
  int32_t rank;
  int64_t root, stride[2]; /* root of the first point; strides to the next line and plane */
  int64_t leaf, n;
} piece_t;

/* A subdomain whose halo is being connected. Edges follow each line through all its pieces, so that exchanges access
 * memory in order, even if a subdomain is its own neighbour. */
typedef struct viewer {
  const sf_grid_t *grid;
  int32_t root_array;
  int64_t origin; /* in the array */
  sfc_grid_layout_t layout;
  sfc_segment_t segments[SFC_AXES];
  piece_t *pieces;
  int64_t npieces, capacity;
  int64_t nedges;       /* number of edges, counted if derive is NULL */
  sfc_derive_t *derive; /* receives the edges; NULL: count only */
} viewer_t;

/* Adds the piece of the current segments if its points are in the halo and in root_array. */
static void add_piece(viewer_t *viewer)
{
  const sf_grid_t *grid = viewer->grid;
  const int32_t *order = grid->options.order;
  int32_t part[SFC_AXES], away = 0;
  for (int axis = 0; axis < SFC_AXES; axis++) {
    part[axis] = viewer->segments[axis].part;
    away += viewer->segments[axis].side != 0;
  }
  const sfc_grid_place_t *owner = &grid->places[grid->place_of[sfc_partition_number(&grid->partition, part)]];
  if (away == 0 || away > grid->halo.reach || owner->array != viewer->root_array)
    return;
  const sfc_grid_layout_t layout = sfc_grid_layout_of(grid, owner->number);
  piece_t piece = {.rank = owner->rank,
                   .root = owner->origin,
                   .stride = {layout.stride[order[1]], layout.stride[order[2]]},
                   .leaf = viewer->origin,
                   .n = viewer->segments[order[0]].n};
  for (int axis = 0; axis < SFC_AXES; axis++) {
    piece.root += (viewer->segments[axis].begin - layout.begin[axis]) * layout.stride[axis];
    piece.leaf += viewer->segments[axis].at * viewer->layout.stride[axis];
  }
  viewer->pieces[viewer->npieces++] = piece;
}

/* Adds the edges of all lines of the current segments of the two slower axes. */
static void add_lines(viewer_t *viewer)
{
  const int32_t *order = viewer->grid->options.order;
  int64_t lines = viewer->segments[order[1]].n, planes = viewer->segments[order[2]].n;
  for (int64_t i = 0; i < viewer->npieces && viewer->derive == NULL; i++)
    viewer->nedges += viewer->pieces[i].n * lines * planes;
  for (int64_t z = 0; z < planes && viewer->derive != NULL; z++)
    for (int64_t y = 0; y < lines; y++)
      for (int64_t i = 0; i < viewer->npieces; i++) {
        const piece_t *piece = &viewer->pieces[i];
        int64_t leaf = piece->leaf + y * viewer->layout.stride[order[1]] + z * viewer->layout.stride[order[2]];
        int64_t root = piece->root + y * piece->stride[0] + z * piece->stride[1];
        for (int64_t x = 0; x < piece->n; x++)
          sfc_derive_add(viewer->derive, leaf + x, piece->rank, root + x);
      }
}

static sfc_segments_t segments_of(const viewer_t *viewer, int i, const int32_t part[SFC_AXES])
{
  int32_t axis = viewer->grid->options.order[i];
  return sfc_segments_of(&viewer->grid->partition, axis, part[axis], &viewer->grid->halo);
}

/* Grows the list of pieces for one line. */
static bool reserve_pieces(viewer_t *viewer, sfc_segments_t segments)
{
  sfc_segment_t segment;
  int64_t n = 0;
  while (sfc_segments_next(&segments, &segment))
    n++;
  if (n <= viewer->capacity)
    return true;
  piece_t *pieces = realloc(viewer->pieces, (size_t)n * sizeof *pieces);
  viewer->pieces = pieces != NULL ? pieces : viewer->pieces;
  viewer->capacity = pieces != NULL ? n : viewer->capacity;
  return pieces != NULL;
}

static bool view(viewer_t *viewer, int64_t number)
{
  int32_t part[SFC_AXES];
  sfc_partition_parts_of(&viewer->grid->partition, number, part);
  if (!reserve_pieces(viewer, segments_of(viewer, 0, part)))
    return false;
  sfc_segments_t z = segments_of(viewer, 2, part);
  while (sfc_segments_next(&z, &viewer->segments[z.axis])) {
    sfc_segments_t y = segments_of(viewer, 1, part);
    while (sfc_segments_next(&y, &viewer->segments[y.axis])) {
      sfc_segments_t x = segments_of(viewer, 0, part);
      viewer->npieces = 0;
      while (sfc_segments_next(&x, &viewer->segments[x.axis]))
        add_piece(viewer);
      add_lines(viewer);
    }
  }
  return true;
}

static bool view_all(viewer_t *viewer, int32_t leaf_array)
{
  const sf_grid_t *grid = viewer->grid;
  const sfc_grid_place_t *own = &grid->places[grid->first_place[grid->group->rank]];
  for (int32_t i = 0; i < grid->nown; i++) {
    if (own[i].array != leaf_array)
      continue;
    viewer->layout = sfc_grid_layout_of(grid, own[i].number);
    viewer->origin = own[i].origin;
    if (!view(viewer, own[i].number))
      return false;
  }
  return true;
}

void sfc_grid_edges(sfc_derive_t *derive, const sf_grid_t *grid, int32_t root_array, int32_t leaf_array)
{
  viewer_t viewer = {.grid = grid, .root_array = root_array};
  derive->nroots = root_array < grid->narrays ? grid->units[root_array] : 0;
  if (!view_all(&viewer, leaf_array)) {
    derive->starved = true;
    sfc_derive_error(derive, -1, SF_ERR_NOMEM, "grid: lines of %lld pieces", (long long)viewer.capacity);
  }
  sfc_derive_reserve(derive, viewer.nedges);
  viewer.derive = derive;
  if (!derive->starved)
    (void)view_all(&viewer, leaf_array); /* has its memory */
  free(viewer.pieces);
}
