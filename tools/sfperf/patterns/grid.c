/* Partition of a structured grid into boxes, and the halo of one box. Runs in each rank's only thread; every rank works
 * out all boxes, nothing is communicated. */
#include "tools/sfperf/patterns/grid.h"

#include <stdbool.h>
#include <stdlib.h>

#include "tools/sfperf/fail.h"

/* Points lo <= p < hi in each direction; empty if lo >= hi in any. */
typedef struct box {
  int64_t lo[3];
  int64_t hi[3];
} box_t;

static int64_t box_points(const box_t *box)
{
  int64_t points = 1;
  for (int d = 0; d < 3; d++)
    points *= box->hi[d] > box->lo[d] ? box->hi[d] - box->lo[d] : 0;
  return points;
}

static void make_slabs(const box_t *whole, int count, box_t boxes[])
{
  int64_t length = whole->hi[2] - whole->lo[2];
  for (int i = 0; i < count; i++) {
    boxes[i] = *whole;
    boxes[i].lo[2] = whole->lo[2] + length * i / count;
    boxes[i].hi[2] = whole->lo[2] + length * (i + 1) / count;
  }
}

/* Cuts the box across its longest side, in proportion to the ranks on both sides, until each rank has its own. */
static void bisect(const box_t *whole, int count, box_t boxes[])
{
  if (count == 1) {
    boxes[0] = *whole;
    return;
  }
  int longest = 0;
  for (int d = 1; d < 3; d++)
    if (whole->hi[d] - whole->lo[d] > whole->hi[longest] - whole->lo[longest])
      longest = d;
  int below = count / 2;
  int64_t cut = whole->lo[longest] + (whole->hi[longest] - whole->lo[longest]) * below / count;
  box_t low = *whole;
  box_t high = *whole;
  low.hi[longest] = cut;
  high.lo[longest] = cut;
  bisect(&low, below, boxes);
  bisect(&high, count - below, boxes + below);
}

/* The points of other that lie in mine or one step outside it. */
static box_t reached_part(const box_t *mine, const box_t *other)
{
  box_t part;
  for (int d = 0; d < 3; d++) {
    part.lo[d] = mine->lo[d] - 1 > other->lo[d] ? mine->lo[d] - 1 : other->lo[d];
    part.hi[d] = mine->hi[d] + 1 < other->hi[d] ? mine->hi[d] + 1 : other->hi[d];
  }
  return part;
}

/* Whether the stencil of some point of mine reaches the point, which lies at most one step outside. */
static bool in_stencil(const box_t *mine, int stencil, const int64_t point[3])
{
  int outside = 0;
  for (int d = 0; d < 3; d++)
    outside += point[d] < mine->lo[d] || point[d] >= mine->hi[d];
  return stencil == 27 || outside <= 1;
}

static int64_t local_index(const box_t *box, const int64_t point[3])
{
  int64_t index = point[2] - box->lo[2];
  index = index * (box->hi[1] - box->lo[1]) + point[1] - box->lo[1];
  return index * (box->hi[0] - box->lo[0]) + point[0] - box->lo[0];
}

/* Appends the ghost points that mine has in the box of rank other. */
static void add_ghosts(const box_t *mine, int stencil, int other, const box_t *others_box, sfperf_pattern_t *pattern)
{
  box_t part = reached_part(mine, others_box);
  int64_t point[3];
  for (point[2] = part.lo[2]; point[2] < part.hi[2]; point[2]++)
    for (point[1] = part.lo[1]; point[1] < part.hi[1]; point[1]++)
      for (point[0] = part.lo[0]; point[0] < part.hi[0]; point[0]++)
        if (in_stencil(mine, stencil, point)) {
          pattern->root_rank[pattern->nleaves] = other;
          pattern->root_index[pattern->nleaves] = (int32_t)local_index(others_box, point);
          pattern->nleaves++;
        }
}

/* The boxes of all ranks; to be freed. */
static box_t *partition(const sfperf_grid_t *grid, int size)
{
  box_t whole = {.hi = {grid->points[0], grid->points[1], grid->points[2]}};
  box_t *boxes = sfperf_malloc((size_t)size * sizeof boxes[0]);
  if (grid->partition == SFPERF_RCB)
    bisect(&whole, size, boxes);
  else
    make_slabs(&whole, size, boxes);
  return boxes;
}

void sfperf_pattern_grid(int rank, int size, const sfperf_grid_t *grid, sfperf_pattern_t *pattern_p)
{
  box_t *boxes = partition(grid, size);
  const box_t *mine = &boxes[rank];
  bool empty = box_points(mine) == 0; /* more ranks than layers: an empty box reaches nothing */
  int64_t most = 0;
  for (int other = 0; other < size; other++) {
    box_t part = reached_part(mine, &boxes[other]);
    most += other != rank && !empty ? box_points(&part) : 0;
  }
  sfperf_pattern_init(pattern_p, box_points(mine), most);
  pattern_p->nleaves = 0;
  for (int other = 0; other < size; other++)
    if (other != rank && !empty)
      add_ghosts(mine, grid->stencil, other, &boxes[other], pattern_p);
  free(boxes);
}
