/* A banded linear system, positive definite, with a block of rows on each rank; and its serial solution. */
#ifndef EXAMPLES_BANDED_H
#define EXAMPLES_BANDED_H

#include <stdint.h>

typedef struct banded {
  int32_t rank, size;
  int32_t n, band;      /* rows in all; entries on each side of the diagonal */
  int32_t first, nrows; /* of this rank */
} banded_t;

/* The first row of a rank; for `size` the number of rows. */
int32_t banded_first(const banded_t *system, int32_t rank);

int32_t banded_owner(const banded_t *system, int32_t row);

/* Ghosts are the columns up to `band` before and behind the rank's own: so many before, the column of ghost k, and
 * where a column is in the rank's own rows with the ghosts behind them. */
int32_t banded_ghosts_before(const banded_t *system);
int32_t banded_ghost_column(const banded_t *system, int32_t k);
int32_t banded_place(const banded_t *system, int32_t column);

/* -1 within the band, and on the diagonal more than the row's other entries together. */
double banded_entry(const banded_t *system, int32_t row, int32_t column);

double banded_right_hand_side(int32_t row);

/* The first iterations of conjugate gradients, on one rank; x has n zeros. */
void banded_solve(const banded_t *system, int32_t niterations, double *x);

#endif
