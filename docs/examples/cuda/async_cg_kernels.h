/* What the kernels of async_cg get: by value, one for all of them. C and CUDA. */
#ifndef EXAMPLES_ASYNC_CG_KERNELS_H
#define EXAMPLES_ASYNC_CG_KERNELS_H

#include <stdint.h>

#define CG_PARTS 256 /* sums that a dot product is added up from */
#define CG_SUMS 16   /* of which so many at a time; divides CG_PARTS */

typedef struct cg_args {
  int32_t n;
  int32_t nown;             /* columns below this are of x, the others of ghosts */
  const int32_t *row_start; /* compressed rows */
  const int32_t *column;
  const double *value;
  const double *x;
  const double *ghosts;
  double *y;
  double *z;
  double *parts;
  double *sum;
  double *total;           /* 0 behind a dot product */
  const double *numerator; /* of the factor of an update, on the device; NULL: `factor` is it */
  const double *denominator;
  double factor;
} cg_args_t;

#endif
