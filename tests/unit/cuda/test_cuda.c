/* The CUDA plugin's kernels against the host's, on a stand-in for the driver: every unit and op, any mix of memory. */
#include "tests/unit/cuda_plugin.h"

#define ROUNDS 600
#define MAX_N 60
#define SPACE (4 * MAX_N) /* vertices of an array */

/* ---- Patterns ---------------------------------------------------------------------------------------------------- */

typedef struct indices {
  uint32_t index32[MAX_N];
  int64_t index64[MAX_N];
} indices_t;

/* Any vertices: of targets, too, some occur several times. */
static sfshm_pattern_t random_pattern(int64_t n, indices_t *indices)
{
  int64_t kind = sftest_cuda_random(4);
  if (kind == 0)
    return sfshm_pattern_contiguous(sftest_cuda_random(SPACE - n), n);
  if (kind == 1)
    return (sfshm_pattern_t){
        .kind = SFSHM_PATTERN_STRIDED, .n = n, .start = sftest_cuda_random(SPACE - 3 * n), .stride = 3};
  int64_t spread = sftest_cuda_random(2) == 0 ? SPACE : MAX_N / 4;
  for (int64_t i = 0; i < n; i++) {
    indices->index64[i] = sftest_cuda_random(spread);
    indices->index32[i] = (uint32_t)indices->index64[i];
  }
  sfshm_pattern_t pattern = {.n = n};
  pattern.kind = kind == 2 ? SFSHM_PATTERN_INDEX32 : SFSHM_PATTERN_INDEX64;
  if (kind == 2)
    pattern.index32 = indices->index32;
  else
    pattern.index64 = indices->index64;
  return pattern;
}

static sfshm_unit_t random_unit(void)
{
  sfshm_base_t base = (sfshm_base_t)sftest_cuda_random(SFSHM_BASE_COUNT);
  return (sfshm_unit_t){base, 1 + sftest_cuda_random(base == SFSHM_BASE_OPAQUE || sftest_cuda_random(3) == 0 ? 40 : 1)};
}

static sfshm_op_t random_op(sfshm_unit_t unit)
{
  sfshm_op_t op;
  do
    op = (sfshm_op_t)sftest_cuda_random(SFSHM_OP_COUNT);
  while (!sfshm_op_applies(op, unit.base));
  return op;
}

static int random_place(void)
{
  return (int)sftest_cuda_random(3) - 1;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void try_kernels(sfshm_unit_t unit, int64_t max_n, int64_t space)
{
  indices_t from_indices, to_indices;
  size_t unit_bytes = sfshm_unit_size(unit);
  sfshm_op_t op = random_op(unit);
  int64_t n = 1 + sftest_cuda_random(max_n), first = sftest_cuda_random(n), some = 1 + sftest_cuda_random(n - first);
  sfshm_pattern_t from_pattern = random_pattern(n, &from_indices), to_pattern = random_pattern(n, &to_indices);
  if (space < SPACE)
    from_pattern = to_pattern = sfshm_pattern_contiguous(0, n);
  sftest_array_t from = sftest_array_make((size_t)space * unit_bytes, random_place());
  sftest_array_t to = sftest_array_make((size_t)space * unit_bytes, random_place());
  sftest_array_t packed = sftest_array_make((size_t)n * unit_bytes, random_place());
  from.base = to.base = packed.base = unit.base;
  const sfshm_kernels_t *tested = device->kernels(unit, op), *model = sfshm_kernels_find(unit, op);
  ck_assert_ptr_nonnull(tested);
  model->pack(unit, &from_pattern, first, some, from.host, packed.host);
  tested->pack(unit, &from_pattern, first, some, from.actual, packed.actual);
  model->unpack(unit, &to_pattern, first, some, packed.host, to.host);
  tested->unpack(unit, &to_pattern, first, some, packed.actual, to.actual);
  model->scatter(unit, &from_pattern, 0, from.host, &to_pattern, to.host, first, some);
  tested->scatter(unit, &from_pattern, 0, from.actual, &to_pattern, to.actual, first, some);
  sfshm_pattern_t shifted = sfshm_pattern_contiguous(first + 7, n);
  model->scatter(unit, &shifted, first + 7, packed.host, &to_pattern, to.host, 0, some);
  tested->scatter(unit, &shifted, first + 7, packed.actual, &to_pattern, to.actual, 0, some);
  ck_assert_int_eq(device->check(0), SF_OK);
  device->forget(&from_indices, sizeof from_indices);
  device->forget(&to_indices, sizeof to_indices);
  sftest_array_check_and_free(&from);
  sftest_array_check_and_free(&to);
  sftest_array_check_and_free(&packed);
}

SFTEST_FIXTURE(sftest_cuda_open, NULL);

SFTEST(test_random)
{
  for (int round = 0; round < ROUNDS; round++)
    try_kernels(random_unit(), MAX_N, SPACE);
}

/* More than fits into the pinned memory: many units, and units that don't fit one by one. */
SFTEST(test_large)
{
  for (int round = 0; round < 4; round++) {
    try_kernels((sfshm_unit_t){SFSHM_BASE_DOUBLE, 20000}, 10, 10);
    try_kernels((sfshm_unit_t){SFSHM_BASE_UINT16, 300001}, 3, 3);
  }
}

/* Any number of patterns one behind the other, as packing them one by one does. */
SFTEST(test_gather)
{
  enum { MOST = 150 };
  static indices_t indices[MOST];
  sfshm_pattern_t patterns[MOST];
  const sfshm_pattern_t *sets[MOST];
  for (int round = 0; round < 40; round++) {
    sfshm_unit_t unit = round == 0 ? (sfshm_unit_t){SFSHM_BASE_DOUBLE, 2000} : random_unit();
    int32_t n = 1 + (int32_t)sftest_cuda_random(round == 0 ? 20 : MOST);
    size_t unit_bytes = sfshm_unit_size(unit), total = 0;
    sftest_array_t array = sftest_array_make(SPACE * unit_bytes, random_place());
    for (int32_t i = 0; i < n; i++) {
      patterns[i] = random_pattern(1 + sftest_cuda_random(MAX_N), &indices[i]);
      sets[i] = &patterns[i];
      total += (size_t)patterns[i].n;
    }
    char *expected = malloc(total * unit_bytes), *found = malloc(total * unit_bytes), *at = expected;
    for (int32_t i = 0; i < n; at += (size_t)patterns[i++].n * unit_bytes)
      sfshm_kernels_find(unit, SFSHM_OP_REPLACE)->pack(unit, sets[i], 0, sets[i]->n, array.host, at);
    device->gather(unit, sets, n, array.actual, found);
    ck_assert_int_eq(device->check(0), SF_OK);
    ck_assert_mem_eq(found, expected, total * unit_bytes);
    free(expected);
    free(found);
    device->forget(indices, sizeof indices);
    sftest_array_check_and_free(&array);
  }
}

/* One launch for all of it. */
SFTEST_IF(test_gather_is_one_launch, !sftest_cuda_is_real())
{
  sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};
  sfshm_pattern_t patterns[24];
  const sfshm_pattern_t *sets[24];
  double packed[100];
  sftest_array_t array = sftest_array_make(1000, 1);
  for (int i = 0; i < 24; i++) {
    patterns[i] = (sfshm_pattern_t){.kind = SFSHM_PATTERN_STRIDED, .n = 2, .start = i, .stride = 3};
    sets[i] = &patterns[i];
  }
  int64_t live = cuda.live(), before = cuda.launched();
  device->gather(unit, sets, 24, array.actual, packed);
  ck_assert_int_eq(cuda.launched(), before + 1);
  ck_assert_int_eq(cuda.live(), live); /* and no indices are stored */
  sftest_array_free(&array);
}

/* Copies of indices are found again, and go by the array that they are of. */
SFTEST_IF(test_copies_of_indices, !sftest_cuda_is_real())
{
  enum { N = 300 };
  static uint32_t index[N][4];
  sfshm_unit_t unit = {SFSHM_BASE_INT32, 1};
  int32_t packed[4];
  sftest_array_t array = sftest_array_make(4000, 0);
  device->kernels(unit, SFSHM_OP_REPLACE)->pack(unit, &(sfshm_pattern_t){.n = 1}, 0, 1, array.actual, packed);
  int64_t none = cuda.live();
  for (int times = 0; times < 2; times++)
    for (uint32_t i = 0; i < N; i++) {
      memcpy(index[i], (uint32_t[]){i, 3 * i, i + 1, 7}, sizeof index[i]);
      sfshm_pattern_t pattern = {.kind = SFSHM_PATTERN_INDEX32, .n = 4, .index32 = index[i]};
      device->kernels(unit, SFSHM_OP_REPLACE)->pack(unit, &pattern, 0, 4, array.actual, packed);
    }
  ck_assert_int_eq(cuda.live(), none + N);
  device->forget(index[5], sizeof index[5]);
  ck_assert_int_eq(cuda.live(), none + N - 1);
  device->forget(index[100], 100 * sizeof index[0]);
  ck_assert_int_eq(cuda.live(), none + N - 101);
  device->forget(index, sizeof index);
  ck_assert_int_eq(cuda.live(), none);
  sftest_array_free(&array);
}

/* Boxes of a grid, also parts of them: no indices are stored. */
SFTEST(test_boxes)
{
  enum { ROW = 16, ROWS = 3, PLANES = 2, N = ROW * ROWS * PLANES };
  sfshm_unit_t unit = {SFSHM_BASE_INT32, 1};
  for (int round = 0; round < 20; round++) {
    uint32_t index[N];
    uint32_t stride = 1 + (uint32_t)sftest_cuda_random(2),
             row_stride = ROW * stride + 1 + (uint32_t)sftest_cuda_random(5);
    uint32_t plane_stride = ROWS * row_stride + (uint32_t)sftest_cuda_random(9);
    for (uint32_t i = 0; i < N; i++)
      index[i] = 3 + i / (ROW * ROWS) * plane_stride + i / ROW % ROWS * row_stride + i % ROW * stride;
    sfshm_pattern_t box = sfshm_pattern_from_index32(index, N), dense = sfshm_pattern_contiguous(0, N);
    sfshm_pattern_find_box(&box);
    ck_assert_int_gt(box.row, 0);
    int64_t skipped = sftest_cuda_random(20), n = N - skipped - sftest_cuda_random(20);
    box = sfshm_pattern_slice(&box, skipped, n);
    sftest_array_t array = sftest_array_make(sizeof(int32_t) * (index[N - 1] + 1), 1),
                   packed = sftest_array_make(sizeof(int32_t) * N, 1);
    const sfshm_kernels_t *tested = device->kernels(unit, SFSHM_OP_SUM);
    const sfshm_kernels_t *model = sfshm_kernels_find(unit, SFSHM_OP_SUM);
    int64_t live = cuda.live();
    model->unpack(unit, &box, 0, n, packed.host, array.host);
    tested->unpack(unit, &box, 0, n, packed.actual, array.actual);
    model->scatter(unit, &box, 0, array.host, &dense, packed.host, 2, n - 5);
    tested->scatter(unit, &box, 0, array.actual, &dense, packed.actual, 2, n - 5);
    ck_assert_int_eq(device->check(0), SF_OK);
    ck_assert_int_eq(cuda.live(), live);
    sftest_array_check_and_free(&array);
    sftest_array_check_and_free(&packed);
  }
}

/* Atomic operations: of integers, and of sums that are exact, the order does not matter. */
SFTEST(test_unordered)
{
  static const sfshm_base_t bases[] = {SFSHM_BASE_INT32, SFSHM_BASE_UINT32, SFSHM_BASE_INT64, SFSHM_BASE_UINT64,
                                       SFSHM_BASE_INT16};
  static const sfshm_op_t ops[] = {SFSHM_OP_SUM, SFSHM_OP_MAX, SFSHM_OP_MIN, SFSHM_OP_PROD, SFSHM_OP_REPLACE};
  indices_t indices;
  for (int round = 0; round < 100; round++) {
    sfshm_unit_t unit = {bases[sftest_cuda_random(5)], 1 + sftest_cuda_random(3)};
    sfshm_op_t op = ops[sftest_cuda_random(5)];
    size_t unit_bytes = sfshm_unit_size(unit);
    sfshm_pattern_t pattern = random_pattern(MAX_N, &indices);
    sftest_array_t to = sftest_array_make(SPACE * unit_bytes, random_place()),
                   from = sftest_array_make(MAX_N * unit_bytes, random_place());
    sfshm_kernels_find(unit, op)->unpack(unit, &pattern, 0, MAX_N, from.host, to.host);
    device->unordered(unit, op)->unpack(unit, &pattern, 0, MAX_N, from.actual, to.actual);
    ck_assert_int_eq(device->check(0), SF_OK);
    device->forget(&indices, sizeof indices);
    sftest_array_check_and_free(&to);
    sftest_array_check_and_free(&from);
  }
}

SFTEST(test_unordered_sums)
{
  static const uint32_t index[] = {3, 1, 3, 3, 0, 1, 3, 2};
  static const double values[] = {1, 2, 4, 8, 16, 32, 64, 128}, expected[] = {16, 34, 128, 77};
  sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};
  sfshm_pattern_t pattern = {.kind = SFSHM_PATTERN_INDEX32, .n = 8, .index32 = index};
  double found[4] = {0};
  sftest_array_t array = sftest_array_make(sizeof found, 0);
  cuda.copy(array.actual, found, sizeof found);
  device->unordered(unit, SFSHM_OP_SUM)->unpack(unit, &pattern, 0, 8, values, array.actual);
  ck_assert_int_eq(device->check(0), SF_OK);
  cuda.copy(found, array.actual, sizeof found);
  ck_assert_mem_eq(found, expected, sizeof found);
  device->forget(index, sizeof index);
  sftest_array_free(&array);
}

SFTEST(test_nothing_is_left)
{
  int64_t before;
  try_kernels(random_unit(), MAX_N, SPACE);
  before = cuda.live(); /* pinned memory of devices that have been opened */
  for (int round = 0; round < 100; round++)
    try_kernels(random_unit(), MAX_N, SPACE);
  ck_assert_int_le(cuda.live(), before + 4);
}

/* What has been freed without being detached has ended, before, in, or behind what is there now, and its end changes
 * nothing. */
SFTEST(test_freed_before_detached)
{
  enum { N = 1000, CASES = 3 };
  static const struct {
    size_t begin;
    size_t length_bytes;
  } freed[CASES] = {{0, N / 4}, {N / 2, N / 4}, {N / 4, 3 * N / 4}};
  sfshm_unit_t unit = {SFSHM_BASE_UINT8, 1};
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, N);
  uint8_t expected[N], found[N];
  char *memory = cuda.alloc(0, N);
  for (int i = 0; i < N; i++)
    expected[i] = (uint8_t)(i % 251);
  cuda.copy(memory, expected, N);
  for (int i = 0; i < CASES; i++) {
    sfshm_device_range_t before = {memory + freed[i].begin, freed[i].length_bytes, 0, 1}, now = {memory, N, 0, 2};
    ck_assert_int_eq(device->attach(&before), SF_OK);
    ck_assert_int_eq(device->attach(&now), SF_OK);
    for (int times = 0; times < 2; times++) {
      memset(found, 0, N);
      device->kernels(unit, SFSHM_OP_REPLACE)->pack(unit, &all, 0, N, memory, found);
      for (int k = 0; k < N; k += 10) /* wherever it begins */
        device->kernels(unit, SFSHM_OP_REPLACE)->pack(unit, &all, 0, 1, memory + k, found + k);
      ck_assert_int_eq(device->check(0), SF_OK);
      ck_assert_mem_eq(found, expected, N);
      device->detach(before.base, before.serial);
    }
    device->detach(now.base, now.serial);
  }
  cuda.free(memory);
}

/* Of one place and length: as long as either is attached. */
SFTEST(test_attached_again)
{
  enum { N = 1000 };
  sfshm_unit_t unit = {SFSHM_BASE_UINT8, 1};
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, N);
  char *memory = cuda.alloc(0, N);
  uint8_t values[N] = {7}, found[N];
  cuda.copy(memory, values, N);
  for (uint64_t i = 0; i < 4; i++) {
    sfshm_device_range_t first = {memory, N, 0, 1 + i % 2}, second = {memory, N, 0, 2 - i % 2};
    ck_assert_int_eq(device->attach(&first), SF_OK);
    ck_assert_int_eq(device->attach(&second), SF_OK);
    device->detach(memory, 1 + i / 2);
    memset(found, 0, N);
    device->kernels(unit, SFSHM_OP_REPLACE)->pack(unit, &all, 0, N, memory, found);
    ck_assert_int_eq(device->check(0), SF_OK);
    ck_assert_mem_eq(found, values, N);
    device->detach(memory, 2 - i / 2);
  }
  cuda.free(memory);
}

SFTEST(test_host_memory_is_none)
{
  int word = 0;
  sfshm_device_range_t range;
  ck_assert_int_eq(device->find(&word, &range), SF_ERR_NOT_FOUND);
}

SFTEST_FIXTURE(sftest_cuda_open_switched_off, NULL);
SFTEST_AGAIN(test_random, 1);

int main(void)
{
  return sftest_cuda_load() ? sftest_main() : 77;
}
