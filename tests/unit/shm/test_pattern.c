/* Index patterns against what a walk through their vertices says. */
#include "shm/edges/pattern.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define MAX_N 300
#define MAX_VERTEX 5000
#define MAX_BOX (23 * 24 * 5)

SFTEST_SEED(20240607);
static uint64_t state; /* of the random numbers; set at the start of each test */

static uint64_t random_below(uint64_t bound)
{
  return sftest_random(&state) % bound;
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

SFTEST(finds_lines)
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

SFTEST(one_index_off_the_line_is_general)
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

/* The vertices of a box, one after the other; returns how many. */
static int64_t fill_box(const sfshm_pattern_t *box, int64_t planes, uint32_t index32[], int64_t index64[])
{
  int64_t n = 0;
  for (int64_t z = 0; z < planes; z++)
    for (int64_t y = 0; y < box->rows; y++)
      for (int64_t x = 0; x < box->row; x++, n++) {
        index64[n] = box->start + x * box->stride + y * box->row_stride + z * box->plane_stride;
        index32[n] = (uint32_t)index64[n];
      }
  return n;
}

/* Walks through the pattern from each vertex on. */
static void expect_walks(const sfshm_pattern_t *pattern, const int64_t vertex[])
{
  bool same = true;
  for (int64_t first = 0; first < pattern->n; first += 1 + first / 3) {
    sfshm_walk_t walk = sfshm_walk_begin(pattern, first, 7);
    for (int64_t i = first, some; i < pattern->n; i += some) {
      some = 1 + (int64_t)random_below((uint64_t)walk.left);
      for (int64_t k = 0; k < some && i + k < pattern->n; k++)
        same = same && walk.at + k * walk.stride == vertex[i + k] - 7;
      sfshm_walk_on(&walk, pattern, some);
    }
  }
  ck_assert(same);
}

static void expect_box(sfshm_pattern_t pattern, const sfshm_pattern_t *box, const int64_t vertex[], int64_t n)
{
  sfshm_pattern_find_box(&pattern);
  ck_assert_int_eq(pattern.row, box->row);
  ck_assert_int_eq(pattern.rows, box->rows);
  expect_same_vertices(&pattern, vertex, n);
  expect_walks(&pattern, vertex);
  sfshm_pattern_t slice = sfshm_pattern_slice(&pattern, 5, n - 9);
  slice = sfshm_pattern_slice(&slice, 1, n - 10);
  expect_walks(&slice, vertex + 6);
}

static void expect_no_box(sfshm_pattern_t pattern)
{
  sfshm_pattern_find_box(&pattern);
  ck_assert_int_eq(pattern.row, 0);
}

SFTEST(finds_boxes)
{
  static uint32_t index32[MAX_BOX];
  static int64_t index64[MAX_BOX];
  start_random();
  for (int trial = 0; trial < 60; trial++) {
    int64_t planes = 1 + (int64_t)random_below(5);
    sfshm_pattern_t box = {.row = 16 + (int64_t)random_below(8), .rows = 16 + (int64_t)random_below(9)};
    box.stride = random_below(3) == 0 ? -3 : 1 + (int64_t)random_below(3);
    box.row_stride = 100 * (1 + (int64_t)random_below(4));
    box.plane_stride = random_below(2) == 0 ? -11000 : 12000;
    box.start = 100000 + (int64_t)random_below(1000);
    int64_t n = fill_box(&box, planes, index32, index64);
    expect_box((sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = index32}, &box, index64, n);
    expect_box((sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX64, .n = n, .index64 = index64}, &box, index64, n);
    int64_t off = (int64_t)random_below((uint64_t)n);
    index32[off]++;
    index64[off]--;
    expect_no_box((sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = index32});
    expect_no_box((sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX64, .n = n, .index64 = index64});
  }
}

/* Indices of others, of which nothing is known but that they are not negative. */
SFTEST(steps_that_do_not_fit_are_no_box)
{
  int64_t index64[64];
  for (int i = 0; i < 64; i++)
    index64[i] = i % 4 + i / 4 % 2 * 10 + (i / 8 % 2 == 1 ? INT64_MAX - 20 : 0);
  expect_no_box((sfshm_pattern_t){.kind = SFSHM_PATTERN_INDEX64, .n = 64, .index64 = index64});
}

SFTEST(nothing)
{
  sfshm_pattern_t patterns[] = {sfshm_pattern_from_index32(NULL, 0), sfshm_pattern_from_index64(NULL, 0)};
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(patterns[i].kind, SFSHM_PATTERN_CONTIGUOUS);
    ck_assert_int_eq(patterns[i].n, 0);
    ck_assert_int_eq(sfshm_pattern_max(&patterns[i]), -1);
    ck_assert_int_eq(sfshm_pattern_min(&patterns[i]), 0);
    ck_assert_int_eq(sfshm_pattern_survey(&patterns[i]).runs, 0);
  }
  sfshm_pattern_t general = {.kind = SFSHM_PATTERN_INDEX32};
  ck_assert_int_eq(sfshm_pattern_max(&general), -1);
  ck_assert_int_eq(sfshm_pattern_min(&general), 0);
  ck_assert_int_eq(sfshm_pattern_survey(&general).runs, 0);
}

SFTEST(extreme_indices)
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
}

/* Indices at random; ascending: each at least as high as the one before. */
static int64_t random_indices(uint32_t index32[], int64_t index64[], bool ascending)
{
  int64_t n = 3 + (int64_t)random_below(MAX_N - 3), vertex = 0;
  for (int64_t i = 0; i < n; i++) {
    vertex = ascending ? vertex + (int64_t)random_below(MAX_VERTEX / MAX_N) : (int64_t)random_below(MAX_VERTEX);
    index64[i] = vertex;
    index32[i] = (uint32_t)vertex;
  }
  index32[1] = index32[0]; /* a duplicate, and no line */
  index64[1] = index64[0];
  return n;
}

static int64_t count_runs(const int64_t index[], int64_t n)
{
  int64_t runs = 1;
  for (int64_t i = 1; i < n; i++)
    runs += index[i] != index[i - 1] + 1;
  return runs;
}

SFTEST(runs)
{
  start_random();
  uint32_t index32[MAX_N];
  int64_t index64[MAX_N];
  for (int round = 0; round < 1000; round++) {
    int64_t n = random_indices(index32, index64, round % 2);
    if (round % 3 == 0)
      fill(index32, index64, 2000, (int64_t)random_below(11) - 5, n);
    for (int64_t i = 1; i < n; i++)
      if (round % 3 == 1 && random_below(2))
        index32[i] = (uint32_t)(index64[i] = index64[i - 1] + 1);
    sfshm_pattern_t patterns[] = {sfshm_pattern_from_index32(index32, n), sfshm_pattern_from_index64(index64, n)};
    for (int i = 0; i < 2; i++)
      ck_assert_int_eq(sfshm_pattern_survey(&patterns[i]).runs, count_runs(index64, n));
  }
}

/* In what does not descend, also of several equal vertices, and on both sides beyond its ends. */
SFTEST(finds_vertices)
{
  start_random();
  uint32_t index32[MAX_N];
  int64_t index64[MAX_N];
  for (int round = 0; round < 1000; round++) {
    int64_t n = (int64_t)random_below(40);
    for (int64_t i = 0; i < n; i++)
      index32[i] = (uint32_t)(index64[i] = (i > 0 ? index64[i - 1] : 3) + (int64_t)random_below(4));
    sfshm_pattern_t patterns[] = {sfshm_pattern_from_index32(index32, n), sfshm_pattern_from_index64(index64, n)};
    for (int64_t vertex = 0, expected = 0; vertex < 140; vertex++) {
      while (expected < n && index64[expected] < vertex)
        expected++;
      for (int i = 0; i < 2; i++)
        ck_assert_int_eq(sfshm_pattern_find(&patterns[i], vertex), expected);
    }
  }
}

SFTEST(limits)
{
  start_random();
  uint32_t index32[MAX_N];
  int64_t index64[MAX_N];
  for (int round = 0; round < 1000; round++) {
    int64_t n = random_indices(index32, index64, false);
    if (round % 3 == 0)
      fill(index32, index64, 2000, (int64_t)random_below(11) - 5, n);
    sfshm_pattern_t patterns[] = {sfshm_pattern_from_index32(index32, n), sfshm_pattern_from_index64(index64, n)};
    int64_t min = index64[0], max = index64[0];
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
