/* Recursive coordinate bisection: see bisect.h. One thread. */
#include "common/bisect.h"

#include <stdlib.h>

#include "common/array.h"

typedef struct bisection {
  MPI_Comm comm;
  int64_t side;
  const int64_t *number;
  int32_t *target;
  int32_t *cell; /* positions in number, those of one part together */
} bisection_t;

static int64_t coordinate(const bisection_t *b, int64_t number, int axis)
{
  return axis == 0 ? number % b->side : axis == 1 ? number / b->side % b->side : number / (b->side * b->side);
}

/* Orders cells by the coordinate, and those of one coordinate by the others: no two are equal. */
static int64_t key(const bisection_t *b, int64_t number, int axis)
{
  return (coordinate(b, number, axis) * b->side + coordinate(b, number, (axis + 1) % 3)) * b->side +
         coordinate(b, number, (axis + 2) % 3);
}

static int longest_axis(const bisection_t *b, int32_t n, const int32_t cell[])
{
  int64_t extent[6] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}; /* highest, minus lowest */
  int longest = 0;
  for (int32_t i = 0; i < n; i++)
    for (int axis = 0; axis < 3; axis++) {
      int64_t x = coordinate(b, b->number[cell[i]], axis);
      extent[axis] = x > extent[axis] ? x : extent[axis];
      extent[axis + 3] = -x > extent[axis + 3] ? -x : extent[axis + 3];
    }
  MPI_Allreduce(MPI_IN_PLACE, extent, 6, MPI_INT64_T, MPI_MAX, b->comm);
  for (int axis = 1; axis < 3; axis++)
    if (extent[axis] + extent[axis + 3] > extent[longest] + extent[longest + 3])
      longest = axis;
  return longest;
}

static int64_t sum(const bisection_t *b, int64_t value)
{
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, b->comm);
  return value;
}

/* The key below which that many cells are, of all processes. */
static int64_t find_cut(const bisection_t *b, int32_t n, const int32_t cell[], int axis, int64_t wanted)
{
  int64_t low = 0, high = b->side * b->side * b->side;
  while (low < high) {
    int64_t middle = low + (high - low) / 2, below = 0;
    for (int32_t i = 0; i < n; i++)
      below += key(b, b->number[cell[i]], axis) < middle;
    if (sum(b, below) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Divides n cells among the parts first .. end-1. */
static void divide(bisection_t *b, int32_t n, int32_t cell[], int32_t first, int32_t end)
{
  int32_t middle = first + (end - first) / 2, nbelow = 0;
  if (end - first == 1) {
    for (int32_t i = 0; i < n; i++)
      b->target[cell[i]] = first;
    return;
  }
  int axis = longest_axis(b, n, cell);
  int64_t cut = find_cut(b, n, cell, axis, sum(b, n) * (middle - first) / (end - first));
  for (int32_t i = 0; i < n; i++)
    if (key(b, b->number[cell[i]], axis) < cut) {
      int32_t moved = cell[nbelow];
      cell[nbelow++] = cell[i];
      cell[i] = moved;
    }
  divide(b, nbelow, cell, first, middle);
  divide(b, n - nbelow, cell + nbelow, middle, end);
}

void bisect(MPI_Comm comm, int32_t side, int32_t n, const int64_t number[], int32_t nparts, int32_t target[])
{
  bisection_t b = {comm, side, number, target, array_new(n, sizeof *b.cell)};
  for (int32_t i = 0; i < n; i++)
    b.cell[i] = i;
  divide(&b, n, b.cell, 0, nparts);
  free(b.cell);
}
