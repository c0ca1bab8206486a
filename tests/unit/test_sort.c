/* Sorting of edges against qsort, at every size and width where the way of sorting changes. */
#include "client/sort.h"

#include "tests/unit/frames.h"
#include "tests/unit/runner.h"

#define MAX_N 6000
#define GUARD INT64_C(0x5a5a5a5a5a5a5a5a)

static unsigned seed;

static int compare(const void *a, const void *b)
{
  const sfc_edge_t *x = a, *y = b;
  if (x->root != y->root)
    return x->root < y->root ? -1 : 1;
  return (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

static int64_t random64(uint64_t *random, int64_t max)
{
  uint64_t bits = (uint64_t)sftest_random(random) << 33 ^ (uint64_t)sftest_random(random) << 13 ^ sftest_random(random);
  return (int64_t)(max == INT64_MAX ? bits & INT64_MAX : bits % ((uint64_t)max + 1));
}

static void expect_sorted(const sfc_edge_t edges[], int64_t n, int64_t root_max, int64_t leaf_max)
{
  static sfc_edge_t sorted[MAX_N + 1], scratch[MAX_N + 1], expected[MAX_N];
  memcpy(sorted, edges, (size_t)n * sizeof *edges);
  memcpy(expected, edges, (size_t)n * sizeof *edges);
  sorted[n] = scratch[n] = (sfc_edge_t){GUARD, GUARD};
  sfc_sort_edges(sorted, scratch, n, root_max, leaf_max);
  qsort(expected, (size_t)n, sizeof *expected, compare);
  ck_assert_int_eq(memcmp(sorted, expected, (size_t)n * sizeof *expected), 0);
  ck_assert(sorted[n].root == GUARD && sorted[n].leaf == GUARD);
  ck_assert(scratch[n].root == GUARD && scratch[n].leaf == GUARD);
}

static const int64_t sizes[] = {0, 1, 2, 3, 47, 48, 49, 50, 333, MAX_N};
static const int64_t maxima[] = {0,
                                 1,
                                 5,
                                 2047,
                                 2048,
                                 (INT64_C(1) << 22) - 1,
                                 INT64_C(1) << 22,
                                 UINT32_MAX,
                                 INT64_C(1) << 33,
                                 (INT64_C(1) << 55) - 1,
                                 INT64_C(1) << 55,
                                 INT64_MAX};
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

START_TEST(random_edges)
{
  static sfc_edge_t edges[MAX_N];
  uint64_t random = sftest_random_start(seed, 1);
  for (int s = 0; s < COUNT(sizes); s++)
    for (int r = 0; r < COUNT(maxima); r++)
      for (int l = 0; l < COUNT(maxima); l++) {
        for (int64_t i = 0; i < sizes[s]; i++)
          edges[i] = (sfc_edge_t){random64(&random, maxima[r]), random64(&random, maxima[l])};
        if (sizes[s] > 0) /* the extremes are there */
          edges[sizes[s] / 2] = (sfc_edge_t){maxima[r], maxima[l]};
        expect_sorted(edges, sizes[s], maxima[r], maxima[l]);
      }
}
END_TEST

/* Leaves that ascend save half of the work; bounds may be larger than need be. */
START_TEST(edges_nearly_in_order)
{
  static sfc_edge_t edges[MAX_N];
  uint64_t random = sftest_random_start(seed, 2);
  for (int round = 0; round < 60; round++) {
    int64_t n = sizes[round % COUNT(sizes)];
    for (int64_t i = 0; i < n; i++)
      edges[i] = (sfc_edge_t){random64(&random, 100), i};
    expect_sorted(edges, n, 100, INT64_MAX);
    for (int64_t i = 0; i < n; i++)
      edges[i] = (sfc_edge_t){i, n - i};
    expect_sorted(edges, n, INT64_MAX, n);
    for (int64_t i = 0; i < n; i++)
      edges[i] = (sfc_edge_t){n - i, i / 3};
    expect_sorted(edges, n, n, n);
    if (n > 1) {
      int64_t one = random64(&random, n - 2);
      for (int64_t i = 0; i < n; i++)
        edges[i] = (sfc_edge_t){i, i};
      edges[one].root = one + 1; /* the same root, and leaves in order */
      edges[one + 1].leaf = 0;
      expect_sorted(edges, n, n, n);
    }
  }
}
END_TEST

static Suite *sort_suite(void)
{
  Suite *suite = suite_create("sort");
  TCase *tcase = tcase_create("sort");
  tcase_add_test(tcase, random_edges);
  tcase_add_test(tcase, edges_nearly_in_order);
  suite_add_tcase(suite, tcase);
  return suite;
}

int main(void)
{
  seed = sftest_seed(20240902);
  return sftest_run(sort_suite());
}
