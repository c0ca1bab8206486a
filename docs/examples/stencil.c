/* A stencil on a three-dimensional grid: the heat equation u_t = D u_xx for 8 fields with different diffusivities. The
 * library divides the grid and exchanges the halos of all fields together: see docs/stencils.md.
 *
 *   sfrun -n 4 -- stencil [PICTURE.ppm]
 *
 * Points that need no halo are computed while halos travel. The result is compared with a serial computation. Rank 0
 * writes a picture of the middle plane of the first field, if it has the name of a file. */
#include <math.h>
#include <mpi.h>
#include <sf/sf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/job.h"

enum { FIELDS = 8, STEPS = 20 };

static const int64_t points[3] = {48, 40, 36};

static double diffusivity(int field)
{
  return 0.02 * (field + 1);
}

/* The start: a warm ball, for each field in another place. */
static double start(int field, const int64_t at[3])
{
  double distance = 0;
  for (int axis = 0; axis < 3; axis++) {
    double center = (double)points[axis] * (0.3 + 0.05 * field);
    distance += ((double)at[axis] - center) * ((double)at[axis] - center);
  }
  return exp(-distance / 40);
}

/* The value after a step; u points to the value, and stride leads to its neighbours. The same for serial and parallel
 * points, so that results are bitwise the same. */
static double heat(const double *u, const int64_t stride[3], double d)
{
  double sum = 0;
  for (int axis = 0; axis < 3; axis++)
    sum += u[-stride[axis]] + u[stride[axis]];
  return u[0] + d * (sum - 6 * u[0]);
}

/* ---- In parallel ------------------------------------------------------------------------------------------------- */

/* Old and new values of all fields, and an exchange for each of the two. */
typedef struct fields {
  sf_grid_t *grid;
  sf_grid_subdomain_t own;
  void *values[2][FIELDS];
  sf_grid_exchange_t *exchanges[2];
} fields_t;

static fields_t fields_new(const job_t *job)
{
  sf_grid_options_t options = {.ndims = 3, .reach = SF_GRID_FACES};
  fields_t fields;
  for (int axis = 0; axis < 3; axis++) {
    options.points[axis] = points[axis];
    options.periodic[axis] = true;
    options.radius[axis][0] = options.radius[axis][1] = 1;
  }
  must(sf_grid_create(sf_group_world(job->context), &options, &fields.grid), "sf_grid_create");
  must(sf_grid_subdomain(fields.grid, 0, &fields.own), "sf_grid_subdomain");
  for (int b = 0; b < 2; b++) {
    sf_grid_field_t list[FIELDS];
    for (int f = 0; f < FIELDS; f++) {
      must(sf_grid_alloc(fields.grid, 0, SF_DOUBLE, &fields.values[b][f]), "sf_grid_alloc");
      list[f] = (sf_grid_field_t){SF_DOUBLE, &fields.values[b][f]};
    }
    must(sf_grid_exchange_create(fields.grid, FIELDS, list, &fields.exchanges[b]), "sf_grid_exchange_create");
  }
  return fields;
}

static void fields_free(const job_t *job, fields_t *fields)
{
  for (int b = 0; b < 2; b++) {
    must(sf_grid_exchange_destroy(fields->exchanges[b]), "sf_grid_exchange_destroy");
    for (int f = 0; f < FIELDS; f++)
      must(sf_free(job->context, fields->values[b][f]), "sf_free");
  }
  must(sf_grid_destroy(fields->grid), "sf_grid_destroy");
}

static void fill(const fields_t *fields)
{
  const sf_grid_subdomain_t *own = &fields->own;
  for (int f = 0; f < FIELDS; f++)
    for (int64_t i = 0; i < own->extent[0]; i++)
      for (int64_t j = 0; j < own->extent[1]; j++)
        for (int64_t k = 0; k < own->extent[2]; k++) {
          const int64_t at[3] = {own->begin[0] + i, own->begin[1] + j, own->begin[2] + k};
          double *u = fields->values[0][f];
          u[own->origin + i * own->stride[0] + j * own->stride[1] + k * own->stride[2]] = start(f, at);
        }
}

/* A box of one field. */
static void compute(const fields_t *fields, int old, int field, const int64_t begin[3], const int64_t end[3])
{
  const sf_grid_subdomain_t *own = &fields->own;
  const double *u = fields->values[old][field];
  double *next = fields->values[1 - old][field];
  for (int64_t i = begin[0]; i < end[0]; i++)
    for (int64_t j = begin[1]; j < end[1]; j++)
      for (int64_t k = begin[2]; k < end[2]; k++) { /* the last axis is the fastest */
        int64_t at = own->origin + i * own->stride[0] + j * own->stride[1] + k * own->stride[2];
        next[at] = heat(u + at, own->stride, diffusivity(field));
      }
}

/* The own points outside of the inner box, as two slabs for each axis. */
static void compute_border(const fields_t *fields, int old, int field)
{
  const sf_grid_subdomain_t *own = &fields->own;
  int64_t begin[3] = {0, 0, 0}, end[3] = {own->extent[0], own->extent[1], own->extent[2]};
  for (int axis = 2; axis >= 0; axis--) {
    int64_t last = end[axis];
    end[axis] = own->inner_begin[axis];
    compute(fields, old, field, begin, end);
    begin[axis] = own->inner_end[axis];
    end[axis] = last;
    compute(fields, old, field, begin, end);
    begin[axis] = own->inner_begin[axis]; /* further slabs are as long as the inner box */
    end[axis] = own->inner_end[axis];
  }
}

/* Returns which of the two holds the result. */
static int run(const fields_t *fields)
{
  int old = 0;
  for (int step = 0; step < STEPS; step++, old = 1 - old) {
    must(sf_grid_exchange_begin(fields->exchanges[old]), "sf_grid_exchange_begin");
    for (int f = 0; f < FIELDS; f++)
      compute(fields, old, f, fields->own.inner_begin, fields->own.inner_end);
    must(sf_grid_exchange_end(fields->exchanges[old]), "sf_grid_exchange_end");
    for (int f = 0; f < FIELDS; f++)
      compute_border(fields, old, f);
  }
  return old;
}

/* ---- The same serially ------------------------------------------------------------------------------------------- */

/* One field on the whole grid, on this rank alone, with a halo of one point that is copied from the other side. */
static double *run_serially(int field)
{
  const int64_t stride[3] = {1, points[0] + 2, (points[0] + 2) * (points[1] + 2)};
  size_t n = (size_t)(stride[2] * (points[2] + 2));
  double *u = calloc(n, sizeof *u), *next = calloc(n, sizeof *next);
  for (int step = -1; step < STEPS; step++) {
    for (int64_t k = 0; k < points[2]; k++)
      for (int64_t j = 0; j < points[1]; j++)
        for (int64_t i = 0; i < points[0]; i++) {
          const int64_t at[3] = {i, j, k};
          double *to = next + (i + 1) + (j + 1) * stride[1] + (k + 1) * stride[2];
          *to = step < 0 ? start(field, at) : heat(u + (to - next), stride, diffusivity(field));
        }
    for (int axis = 0; axis < 3; axis++)
      for (int64_t p = 0; p < (int64_t)n; p++) {
        int64_t c = p / stride[axis] % (points[axis] + 2);
        if (c == 0)
          next[p] = next[p + points[axis] * stride[axis]];
        else if (c == points[axis] + 1)
          next[p] = next[p - points[axis] * stride[axis]];
      }
    double *old = u;
    u = next;
    next = old;
  }
  free(next);
  return u;
}

static bool is_equal(const fields_t *fields, int result, int field)
{
  const sf_grid_subdomain_t *own = &fields->own;
  const double *u = fields->values[result][field];
  double *serial = run_serially(field);
  bool equal = true;
  for (int64_t k = 0; k < own->extent[2]; k++)
    for (int64_t j = 0; j < own->extent[1]; j++)
      for (int64_t i = 0; i < own->extent[0]; i++) {
        const int64_t x = own->begin[0] + i + 1, y = own->begin[1] + j + 1, z = own->begin[2] + k + 1;
        equal = equal && u[own->origin + i * own->stride[0] + j * own->stride[1] + k * own->stride[2]] ==
                             serial[x + (points[0] + 2) * (y + (points[1] + 2) * z)];
      }
  free(serial);
  return equal;
}

/* ---- The picture ------------------------------------------------------------------------------------------------- */

/* The plane in the middle of the third axis, all of it on rank 0: each rank adds its own points. */
static void draw(const job_t *job, const fields_t *fields, int result, const char *path)
{
  static double plane[48 * 40], all[48 * 40];
  const sf_grid_subdomain_t *own = &fields->own;
  int64_t k = points[2] / 2 - own->begin[2];
  const double *u = fields->values[result][0];
  for (int64_t j = 0; j < own->extent[1] && k >= 0 && k < own->extent[2]; j++)
    for (int64_t i = 0; i < own->extent[0]; i++)
      plane[own->begin[0] + i + points[0] * (own->begin[1] + j)] =
          u[own->origin + i * own->stride[0] + j * own->stride[1] + k * own->stride[2]];
  MPI_Reduce(plane, all, 48 * 40, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  FILE *file = job->rank == 0 ? fopen(path, "w") : NULL;
  if (file == NULL)
    return;
  fprintf(file, "P6 %d %d 255\n", (int)points[0], (int)points[1]);
  for (int p = 0; p < 48 * 40; p++) { /* from blue to red */
    int warm = (int)(255 * fmin(1, sqrt(fabs(all[p]))));
    fputc(warm, file);
    fputc(warm / 3, file);
    fputc(255 - warm, file);
  }
  fclose(file);
  say(job, "%s: the first field in the plane z = %d\n", path, (int)(points[2] / 2));
}

int main(int argc, char *argv[])
{
  MPI_Init(&argc, &argv);
  if (argc > 2 || (argc == 2 && strcmp(argv[1], "--help") == 0))
    end_with_usage(argc == 2, "usage: sfrun -n N -- stencil [PICTURE.ppm]");
  job_t job = job_join();
  fields_t fields = fields_new(&job);
  sf_grid_info_t info;
  must(sf_grid_info(fields.grid, &info), "sf_grid_info");
  say(&job, "%d fields on %dx%dx%d points: %dx%dx%d nodes, each of %dx%dx%d subdomains\n", FIELDS, (int)points[0],
      (int)points[1], (int)points[2], info.nodes[0], info.nodes[1], info.nodes[2], info.subdomains[0],
      info.subdomains[1], info.subdomains[2]);
  fill(&fields);
  int result = run(&fields);
  bool equal = true;
  for (int f = 0; f < FIELDS; f++)
    equal = is_equal(&fields, result, f) && equal;
  check(&job, true_on_all_ranks(equal), "%d steps: every point of %d fields is bitwise that of a serial run", STEPS,
        FIELDS);
  if (argc == 2)
    draw(&job, &fields, result, argv[1]);
  fields_free(&job, &fields);
  return job_end(&job);
}
