/* What cg solves: a matrix that is generated, or read from a file, and dealt out to the ranks by blocks of rows. */
#ifndef EXAMPLES_PROBLEM_H
#define EXAMPLES_PROBLEM_H

#include <stdbool.h>

#include "common/cg_options.h"
#include "common/csr.h"

typedef struct problem {
  const cg_options_t *options;
  int rank, size; /* of MPI_COMM_WORLD */
  int32_t n;      /* rows of the whole matrix */
  csr_t whole;    /* on rank 0, once it is there: the whole matrix */
} problem_t;

/* Collective. A file is read by rank 0, which says what is wrong with it; then all get false. The matrix of a file is
 * scaled symmetrically to a diagonal of ones. Keeps options. */
bool problem_load(const cg_options_t *options, problem_t *problem_p);
void problem_free(problem_t *problem);

/* This rank's rows, those of its block: block_first(n, size, rank) and on. Columns count over the whole matrix.
 * Collective. */
csr_t problem_rows(const problem_t *problem);

/* The whole matrix. On rank 0 only; generated when first wanted. */
const csr_t *problem_whole(problem_t *problem);

#endif
