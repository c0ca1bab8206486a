/* Kernels against a naive model: one element at a time, written without looking at how the kernels do it. */
#include "shm/kernels/kernels.h"
#include "shm/kernels/kernels_dense.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_N 90
#define SPACE (8 * MAX_N) /* vertices of an array */

static unsigned seed;
static uint64_t state; /* of the random numbers; set at the start of each test */

static void start_random(int test_index)
{
  state = seed + (uint64_t)test_index;
}

static uint64_t random_bits(void)
{
  return sftest_random64(&state);
}

static int64_t random_below(int64_t bound)
{
  return (int64_t)(random_bits() % (uint64_t)bound);
}

/* ---- The model --------------------------------------------------------------------------------------------------- */

static bool is_integer(sfshm_base_t base)
{
  return base <= SFSHM_BASE_UINT64;
}

/* Pairs: the bases of value and index. */
static bool is_pair(sfshm_base_t base, sfshm_base_t *value_p, sfshm_base_t *index_p)
{
  static const sfshm_base_t parts[][3] = {
      {SFSHM_BASE_INT16_INT32, SFSHM_BASE_INT16, SFSHM_BASE_INT32},
      {SFSHM_BASE_INT32_INT32, SFSHM_BASE_INT32, SFSHM_BASE_INT32},
      {SFSHM_BASE_INT64_INT32, SFSHM_BASE_INT64, SFSHM_BASE_INT32},
      {SFSHM_BASE_INT64_INT64, SFSHM_BASE_INT64, SFSHM_BASE_INT64},
      {SFSHM_BASE_FLOAT_INT32, SFSHM_BASE_FLOAT, SFSHM_BASE_INT32},
      {SFSHM_BASE_DOUBLE_INT32, SFSHM_BASE_DOUBLE, SFSHM_BASE_INT32},
      {SFSHM_BASE_DOUBLE_INT64, SFSHM_BASE_DOUBLE, SFSHM_BASE_INT64},
  };
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (parts[i][0] == base) {
      *value_p = parts[i][1];
      *index_p = parts[i][2];
      return true;
    }
  return false;
}

static bool is_float(sfshm_base_t base)
{
  return base == SFSHM_BASE_FLOAT || base == SFSHM_BASE_FLOAT_COMPLEX;
}

static size_t components(sfshm_base_t base)
{
  return base == SFSHM_BASE_FLOAT_COMPLEX || base == SFSHM_BASE_DOUBLE_COMPLEX ? 2 : 1;
}

static uint64_t combine_integers(sfshm_op_t op, uint64_t a, uint64_t b, bool b_above_a)
{
  switch (op) {
  case SFSHM_OP_SUM:
    return a + b;
  case SFSHM_OP_PROD:
    return a * b;
  case SFSHM_OP_MAX:
    return b_above_a ? b : a;
  case SFSHM_OP_MIN:
    return b_above_a ? a : b;
  case SFSHM_OP_LAND:
    return a && b ? 1 : 0;
  case SFSHM_OP_LOR:
    return a || b ? 1 : 0;
  case SFSHM_OP_LXOR:
    return !a != !b ? 1 : 0;
  case SFSHM_OP_BAND:
    return a & b;
  case SFSHM_OP_BOR:
    return a | b;
  case SFSHM_OP_BXOR:
    return a ^ b;
  default:
    return b;
  }
}

/* The machine is little-endian: the low bytes of a 64-bit number are the smaller one, modulo its range. */
static void model_integer(sfshm_base_t base, sfshm_op_t op, unsigned char *to, const unsigned char *from)
{
  size_t size = sfshm_base_size(base);
  uint64_t a = 0;
  uint64_t b = 0;
  memcpy(&a, to, size);
  memcpy(&b, from, size);
  bool is_signed = base % 2 == 0; /* signed and unsigned alternate in the table */
  uint64_t sign = is_signed ? UINT64_C(1) << (8 * size - 1) : 0;
  uint64_t result = combine_integers(op, a, b, (b ^ sign) > (a ^ sign)); /* flipped signs compare as unsigned */
  memcpy(to, &result, size);
}

/* A float operation is the double one, rounded: double has more than twice its digits. */
static double rounded(sfshm_base_t base, double value)
{
  volatile double stored = is_float(base) ? (double)(float)value : value; /* volatile: products are not contracted */
  return stored;
}

static double load_real(sfshm_base_t base, const unsigned char *at, size_t component)
{
  float f;
  double d;
  memcpy(&f, at + component * sizeof f, sizeof f);
  if (is_float(base))
    return (double)f;
  memcpy(&d, at + component * sizeof d, sizeof d);
  return d;
}

static void store_real(sfshm_base_t base, unsigned char *at, size_t component, double value)
{
  float f = (float)value;
  if (is_float(base))
    memcpy(at + component * sizeof f, &f, sizeof f);
  else
    memcpy(at + component * sizeof value, &value, sizeof value);
}

static void model_complex_product(sfshm_base_t base, unsigned char *to, const unsigned char *from)
{
  double a = load_real(base, to, 0), b = load_real(base, to, 1);
  double c = load_real(base, from, 0), d = load_real(base, from, 1);
  double ac = rounded(base, a * c), bd = rounded(base, b * d);
  double ad = rounded(base, a * d), bc = rounded(base, b * c);
  store_real(base, to, 0, rounded(base, ac - bd));
  store_real(base, to, 1, rounded(base, ad + bc));
}

static void model_real(sfshm_base_t base, sfshm_op_t op, unsigned char *to, const unsigned char *from)
{
  for (size_t k = 0; k < components(base); k++) {
    double a = load_real(base, to, k);
    double b = load_real(base, from, k);
    if (op == SFSHM_OP_SUM)
      store_real(base, to, k, rounded(base, a + b));
    else if (op == SFSHM_OP_PROD)
      store_real(base, to, k, rounded(base, a * b));
    else if (op == SFSHM_OP_MAX ? isgreater(b, a) : isless(b, a))
      memcpy(to, from, sfshm_base_size(base));
  }
}

static int64_t load_signed(sfshm_base_t base, const unsigned char *at)
{
  int64_t value = 0;
  size_t size = sfshm_base_size(base);
  memcpy(&value, at, size);
  return (int64_t)((uint64_t)value << (64 - 8 * size)) >> (64 - 8 * size);
}

/* Below 0, 0 or above as a is to b; 0 with a NaN, of which the flag tells. */
static int compare_values(sfshm_base_t base, const unsigned char *a, const unsigned char *b, bool *nan_p)
{
  if (is_integer(base)) {
    int64_t x = load_signed(base, a), y = load_signed(base, b);
    *nan_p = false;
    return (x > y) - (x < y);
  }
  double x = load_real(base, a, 0), y = load_real(base, b, 0);
  *nan_p = isnan(x) || isnan(y);
  return (x > y) - (x < y);
}

/* An index stands at a multiple of its size behind the value. */
static void model_pair(sfshm_base_t value, sfshm_base_t index, sfshm_op_t op, unsigned char *to,
                       const unsigned char *from)
{
  size_t align = sfshm_base_size(index), at = (sfshm_base_size(value) + align - 1) / align * align;
  bool nan;
  int order = compare_values(value, from, to, &nan);
  bool lower = load_signed(index, from + at) < load_signed(index, to + at);
  if (nan || (order == 0 ? !lower : (order > 0) != (op == SFSHM_OP_MAXLOC)))
    return;
  memcpy(to, from, sfshm_base_size(value));
  memcpy(to + at, from + at, align);
}

static void model_element(sfshm_base_t base, sfshm_op_t op, unsigned char *to, const unsigned char *from)
{
  sfshm_base_t value, index;
  if (op == SFSHM_OP_REPLACE)
    memcpy(to, from, sfshm_base_size(base));
  else if (is_pair(base, &value, &index))
    model_pair(value, index, op, to, from);
  else if (is_integer(base))
    model_integer(base, op, to, from);
  else if (op == SFSHM_OP_PROD && components(base) == 2)
    model_complex_product(base, to, from);
  else
    model_real(base, op, to, from);
}

static void model_unit(sfshm_unit_t unit, sfshm_op_t op, unsigned char *to, const unsigned char *from)
{
  size_t size = sfshm_base_size(unit.base);
  for (size_t k = 0; k < (size_t)unit.count; k++)
    model_element(unit.base, op, to + k * size, from + k * size);
}

/* ---- Data -------------------------------------------------------------------------------------------------------- */

static void fill_real(sfshm_base_t base, unsigned char *at)
{
  static const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-310, 3e38, -1.0};
  for (size_t k = 0; k < components(base); k++) {
    double value = (double)random_below(2000001) / 1000.0 - 1000.0;
    if (random_below(8) == 0)
      value = special[random_below(8)];
    store_real(base, at, k, value);
  }
}

/* Values that are often equal, and anything behind them. */
static void fill_pair(sfshm_base_t base, sfshm_base_t value, unsigned char *at)
{
  int64_t number = random_below(5) - 2;
  for (size_t i = 0; i < sfshm_base_size(base); i++)
    at[i] = (unsigned char)random_bits();
  if (is_integer(value))
    memcpy(at, &number, sfshm_base_size(value));
  else if (random_below(2) == 0)
    store_real(value, at, 0, (double)number);
  else
    fill_real(value, at);
}

/* Integers are 0 or 1 at times, for the logical ops. */
static void fill(sfshm_base_t base, unsigned char *start, size_t len_bytes)
{
  size_t size = base == SFSHM_BASE_OPAQUE ? 8 : sfshm_base_size(base);
  sfshm_base_t value, index;
  for (size_t at = 0; at < len_bytes; at += size) {
    uint64_t bits = random_below(3) ? random_bits() : (uint64_t)random_below(2);
    if (base == SFSHM_BASE_OPAQUE)
      memcpy(start + at, &bits, size < len_bytes - at ? size : len_bytes - at);
    else if (is_pair(base, &value, &index))
      fill_pair(base, value, start + at);
    else if (is_integer(base))
      memcpy(start + at, &bits, size);
    else
      fill_real(base, start + at);
  }
}

/* Values for a number of units. Exactly as long as it must be, at an odd address every other time. */
typedef struct data {
  unsigned char *memory; /* to be freed */
  unsigned char *start;
  size_t len_bytes;
} data_t;

static data_t data_new(sfshm_unit_t unit, int64_t nunits)
{
  data_t data = {.len_bytes = sfshm_unit_size(unit) * (size_t)nunits};
  size_t shift = (size_t)random_below(2);
  data.memory = malloc(data.len_bytes + shift);
  data.start = data.memory + shift;
  fill(unit.base, data.start, data.len_bytes);
  return data;
}

static unsigned char *data_copy(const data_t *data)
{
  unsigned char *copy = malloc(data->len_bytes + 1);
  memcpy(copy, data->start, data->len_bytes);
  return copy;
}

/* The same bits, but for which NaN a sum or product gives. */
static bool same_element(sfshm_base_t base, const unsigned char *a, const unsigned char *b)
{
  if (memcmp(a, b, sfshm_base_size(base)) == 0)
    return true;
  if (is_integer(base) || base >= SFSHM_BASE_OPAQUE)
    return false;
  for (size_t k = 0; k < components(base); k++) {
    double x = load_real(base, a, k);
    double y = load_real(base, b, k);
    bool both_nan = isnan(x) && isnan(y);
    if (!both_nan && (isnan(x) || isnan(y) || x != y || signbit(x) != signbit(y)))
      return false;
  }
  return true;
}

/* One assertion for all elements: Check writes to a pipe for each. */
static void expect_data(const data_t *data, const unsigned char *expected, sfshm_unit_t unit, sfshm_op_t op)
{
  size_t size = sfshm_base_size(unit.base);
  size_t at = 0;
  while (at < data->len_bytes && same_element(unit.base, data->start + at, expected + at))
    at += size;
  ck_assert_msg(at == data->len_bytes, "%s of %lld x %s differs at element %zu", sfshm_op_name(op),
                (long long)unit.count, sfshm_base_name(unit.base), at / size);
}

/* ---- Patterns ---------------------------------------------------------------------------------------------------- */

#define KINDS 4

typedef struct indices {
  uint32_t index32[MAX_N];
  int64_t index64[MAX_N];
} indices_t;

/* n vertices in [shift, shift + SPACE), general ones with many duplicates every other time. */
static sfshm_pattern_t random_pattern(sfshm_pattern_kind_t kind, int64_t n, int64_t shift, indices_t *indices)
{
  int64_t distinct = random_below(2) ? SPACE : 1 + random_below(5);
  for (int64_t i = 0; i < n; i++) {
    indices->index64[i] = shift + random_below(distinct);
    indices->index32[i] = (uint32_t)indices->index64[i];
  }
  sfshm_pattern_t pattern = {.kind = kind, .n = n, .start = shift + random_below(SPACE - MAX_N), .stride = 1};
  if (kind == SFSHM_PATTERN_INDEX32)
    pattern.index32 = indices->index32;
  if (kind == SFSHM_PATTERN_INDEX64)
    pattern.index64 = indices->index64;
  if (kind == SFSHM_PATTERN_STRIDED) {
    int64_t stride = 2 + random_below(5);
    bool down = random_below(2);
    pattern.start = shift + random_below(SPACE - MAX_N * stride) + (down ? (MAX_N - 1) * stride : 0);
    pattern.stride = down ? -stride : stride;
  }
  return pattern;
}

/* Some of the general ones are boxes, beginning anywhere, that may go through a vertex several times. */
static sfshm_pattern_t random_form(sfshm_pattern_kind_t kind, int64_t n, int64_t shift, indices_t *indices)
{
  sfshm_pattern_t pattern = random_pattern(kind, n, shift, indices);
  bool general = kind == SFSHM_PATTERN_INDEX32 || kind == SFSHM_PATTERN_INDEX64, up = random_below(2);
  if (!general || random_below(2))
    return pattern;
  pattern.row = 1 + random_below(9);
  pattern.rows = 1 + random_below(4);
  pattern.stride = up ? 1 + random_below(2) : -1;
  pattern.row_stride = random_below(21);
  pattern.plane_stride = random_below(4);
  pattern.skipped = random_below(10);
  pattern.start = shift + 10 + random_below(100);
  for (int64_t i = 0; i < n; i++) {
    int64_t place = i + pattern.skipped, line = place / pattern.row;
    indices->index64[i] = pattern.start + place % pattern.row * pattern.stride +
                          line % pattern.rows * pattern.row_stride + line / pattern.rows * pattern.plane_stride;
    indices->index32[i] = (uint32_t)indices->index64[i];
  }
  return pattern;
}

static const int64_t counts[] = {1, 2, 3, 7, 1, 4, 25};

/* One way to call a kernel, all drawn at random but for the kinds. */
typedef struct trial {
  sfshm_unit_t unit;
  sfshm_op_t op;
  const sfshm_kernels_t *kernels;
  int64_t total; /* length of the patterns */
  int64_t first;
  int64_t n;
} trial_t;

static trial_t trial_new(sfshm_base_t base, sfshm_op_t op, int64_t count)
{
  trial_t trial = {.unit = {base, count}, .op = op, .total = random_below(MAX_N + 1)};
  trial.first = random_below(trial.total + 1);
  trial.n = random_below(trial.total - trial.first + 1);
  trial.kernels = sfshm_kernels_find(trial.unit, op);
  ck_assert_ptr_nonnull(trial.kernels);
  return trial;
}

static unsigned char *vertex(unsigned char *array, sfshm_unit_t unit, int64_t number)
{
  return array + number * (int64_t)sfshm_unit_size(unit);
}

/* ---- Kernels against the model ----------------------------------------------------------------------------------- */

static void check_pack(const trial_t *trial, sfshm_pattern_kind_t kind)
{
  indices_t indices;
  sfshm_pattern_t pattern = random_form(kind, trial->total, 0, &indices);
  data_t array = data_new(trial->unit, SPACE);
  data_t packed = data_new(trial->unit, trial->n);
  unsigned char *expected = data_copy(&packed);
  for (int64_t i = 0; i < trial->n; i++)
    memcpy(vertex(expected, trial->unit, i),
           vertex(array.start, trial->unit, sfshm_pattern_at(&pattern, trial->first + i)),
           sfshm_unit_size(trial->unit));
  trial->kernels->pack(trial->unit, &pattern, trial->first, trial->n, array.start, packed.start);
  ck_assert(memcmp(packed.start, expected, packed.len_bytes) == 0);
  free(expected);
  free(packed.memory);
  free(array.memory);
}

static void check_unpack(const trial_t *trial, sfshm_pattern_kind_t kind)
{
  indices_t indices;
  sfshm_pattern_t pattern = random_form(kind, trial->total, 0, &indices);
  data_t array = data_new(trial->unit, SPACE);
  data_t packed = data_new(trial->unit, trial->n);
  unsigned char *expected = data_copy(&array);
  for (int64_t i = 0; i < trial->n; i++)
    model_unit(trial->unit, trial->op, vertex(expected, trial->unit, sfshm_pattern_at(&pattern, trial->first + i)),
               vertex(packed.start, trial->unit, i));
  trial->kernels->unpack(trial->unit, &pattern, trial->first, trial->n, packed.start, array.start);
  expect_data(&array, expected, trial->unit, trial->op);
  free(expected);
  free(packed.memory);
  free(array.memory);
}

static void check_fetch(const trial_t *trial, sfshm_pattern_kind_t kind)
{
  indices_t indices;
  sfshm_pattern_t pattern = random_form(kind, trial->total, 0, &indices);
  data_t array = data_new(trial->unit, SPACE);
  data_t packed = data_new(trial->unit, trial->n);
  unsigned char *expected = data_copy(&array), *fetched = data_copy(&packed);
  for (int64_t i = 0; i < trial->n; i++) {
    unsigned char *present = vertex(expected, trial->unit, sfshm_pattern_at(&pattern, trial->first + i));
    memcpy(vertex(fetched, trial->unit, i), present, sfshm_unit_size(trial->unit));
    model_unit(trial->unit, trial->op, present, vertex(packed.start, trial->unit, i));
  }
  trial->kernels->fetch(trial->unit, &pattern, trial->first, trial->n, packed.start, array.start);
  expect_data(&array, expected, trial->unit, trial->op);
  expect_data(&packed, fetched, trial->unit, trial->op);
  free(fetched);
  free(expected);
  free(packed.memory);
  free(array.memory);
}

/* From an array of which only vertices bias and above are there. */
static void check_scatter(const trial_t *trial, sfshm_pattern_kind_t from_kind, sfshm_pattern_kind_t to_kind)
{
  indices_t from_indices, to_indices;
  sfshm_pattern_t from_pattern = random_form(from_kind, trial->total, 1000, &from_indices);
  sfshm_pattern_t to_pattern = random_form(to_kind, trial->total, 0, &to_indices);
  int64_t bias = trial->total > 0 ? sfshm_pattern_min(&from_pattern) - random_below(2) : 0;
  data_t from = data_new(trial->unit, trial->total > 0 ? sfshm_pattern_max(&from_pattern) - bias + 1 : 0);
  data_t to = data_new(trial->unit, SPACE);
  unsigned char *expected = data_copy(&to);
  for (int64_t i = 0; i < trial->n; i++)
    model_unit(trial->unit, trial->op, vertex(expected, trial->unit, sfshm_pattern_at(&to_pattern, trial->first + i)),
               vertex(from.start, trial->unit, sfshm_pattern_at(&from_pattern, trial->first + i) - bias));
  trial->kernels->scatter(trial->unit, &from_pattern, bias, from.start, &to_pattern, to.start, trial->first, trial->n);
  expect_data(&to, expected, trial->unit, trial->op);
  free(expected);
  free(to.memory);
  free(from.memory);
}

/* Within one array, read in one half and written in the other. */
static void check_scatter_within(const trial_t *trial, sfshm_pattern_kind_t from_kind, sfshm_pattern_kind_t to_kind)
{
  indices_t from_indices, to_indices;
  bool upwards = random_below(2);
  sfshm_pattern_t from_pattern = random_form(from_kind, trial->total, upwards ? 0 : SPACE, &from_indices);
  sfshm_pattern_t to_pattern = random_form(to_kind, trial->total, upwards ? SPACE : 0, &to_indices);
  data_t array = data_new(trial->unit, 2 * SPACE);
  unsigned char *expected = data_copy(&array);
  for (int64_t i = 0; i < trial->n; i++)
    model_unit(trial->unit, trial->op, vertex(expected, trial->unit, sfshm_pattern_at(&to_pattern, trial->first + i)),
               vertex(array.start, trial->unit, sfshm_pattern_at(&from_pattern, trial->first + i)));
  trial->kernels->scatter(trial->unit, &from_pattern, 0, array.start, &to_pattern, array.start, trial->first, trial->n);
  expect_data(&array, expected, trial->unit, trial->op);
  free(expected);
  free(array.memory);
}

static void check_all_kinds(sfshm_base_t base, sfshm_op_t op, int64_t count)
{
  for (int from = 0; from < KINDS; from++) {
    trial_t trial = trial_new(base, op, count);
    check_pack(&trial, (sfshm_pattern_kind_t)from);
    check_unpack(&trial, (sfshm_pattern_kind_t)from);
    check_fetch(&trial, (sfshm_pattern_kind_t)from);
    for (int to = 0; to < KINDS; to++) {
      trial = trial_new(base, op, count);
      check_scatter(&trial, (sfshm_pattern_kind_t)from, (sfshm_pattern_kind_t)to);
      check_scatter_within(&trial, (sfshm_pattern_kind_t)from, (sfshm_pattern_kind_t)to);
    }
  }
}

START_TEST(agree_with_the_model)
{
  start_random(_i);
  sfshm_base_t base = (sfshm_base_t)_i;
  for (int op = 0; op < SFSHM_OP_COUNT; op++)
    for (size_t i = 0; sfshm_op_applies((sfshm_op_t)op, base) && i < sizeof counts / sizeof counts[0]; i++)
      check_all_kinds(base, (sfshm_op_t)op, counts[i]);
}
END_TEST

START_TEST(move_units_of_any_size)
{
  start_random(_i);
  for (int64_t size = 1; size <= 70; size++)
    check_all_kinds(SFSHM_BASE_OPAQUE, SFSHM_OP_REPLACE, size);
}
END_TEST

START_TEST(combine_long_ranges)
{
  start_random(_i);
  sfshm_base_t base = (sfshm_base_t)_i;
  sfshm_pattern_t pattern = sfshm_pattern_contiguous(0, 1000);
  sfshm_unit_t unit = {base, 1};
  for (int op = 0; op < SFSHM_OP_COUNT; op++) {
    if (!sfshm_op_applies((sfshm_op_t)op, base))
      continue;
    data_t array = data_new(unit, pattern.n);
    data_t packed = data_new(unit, pattern.n);
    unsigned char *expected = data_copy(&array);
    for (int64_t i = 0; i < pattern.n; i++)
      model_unit(unit, (sfshm_op_t)op, vertex(expected, unit, i), vertex(packed.start, unit, i));
    sfshm_kernels_find(unit, (sfshm_op_t)op)->unpack(unit, &pattern, 0, pattern.n, packed.start, array.start);
    expect_data(&array, expected, unit, (sfshm_op_t)op);
    free(expected);
    free(packed.memory);
    free(array.memory);
  }
}
END_TEST

/* Around the sizes at which the way of copying changes, from and to any place within a line; nothing beside is touched.
 */
START_TEST(copy_dense_ranges_at_any_alignment)
{
  enum { MOST_BYTES = (4 << 20) + 1, BESIDE = 96 };
  static const size_t sizes[] = {0, 1, 31, 1023, 1024, 1025, 1056, 1151, 4096, 5000, 65536, MOST_BYTES - 1, MOST_BYTES};
  size_t length = MOST_BYTES + 2 * BESIDE;
  unsigned char *from = malloc(length), *to = malloc(length), *expected = malloc(length);
  ck_assert(from != NULL && to != NULL && expected != NULL);
  for (size_t i = 0; i < length; i++)
    from[i] = (unsigned char)(i * 2654435761u >> 13);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (size_t skip = 0; skip < 64; skip += sizes[i] < 8192 ? 1 : 13) {
      size_t bytes = sizes[i], room = bytes + 2 * BESIDE;
      memset(to, 0xa5, room);
      memset(expected, 0xa5, room);
      memcpy(expected + BESIDE - skip, from + skip / 3, bytes);
      sfshm_dense_copy((char *)to + BESIDE - skip, (const char *)from + skip / 3, bytes);
      ck_assert_msg(memcmp(to, expected, room) == 0, "%zu bytes, %zu before the line's end", bytes, skip);
    }
  free(from);
  free(to);
  free(expected);
}
END_TEST

static Suite *kernels_suite(void)
{
  Suite *suite = suite_create("kernels");
  TCase *model = tcase_create("model");
  tcase_set_timeout(model, 60);
  tcase_add_loop_test(model, agree_with_the_model, 0, SFSHM_BASE_COUNT);
  tcase_add_loop_test(model, combine_long_ranges, 0, SFSHM_BASE_COUNT);
  tcase_add_loop_test(model, move_units_of_any_size, 0, 2);
  tcase_add_test(model, copy_dense_ranges_at_any_alignment);
  suite_add_tcase(suite, model);
  return suite;
}

int main(void)
{
  seed = sftest_seed(20240607);
  return sftest_run(kernels_suite());
}
