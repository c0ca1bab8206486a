/* A banded linear system: see banded.h. */
#include "cuda/banded.h"

#include <stdlib.h>

int32_t banded_first(const banded_t *system, int32_t rank)
{
  return (int32_t)((int64_t)system->n * rank / system->size);
}

int32_t banded_owner(const banded_t *system, int32_t row)
{
  int32_t rank = (int32_t)((int64_t)row * system->size / system->n);
  while (rank > 0 && row < banded_first(system, rank))
    rank--;
  while (row >= banded_first(system, rank + 1))
    rank++;
  return rank;
}

int32_t banded_ghosts_before(const banded_t *system)
{
  return system->first < system->band ? system->first : system->band;
}

int32_t banded_ghost_column(const banded_t *system, int32_t k)
{
  return k < banded_ghosts_before(system) ? system->first - banded_ghosts_before(system) + k
                                          : system->first + system->nrows + k - banded_ghosts_before(system);
}

int32_t banded_place(const banded_t *system, int32_t column)
{
  if (column >= system->first && column < system->first + system->nrows)
    return column - system->first;
  return system->nrows + (column < system->first
                              ? column - (system->first - banded_ghosts_before(system))
                              : column - (system->first + system->nrows) + banded_ghosts_before(system));
}

double banded_entry(const banded_t *system, int32_t row, int32_t column)
{
  return row == column ? 2.0 * system->band + 1 : -1;
}

double banded_right_hand_side(int32_t row)
{
  return 1 + row % 7;
}

static void multiply_serially(const banded_t *system, const double *x, double *y)
{
  for (int32_t row = 0; row < system->n; row++) {
    y[row] = 0;
    for (int32_t j = row < system->band ? 0 : row - system->band; j <= row + system->band && j < system->n; j++)
      y[row] += banded_entry(system, row, j) * x[j];
  }
}

static double dot_serially(int32_t n, const double *x, const double *y)
{
  double sum = 0;
  for (int32_t i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

void banded_solve(const banded_t *system, int32_t niterations, double *x)
{
  double *r = calloc((size_t)system->n, sizeof *r), *p = calloc((size_t)system->n, sizeof *p);
  double *q = calloc((size_t)system->n, sizeof *q);
  for (int32_t i = 0; i < system->n; i++)
    r[i] = p[i] = banded_right_hand_side(i);
  double rr = dot_serially(system->n, r, r);
  for (int32_t k = 0; k < niterations; k++) {
    multiply_serially(system, p, q);
    double a = rr / dot_serially(system->n, p, q), before = rr;
    for (int32_t i = 0; i < system->n; i++) {
      x[i] += a * p[i];
      r[i] -= a * q[i];
    }
    rr = dot_serially(system->n, r, r);
    for (int32_t i = 0; i < system->n; i++)
      p[i] = r[i] + rr / before * p[i];
  }
  free(r);
  free(p);
  free(q);
}
