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

/* Faces of the largest box. */
static double surface(const sfctl_grid_t *grid, const int32_t boxes[3])
{
  double side[3];
  for (int d = 0; d < 3; d++)
    side[d] = (double)((grid->points[d] + boxes[d] - 1) / boxes[d]);
  double faces[3] = {side[1] * side[2], side[0] * side[2], side[0] * side[1]}, sum = 0;
  for (int d = 0; d < 3; d++)
    sum += boxes[d] > 1 ? faces[d] : 0;
  return sum;
}

static void choose_boxes(sfctl_grid_t *grid)
{
  int32_t n = grid->nranks;
  double best = -1;
  for (int32_t x = 1; x <= n; x++)
    for (int32_t y = 1; n % x == 0 && y <= n / x; y++) {
      if (n / x % y != 0)
        continue;
      const int32_t boxes[3] = {x, y, n / x / y};
      bool fits = boxes[0] <= grid->points[0] && boxes[1] <= grid->points[1] && boxes[2] <= grid->points[2];
      double cost = surface(grid, boxes) + (fits ? 0 : 1e30); /* some boxes are empty */
      if (best >= 0 && cost >= best)
        continue;
      best = cost;
      for (int d = 0; d < 3; d++)
        grid->boxes[d] = boxes[d];
    }
}

sf_status_t sfctl_grid_init(const char *text, int64_t stencil, bool rows, int32_t nranks, sfctl_grid_t *grid_p)
{
  sfctl_grid_t grid = {.rows = rows, .nranks = nranks};
  int ndims = 0;
  sf_status_t status = parse(text, &grid, &ndims);
  if (status == SF_OK)
    status = check_stencil(stencil, ndims, &grid);
  if (status != SF_OK)
    return status;
  choose_boxes(&grid);
  *grid_p = grid;
  return SF_OK;
}

/* ---- Boxes ---- */

/* Points of one axis in one row of boxes. */
typedef struct segment {
  int32_t box;
  int64_t begin, end;
} segment_t;

/* Points along an axis in reach of the box: at most three segments, as others have one point each. */
static int find_segments(const sfctl_grid_t *grid, int axis, int32_t box, segment_t segments[3])
{
  int64_t n = grid->points[axis];
  int32_t nboxes = grid->boxes[axis];
  int64_t begin = sfctl_rows_first(n, nboxes, box), end = sfctl_rows_first(n, nboxes, box + 1);
  int count = 0;
  if (begin == end)
    return 0;
  if (begin > 0)
    segments[count++] = (segment_t){sfctl_rows_owner(n, nboxes, begin - 1), begin - 1, begin};
  segments[count++] = (segment_t){box, begin, end};
  if (end < n)
    segments[count++] = (segment_t){sfctl_rows_owner(n, nboxes, end), end, end + 1};
  return count;
}

static sf_status_t add_box(const sfctl_grid_t *grid, const segment_t *const part[3], sfctl_wants_t *wants)
{
  int64_t begin[3], side[3];
  for (int d = 0; d < 3; d++) {
    begin[d] = sfctl_rows_first(grid->points[d], grid->boxes[d], part[d]->box);
    side[d] = sfctl_rows_first(grid->points[d], grid->boxes[d], part[d]->box + 1) - begin[d];
  }
  int32_t owner = part[0]->box + grid->boxes[0] * (part[1]->box + grid->boxes[1] * part[2]->box);
  for (int64_t z = part[2]->begin; z < part[2]->end; z++)
    for (int64_t y = part[1]->begin; y < part[1]->end; y++) {
      int64_t line = side[0] * (y - begin[1] + side[1] * (z - begin[2]));
      sf_status_t status =
          sfctl_wants_add(wants, owner, line + part[0]->begin - begin[0], part[0]->end - part[0]->begin);
      if (status != SF_OK)
        return status;
    }
  return SF_OK;
}

static sf_status_t want_boxes(const sfctl_grid_t *grid, int32_t rank, sfctl_wants_t *wants)
{
  const int32_t box[3] = {rank % grid->boxes[0], rank / grid->boxes[0] % grid->boxes[1],
                          rank / grid->boxes[0] / grid->boxes[1]};
  segment_t segments[3][3];
  int count[3];
  for (int d = 0; d < 3; d++)
    count[d] = find_segments(grid, d, box[d], segments[d]);
  for (int z = 0; z < count[2]; z++)
    for (int y = 0; y < count[1]; y++)
      for (int x = 0; x < count[0]; x++) {
        const segment_t *const part[3] = {&segments[0][x], &segments[1][y], &segments[2][z]};
        int away = (part[0]->box != box[0]) + (part[1]->box != box[1]) + (part[2]->box != box[2]);
        if (away == 0 || (away > 1 && !grid->corners))
          continue;
        sf_status_t status = add_box(grid, part, wants);
        if (status != SF_OK)
          return status;
      }
  return SF_OK;
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

static sf_status_t want_rows(const sfctl_grid_t *grid, int32_t rank, sfctl_wants_t *wants)
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

sf_status_t sfctl_grid_wants(const sfctl_grid_t *grid, int32_t rank, sfctl_wants_t *wants)
{
  return grid->rows ? want_rows(grid, rank, wants) : want_boxes(grid, rank, wants);
}
