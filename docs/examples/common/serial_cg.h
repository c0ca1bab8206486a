/* Conjugate gradients in one process, for comparison with parallel ones. */
#ifndef EXAMPLES_SERIAL_CG_H
#define EXAMPLES_SERIAL_CG_H

#include "common/csr.h"

typedef enum cg_end {
  CG_CONVERGED,
  CG_TOO_MANY_ITERATIONS,
  CG_NOT_POSITIVE_DEFINITE, /* met a direction p with p.Ap <= 0, or numbers that are no longer finite */
} cg_end_t;

typedef struct cg_result {
  cg_end_t end;
  int32_t iterations;
  double residual; /* |b - Ax| / |b| as the iteration keeps it */
  double seconds;
} cg_result_t;

typedef struct cg_limits {
  double tolerance; /* relative residual at which to stop */
  int32_t max_iterations;
} cg_limits_t;

/* Solves A x = b from x = 0. A is all of the matrix, b is not 0. */
cg_result_t serial_cg(const csr_t *a, const double *b, double *x, cg_limits_t limits);

/* |b - A x| / |b|, computed anew. */
double serial_residual(const csr_t *a, const double *b, const double *x);

/* x . y */
double local_dot(int32_t n, const double *x, const double *y);

#endif
