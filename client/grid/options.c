/* Options of grids: checks and defaults. */
#include <string.h>

#include "client/grid/grid.h"
#include "shm/base/error.h"

#define WIDE 1024 /* points: see check_width */

static sf_status_t check_axis(const sf_grid_options_t *options, int axis)
{
  for (int side = 0; side < 2; side++)
    if (options->radius[axis][side] < 0)
      return sfshm_error(SF_ERR_ARG, "options: radius[%d][%d] is %d; 0 or more expected", axis, side,
                         options->radius[axis][side]);
  if (options->points[axis] < 1)
    return sfshm_error(SF_ERR_ARG, "options: points[%d] is %lld; 1 or more expected", axis,
                       (long long)options->points[axis]);
  if (options->padding[axis] < 0)
    return sfshm_error(SF_ERR_ARG, "options: padding[%d] is %d; 0 or more expected", axis, options->padding[axis]);
  return SF_OK;
}

/* order is a permutation of the axes, or all zeros. */
static sf_status_t check_order(const sf_grid_options_t *options)
{
  const int32_t *order = options->order;
  int seen = 0;
  for (int i = 0; i < options->ndims; i++)
    seen |= order[i] >= 0 && order[i] < options->ndims ? 1 << order[i] : 0;
  if (seen == (1 << options->ndims) - 1 || (order[0] == 0 && order[1] == 0 && order[2] == 0))
    return SF_OK;
  return sfshm_error(SF_ERR_ARG, "options: order is %d, %d, %d; expected the axes 0 to %d, each once", order[0],
                     order[1], order[2], options->ndims - 1);
}

static sf_status_t check_points(const sf_grid_options_t *options)
{
  int64_t total = 1;
  for (int axis = 0; axis < options->ndims; axis++) {
    sf_status_t status = check_axis(options, axis);
    if (status != SF_OK)
      return status;
    if (options->points[axis] > SFC_PARTITION_POINTS_MAX / total)
      return sfshm_error(SF_ERR_ARG, "options: more than 2^50 points");
    total *= options->points[axis];
  }
  return check_order(options);
}

static sf_status_t check(const sf_grid_options_t *options)
{
  if (options == NULL)
    return sfshm_error(SF_ERR_ARG, "options is NULL");
  if (options->ndims < 1 || options->ndims > SFC_AXES)
    return sfshm_error(SF_ERR_ARG, "options: ndims is %d; 1 to 3 expected", options->ndims);
  if (options->reach < SF_GRID_CORNERS || options->reach > SF_GRID_EDGES)
    return sfshm_error(SF_ERR_ARG, "options: reach is %d; expected SF_GRID_CORNERS, _FACES or _EDGES",
                       (int)options->reach);
  if (options->steps < 0)
    return sfshm_error(SF_ERR_ARG, "options: steps is %d; 0 or more expected", options->steps);
  if ((options->flags & ~(uint32_t)(SF_GRID_LINEAR | SF_GRID_MEASURE)) != 0)
    return sfshm_error(SF_ERR_ARG, "options: unknown flags 0x%x", options->flags);
  if (options->subdomains < 0 || options->subdomains > SF_GRID_SUBDOMAINS_MAX)
    return sfshm_error(SF_ERR_ARG, "options: subdomains is %d; 0 to %d expected", options->subdomains,
                       SF_GRID_SUBDOMAINS_MAX);
  return check_points(options);
}

/* Halos of several steps reach further than the stencil: computing a point beyond a face reads a point beyond an
 * edge. */
static sfc_halo_t halo_of(const sf_grid_options_t *options)
{
  int64_t reach = options->reach == SF_GRID_CORNERS ? SFC_AXES : (int64_t)options->reach * options->steps;
  sfc_halo_t halo = {.reach = reach < SFC_AXES ? (int32_t)reach : SFC_AXES};
  for (int axis = 0; axis < options->ndims; axis++)
    for (int side = 0; side < 2; side++)
      halo.width[axis][side] = (int64_t)options->radius[axis][side] * options->steps;
  return halo;
}

/* Limits the halo width, so that a periodic axis is repeated only a few times, and the units of all subdomains of a
 * rank together, to less than 2^62. */
static sf_status_t check_width(const sf_grid_options_t *options, const sfc_halo_t *halo)
{
  int64_t units = 1;
  for (int axis = 0; axis < options->ndims; axis++) {
    int64_t points = options->points[axis], below = halo->width[axis][0], above = halo->width[axis][1];
    if (below > 4 * points + WIDE || above > 4 * points + WIDE)
      return sfshm_error(SF_ERR_ARG,
                         "options: radius times steps is %lld along axis %d; expected at most %lld, 4 times the "
                         "points and %d",
                         (long long)(below > above ? below : above), axis, (long long)(4 * points + WIDE), WIDE);
    if (__builtin_mul_overflow(units, points + below + above + options->padding[axis], &units) ||
        units > INT64_MAX / 2 / SF_GRID_SUBDOMAINS_MAX)
      return sfshm_error(SF_ERR_ARG, "options: points, radius, steps and padding give arrays of more than 2^50 units");
  }
  return SF_OK;
}

sf_status_t sfc_grid_options_take(const sf_grid_options_t *options, sf_grid_options_t *taken_p, sfc_halo_t *halo_p)
{
  sf_status_t status = check(options);
  if (status != SF_OK)
    return status;
  sf_grid_options_t taken = *options;
  taken.devices = NULL;
  taken.steps = options->steps == 0 ? 1 : options->steps;
  taken.subdomains = options->subdomains == 0 ? 1 : options->subdomains;
  bool any = options->order[0] == 0 && options->order[1] == 0 && options->ndims > 1;
  for (int axis = 0; axis < SFC_AXES; axis++) {
    if (any && axis < taken.ndims)
      taken.order[axis] = taken.ndims - 1 - axis;
    if (axis >= taken.ndims)
      taken.order[axis] = axis;
    if (axis < taken.ndims)
      continue;
    taken.points[axis] = 1;
    taken.periodic[axis] = false;
    taken.radius[axis][0] = taken.radius[axis][1] = taken.padding[axis] = 0;
  }
  *halo_p = halo_of(&taken);
  status = check_width(&taken, halo_p);
  if (status == SF_OK)
    *taken_p = taken;
  return status;
}

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

/* Lists the options that must be the same on all ranks, as numbers. */
enum { FIELDS = 4 + 6 * SFC_AXES };

typedef struct field {
  const char *name;
  int64_t value;
} field_t;

static void list_fields(const sf_grid_options_t *options, field_t fields[FIELDS])
{
  int n = 0;
  fields[n++] = (field_t){"ndims", options->ndims};
  fields[n++] = (field_t){"reach", options->reach};
  fields[n++] = (field_t){"steps", options->steps};
  fields[n++] = (field_t){"flags", options->flags};
  for (int axis = 0; axis < SFC_AXES; axis++) {
    fields[n++] = (field_t){"points", options->points[axis]};
    fields[n++] = (field_t){"periodic", options->periodic[axis]};
    fields[n++] = (field_t){"radius below", options->radius[axis][0]};
    fields[n++] = (field_t){"radius above", options->radius[axis][1]};
    fields[n++] = (field_t){"order", options->order[axis]};
    fields[n++] = (field_t){"padding", options->padding[axis]};
  }
}

int64_t sfc_grid_options_hash(const sf_grid_options_t *options)
{
  field_t fields[FIELDS];
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, word by word */
  list_fields(options, fields);
  for (int i = 0; i < FIELDS; i++)
    hash = (hash ^ (uint64_t)fields[i].value) * UINT64_C(0x100000001b3);
  return (int64_t)(hash >> 1);
}

void sfc_grid_options_compare(sfc_derive_t *derive, const sf_grid_options_t *options)
{
  field_t fields[FIELDS];
  int64_t mine[FIELDS], first[FIELDS], root[FIELDS], leaf[FIELDS];
  int32_t rank[FIELDS] = {0};
  sfc_derive_edges_t edges = {FIELDS, leaf, rank, root};
  list_fields(options, fields);
  for (int i = 0; i < FIELDS; i++) {
    mine[i] = fields[i].value;
    root[i] = leaf[i] = i;
  }
  sfc_derive_bcast_along(derive, derive->group->rank == 0 ? FIELDS : 0, &edges, SF_INT64, mine, first);
  for (int i = 0; i < FIELDS && derive->status == SF_OK; i++)
    if (mine[i] != first[i])
      sfc_derive_error(derive, -1, SF_ERR_MISMATCH, "options: %s%s%.0d is %lld, on rank 0 it is %lld", fields[i].name,
                       i < 4 ? "" : " along axis ", i < 4 ? 0 : (i - 4) / 6, (long long)mine[i], (long long)first[i]);
}
