/* Sparse matrices in compressed rows, for the examples: all of a matrix, or the part of it that one rank holds. No
 * communication in here. */
#ifndef EXAMPLES_CSR_H
#define EXAMPLES_CSR_H

#include <stdint.h>

/* The entries of stored row i are column[k] and value[k] for row_start[i] <= k < row_start[i + 1], columns ascending.
 * Entry columns have 32 bits: a product is limited by how fast entries come from memory, 12 bytes each. */
typedef struct csr {
  int32_t nrows;       /* rows that are stored */
  int32_t *row_number; /* NULL: all rows are stored, in order; else stored row i is row row_number[i], ascending */
  int64_t *row_start;  /* nrows + 1 of them */
  int32_t *column;
  double *value;
} csr_t;

/* Rows (or anything) dealt out evenly in blocks: where the block starts. Block nblocks starts at n. */
static inline int32_t block_first(int32_t n, int32_t nblocks, int32_t block)
{
  return (int32_t)((int64_t)n * block / nblocks);
}

/* A matrix with room for nentries; row_start is all zeros. */
csr_t csr_new(int32_t nrows, int64_t nentries);
void csr_free(csr_t *matrix);

static inline int64_t csr_nentries(const csr_t *matrix)
{
  return matrix->row_start[matrix->nrows];
}

/* Rows first .. end-1 of the 7-point matrix of a box of grid points: 6 on the diagonal, -1 for each neighbour inside
 * the box. It is minus the Laplacian, with the value 0 all around the box (a Dirichlet condition). Point (x, y, z) is
 * row x + grid[0] * (y + grid[1] * z). */
csr_t csr_poisson(const int32_t grid[3], int32_t first, int32_t end);

/* Turns a whole symmetric positive definite matrix A into S A S, with S diagonal and such that all diagonal entries
 * become 1: conjugate gradients on it take as many iterations as on A with Jacobi's preconditioner. */
void csr_scale_to_unit_diagonal(csr_t *matrix);

/* Splits rows (columns count over the whole matrix) into a diagonal block, columns first .. end-1 counted from first,
 * and an off-diagonal block, the other columns. Of these only the ones with entries are kept: column k of the
 * off-diagonal block is column (*ghost_column_p)[k] of the matrix, ascending. Returns how many there are. Most rows
 * have no entry in the off-diagonal block and are not stored in it. */
int32_t csr_split(const csr_t *rows, int32_t first, int32_t end, csr_t *diagonal_p, csr_t *off_diagonal_p,
                  int32_t **ghost_column_p);

/* y = M x. All rows must be stored. */
void csr_multiply(const csr_t *matrix, const double *x, double *y);

/* y = y + M x */
void csr_multiply_add(const csr_t *matrix, const double *x, double *y);

/* y = y + M^T x: each row is scattered where csr_multiply_add gathers. */
void csr_multiply_transpose_add(const csr_t *matrix, const double *x, double *y);

#endif
