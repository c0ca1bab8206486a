/* The examples' sparse matrices: generating, splitting and multiplying, against plain loops over a dense matrix. */
#include "docs/examples/common/csr.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

enum { MAX_ROWS = 24 };

typedef struct dense {
  double at[MAX_ROWS][MAX_ROWS];
} dense_t;

static int below(int n)
{
  return (int)(random() % n);
}

static void seed_random(void)
{
  srandom(sftest_seed(20261105));
}

/* A random matrix of small whole numbers, whose sums are exact; about one entry in sparsity is there. */
static csr_t random_rows(int nrows, int ncolumns, int sparsity, dense_t *dense)
{
  csr_t matrix = csr_new(nrows, (int64_t)nrows * ncolumns);
  int64_t k = 0;
  memset(dense, 0, sizeof *dense);
  for (int row = 0; row < nrows; row++) {
    for (int column = 0; column < ncolumns; column++) {
      if (below(sparsity) > 0)
        continue;
      dense->at[row][column] = matrix.value[k] = 1 + below(9);
      matrix.column[k++] = column;
    }
    matrix.row_start[row + 1] = k;
  }
  return matrix;
}

static void fill(double *x, int n)
{
  for (int i = 0; i < n; i++)
    x[i] = below(19) - 9;
}

/* Splits random rows at random places: both blocks together must multiply as the whole, both ways. */
SFTEST(split_blocks_multiply_as_the_whole)
{
  seed_random();
  for (int round = 0; round < 500; round++) {
    int n = 1 + below(MAX_ROWS), first = below(n + 1), end = first + below(n + 1 - first);
    dense_t dense;
    csr_t rows = random_rows(end - first, n, 1 + below(6), &dense), diagonal, off_diagonal;
    int32_t *ghost_column, nghosts = csr_split(&rows, first, end, &diagonal, &off_diagonal, &ghost_column);
    double x[MAX_ROWS], ghosts[MAX_ROWS], y[MAX_ROWS] = {0};
    fill(x, n);
    for (int k = 0; k < nghosts; k++) {
      ck_assert(k == 0 || ghost_column[k] > ghost_column[k - 1]);
      ck_assert(ghost_column[k] < first || ghost_column[k] >= end);
      ghosts[k] = x[ghost_column[k]];
    }
    csr_multiply(&diagonal, x + first, y);
    csr_multiply_add(&off_diagonal, ghosts, y);
    double back[MAX_ROWS] = {0}, back_ghosts[MAX_ROWS] = {0};
    csr_multiply_transpose_add(&diagonal, x, back + first);
    csr_multiply_transpose_add(&off_diagonal, x, back_ghosts);
    for (int k = 0; k < nghosts; k++)
      back[ghost_column[k]] += back_ghosts[k];
    for (int i = 0; i < end - first; i++) {
      double sum = 0;
      for (int j = 0; j < n; j++)
        sum += dense.at[i][j] * x[j];
      ck_assert_double_eq(y[i], sum);
    }
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int i = 0; i < end - first; i++)
        sum += dense.at[i][j] * x[i];
      ck_assert_double_eq(back[j], sum);
    }
    free(ghost_column);
    csr_free(&rows);
    csr_free(&diagonal);
    csr_free(&off_diagonal);
  }
}

/* What lies between two points of the grid: 0 the same, 1 neighbours, 2 farther. */
static int distance(const int32_t grid[3], int a, int b)
{
  return abs(a % grid[0] - b % grid[0]) + abs(a / grid[0] % grid[1] - b / grid[0] % grid[1]) +
         abs(a / grid[0] / grid[1] - b / grid[0] / grid[1]);
}

SFTEST_FOR(poisson_connects_neighbours, 5)
{
  static const int32_t grids[][3] = {{3, 4, 2}, {1, 1, 1}, {5, 1, 1}, {1, 6, 4}, {2, 2, 6}};
  const int32_t *grid = grids[_i];
  int32_t n = grid[0] * grid[1] * grid[2], middle = n / 3;
  csr_t parts[] = {csr_poisson(grid, 0, middle), csr_poisson(grid, middle, n)};
  for (int32_t row = 0; row < n; row++) {
    const csr_t *part = &parts[row >= middle];
    int32_t stored = row >= middle ? row - middle : row;
    double found[MAX_ROWS] = {0};
    for (int64_t k = part->row_start[stored]; k < part->row_start[stored + 1]; k++)
      found[part->column[k]] += part->value[k];
    for (int32_t column = 0; column < n; column++) {
      int apart = distance(grid, row, column);
      ck_assert_double_eq(found[column], apart == 0 ? 6 : apart == 1 ? -1 : 0);
    }
  }
  csr_free(&parts[0]);
  csr_free(&parts[1]);
}

SFTEST(blocks_cover_all)
{
  for (int32_t nblocks = 1; nblocks < 9; nblocks++) {
    for (int32_t n = 0; n < 30; n++) {
      ck_assert_int_eq(block_first(n, nblocks, 0), 0);
      ck_assert_int_eq(block_first(n, nblocks, nblocks), n);
      for (int32_t block = 0; block < nblocks; block++) {
        int32_t size = block_first(n, nblocks, block + 1) - block_first(n, nblocks, block);
        ck_assert(size == n / nblocks || size == (n + nblocks - 1) / nblocks);
      }
    }
  }
  ck_assert_int_eq(block_first(INT32_MAX, 1000, 1000), INT32_MAX);
}

/* Of any size, also where products of entries are no doubles; mirror images stay so. */
SFTEST(scales_to_unit_diagonal)
{
  csr_t matrix = csr_new(3, 7);
  memcpy(matrix.row_start, (int64_t[]){0, 2, 5, 7}, 4 * sizeof(int64_t));
  memcpy(matrix.column, (int32_t[]){0, 1, 0, 1, 2, 1, 2}, 7 * sizeof(int32_t));
  memcpy(matrix.value, (double[]){0x1p-1000, 0x1p-51, 0x1p-51, 0x1p900, -0x1p920, -0x1p920, 0x1p1002},
         7 * sizeof(double));
  csr_scale_to_unit_diagonal(&matrix);
  static const double expected[] = {1, 0.5, 0.5, 1, -0x1p-31, -0x1p-31, 1};
  for (int k = 0; k < 7; k++)
    ck_assert_double_eq(matrix.value[k], expected[k]);
  csr_free(&matrix);
}
