/* Matrix Market files [R. Boisvert, R. Pozo, K. Remington, "The Matrix Market Exchange Formats", NISTIR 5935, 1996]:
 * the roots that ranks need which hold the rows of a matrix. */
#ifndef SFCTL_PLAN_MTX_H
#define SFCTL_PLAN_MTX_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfctl/plan/wants.h"

typedef struct sfctl_mtx {
  int64_t nrows, ncolumns;
  int64_t nentries; /* with symmetric ones, without zeros */
  int32_t nranks;
  uint64_t *wanted; /* rank * ncolumns + column, for columns of other ranks; ascending */
  size_t nwanted;
} sfctl_mtx_t;

/* Reads coordinate format: real, complex, integer or pattern, of any symmetry. Rows and vector are in blocks
 * (sfctl_rows_first). Zero entries are dropped. Memory grows with what crosses between ranks. SF_ERR_ARG: malformed,
 * with file, line and reason; SF_ERR_SYS; SF_ERR_LIMIT; SF_ERR_NOMEM. */
sf_status_t sfctl_mtx_read(const char *path, int32_t nranks, sfctl_mtx_t *matrix_p);
void sfctl_mtx_free(sfctl_mtx_t *matrix);

/* Adds the roots that the rank needs. SF_ERR_NOMEM. */
sf_status_t sfctl_mtx_wants(const sfctl_mtx_t *matrix, int32_t rank, sfctl_wants_t *wants);

#endif
