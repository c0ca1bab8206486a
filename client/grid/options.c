/* Options of grids: checks, defaults, comparison between ranks. */
#include "client/grid/grid.h"
#include "shm/base/error.h"

#define WIDE 1024 /* points: see check_width */

/* ---- Fields ------------------------------------------------------------------------------------------------------ */

/* Number of options that must be the same on all ranks; of all options. */
enum { SAME = 4 + 6 * SFC_AXES, FIELDS = SAME + 1 };

typedef struct field {
  const char *name;
  int axis; /* -1: none */
  int64_t value, least, most;
} field_t;

static const char *axis_text(const field_t *field)
{
  static const char *const texts[1 + SFC_AXES] = {"", " along axis 0", " along axis 1", " along axis 2"};
  return texts[1 + field->axis];
}

static void list_fields(const sf_grid_options_t *options, field_t fields[FIELDS])
{
  *fields++ = (field_t){"ndims", -1, options->ndims, 1, SFC_AXES};
  *fields++ = (field_t){"reach", -1, options->reach, SF_GRID_CORNERS, SF_GRID_EDGES};
  *fields++ = (field_t){"steps", -1, options->steps, 0, INT32_MAX};
  *fields++ = (field_t){"flags", -1, options->flags, 0, SF_GRID_LINEAR | SF_GRID_MEASURE};
  for (int axis = 0; axis < SFC_AXES; axis++) {
    *fields++ = (field_t){"points", axis, options->points[axis], 1, SFC_PARTITION_POINTS_MAX};
    *fields++ = (field_t){"periodic", axis, options->periodic[axis], 0, 1};
    *fields++ = (field_t){"radius below", axis, options->radius[axis][0], 0, INT32_MAX};
    *fields++ = (field_t){"radius above", axis, options->radius[axis][1], 0, INT32_MAX};
    *fields++ = (field_t){"order", axis, options->order[axis], 0, SFC_AXES - 1};
    *fields++ = (field_t){"padding", axis, options->padding[axis], 0, INT32_MAX};
  }
  *fields = (field_t){"subdomains", -1, options->subdomains, 0, SF_GRID_SUBDOMAINS_MAX};
}

static sf_status_t check_fields(const sf_grid_options_t *options)
{
  field_t fields[FIELDS];
  list_fields(options, fields);
  for (const field_t *field = fields; field < fields + FIELDS; field++)
    if (field->axis < options->ndims && (field->value < field->least || field->value > field->most))
      return sfshm_error(SF_ERR_ARG, "options: %s%s is %lld; %lld to %lld expected", field->name, axis_text(field),
                         (long long)field->value, (long long)field->least, (long long)field->most);
  return SF_OK;
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

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

static sf_status_t check(const sf_grid_options_t *options)
{
  if (options == NULL)
    return sfshm_error(SF_ERR_ARG, "options is NULL");
  int64_t total = 1;
  sf_status_t status = check_fields(options);
  for (int axis = 0; status == SF_OK && axis < options->ndims; axis++) {
    if (options->points[axis] > SFC_PARTITION_POINTS_MAX / total)
      return sfshm_error(SF_ERR_ARG, "options: more than 2^50 points");
    total *= options->points[axis];
  }
  return status == SF_OK ? check_order(options) : status;
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

void sfc_grid_options_compare(sfc_derive_t *derive, const sf_grid_options_t *options)
{
  field_t fields[FIELDS];
  int64_t mine[SAME], first[SAME], root[SAME], leaf[SAME];
  int32_t rank[SAME] = {0};
  sfc_derive_edges_t edges = {SAME, leaf, rank, root};
  list_fields(options, fields);
  for (int i = 0; i < SAME; i++) {
    mine[i] = fields[i].value;
    root[i] = leaf[i] = i;
  }
  sfc_derive_bcast_along(derive, derive->group->rank == 0 ? SAME : 0, &edges, SF_INT64, mine, first);
  for (int i = 0; i < SAME && derive->status == SF_OK; i++)
    if (mine[i] != first[i])
      sfc_derive_error(derive, -1, SF_ERR_MISMATCH, "options: %s%s is %lld, on rank 0 it is %lld", fields[i].name,
                       axis_text(&fields[i]), (long long)mine[i], (long long)first[i]);
}
