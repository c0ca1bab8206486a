/* Rows of matrices that are dealt out by rows, and their products. */
#ifndef EXAMPLES_ROWS_H
#define EXAMPLES_ROWS_H

#include "common/csr.h"
#include "common/job.h"

/* Renumbers columns so that only those with entries have a number: column k becomes column (*column_p)[k] of before,
 * ascending. Returns how many there are. All rows must be stored. */
int32_t rows_reduce_columns(csr_t *rows, int64_t **column_p);

/* Brings the rows with these numbers in the whole matrix here, in this order, from whatever ranks have them: rank 0's
 * rows come first in the matrix, then rank 1's. A row may be wanted by several ranks. Collective. */
csr_t rows_fetch(const job_t *job, const csr_t *rows, int32_t nwanted, const int64_t number[]);

/* a b, where row k of b is meant by column k of a. b has ncolumns columns. */
csr_t rows_multiply(const csr_t *a, const csr_t *b, int32_t ncolumns);

/* The transpose; rows has ncolumns columns. */
csr_t rows_transpose(const csr_t *rows, int32_t ncolumns);

#endif
