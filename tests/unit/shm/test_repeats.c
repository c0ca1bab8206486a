/* Indices that occur several times, against a sorted list of all. */
#include "shm/edges/repeats.h"

#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define MAX_N 20000

SFTEST_SEED(20240908);

static int compare(const void *a, const void *b)
{
  const sfshm_keyed_t *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

/* Leaves the places of indices that occur several times. */
static int64_t sort_all(const int64_t index[], int64_t n, sfshm_keyed_t places[])
{
  int64_t kept = 0;
  for (int64_t i = 0; i < n; i++)
    places[i] = (sfshm_keyed_t){index[i], i};
  qsort(places, (size_t)n, sizeof *places, compare);
  bool same_before = false;
  for (int64_t i = 0; i < n; i++) {
    bool same_next = i + 1 < n && places[i + 1].key == places[i].key;
    if (same_before || same_next)
      places[kept++] = places[i];
    same_before = same_next;
  }
  return kept;
}

static void expect_found(const sfshm_pattern_t *pattern, const sfshm_keyed_t expected[], int64_t n)
{
  sfshm_repeats_t repeats;
  ck_assert_int_eq(sfshm_repeats_find(pattern, &repeats), SF_OK);
  ck_assert_int_eq(repeats.n, n);
  ck_assert_int_eq(repeats.places == NULL, n == 0);
  if (n > 0) {
    ck_assert_int_eq(memcmp(repeats.places, expected, (size_t)n * sizeof *expected), 0);
    memset(repeats.scratch, 0, (size_t)n * sizeof *repeats.scratch); /* is there */
  }
  sfshm_repeats_free(&repeats);
  sfshm_repeats_free(&repeats);
}

static void check(const int64_t index[], int64_t n)
{
  static sfshm_keyed_t expected[MAX_N];
  static uint32_t narrow[MAX_N];
  int64_t nexpected = sort_all(index, n, expected);
  bool fits = true;
  for (int64_t i = 0; i < n; i++) {
    narrow[i] = (uint32_t)index[i];
    fits &= index[i] <= UINT32_MAX;
  }
  expect_found(&(sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX64, .n = n, .index64 = index}, expected, nexpected);
  if (fits)
    expect_found(&(sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = narrow}, expected, nexpected);
}

SFTEST(random_indices)
{
  static int64_t index[MAX_N];
  static const int64_t sizes[] = {1, 2, 10, 127, 128, 129, 4095, 4096, 4097, 9000, MAX_N};
  uint64_t random = sftest_random_start(seed, 1);
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    int64_t n = sizes[s];
    const int64_t bounds[] = {1, 2, n / 3 + 1, n, 8 * n, 100 * n, 10000 * n, INT64_C(1) << 40, INT64_MAX};
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
      for (int64_t i = 0; i < n; i++)
        index[i] = (int64_t)((((uint64_t)sftest_random(&random) << 32) ^ sftest_random(&random)) % (uint64_t)bounds[b]);
      check(index, n);
    }
  }
}

/* None, and one pair at any distance, in lines that a poor hash would send to the same place. */
SFTEST(lines)
{
  static int64_t index[MAX_N];
  uint64_t random = sftest_random_start(seed, 2);
  for (int shift = 0; shift < 48; shift++) {
    int64_t n = 2 + sftest_random(&random) % 6000;
    for (int64_t i = 0; i < n; i++)
      index[i] = (n - i) << shift;
    check(index, n);
    int64_t from = sftest_random(&random) % (uint32_t)n;
    index[sftest_random(&random) % (uint32_t)n] = index[from];
    check(index, n);
  }
}

/* Puts the indices in the order of their regions. */
static void cluster(uint32_t index[], int64_t n, int shift)
{
  static sfshm_keyed_t keyed[MAX_N], scratch[MAX_N];
  for (int64_t i = 0; i < n; i++)
    keyed[i] = (sfshm_keyed_t){index[i] >> shift, index[i]};
  sfshm_sort(keyed, scratch, n, UINT32_MAX);
  for (int64_t i = 0; i < n; i++)
    index[i] = (uint32_t)keyed[i].item;
}

/* With none, few and many repeated in a region. */
SFTEST(clustered_indices)
{
  static int64_t wide[MAX_N];
  static uint32_t index[MAX_N];
  static sfshm_keyed_t expected[MAX_N];
  static const int shifts[] = {9, 10, 14, 20};
  uint64_t random = sftest_random_start(seed, 3);
  for (int round = 0; round < 400; round++) {
    int64_t n = 1 + sftest_random(&random) % (round % 10 == 0 ? MAX_N : 500);
    int shift = shifts[sftest_random(&random) % 4];
    uint32_t span = 1000u << shift;
    if (round % 3 == 0)
      span = (uint32_t)n / (1 + sftest_random(&random) % 4) + 1;
    for (int64_t i = 0; i < n; i++)
      index[i] = sftest_random(&random) % 50 == 0 && i > 0 ? index[i - 1] : sftest_random(&random) % span;
    cluster(index, n, shift);
    for (int64_t i = 0; i < n; i++)
      wide[i] = index[i];
    int64_t nexpected = sort_all(wide, n, expected);
    sfshm_repeats_t repeats;
    ck_assert_int_eq(sfshm_repeats_find_clustered(index, n, shift, &repeats), SF_OK);
    ck_assert_int_eq(repeats.n, nexpected);
    if (nexpected > 0)
      ck_assert_int_eq(memcmp(repeats.places, expected, (size_t)nexpected * sizeof *expected), 0);
    sfshm_repeats_free(&repeats);
  }
}

SFTEST(no_indices)
{
  check(NULL, 0);
}
