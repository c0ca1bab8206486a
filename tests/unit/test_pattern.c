/* Index patterns against what a walk through their vertices says. */
#include "shm/pattern.h"
#include "tests/unit/runner.h"

#include <stdio.h>
#include <string.h>

#define MAX_N 300
#define MAX_VERTEX 5000
#define MAX_UNIT 200

static uint64_t seed = 20240607;
static uint64_t state; /* of the random numbers; set at the start of each test */

static uint64_t random_below(uint64_t bound)
{
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (state >> 33) % bound;
}

static void start_random(void)
{
  state = seed;
}

/* An arithmetic sequence in both widths, with all vertices >= 0. */
static void fill(uint32_t index32[], int64_t index64[], int64_t start, int64_t stride, int64_t n)
{
  for (int64_t i = 0; i < n; i++) {
    index64[i] = start + i * stride;
    index32[i] = (uint32_t)index64[i];
  }
}

static void expect_same_vertices(const sfshm_pattern_t *pattern, const int64_t vertex[], int64_t n)
{
  ck_assert_int_eq(pattern->n, n);
  int64_t i = 0;
  while (i < n && sfshm_pattern_at(pattern, i) == vertex[i])
    i++;
  ck_assert_int_eq(i, n); /* the first that differs */
}

static void expect_form(sfshm_pattern_t pattern, sfshm_pattern_kind_t kind, const int64_t vertex[], int64_t n)
{
  ck_assert_int_eq(pattern.kind, kind);
  expect_same_vertices(&pattern, vertex, n);
  if (kind == SFSHM_PATTERN_CONTIGUOUS)
    ck_assert_int_eq(pattern.stride, 1);
}

START_TEST(finds_lines)
{
  start_random();
  uint32_t index32[MAX_N];
  int64_t index64[MAX_N];
  for (int64_t n = 1; n < 40; n++)
    for (int64_t stride = -9; stride <= 9; stride++) {
      int64_t start = (int64_t)random_below(1000) + 9 * n;
      fill(index32, index64, start, stride, n);
      bool contiguous = n == 1 || stride == 1;
      sfshm_pattern_kind_t kind = contiguous ? SFSHM_PATTERN_CONTIGUOUS : SFSHM_PATTERN_STRIDED;
      bool general = stride == 0 && n > 1;
      expect_form(sfshm_pattern_from_index32(index32, n), general ? SFSHM_PATTERN_INDEX32 : kind, index64, n);
      expect_form(sfshm_pattern_from_index64(index64, n), general ? SFSHM_PATTERN_INDEX64 : kind, index64, n);
    }
}
END_TEST

START_TEST(one_index_off_the_line_is_general)
{
  uint32_t index32[MAX_N];
  int64_t index64[MAX_N];
  for (int64_t n = 3; n < 20; n++)
    for (int64_t off = 0; off < n; off++) {
      fill(index32, index64, 100, n % 2 == 0 ? 1 : -3, n);
      index32[off] += 1000;
      index64[off] += 1000;
      sfshm_pattern_t pattern32 = sfshm_pattern_from_index32(index32, n);
      sfshm_pattern_t pattern64 = sfshm_pattern_from_index64(index64, n);
      expect_form(pattern32, SFSHM_PATTERN_INDEX32, index64, n);
      expect_form(pattern64, SFSHM_PATTERN_INDEX64, index64, n);
      ck_assert_ptr_eq(pattern32.index32, index32);
      ck_assert_ptr_eq(pattern64.index64, index64);
    }
}
END_TEST

START_TEST(nothing)
{
  sfshm_pattern_t patterns[] = {sfshm_pattern_from_index32(NULL, 0), sfshm_pattern_from_index64(NULL, 0)};
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(patterns[i].kind, SFSHM_PATTERN_CONTIGUOUS);
    ck_assert_int_eq(patterns[i].n, 0);
    ck_assert_int_eq(sfshm_pattern_max(&patterns[i]), -1);
    ck_assert_int_eq(sfshm_pattern_min(&patterns[i]), 0);
    ck_assert_int_eq(sfshm_pattern_lines(&patterns[i], 8), 0);
  }
  sfshm_pattern_t general = {.kind = SFSHM_PATTERN_INDEX32};
  ck_assert_int_eq(sfshm_pattern_max(&general), -1);
  ck_assert_int_eq(sfshm_pattern_min(&general), 0);
  ck_assert_int_eq(sfshm_pattern_lines(&general, 8), 0);
}
END_TEST

START_TEST(extreme_indices)
{
  uint32_t index32[] = {0, UINT32_MAX, 0, UINT32_MAX};
  sfshm_pattern_t pattern = sfshm_pattern_from_index32(index32, 2);
  ck_assert_int_eq(pattern.kind, SFSHM_PATTERN_STRIDED);
  ck_assert_int_eq(sfshm_pattern_max(&pattern), UINT32_MAX);
  pattern = sfshm_pattern_from_index32(index32, 4); /* the steps are the same in 32 bits only */
  ck_assert_int_eq(pattern.kind, SFSHM_PATTERN_INDEX32);
  ck_assert_int_eq(sfshm_pattern_max(&pattern), UINT32_MAX);

  int64_t index64[] = {0, INT64_MAX / 2 + 1, INT64_MAX};
  pattern = sfshm_pattern_from_index64(index64, 3);
  ck_assert_int_eq(pattern.kind, SFSHM_PATTERN_INDEX64);
  ck_assert_int_eq(sfshm_pattern_max(&pattern), INT64_MAX);
  ck_assert_int_eq(sfshm_pattern_min(&pattern), 0);
  pattern = sfshm_pattern_from_index64((int64_t[]){INT64_MAX, 0}, 2);
  ck_assert_int_eq(pattern.kind, SFSHM_PATTERN_STRIDED);
  ck_assert_int_eq(sfshm_pattern_max(&pattern), INT64_MAX);
  ck_assert_int_eq(sfshm_pattern_min(&pattern), 0);
  (void)sfshm_pattern_lines(&pattern, 1 << 20); /* whatever it says, without undefined behaviour */
}
END_TEST

/* Distinct lines, counted by marking them. */
static int64_t count_lines(const sfshm_pattern_t *pattern, int64_t size)
{
  static bool touched[(MAX_VERTEX + 1) * MAX_UNIT / 64 + 1];
  memset(touched, 0, sizeof touched);
  int64_t lines = 0;
  for (int64_t i = 0; i < pattern->n; i++)
    for (int64_t byte = 0; byte < size; byte++) {
      bool *line = &touched[(sfshm_pattern_at(pattern, i) * size + byte) / 64];
      lines += !*line;
      *line = true;
    }
  return lines;
}

START_TEST(lines_of_regular_patterns_are_exact)
{
  start_random();
  for (int round = 0; round < 4000; round++) {
    int64_t n = 1 + (int64_t)random_below(MAX_N);
    int64_t size = 1 + (int64_t)random_below(random_below(2) ? 20 : MAX_UNIT);
    int64_t widest = (MAX_VERTEX - 300) / n;
    int64_t stride = 1 + (int64_t)random_below((uint64_t)widest);
    sfshm_pattern_t pattern = sfshm_pattern_contiguous((int64_t)random_below(200), n);
    if (stride > 1) {
      pattern.kind = SFSHM_PATTERN_STRIDED;
      pattern.stride = stride;
    }
    if (stride > 1 && random_below(2)) {
      pattern.start += (n - 1) * stride;
      pattern.stride = -stride;
    }
    int64_t expected = count_lines(&pattern, size);
    int64_t lines = sfshm_pattern_lines(&pattern, size);
    ck_assert_msg(lines == expected, "start %lld stride %lld n %lld unit %lld: %lld, expected %lld",
                  (long long)pattern.start, (long long)pattern.stride, (long long)n, (long long)size, (long long)lines,
                  (long long)expected);
  }
}
END_TEST

/* Indices at random; ascending: each at least as high as the one before. */
static int64_t random_indices(uint32_t index32[], int64_t index64[], bool ascending)
{
  int64_t n = 3 + (int64_t)random_below(MAX_N - 3);
  int64_t vertex = 0;
  for (int64_t i = 0; i < n; i++) {
    vertex = ascending ? vertex + (int64_t)random_below(MAX_VERTEX / MAX_N) : (int64_t)random_below(MAX_VERTEX);
    index64[i] = vertex;
    index32[i] = (uint32_t)vertex;
  }
  index32[1] = index32[0]; /* a duplicate, and no line */
  index64[1] = index64[0];
  return n;
}

START_TEST(lines_of_general_patterns)
{
  start_random();
  uint32_t index32[MAX_N];
  int64_t index64[MAX_N];
  for (int round = 0; round < 1000; round++) {
    bool ascending = round % 2;
    int64_t n = random_indices(index32, index64, ascending);
    int64_t size = 1 + (int64_t)random_below(100);
    sfshm_pattern_t pattern32 = {.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = index32};
    sfshm_pattern_t pattern64 = {.kind = SFSHM_PATTERN_INDEX64, .n = n, .index64 = index64};
    int64_t distinct = count_lines(&pattern32, size);
    int64_t lines = sfshm_pattern_lines(&pattern32, size);
    ck_assert_int_eq(sfshm_pattern_lines(&pattern64, size), lines);
    ck_assert_int_ge(lines, distinct);
    ck_assert_int_le(lines, n * (size / 64 + 2));
    if (ascending)
      ck_assert_int_eq(lines, distinct);
  }
}
END_TEST

START_TEST(shuffled_range_has_no_more_lines_than_the_range)
{
  uint32_t index[256];
  for (uint32_t i = 0; i < 256; i++)
    index[i] = i * 37 % 256;
  sfshm_pattern_t pattern = sfshm_pattern_from_index32(index, 256);
  ck_assert_int_eq(pattern.kind, SFSHM_PATTERN_INDEX32);
  ck_assert_int_eq(sfshm_pattern_lines(&pattern, 8), 32);
}
END_TEST

START_TEST(limits)
{
  start_random();
  uint32_t index32[MAX_N];
  int64_t index64[MAX_N];
  for (int round = 0; round < 1000; round++) {
    int64_t n = random_indices(index32, index64, false);
    if (round % 3 == 0)
      fill(index32, index64, 2000, (int64_t)random_below(11) - 5, n);
    sfshm_pattern_t patterns[] = {sfshm_pattern_from_index32(index32, n), sfshm_pattern_from_index64(index64, n)};
    int64_t min = index64[0];
    int64_t max = index64[0];
    for (int64_t i = 0; i < n; i++) {
      min = index64[i] < min ? index64[i] : min;
      max = index64[i] > max ? index64[i] : max;
    }
    for (int i = 0; i < 2; i++) {
      expect_same_vertices(&patterns[i], index64, n);
      ck_assert_int_eq(sfshm_pattern_min(&patterns[i]), min);
      ck_assert_int_eq(sfshm_pattern_max(&patterns[i]), max);
    }
  }
}
END_TEST

static Suite *pattern_suite(void)
{
  Suite *suite = suite_create("pattern");
  TCase *forms = tcase_create("forms");
  tcase_add_test(forms, finds_lines);
  tcase_add_test(forms, one_index_off_the_line_is_general);
  tcase_add_test(forms, nothing);
  tcase_add_test(forms, extreme_indices);
  tcase_add_test(forms, limits);
  suite_add_tcase(suite, forms);
  TCase *lines = tcase_create("cache lines");
  tcase_set_timeout(lines, 60);
  tcase_add_test(lines, lines_of_regular_patterns_are_exact);
  tcase_add_test(lines, lines_of_general_patterns);
  tcase_add_test(lines, shuffled_range_has_no_more_lines_than_the_range);
  suite_add_tcase(suite, lines);
  return suite;
}

int main(void)
{
  const char *text = getenv("SF_TEST_SEED");
  if (text)
    seed = strtoull(text, NULL, 10);
  printf("SF_TEST_SEED=%llu\n", (unsigned long long)seed);
  fflush(stdout);
  return sftest_run(pattern_suite());
}
