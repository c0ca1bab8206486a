/* Structured grids: see grid.h. The one thread of sfctl. */
#include "tools/sfctl/plan/grid.h"

#include <errno.h>
#include <stdlib.h>

#include "shm/base/error.h"

#define MAX_POINTS (INT64_C(1) << 50)

/* ---- Making ---- */

static sf_status_t parse(const char *text, sfctl_grid_t *grid, int *ndims_p)
{
  const char *at = text;
  int ndims = 0;
  int64_t total = 1;
  for (int d = 0; d < 3; d++)
    grid->points[d] = 1;
  for (bool more = true; more; ndims++) {
    char *end;
    errno = 0;
    long long n = ndims < 3 && *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : 0;
    if (n < 1 || errno != 0 || n > MAX_POINTS / total || (*end != '\0' && *end != 'x' && *end != ','))
      return sfshm_error(
          SF_ERR_ARG, "--grid \"%.80s\": expected points along up to three axes, as 1024x1024x512, 2^50 at most", text);
    grid->points[ndims] = n;
    total *= n;
    more = *end != '\0';
    at = end + 1;
  }
  *ndims_p = ndims;
  return SF_OK;
}

static sf_status_t check_stencil(int64_t stencil, int ndims, sfctl_grid_t *grid)
{
  static const int64_t faces[] = {3, 5, 7}, corners[] = {3, 9, 27};
  if (stencil == 0)
    return SF_OK;
  if (ndims == 1 && stencil != faces[0])
    return sfshm_error(SF_ERR_ARG, "--stencil %lld: a grid of 1 dimension can have one of 3 points",
                       (long long)stencil);
  if (stencil != faces[ndims - 1] && stencil != corners[ndims - 1])
    return sfshm_error(SF_ERR_ARG, "--stencil %lld: a grid of %d dimensions can have one of %lld or %lld points",
                       (long long)stencil, ndims, (long long)faces[ndims - 1], (long long)corners[ndims - 1]);
  grid->corners = stencil == corners[ndims - 1];
  return SF_OK;
}

sf_status_t sfctl_grid_init(const char *text, int64_t stencil, int32_t nranks, sfctl_grid_t *grid_p)
{
  sfctl_grid_t grid = {.nranks = nranks};
  int ndims = 0;
  sf_status_t status = parse(text, &grid, &ndims);
  if (status == SF_OK)
    status = check_stencil(stencil, ndims, &grid);
  if (status == SF_OK)
    *grid_p = grid;
  return status;
}

/* ---- Rows ---- */

typedef struct interval {
  int64_t begin, end;
} interval_t;

static int compare(const void *a, const void *b)
{
  const interval_t *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Points of nearby lines in reach of begin .. end - 1 of one line. */
static int reach(const sfctl_grid_t *grid, int64_t line, int64_t begin, int64_t end, interval_t intervals[9])
{
  const int64_t *n = grid->points;
  int64_t y = line % n[1], z = line / n[1];
  int count = 0;
  for (int64_t dz = -1; dz <= 1; dz++)
    for (int64_t dy = -1; dy <= 1; dy++) {
      bool wide = grid->corners || (dy == 0 && dz == 0);
      if ((dy != 0 && dz != 0 && !grid->corners) || y + dy < 0 || y + dy >= n[1] || z + dz < 0 || z + dz >= n[2])
        continue;
      int64_t first = n[0] * (y + dy + n[1] * (z + dz));
      intervals[count++] = (interval_t){first + begin - (wide && begin > 0), first + end + (wide && end < n[0])};
    }
  return count;
}

static sf_status_t add_intervals(const sfctl_grid_t *grid, int32_t rank, interval_t intervals[], size_t count,
                                 sfctl_wants_t *wants)
{
  int64_t n = grid->points[0] * grid->points[1] * grid->points[2], done = 0;
  qsort(intervals, count, sizeof *intervals, compare);
  for (size_t i = 0; i < count; i++) {
    int64_t begin = intervals[i].begin > done ? intervals[i].begin : done;
    sf_status_t status = sfctl_wants_add_rows(wants, n, grid->nranks, rank, begin, intervals[i].end);
    if (status != SF_OK)
      return status;
    done = intervals[i].end > done ? intervals[i].end : done;
  }
  return SF_OK;
}

sf_status_t sfctl_grid_wants(const sfctl_grid_t *grid, int32_t rank, sfctl_wants_t *wants)
{
  int64_t width = grid->points[0], n = width * grid->points[1] * grid->points[2];
  int64_t begin = sfctl_rows_first(n, grid->nranks, rank), end = sfctl_rows_first(n, grid->nranks, rank + 1);
  if (begin == end)
    return SF_OK;
  size_t nlines = (size_t)((end - 1) / width - begin / width + 1), count = 0;
  interval_t *intervals = calloc(nlines, 9 * sizeof *intervals);
  if (intervals == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the %zu lines of rank %d", nlines, rank);
  for (int64_t row = begin; row < end; row = (row / width + 1) * width) {
    int64_t line = row / width, last = (line + 1) * width;
    count += (size_t)reach(grid, line, row % width, (end < last ? end : last) - line * width, intervals + count);
  }
  sf_status_t status = add_intervals(grid, rank, intervals, count, wants);
  free(intervals);
  return status;
}
