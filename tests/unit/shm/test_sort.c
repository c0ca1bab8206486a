/* Sorting of pairs against qsort, at every size and width where the way of sorting changes. */
#include "shm/base/sort.h"

#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define MAX_N 6000
#define GUARD INT64_C(0x5a5a5a5a5a5a5a5a)

SFTEST_SEED(20240902);

/* Items are the places before sorting: with them the order is the only stable one. */
static int compare(const void *a, const void *b)
{
  const sfshm_keyed_t *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

static int64_t random64(uint64_t *random, int64_t max)
{
  uint64_t bits = (uint64_t)sftest_random(random) << 33 ^ (uint64_t)sftest_random(random) << 13 ^ sftest_random(random);
  return (int64_t)(max == INT64_MAX ? bits & INT64_MAX : bits % ((uint64_t)max + 1));
}

static void expect_sorted(const int64_t keys[], int64_t n, int64_t key_max)
{
  static sfshm_keyed_t sorted[MAX_N + 1], scratch[MAX_N + 1], expected[MAX_N];
  for (int64_t i = 0; i < n; i++)
    sorted[i] = expected[i] = (sfshm_keyed_t){keys[i], i};
  sorted[n] = scratch[n] = (sfshm_keyed_t){GUARD, GUARD};
  sfshm_sort(sorted, scratch, n, key_max);
  qsort(expected, (size_t)n, sizeof *expected, compare);
  ck_assert_int_eq(memcmp(sorted, expected, (size_t)n * sizeof *expected), 0);
  ck_assert(sorted[n].key == GUARD && sorted[n].item == GUARD);
  ck_assert(scratch[n].key == GUARD && scratch[n].item == GUARD);
}

static const int64_t sizes[] = {0, 1, 2, 3, 31, 32, 33, 48, 333, 4096, 4097, MAX_N};
static const int64_t maxima[] = {0,
                                 1,
                                 5,
                                 127,
                                 128,
                                 2047,
                                 2048,
                                 (INT64_C(1) << 22) - 1,
                                 INT64_C(1) << 22,
                                 UINT32_MAX,
                                 INT64_C(1) << 33,
                                 (INT64_C(1) << 55) - 1,
                                 INT64_C(1) << 55,
                                 INT64_C(1) << 62,
                                 INT64_MAX};
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

SFTEST(random_keys)
{
  static int64_t keys[MAX_N];
  uint64_t random = sftest_random_start(seed, 1);
  for (int s = 0; s < COUNT(sizes); s++)
    for (int m = 0; m < COUNT(maxima); m++)
      for (int round = 0; round < 5; round++) {
        for (int64_t i = 0; i < sizes[s]; i++)
          keys[i] = random64(&random, maxima[m]);
        if (sizes[s] > 0) /* the extreme is there */
          keys[sizes[s] / 2] = maxima[m];
        expect_sorted(keys, sizes[s], maxima[m]);
      }
}

/* Bounds may be larger than need be. */
SFTEST(keys_nearly_in_order)
{
  static int64_t keys[MAX_N];
  uint64_t random = sftest_random_start(seed, 2);
  for (int round = 0; round < 60; round++) {
    int64_t n = sizes[round % COUNT(sizes)];
    for (int64_t i = 0; i < n; i++)
      keys[i] = i / 3;
    expect_sorted(keys, n, INT64_MAX);
    if (n > 1)
      keys[random64(&random, n - 1)] = random64(&random, n);
    expect_sorted(keys, n, n);
    for (int64_t i = 0; i < n; i++)
      keys[i] = n - i / 2;
    expect_sorted(keys, n, n);
  }
}
