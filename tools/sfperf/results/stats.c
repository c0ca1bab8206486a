/* Order statistics. No state; any thread. */
#include "tools/sfperf/results/stats.h"

#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *left, const void *right)
{
  double a = *(const double *)left;
  double b = *(const double *)right;
  return (a > b) - (a < b);
}

static double quantile(const double sorted[], int count, double fraction)
{
  double position = fraction * (count - 1);
  int below = (int)position;
  int above = below + 1 < count ? below + 1 : below;
  return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}

double sfperf_quantile(double samples[], int count, double fraction)
{
  qsort(samples, (size_t)count, sizeof samples[0], compare_doubles);
  return quantile(samples, count, fraction);
}

sfperf_stats_t sfperf_stats(const double samples[], int count)
{
  double sorted[count];
  memcpy(sorted, samples, sizeof sorted);
  qsort(sorted, (size_t)count, sizeof sorted[0], compare_doubles);
  return (sfperf_stats_t){
      .min = sorted[0],
      .q1 = quantile(sorted, count, 0.25),
      .median = quantile(sorted, count, 0.5),
      .q3 = quantile(sorted, count, 0.75),
      .max = sorted[count - 1],
  };
}
