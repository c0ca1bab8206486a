/* Order statistics of a few samples. */
#ifndef SFPERF_RESULTS_STATS_H
#define SFPERF_RESULTS_STATS_H

typedef struct sfperf_stats {
  double min;
  double q1; /* lower quartile */
  double median;
  double q3; /* upper quartile */
  double max;
} sfperf_stats_t;

/* Statistics of count >= 1 samples, which are left as they are. Quartiles interpolate linearly between samples. */
sfperf_stats_t sfperf_stats(const double samples[], int count);

/* Sorts count >= 1 samples and returns the quantile, from 0 to 1, interpolated linearly. */
double sfperf_quantile(double samples[], int count, double fraction);

#endif
