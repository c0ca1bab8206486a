/* Random numbers and matrices: see scattered.h. One thread. */
#include "common/scattered.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/array.h"

/* splitmix64 (Steele, Lea and Flood 2014) */
uint64_t scattered_bits(uint64_t i, uint64_t seed)
{
  uint64_t z = (i + seed * 0x100000001ULL) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

double scattered(uint64_t i, uint64_t seed)
{
  return (double)(int64_t)scattered_bits(i, seed) * 0x1p-63;
}

static int compare_columns(const void *a, const void *b)
{
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* The columns of one row, ascending, each once. Returns how many there are. */
static int32_t choose_columns(int32_t row, int32_t nrows, int32_t ncolumns, int32_t per_row, uint64_t seed,
                              int32_t columns[])
{
  int64_t middle = (int64_t)row * ncolumns / nrows;
  int32_t n = 0, wanted = (int32_t)(scattered_bits((uint64_t)row, seed) % (uint64_t)(2 * per_row));
  for (int32_t i = 0; i < wanted; i++) {
    uint64_t bits = scattered_bits((uint64_t)row * 1000 + (uint64_t)i, seed + 1);
    int64_t near = middle + (int64_t)(bits % (uint64_t)(4 * per_row)) - 2 * per_row;
    bool far = bits >> 62 == 0 || near < 0 || near >= ncolumns;
    columns[i] = (int32_t)(far ? (int64_t)((bits >> 8) % (uint64_t)ncolumns) : near);
  }
  qsort(columns, (size_t)wanted, sizeof *columns, compare_columns);
  for (int32_t i = 0; i < wanted; i++)
    if (n == 0 || columns[i] != columns[n - 1])
      columns[n++] = columns[i];
  return n;
}

csr_t csr_scattered(int32_t nrows, int32_t ncolumns, int32_t per_row, int32_t first, int32_t end, uint64_t seed)
{
  csr_t matrix = csr_new(end - first, 2 * (int64_t)per_row * (end - first));
  int64_t k = 0;
  for (int32_t row = first; row < end; row++) {
    int32_t n = choose_columns(row, nrows, ncolumns, per_row, seed, matrix.column + k);
    for (int32_t i = 0; i < n; i++)
      matrix.value[k + i] = scattered((uint64_t)row * (uint64_t)ncolumns + (uint64_t)matrix.column[k + i], seed + 2);
    k += n;
    matrix.row_start[row - first + 1] = k;
  }
  return matrix;
}
