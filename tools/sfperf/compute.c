/* A chain of multiplications and additions, each waiting for the one before. Runs in the caller's thread. */
#include "tools/sfperf/compute.h"

#include "tools/sfperf/results/measure.h"

void sfperf_compute(int64_t steps)
{
  double value = 1;
  for (int64_t i = 0; i < steps; i++)
    value = value * 0.5 + 1;
  volatile double result = value; /* so that the compiler keeps the computation */
  (void)result;
}

double sfperf_compute_calibrate(void)
{
  const int64_t steps = 1000000;
  const int tries = 9;
  double best_s = 1;
  for (int i = 0; i < tries; i++) {
    double start = sfperf_now();
    sfperf_compute(steps);
    double seconds = sfperf_now() - start;
    best_s = seconds < best_s ? seconds : best_s;
  }
  return 1e-6 * (double)steps / best_s;
}
