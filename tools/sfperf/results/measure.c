/* Calibrates and times the contenders. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/results/measure.h"

#include <mpi.h>

/* Seconds of the slowest rank for so many iterations, which all ranks start together. The same on every rank. */
static double timed(const sfperf_contender_t *contender, int64_t iterations)
{
  contender->run(contender->state, 1); /* brings its data and code back into the caches */
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = contender->run(contender->state, iterations);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/* How many iterations make a sample; warms up the contender on the way. The same on every rank. */
static int64_t calibrate(const sfperf_contender_t *contender, double sample_s)
{
  const int64_t growth = 4;
  const int64_t limit = (int64_t)1 << 40;
  int64_t iterations = 1;
  double seconds = timed(contender, iterations);
  while (seconds < sample_s / (double)growth && iterations < limit) {
    iterations *= growth;
    seconds = timed(contender, iterations);
  }
  int64_t wanted = (int64_t)((double)iterations * sample_s / seconds);
  return wanted > 0 ? wanted : 1;
}

void sfperf_measure(const sfperf_measure_t *measure, sfperf_contender_t contenders[], int count)
{
  int64_t iterations[count];
  for (int c = 0; c < count; c++)
    iterations[c] = calibrate(&contenders[c], measure->sample_s);
  for (int rep = 0; rep < measure->reps; rep++) {
    for (int turn = 0; turn < count; turn++) {
      int c = (turn + rep) % count; /* so that no contender always runs after the same one */
      double seconds = timed(&contenders[c], iterations[c]);
      contenders[c].samples_us[rep] = seconds * 1e6 / (double)iterations[c] / contenders[c].operations;
    }
  }
}
