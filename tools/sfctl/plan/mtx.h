/* What the ranks want of each other that hold the rows of a matrix from a Matrix Market file [R. Boisvert, R. Pozo, K.
 * Remington, "The Matrix Market Exchange Formats", NISTIR 5935, 1996]. */
#ifndef SFCTL_PLAN_MTX_H
#define SFCTL_PLAN_MTX_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfctl/plan/wants.h"

typedef struct sfctl_mtx {
  int64_t nrows, ncolumns;
  int64_t nentries; /* with those that symmetry implies, without those that are 0 */
  int32_t nranks;
  uint64_t *wanted; /* rank * ncolumns + column for each column that a rank wants of others; ascending */
  size_t nwanted;
} sfctl_mtx_t;

/* Reads the file: coordinate format, real, complex, integer or pattern, of any symmetry. Rows, and the vector that
 * columns stand for, are dealt out in blocks (sfctl_rows_first). Entries that are 0 are left out. Memory grows with
 * what crosses between ranks, not with the file. SF_ERR_ARG: not such a file, with file, line and reason; SF_ERR_SYS;
 * SF_ERR_LIMIT; SF_ERR_NOMEM. */
sf_status_t sfctl_mtx_read(const char *path, int32_t nranks, sfctl_mtx_t *matrix_p);
void sfctl_mtx_free(sfctl_mtx_t *matrix);

/* Adds what the rank wants. SF_ERR_NOMEM. */
sf_status_t sfctl_mtx_wants(const sfctl_mtx_t *matrix, int32_t rank, sfctl_wants_t *wants);

#endif
