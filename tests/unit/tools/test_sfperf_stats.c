/* Order statistics of sfperf against values worked out by hand. */
#include "tools/sfperf/results/stats.h"

#include <math.h>

#include "tests/unit/runner.h"

static void expect(const double samples[], int count, sfperf_stats_t expected)
{
  sfperf_stats_t found = sfperf_stats(samples, count);
  ck_assert_double_eq_tol(found.min, expected.min, 1e-12);
  ck_assert_double_eq_tol(found.q1, expected.q1, 1e-12);
  ck_assert_double_eq_tol(found.median, expected.median, 1e-12);
  ck_assert_double_eq_tol(found.q3, expected.q3, 1e-12);
  ck_assert_double_eq_tol(found.max, expected.max, 1e-12);
}

SFTEST(orders_samples)
{
  expect((double[]){7}, 1, (sfperf_stats_t){7, 7, 7, 7, 7});
  expect((double[]){3, 1}, 2, (sfperf_stats_t){1, 1.5, 2, 2.5, 3});
  expect((double[]){5, 1, 4, 2, 3}, 5, (sfperf_stats_t){1, 2, 3, 4, 5});
  expect((double[]){4, 1, 3, 2}, 4, (sfperf_stats_t){1, 1.75, 2.5, 3.25, 4});
}

SFTEST(leaves_samples_alone)
{
  double samples[] = {2, 1};
  sfperf_stats(samples, 2);
  ck_assert_double_eq(samples[0], 2);
}
