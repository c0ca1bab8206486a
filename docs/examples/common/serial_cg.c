/* Conjugate gradients in one process [M. Hestenes, E. Stiefel, "Methods of Conjugate Gradients for Solving Linear
 * Systems", 1952]. Used by one thread. */
#include "common/serial_cg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/array.h"

double local_dot(int32_t n, const double *x, const double *y)
{
  double sum = 0;
  for (int32_t i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

static double seconds_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

cg_result_t serial_cg(const csr_t *a, const double *b, double *x, cg_limits_t limits)
{
  double begin = seconds_now();
  int32_t n = a->nrows;
  double *r = array_new(n, sizeof *r), *p = array_new(n, sizeof *p), *q = array_new(n, sizeof *q);
  memset(x, 0, (size_t)n * sizeof *x);
  memcpy(r, b, (size_t)n * sizeof *r);
  memcpy(p, b, (size_t)n * sizeof *p);
  double rr = local_dot(n, r, r), bb = rr;
  cg_result_t result = {.end = CG_TOO_MANY_ITERATIONS, .residual = 1};
  while (result.iterations < limits.max_iterations) {
    csr_multiply(a, p, q);
    double pq = local_dot(n, p, q);
    if (!(pq > 0) || !isfinite(pq)) {
      result.end = CG_NOT_POSITIVE_DEFINITE;
      break;
    }
    double alpha = rr / pq, rr_before = rr;
    rr = 0;
    for (int32_t i = 0; i < n; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      rr += r[i] * r[i];
    }
    result.iterations++;
    result.residual = sqrt(rr / bb);
    if (result.residual <= limits.tolerance) {
      result.end = CG_CONVERGED;
      break;
    }
    for (int32_t i = 0; i < n; i++)
      p[i] = r[i] + rr / rr_before * p[i];
  }
  free(r);
  free(p);
  free(q);
  result.seconds = seconds_now() - begin;
  return result;
}

double serial_residual(const csr_t *a, const double *b, const double *x)
{
  double *r = array_new(a->nrows, sizeof *r);
  csr_multiply(a, x, r);
  for (int32_t i = 0; i < a->nrows; i++)
    r[i] = b[i] - r[i];
  double residual = sqrt(local_dot(a->nrows, r, r) / local_dot(a->nrows, b, b));
  free(r);
  return residual;
}
