/* Index lists that consist of runs, and some that only look so: packed, unpacked and scattered values are those of
 * single moves. */
#include "shm/kernels/kernels.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define MAX_VERTICES 600
#define SPACE 2000
#define MAX_UNIT 40
#define ROUNDS 4000

static unsigned seed;
static uint64_t state;
static uint32_t indices[MAX_VERTICES], sources[MAX_VERTICES];
static uint8_t array[SPACE * MAX_UNIT], expected[SPACE * MAX_UNIT], packed[MAX_VERTICES * MAX_UNIT];
static uint8_t other[SPACE * MAX_UNIT];

static uint32_t below(uint32_t n)
{
  return (uint32_t)(sftest_random64(&state) % n);
}

/* Runs of any length, some of which are disturbed: two vertices of them exchanged, or one repeated. */
static int64_t choose_indices(int64_t wanted)
{
  int64_t n = 0;
  while (n < wanted) {
    uint32_t length = 1 + below(40), start = below(SPACE - 40);
    int64_t first = n;
    for (uint32_t i = 0; i < length && n < wanted; i++)
      indices[n++] = start + i;
    int64_t a = first + below((uint32_t)(n - first)), b = first + below((uint32_t)(n - first));
    uint32_t old = indices[a], kind = below(6);
    if (kind <= 1)
      indices[a] = indices[b];
    if (kind == 1)
      indices[b] = old;
  }
  return n;
}

SFTEST(runs)
{
  static const int64_t sizes[] = {1, 2, 4, 8, 12, 16, 24, 32, 40};
  seed = sftest_seed(20261101);
  state = seed;
  for (int round = 0; round < ROUNDS; round++) {
    size_t size = (size_t)sizes[below(sizeof sizes / sizeof sizes[0])];
    int64_t n = choose_indices(1 + below(MAX_VERTICES)), first = below((uint32_t)n);
    sfshm_unit_t unit = {SFSHM_BASE_OPAQUE, (int64_t)size};
    sfshm_pattern_t list = {.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = indices};
    const sfshm_kernels_t *kernels = sfshm_kernels_find(unit, SFSHM_OP_REPLACE);
    for (size_t i = 0; i < sizeof array; i++)
      array[i] = (uint8_t)below(256);
    memcpy(expected, array, sizeof array);
    kernels->pack(unit, &list, first, n - first, array, packed);
    for (int64_t i = first; i < n; i++)
      ck_assert_msg(memcmp(packed + (size_t)(i - first) * size, array + indices[i] * size, size) == 0,
                    "packed value %d of %d (SF_TEST_SEED=%u)", (int)i, (int)n, seed);
    for (size_t i = 0; i < sizeof packed; i++)
      packed[i] = (uint8_t)below(256);
    for (int64_t i = first; i < n; i++)
      memcpy(expected + indices[i] * size, packed + (size_t)(i - first) * size, size);
    kernels->unpack(unit, &list, first, n - first, packed, array);
    ck_assert_msg(memcmp(array, expected, sizeof array) == 0, "unpacked (SF_TEST_SEED=%u)", seed);
  }
}

/* From list to list, and between a list and a range. */
SFTEST(scattered)
{
  static const int64_t sizes[] = {1, 4, 8, 24, 40};
  seed = sftest_seed(20261101);
  state = seed;
  for (int round = 0; round < ROUNDS; round++) {
    size_t size = (size_t)sizes[below(sizeof sizes / sizeof sizes[0])];
    int64_t n = choose_indices(1 + below(MAX_VERTICES)), first = below((uint32_t)n);
    memcpy(sources, indices, sizeof sources);
    (void)choose_indices(n);
    sfshm_unit_t unit = {SFSHM_BASE_OPAQUE, (int64_t)size};
    sfshm_pattern_t from = {.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = sources};
    sfshm_pattern_t to = {.kind = SFSHM_PATTERN_INDEX32, .n = n, .index32 = indices};
    uint32_t kind = below(4), start = below(SPACE - MAX_VERTICES);
    if (kind == 1)
      from = sfshm_pattern_contiguous(start, n);
    if (kind == 2)
      to = sfshm_pattern_contiguous(start, n);
    for (size_t i = 0; i < sizeof array; i++) {
      array[i] = expected[i] = (uint8_t)below(256);
      other[i] = (uint8_t)below(256);
    }
    for (int64_t i = first; i < n; i++)
      memcpy(expected + (size_t)sfshm_pattern_at(&to, i) * size, other + (size_t)sfshm_pattern_at(&from, i) * size,
             size);
    sfshm_kernels_find(unit, SFSHM_OP_REPLACE)->scatter(unit, &from, 0, other, &to, array, first, n - first);
    ck_assert_msg(memcmp(array, expected, sizeof array) == 0, "scattered (SF_TEST_SEED=%u)", seed);
  }
}
