/* The model of kernels: see kernel_model.h. */
#include "tests/unit/kernel_model.h"

#include "tests/unit/seed.h"

#include <math.h>

static uint64_t state; /* of the random numbers; set at the start of each test */

void sftest_kernel_start(unsigned seed, int test_index)
{
  state = seed + (uint64_t)test_index;
}

static uint64_t sftest_kernel_bits(void)
{
  return sftest_random64(&state);
}

int64_t sftest_kernel_below(int64_t bound)
{
  return (int64_t)(sftest_kernel_bits() % (uint64_t)bound);
}

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
  uint64_t a = 0, b = 0;
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
  double ac = rounded(base, a * c), bd = rounded(base, b * d), ad = rounded(base, a * d), bc = rounded(base, b * c);
  store_real(base, to, 0, rounded(base, ac - bd));
  store_real(base, to, 1, rounded(base, ad + bc));
}

static void model_real(sfshm_base_t base, sfshm_op_t op, unsigned char *to, const unsigned char *from)
{
  for (size_t k = 0; k < components(base); k++) {
    double a = load_real(base, to, k), b = load_real(base, from, k);
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

void sftest_kernel_model(sfshm_unit_t unit, sfshm_op_t op, unsigned char *to, const unsigned char *from)
{
  size_t size = sfshm_base_size(unit.base);
  for (size_t k = 0; k < (size_t)unit.count; k++)
    model_element(unit.base, op, to + k * size, from + k * size);
}

static void fill_real(sfshm_base_t base, unsigned char *at)
{
  static const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-310, 3e38, -1.0};
  for (size_t k = 0; k < components(base); k++) {
    double value = (double)sftest_kernel_below(2000001) / 1000.0 - 1000.0;
    if (sftest_kernel_below(8) == 0)
      value = special[sftest_kernel_below(8)];
    store_real(base, at, k, value);
  }
}

/* Values that are often equal, and anything behind them. */
static void fill_pair(sfshm_base_t base, sfshm_base_t value, unsigned char *at)
{
  int64_t number = sftest_kernel_below(5) - 2;
  for (size_t i = 0; i < sfshm_base_size(base); i++)
    at[i] = (unsigned char)sftest_kernel_bits();
  if (is_integer(value))
    memcpy(at, &number, sfshm_base_size(value));
  else if (sftest_kernel_below(2) == 0)
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
    uint64_t bits = sftest_kernel_below(3) ? sftest_kernel_bits() : (uint64_t)sftest_kernel_below(2);
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

sftest_data_t sftest_data_new(sfshm_unit_t unit, int64_t nunits)
{
  sftest_data_t data = {.len_bytes = sfshm_unit_size(unit) * (size_t)nunits};
  size_t shift = (size_t)sftest_kernel_below(2);
  data.memory = malloc(data.len_bytes + shift);
  data.start = data.memory + shift;
  fill(unit.base, data.start, data.len_bytes);
  return data;
}

unsigned char *sftest_data_copy(const sftest_data_t *data)
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
    double x = load_real(base, a, k), y = load_real(base, b, k);
    bool both_nan = isnan(x) && isnan(y);
    if (!both_nan && (isnan(x) || isnan(y) || x != y || signbit(x) != signbit(y)))
      return false;
  }
  return true;
}

void sftest_expect_data(const sftest_data_t *data, const unsigned char *expected, sfshm_unit_t unit, sfshm_op_t op)
{
  size_t size = sfshm_base_size(unit.base), at = 0;
  while (at < data->len_bytes && same_element(unit.base, data->start + at, expected + at))
    at += size;
  ck_assert_msg(at == data->len_bytes, "%s of %lld x %s differs at element %zu", sfshm_op_name(op),
                (long long)unit.count, sfshm_base_name(unit.base), at / size);
}

unsigned char *sftest_vertex(unsigned char *array, sfshm_unit_t unit, int64_t number)
{
  return array + number * (int64_t)sfshm_unit_size(unit);
}
