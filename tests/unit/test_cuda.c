/* The CUDA plugin's kernels against the host's, on a stand-in for the driver: every unit and op, any mix of memory. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shm/device.h"
#include "tests/cuda/fake_driver.h"
#include "tests/unit/runner.h"

#define ROUNDS 600
#define MAX_N 60
#define SPACE (4 * MAX_N) /* vertices of an array */

static const sfshm_device_ops_t *device;
static sftest_cuda_alloc_fn_t *cuda_alloc;
static sftest_cuda_free_fn_t *cuda_free;
static sftest_cuda_copy_fn_t *cuda_copy;
static sftest_cuda_live_fn_t *cuda_live;
static sftest_cuda_launched_fn_t *cuda_launched; /* NULL: a real driver */
static sftest_cuda_copied_fn_t *cuda_copied;     /* likewise */

static uint64_t state;

static int64_t random_below(int64_t bound)
{
  state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (int64_t)((z ^ (z >> 31)) % (uint64_t)bound);
}

/* ---- Loading ----------------------------------------------------------------------------------------------------- */

static void *load(const char *below)
{
  char path[PATH_MAX];
  const char *build = getenv("BUILD");
  snprintf(path, sizeof path, "%s/%s", build != NULL ? build : "build", below);
  return access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
}

static bool is_real(void)
{
  const char *which = getenv("SFTEST_CUDA");
  return which != NULL && strcmp(which, "real") == 0;
}

/* False where the plugin was not built. */
static bool load_all(void)
{
  void *driver = load(is_real() ? SFTEST_CUDA_REAL : SFTEST_CUDA_FAKE),
       *plugin = driver != NULL ? load("libsf_cuda.so") : NULL;
  if (plugin == NULL)
    return false;
  cuda_alloc = (sftest_cuda_alloc_fn_t *)dlsym(driver, "sftest_cuda_alloc");
  cuda_free = (sftest_cuda_free_fn_t *)dlsym(driver, "sftest_cuda_free");
  cuda_copy = (sftest_cuda_copy_fn_t *)dlsym(driver, "sftest_cuda_copy");
  cuda_live = (sftest_cuda_live_fn_t *)dlsym(driver, "sftest_cuda_live");
  cuda_launched = is_real() ? NULL : (sftest_cuda_launched_fn_t *)dlsym(driver, "sftest_cuda_launched");
  cuda_copied = is_real() ? NULL : (sftest_cuda_copied_fn_t *)dlsym(driver, "sftest_cuda_copied");
  device = ((sfshm_device_plugin_fn_t)dlsym(plugin, SFSHM_DEVICE_PLUGIN_SYMBOL))();
  return true;
}

/* ---- Arrays, some of them on a device ---------------------------------------------------------------------------- */

typedef struct array {
  size_t length_bytes;
  char *host;   /* what must be in it */
  char *actual; /* the same memory, if it is the host's */
  int where;    /* device; -1: host */
} array_t;

static array_t array_make(size_t length_bytes, int where)
{
  array_t array = {length_bytes, malloc(length_bytes), NULL, where};
  for (size_t i = 0; i < length_bytes; i++)
    array.host[i] = (char)random_below(100);
  array.actual = where < 0 ? malloc(length_bytes) : cuda_alloc(where, length_bytes);
  ck_assert_ptr_nonnull(array.actual);
  cuda_copy(array.actual, array.host, length_bytes);
  if (where >= 0) {
    sfshm_device_range_t range = {array.actual, length_bytes, where, 0}, found;
    ck_assert_int_eq(device->find(array.actual + length_bytes / 2, &found), SF_OK);
    ck_assert_ptr_eq(found.base, range.base);
    ck_assert_uint_eq(found.length_bytes, range.length_bytes);
    ck_assert_int_eq(found.device, where);
    ck_assert_int_eq(device->attach(&range), SF_OK);
  }
  return array;
}

static void array_free(array_t *array)
{
  free(array->host);
  if (array->where >= 0) {
    device->detach(array->actual, 0);
    cuda_free(array->actual);
  } else {
    free(array->actual);
  }
}

static void array_check_and_free(array_t *array)
{
  char *copy = malloc(array->length_bytes);
  cuda_copy(copy, array->actual, array->length_bytes);
  ck_assert_mem_eq(copy, array->host, array->length_bytes);
  free(copy);
  array_free(array);
}

/* ---- Patterns ---------------------------------------------------------------------------------------------------- */

typedef struct indices {
  uint32_t index32[MAX_N];
  int64_t index64[MAX_N];
} indices_t;

/* Any vertices: of targets, too, some occur several times. */
static sfshm_pattern_t random_pattern(int64_t n, indices_t *indices)
{
  int64_t kind = random_below(4);
  if (kind == 0)
    return sfshm_pattern_contiguous(random_below(SPACE - n), n);
  if (kind == 1)
    return (sfshm_pattern_t){.kind = SFSHM_PATTERN_STRIDED, .n = n, .start = random_below(SPACE - 3 * n), .stride = 3};
  int64_t spread = random_below(2) == 0 ? SPACE : MAX_N / 4;
  for (int64_t i = 0; i < n; i++) {
    indices->index64[i] = random_below(spread);
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
  sfshm_base_t base = (sfshm_base_t)random_below(SFSHM_BASE_COUNT);
  return (sfshm_unit_t){base, 1 + random_below(base == SFSHM_BASE_OPAQUE || random_below(3) == 0 ? 40 : 1)};
}

static sfshm_op_t random_op(sfshm_unit_t unit)
{
  sfshm_op_t op;
  do
    op = (sfshm_op_t)random_below(SFSHM_OP_COUNT);
  while (!sfshm_op_applies(op, unit.base));
  return op;
}

static int random_place(void)
{
  return (int)random_below(3) - 1;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void try_kernels(sfshm_unit_t unit, int64_t max_n, int64_t space)
{
  indices_t from_indices, to_indices;
  size_t unit_bytes = sfshm_unit_size(unit);
  sfshm_op_t op = random_op(unit);
  int64_t n = 1 + random_below(max_n), first = random_below(n), some = 1 + random_below(n - first);
  sfshm_pattern_t from_pattern = random_pattern(n, &from_indices), to_pattern = random_pattern(n, &to_indices);
  if (space < SPACE)
    from_pattern = to_pattern = sfshm_pattern_contiguous(0, n);
  array_t from = array_make((size_t)space * unit_bytes, random_place());
  array_t to = array_make((size_t)space * unit_bytes, random_place());
  array_t packed = array_make((size_t)n * unit_bytes, random_place());
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
  ck_assert_int_eq(device->check(), SF_OK);
  device->forget(&from_indices, sizeof from_indices);
  device->forget(&to_indices, sizeof to_indices);
  array_check_and_free(&from);
  array_check_and_free(&to);
  array_check_and_free(&packed);
}

START_TEST(test_random)
{
  for (int round = 0; round < ROUNDS; round++)
    try_kernels(random_unit(), MAX_N, SPACE);
}
END_TEST

/* More than fits into the pinned memory: many units, and units that don't fit one by one. */
START_TEST(test_large)
{
  for (int round = 0; round < 4; round++) {
    try_kernels((sfshm_unit_t){SFSHM_BASE_DOUBLE, 20000}, 10, 10);
    try_kernels((sfshm_unit_t){SFSHM_BASE_UINT16, 300001}, 3, 3);
  }
}
END_TEST

/* Whether the driver copies n bytes from one device to another; if not, how many kernels move them. */
static bool is_copied(int from_device, int to_device, sfshm_op_t op, int64_t stride, int64_t n, int64_t *nkernels_p)
{
  sfshm_unit_t unit = {SFSHM_BASE_UINT8, 1};
  sfshm_pattern_t from_pattern = sfshm_pattern_contiguous(4, n + 2), to_pattern = sfshm_pattern_contiguous(1, n + 2);
  if (stride != 1)
    from_pattern = (sfshm_pattern_t){.kind = SFSHM_PATTERN_STRIDED, .n = n + 2, .start = 1, .stride = stride};
  array_t from = array_make((size_t)(stride * (n + 5)), from_device), to = array_make((size_t)n + 5, to_device);
  int64_t copied = cuda_copied(), launched = cuda_launched();
  sfshm_kernels_find(unit, op)->scatter(unit, &from_pattern, 1, from.host, &to_pattern, to.host, 2, n);
  device->kernels(unit, op)->scatter(unit, &from_pattern, 1, from.actual, &to_pattern, to.actual, 2, n);
  ck_assert_int_eq(device->check(), SF_OK);
  *nkernels_p = cuda_launched() - launched;
  copied = cuda_copied() - copied;
  array_check_and_free(&from);
  array_check_and_free(&to);
  ck_assert(copied == 0 || (copied == 1 && *nkernels_p == 0));
  return copied != 0;
}

/* Much that only changes its place is copied by the driver; what kernels don't reach, however little. */
START_TEST(test_copies)
{
  enum { MUCH = 64 << 10, DEVICES = 3 };
  int64_t nkernels;
  for (int from = 0; from < DEVICES; from++)
    for (int to = 0; to < DEVICES; to++) {
      bool far = from != to && (from == 2 || to == 2);
      ck_assert(is_copied(from, to, SFSHM_OP_REPLACE, 1, MUCH, &nkernels));
      ck_assert(is_copied(from, to, SFSHM_OP_REPLACE, 1, MUCH - 1, &nkernels) == far);
      ck_assert(far || nkernels == 1);
      ck_assert(!is_copied(from, to, SFSHM_OP_REPLACE, 2, MUCH, &nkernels));
      ck_assert(!is_copied(from, to, SFSHM_OP_SUM, 1, MUCH, &nkernels));
    }
}
END_TEST

START_TEST(test_copies_switched_off)
{
  int64_t nkernels;
  ck_assert(!is_copied(0, 0, SFSHM_OP_REPLACE, 1, 100000, &nkernels) && nkernels == 1);
  ck_assert(!is_copied(0, 1, SFSHM_OP_REPLACE, 1, 100000, &nkernels) && nkernels == 1);
  ck_assert(!is_copied(0, 2, SFSHM_OP_REPLACE, 1, 100000, &nkernels) && nkernels == 2);
}
END_TEST

/* Ways that are off are not gone by copies either. */
START_TEST(test_no_copies_of_peers)
{
  int64_t nkernels;
  ck_assert(!is_copied(0, 0, SFSHM_OP_REPLACE, 1, 100000, &nkernels) && nkernels == 2);
  ck_assert(!is_copied(0, 1, SFSHM_OP_REPLACE, 1, 100000, &nkernels) && nkernels == 2);
}
END_TEST

/* Where source and target overlap a kernel may do what a copy must not. */
START_TEST(test_no_copies_within_themselves)
{
  enum { N = 100000 };
  sfshm_unit_t unit = {SFSHM_BASE_UINT8, 1};
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, N);
  array_t array = array_make(2 * N, 0);
  int64_t copied = cuda_copied();
  device->kernels(unit, SFSHM_OP_REPLACE)->scatter(unit, &all, 0, array.actual, &all, array.actual, 0, N);
  ck_assert_int_eq(cuda_copied(), copied);
  device->kernels(unit, SFSHM_OP_REPLACE)->scatter(unit, &all, 0, array.actual, &all, array.actual + N, 0, N);
  ck_assert_int_eq(cuda_copied(), copied + 1);
  memcpy(array.host + N, array.host, N);
  ck_assert_int_eq(device->check(), SF_OK);
  array_check_and_free(&array);
}
END_TEST

/* Any number of patterns one behind the other, as packing them one by one does. */
START_TEST(test_gather)
{
  enum { MOST = 150 };
  static indices_t indices[MOST];
  sfshm_pattern_t patterns[MOST];
  const sfshm_pattern_t *sets[MOST];
  for (int round = 0; round < 40; round++) {
    sfshm_unit_t unit = round == 0 ? (sfshm_unit_t){SFSHM_BASE_DOUBLE, 2000} : random_unit();
    int32_t n = 1 + (int32_t)random_below(round == 0 ? 20 : MOST);
    size_t unit_bytes = sfshm_unit_size(unit), total = 0;
    array_t array = array_make(SPACE * unit_bytes, random_place());
    for (int32_t i = 0; i < n; i++) {
      patterns[i] = random_pattern(1 + random_below(MAX_N), &indices[i]);
      sets[i] = &patterns[i];
      total += (size_t)patterns[i].n;
    }
    char *expected = malloc(total * unit_bytes), *found = malloc(total * unit_bytes), *at = expected;
    for (int32_t i = 0; i < n; at += (size_t)patterns[i++].n * unit_bytes)
      sfshm_kernels_find(unit, SFSHM_OP_REPLACE)->pack(unit, sets[i], 0, sets[i]->n, array.host, at);
    device->gather(unit, sets, n, array.actual, found);
    ck_assert_int_eq(device->check(), SF_OK);
    ck_assert_mem_eq(found, expected, total * unit_bytes);
    free(expected);
    free(found);
    device->forget(indices, sizeof indices);
    array_check_and_free(&array);
  }
}
END_TEST

/* One launch for all of it. */
START_TEST(test_gather_is_one_launch)
{
  sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};
  sfshm_pattern_t patterns[40];
  const sfshm_pattern_t *sets[40];
  double packed[100];
  array_t array = array_make(1000, 1);
  for (int i = 0; i < 40; i++) {
    patterns[i] = (sfshm_pattern_t){.kind = SFSHM_PATTERN_STRIDED, .n = 2, .start = i, .stride = 3};
    sets[i] = &patterns[i];
  }
  int64_t live = cuda_live(), before = cuda_launched();
  device->gather(unit, sets, 40, array.actual, packed);
  ck_assert_int_eq(cuda_launched(), before + 1);
  ck_assert_int_eq(cuda_live(), live); /* and no indices are stored */
  array_free(&array);
}
END_TEST

/* Copies of indices are found again, and go by the array that they are of. */
START_TEST(test_copies_of_indices)
{
  enum { N = 300 };
  static uint32_t index[N][4];
  sfshm_unit_t unit = {SFSHM_BASE_INT32, 1};
  int32_t packed[4];
  array_t array = array_make(4000, 0);
  device->kernels(unit, SFSHM_OP_REPLACE)->pack(unit, &(sfshm_pattern_t){.n = 1}, 0, 1, array.actual, packed);
  int64_t none = cuda_live();
  for (int times = 0; times < 2; times++)
    for (uint32_t i = 0; i < N; i++) {
      memcpy(index[i], (uint32_t[]){i, 3 * i, i + 1, 7}, sizeof index[i]);
      sfshm_pattern_t pattern = {.kind = SFSHM_PATTERN_INDEX32, .n = 4, .index32 = index[i]};
      device->kernels(unit, SFSHM_OP_REPLACE)->pack(unit, &pattern, 0, 4, array.actual, packed);
    }
  ck_assert_int_eq(cuda_live(), none + N);
  device->forget(index[5], sizeof index[5]);
  ck_assert_int_eq(cuda_live(), none + N - 1);
  device->forget(index[100], 100 * sizeof index[0]);
  ck_assert_int_eq(cuda_live(), none + N - 101);
  device->forget(index, sizeof index);
  ck_assert_int_eq(cuda_live(), none);
  array_free(&array);
}
END_TEST

/* Boxes of a grid, also parts of them: no indices are stored. */
START_TEST(test_boxes)
{
  enum { ROW = 16, ROWS = 3, PLANES = 2, N = ROW * ROWS * PLANES };
  sfshm_unit_t unit = {SFSHM_BASE_INT32, 1};
  for (int round = 0; round < 20; round++) {
    uint32_t index[N];
    uint32_t stride = 1 + (uint32_t)random_below(2), row_stride = ROW * stride + 1 + (uint32_t)random_below(5);
    uint32_t plane_stride = ROWS * row_stride + (uint32_t)random_below(9);
    for (uint32_t i = 0; i < N; i++)
      index[i] = 3 + i / (ROW * ROWS) * plane_stride + i / ROW % ROWS * row_stride + i % ROW * stride;
    sfshm_pattern_t box = sfshm_pattern_from_index32(index, N), dense = sfshm_pattern_contiguous(0, N);
    sfshm_pattern_find_box(&box);
    ck_assert_int_gt(box.row, 0);
    int64_t skipped = random_below(20), n = N - skipped - random_below(20);
    box = sfshm_pattern_slice(&box, skipped, n);
    array_t array = array_make(sizeof(int32_t) * (index[N - 1] + 1), 1), packed = array_make(sizeof(int32_t) * N, 1);
    const sfshm_kernels_t *tested = device->kernels(unit, SFSHM_OP_SUM);
    const sfshm_kernels_t *model = sfshm_kernels_find(unit, SFSHM_OP_SUM);
    int64_t live = cuda_live();
    model->unpack(unit, &box, 0, n, packed.host, array.host);
    tested->unpack(unit, &box, 0, n, packed.actual, array.actual);
    model->scatter(unit, &box, 0, array.host, &dense, packed.host, 2, n - 5);
    tested->scatter(unit, &box, 0, array.actual, &dense, packed.actual, 2, n - 5);
    ck_assert_int_eq(device->check(), SF_OK);
    ck_assert_int_eq(cuda_live(), live);
    array_check_and_free(&array);
    array_check_and_free(&packed);
  }
}
END_TEST

/* Atomic operations: of integers, and of sums that are exact, the order does not matter. */
START_TEST(test_unordered)
{
  static const sfshm_base_t bases[] = {SFSHM_BASE_INT32, SFSHM_BASE_UINT32, SFSHM_BASE_INT64, SFSHM_BASE_UINT64,
                                       SFSHM_BASE_INT16};
  static const sfshm_op_t ops[] = {SFSHM_OP_SUM, SFSHM_OP_MAX, SFSHM_OP_MIN, SFSHM_OP_PROD, SFSHM_OP_REPLACE};
  indices_t indices;
  for (int round = 0; round < 100; round++) {
    sfshm_unit_t unit = {bases[random_below(5)], 1 + random_below(3)};
    sfshm_op_t op = ops[random_below(5)];
    size_t unit_bytes = sfshm_unit_size(unit);
    sfshm_pattern_t pattern = random_pattern(MAX_N, &indices);
    array_t to = array_make(SPACE * unit_bytes, random_place()), from = array_make(MAX_N * unit_bytes, random_place());
    sfshm_kernels_find(unit, op)->unpack(unit, &pattern, 0, MAX_N, from.host, to.host);
    device->unordered(unit, op)->unpack(unit, &pattern, 0, MAX_N, from.actual, to.actual);
    ck_assert_int_eq(device->check(), SF_OK);
    device->forget(&indices, sizeof indices);
    array_check_and_free(&to);
    array_check_and_free(&from);
  }
}
END_TEST

START_TEST(test_unordered_sums)
{
  static const uint32_t index[] = {3, 1, 3, 3, 0, 1, 3, 2};
  static const double values[] = {1, 2, 4, 8, 16, 32, 64, 128}, expected[] = {16, 34, 128, 77};
  sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};
  sfshm_pattern_t pattern = {.kind = SFSHM_PATTERN_INDEX32, .n = 8, .index32 = index};
  double found[4] = {0};
  array_t array = array_make(sizeof found, 0);
  cuda_copy(array.actual, found, sizeof found);
  device->unordered(unit, SFSHM_OP_SUM)->unpack(unit, &pattern, 0, 8, values, array.actual);
  ck_assert_int_eq(device->check(), SF_OK);
  cuda_copy(found, array.actual, sizeof found);
  ck_assert_mem_eq(found, expected, sizeof found);
  device->forget(index, sizeof index);
  array_free(&array);
}
END_TEST

START_TEST(test_nothing_is_left)
{
  int64_t before;
  try_kernels(random_unit(), MAX_N, SPACE);
  before = cuda_live(); /* pinned memory of devices that have been opened */
  for (int round = 0; round < 100; round++)
    try_kernels(random_unit(), MAX_N, SPACE);
  ck_assert_int_le(cuda_live(), before + 4);
}
END_TEST

/* What has been freed without being detached has ended, before, in, or behind what is there now, and its end changes
 * nothing. */
START_TEST(test_freed_before_detached)
{
  enum { N = 1000, CASES = 3 };
  static const struct {
    size_t begin;
    size_t length_bytes;
  } freed[CASES] = {{0, N / 4}, {N / 2, N / 4}, {N / 4, 3 * N / 4}};
  sfshm_unit_t unit = {SFSHM_BASE_UINT8, 1};
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, N);
  uint8_t expected[N], found[N];
  char *memory = cuda_alloc(0, N);
  for (int i = 0; i < N; i++)
    expected[i] = (uint8_t)(i % 251);
  cuda_copy(memory, expected, N);
  for (int i = 0; i < CASES; i++) {
    sfshm_device_range_t before = {memory + freed[i].begin, freed[i].length_bytes, 0, 1}, now = {memory, N, 0, 2};
    ck_assert_int_eq(device->attach(&before), SF_OK);
    ck_assert_int_eq(device->attach(&now), SF_OK);
    for (int times = 0; times < 2; times++) {
      memset(found, 0, N);
      device->kernels(unit, SFSHM_OP_REPLACE)->pack(unit, &all, 0, N, memory, found);
      for (int k = 0; k < N; k += 10) /* wherever it begins */
        device->kernels(unit, SFSHM_OP_REPLACE)->pack(unit, &all, 0, 1, memory + k, found + k);
      ck_assert_int_eq(device->check(), SF_OK);
      ck_assert_mem_eq(found, expected, N);
      device->detach(before.base, before.serial);
    }
    device->detach(now.base, now.serial);
  }
  cuda_free(memory);
}
END_TEST

/* Of one place and length: as long as either is attached. */
START_TEST(test_attached_again)
{
  enum { N = 1000 };
  sfshm_unit_t unit = {SFSHM_BASE_UINT8, 1};
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, N);
  char *memory = cuda_alloc(0, N);
  uint8_t values[N] = {7}, found[N];
  cuda_copy(memory, values, N);
  for (uint64_t i = 0; i < 4; i++) {
    sfshm_device_range_t first = {memory, N, 0, 1 + i % 2}, second = {memory, N, 0, 2 - i % 2};
    ck_assert_int_eq(device->attach(&first), SF_OK);
    ck_assert_int_eq(device->attach(&second), SF_OK);
    device->detach(memory, 1 + i / 2);
    memset(found, 0, N);
    device->kernels(unit, SFSHM_OP_REPLACE)->pack(unit, &all, 0, N, memory, found);
    ck_assert_int_eq(device->check(), SF_OK);
    ck_assert_mem_eq(found, values, N);
    device->detach(memory, 2 - i / 2);
  }
  cuda_free(memory);
}
END_TEST

START_TEST(test_host_memory_is_none)
{
  int word = 0;
  sfshm_device_range_t range;
  ck_assert_int_eq(device->find(&word, &range), SF_ERR_NOT_FOUND);
}
END_TEST

/* A failure stays, nothing more is tried, and nothing crashes. */
START_TEST(test_launch_fails)
{
  sfshm_unit_t unit = {SFSHM_BASE_INT32, 1};
  sfshm_pattern_t all = sfshm_pattern_contiguous(0, 8);
  int32_t packed[8] = {0};
  array_t array = array_make(sizeof packed, 0);
  for (int i = 0; i < 5; i++)
    device->kernels(unit, SFSHM_OP_SUM)->unpack(unit, &all, 0, 8, packed, array.actual);
  ck_assert_int_eq(device->check(), SF_ERR_SYS);
  ck_assert_ptr_nonnull(strstr(device->detail(), "CUDA_ERROR_LAUNCH_FAILED"));
  array_free(&array);
}
END_TEST

/* An array is freed while it is not known what kernels do with its copy, and another one of the same length comes to
 * lie there: the copy is not taken for one of that. */
START_TEST(test_waiting_fails)
{
  sfshm_unit_t unit = {SFSHM_BASE_INT32, 1};
  uint32_t index[4] = {1, 5, 2, 7};
  sfshm_pattern_t pattern = {.kind = SFSHM_PATTERN_INDEX32, .n = 4, .index32 = index};
  const int32_t packed[4] = {10, 20, 30, 40};
  array_t array = array_make(8 * sizeof packed[0], 0);
  device->kernels(unit, SFSHM_OP_REPLACE)->unpack(unit, &pattern, 0, 4, packed, array.actual);
  device->forget(index, sizeof index);
  memcpy(index, (uint32_t[]){6, 0, 4, 3}, sizeof index);
  device->kernels(unit, SFSHM_OP_REPLACE)->unpack(unit, &pattern, 0, 4, packed, array.actual);
  ck_assert_int_eq(device->check(), SF_ERR_SYS);
  ck_assert_ptr_nonnull(strstr(device->detail(), "waiting for a kernel"));
  array_free(&array);
}
END_TEST

static void open_devices(void)
{
  state = 42;
  ck_assert_int_eq(device->open(), SF_OK);
}

/* Every way between devices, and within one, goes through the host. */
static void open_switched_off(void)
{
  setenv("SF_DEVICE_PEER", "off", 1);
  setenv("SF_DEVICE_KERNEL", "off", 1);
  open_devices();
}

/* The third one is not reached by kernels of the others. */
static void open_three(void)
{
  setenv("SFTEST_CUDA_DEVICES", "3", 1);
  open_devices();
}

static void open_without_copies(void)
{
  setenv("SF_DEVICE_COPY", "off", 1);
  open_three();
}

static void open_to_fail(void)
{
  setenv("SFTEST_CUDA_FAIL", "cuLaunchKernel:3", 1);
  open_devices();
}

/* The first time is for the copy of the indices. */
static void open_to_wait_in_vain(void)
{
  setenv("SFTEST_CUDA_FAIL", "cuStreamSynchronize:2", 1);
  open_devices();
}

START_TEST(test_no_device)
{
  setenv("SFTEST_CUDA_FAIL", "cuInit:1", 1);
  ck_assert_int_eq(device->open(), SF_ERR_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(device->detail(), "no CUDA-capable device"));
}
END_TEST

static TCase *make_case(Suite *suite, const char *name, SFun setup)
{
  TCase *tests = tcase_create(name);
  if (setup != NULL)
    tcase_add_checked_fixture(tests, setup, NULL);
  suite_add_tcase(suite, tests);
  return tests;
}

int main(void)
{
  if (!load_all()) {
    const char *error = dlerror();
    printf("skipped: the CUDA plugin was not built, or cannot be loaded%s%s\n", error != NULL ? ": " : "",
           error != NULL ? error : "");
    return 77;
  }
  Suite *suite = suite_create("cuda");
  TCase *working = make_case(suite, "working", open_devices);
  tcase_add_test(working, test_random);
  tcase_add_test(working, test_large);
  tcase_add_test(working, test_gather);
  tcase_add_test(working, test_boxes);
  tcase_add_test(working, test_unordered);
  tcase_add_test(working, test_unordered_sums);
  tcase_add_test(working, test_nothing_is_left);
  tcase_add_test(working, test_freed_before_detached);
  tcase_add_test(working, test_attached_again);
  tcase_add_test(working, test_host_memory_is_none);
  tcase_add_test(make_case(suite, "switched off", open_switched_off), test_random);
  if (!is_real()) {
    tcase_add_test(working, test_no_copies_within_themselves);
    tcase_add_test(make_case(suite, "three devices", open_three), test_copies);
    tcase_add_test(make_case(suite, "without copies", open_without_copies), test_copies_switched_off);
    tcase_add_test(make_case(suite, "without peers", open_switched_off), test_no_copies_of_peers);
    tcase_add_test(working, test_gather_is_one_launch);
    tcase_add_test(working, test_copies_of_indices);
    tcase_add_test(make_case(suite, "failing", open_to_fail), test_launch_fails);
    tcase_add_test(make_case(suite, "waiting in vain", open_to_wait_in_vain), test_waiting_fails);
    tcase_add_test(make_case(suite, "none", NULL), test_no_device);
  }
  return sftest_run(suite);
}
