/* The model's arithmetic: see model_units.h. Written for clarity, one value at a time. */
#include "tests/system/model/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  size_t size;
  const sf_type_t *const *handle;
} bases[] = {
    [SFTEST_INT8] = {"int8", 1, &SF_INT8},
    [SFTEST_UINT8] = {"uint8", 1, &SF_UINT8},
    [SFTEST_INT16] = {"int16", 2, &SF_INT16},
    [SFTEST_UINT16] = {"uint16", 2, &SF_UINT16},
    [SFTEST_INT32] = {"int32", 4, &SF_INT32},
    [SFTEST_UINT32] = {"uint32", 4, &SF_UINT32},
    [SFTEST_INT64] = {"int64", 8, &SF_INT64},
    [SFTEST_UINT64] = {"uint64", 8, &SF_UINT64},
    [SFTEST_FLOAT] = {"float", 4, &SF_FLOAT},
    [SFTEST_DOUBLE] = {"double", 8, &SF_DOUBLE},
    [SFTEST_FLOAT_COMPLEX] = {"float complex", 8, &SF_FLOAT_COMPLEX},
    [SFTEST_DOUBLE_COMPLEX] = {"double complex", 16, &SF_DOUBLE_COMPLEX},
    [SFTEST_OPAQUE] = {"opaque", 1, NULL},
    [SFTEST_INT16_INT32] = {"int16/int32", 8, &SF_INT16_INT32},
    [SFTEST_INT32_INT32] = {"int32/int32", 8, &SF_INT32_INT32},
    [SFTEST_INT64_INT32] = {"int64/int32", 16, &SF_INT64_INT32},
    [SFTEST_INT64_INT64] = {"int64/int64", 16, &SF_INT64_INT64},
    [SFTEST_FLOAT_INT32] = {"float/int32", 8, &SF_FLOAT_INT32},
    [SFTEST_DOUBLE_INT32] = {"double/int32", 16, &SF_DOUBLE_INT32},
    [SFTEST_DOUBLE_INT64] = {"double/int64", 16, &SF_DOUBLE_INT64},
};

/* Of pairs: what the value is, and the index, which stands at a multiple of its size. */
static const struct {
  sftest_base_t value;
  sftest_base_t index;
  size_t index_at;
} pairs[SFTEST_BASE_COUNT] = {
    [SFTEST_INT16_INT32] = {SFTEST_INT16, SFTEST_INT32, 4},   [SFTEST_INT32_INT32] = {SFTEST_INT32, SFTEST_INT32, 4},
    [SFTEST_INT64_INT32] = {SFTEST_INT64, SFTEST_INT32, 8},   [SFTEST_INT64_INT64] = {SFTEST_INT64, SFTEST_INT64, 8},
    [SFTEST_FLOAT_INT32] = {SFTEST_FLOAT, SFTEST_INT32, 4},   [SFTEST_DOUBLE_INT32] = {SFTEST_DOUBLE, SFTEST_INT32, 8},
    [SFTEST_DOUBLE_INT64] = {SFTEST_DOUBLE, SFTEST_INT64, 8},
};

static const struct {
  const char *name;
  const sf_op_t *const *handle;
} ops[] = {
    [SFTEST_REPLACE] = {"replace", &SF_REPLACE},
    [SFTEST_SUM] = {"sum", &SF_SUM},
    [SFTEST_PROD] = {"prod", &SF_PROD},
    [SFTEST_MAX] = {"max", &SF_MAX},
    [SFTEST_MIN] = {"min", &SF_MIN},
    [SFTEST_LAND] = {"land", &SF_LAND},
    [SFTEST_LOR] = {"lor", &SF_LOR},
    [SFTEST_LXOR] = {"lxor", &SF_LXOR},
    [SFTEST_BAND] = {"band", &SF_BAND},
    [SFTEST_BOR] = {"bor", &SF_BOR},
    [SFTEST_BXOR] = {"bxor", &SF_BXOR},
    [SFTEST_MAXLOC] = {"maxloc", &SF_MAXLOC},
    [SFTEST_MINLOC] = {"minloc", &SF_MINLOC},
};

size_t sftest_base_size(sftest_base_t base)
{
  return bases[base].size;
}

size_t sftest_unit_size(sftest_unit_t unit)
{
  return bases[unit.base].size * (size_t)unit.count;
}

static bool is_integer(sftest_base_t base)
{
  return base <= SFTEST_UINT64;
}

static bool is_signed(sftest_base_t base)
{
  return is_integer(base) && base % 2 == 0;
}

static bool is_real(sftest_base_t base)
{
  return base == SFTEST_FLOAT || base == SFTEST_DOUBLE;
}

static bool is_pair(sftest_base_t base)
{
  return base > SFTEST_OPAQUE;
}

bool sftest_op_applies(sftest_op_t op, sftest_base_t base)
{
  if (op == SFTEST_REPLACE)
    return true;
  if (op >= SFTEST_MAXLOC || is_pair(base))
    return op >= SFTEST_MAXLOC && is_pair(base);
  if (op == SFTEST_SUM || op == SFTEST_PROD)
    return base != SFTEST_OPAQUE;
  if (op == SFTEST_MAX || op == SFTEST_MIN)
    return is_integer(base) || is_real(base);
  return is_integer(base);
}

const sf_type_t *sftest_unit_make(sftest_unit_t unit)
{
  const sf_type_t *type = NULL;
  sf_status_t status;
  if (unit.base == SFTEST_OPAQUE)
    status = sf_type_create_opaque(unit.count, &type);
  else if (unit.count == 1)
    return *bases[unit.base].handle;
  else
    status = sf_type_create_block(unit.count, *bases[unit.base].handle, &type);
  return status == SF_OK ? type : NULL;
}

const sf_op_t *sftest_op_handle(sftest_op_t op)
{
  return *ops[op].handle;
}

void sftest_describe(sftest_unit_t unit, sftest_op_t op, char *text, size_t text_bytes)
{
  snprintf(text, text_bytes, "%s of %s x %lld", ops[op].name, bases[unit.base].name, (long long)unit.count);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* Factors whose logarithms are 0 on average, so that long products neither vanish nor overflow. */
#define REAL_SCALE 0.6796
#define COMPLEX_SCALE 0.4753

static bool avoids_nans;

void sftest_avoid_nans(void)
{
  avoids_nans = true;
}

/* Real values of all magnitudes for sums and comparisons, close to 1 for products, now and then a NaN for max and min.
 */
static double make_real(sftest_op_t op, uint64_t bits, double scale)
{
  double fraction = 1.0 + (double)(bits >> 12 & 0xfffff) / 1048576.0; /* [1, 2) */
  double sign = (bits & 1) != 0 ? -1.0 : 1.0;
  if (op == SFTEST_PROD)
    return sign * fraction * scale;
  if ((op == SFTEST_MAX || op == SFTEST_MIN) && (bits >> 2 & 15) == 0 && !avoids_nans)
    return (double)NAN;
  return sign * ldexp(fraction, (int)(bits >> 40 & 31) - 16);
}

static uint64_t make_integer(sftest_op_t op, uint64_t bits)
{
  if (op >= SFTEST_LAND && op <= SFTEST_LXOR)
    return (bits & 3) == 0 ? 0 : bits >> 2;
  return bits;
}

static void put_real(sftest_base_t base, double value, void *to)
{
  float narrow = (float)value;
  if (base == SFTEST_FLOAT || base == SFTEST_FLOAT_COMPLEX)
    memcpy(to, &narrow, sizeof narrow);
  else
    memcpy(to, &value, sizeof value);
}

/* Few values, so that the index decides now and then. */
static void make_pair(sftest_base_t base, uint64_t bits, char *to)
{
  int64_t value = (int64_t)(bits & 7) - 4, index = (int64_t)sftest_hash(bits);
  memset(to, 0, bases[base].size);
  if (is_integer(pairs[base].value))
    memcpy(to, &value, bases[pairs[base].value].size);
  else
    put_real(pairs[base].value, (bits >> 8 & 7) == 0 && !avoids_nans ? (double)NAN : (double)value, to);
  memcpy(to + pairs[base].index_at, &index, bases[pairs[base].index].size);
}

static void make_element(sftest_base_t base, sftest_op_t op, uint64_t bits, char *to)
{
  if (is_pair(base)) {
    make_pair(base, bits, to);
  } else if (is_integer(base) || base == SFTEST_OPAQUE) {
    uint64_t integer = make_integer(op, bits);
    memcpy(to, &integer, bases[base].size); /* little-endian: the low bytes */
  } else if (is_real(base)) {
    put_real(base, make_real(op, bits, REAL_SCALE), to);
  } else {
    put_real(base, make_real(op, bits, COMPLEX_SCALE), to);
    put_real(base, make_real(op, sftest_hash(bits), COMPLEX_SCALE), to + bases[base].size / 2);
  }
}

void sftest_make_value(sftest_unit_t unit, sftest_op_t op, uint64_t seed, void *value)
{
  size_t size = bases[unit.base].size;
  for (int64_t i = 0; i < unit.count; i++)
    make_element(unit.base, op, sftest_hash(seed + (uint64_t)i), (char *)value + (size_t)i * size);
}

bool sftest_both_nan(sftest_unit_t unit, const char *a, const char *b, int64_t byte)
{
  bool is_float = unit.base == SFTEST_FLOAT || unit.base == SFTEST_FLOAT_COMPLEX;
  size_t size = is_float ? sizeof(float) : sizeof(double), at = (size_t)byte / size * size;
  float f[2];
  double d[2];
  if (!is_float && unit.base != SFTEST_DOUBLE && unit.base != SFTEST_DOUBLE_COMPLEX)
    return false;
  memcpy(is_float ? (void *)&f[0] : &d[0], a + at, size);
  memcpy(is_float ? (void *)&f[1] : &d[1], b + at, size);
  return is_float ? isnan(f[0]) && isnan(f[1]) : isnan(d[0]) && isnan(d[1]);
}

/* ---- Combining --------------------------------------------------------------------------------------------------- */

static uint64_t get_integer(sftest_base_t base, const void *from)
{
  uint64_t value = 0;
  size_t bits = 8 * bases[base].size;
  memcpy(&value, from, bases[base].size);
  if (is_signed(base) && bits < 64 && (value >> (bits - 1)) != 0)
    value |= ~UINT64_C(0) << bits;
  return value;
}

static bool less(sftest_base_t base, uint64_t a, uint64_t b)
{
  return is_signed(base) ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t combine_integers(sftest_base_t base, sftest_op_t op, uint64_t a, uint64_t b)
{
  switch (op) {
  case SFTEST_SUM:
    return a + b;
  case SFTEST_PROD:
    return a * b;
  case SFTEST_MAX:
    return less(base, a, b) ? b : a;
  case SFTEST_MIN:
    return less(base, b, a) ? b : a;
  case SFTEST_LAND:
    return a != 0 && b != 0;
  case SFTEST_LOR:
    return a != 0 || b != 0;
  case SFTEST_LXOR:
    return (a != 0) != (b != 0);
  case SFTEST_BAND:
    return a & b;
  case SFTEST_BOR:
    return a | b;
  case SFTEST_BXOR:
    return a ^ b;
  default:
    abort();
  }
}

static double combine_doubles(sftest_op_t op, double a, double b)
{
  switch (op) {
  case SFTEST_SUM:
    return a + b;
  case SFTEST_PROD:
    return a * b;
  case SFTEST_MAX:
    return b > a ? b : a;
  case SFTEST_MIN:
    return b < a ? b : a;
  default:
    abort();
  }
}

/* A double holds the product of two floats, and rounding their sum twice is as good as rounding it once (S. Figueroa,
 * "When is double rounding innocuous?", 1995). */
static float combine_floats(sftest_op_t op, float a, float b)
{
  return (float)combine_doubles(op, (double)a, (double)b);
}

/* Complex numbers as pairs, with the textbook product. */
static void combine_float_pairs(sftest_op_t op, float a[2], const float b[2])
{
  float re = op == SFTEST_SUM ? a[0] + b[0] : a[0] * b[0] - a[1] * b[1];
  float im = op == SFTEST_SUM ? a[1] + b[1] : a[0] * b[1] + a[1] * b[0];
  a[0] = re;
  a[1] = im;
}

static void combine_double_pairs(sftest_op_t op, double a[2], const double b[2])
{
  double re = op == SFTEST_SUM ? a[0] + b[0] : a[0] * b[0] - a[1] * b[1];
  double im = op == SFTEST_SUM ? a[1] + b[1] : a[0] * b[1] + a[1] * b[0];
  a[0] = re;
  a[1] = im;
}

/* Below 0, 0 or above as a is to b; *nan_p: neither. */
static int compare_values(sftest_base_t base, const char *a, const char *b, bool *nan_p)
{
  float f[2];
  double d[2];
  *nan_p = false;
  if (is_integer(base)) {
    uint64_t x = get_integer(base, a), y = get_integer(base, b);
    return less(base, y, x) - less(base, x, y);
  }
  memcpy(&d[0], a, sizeof d[0]);
  memcpy(&d[1], b, sizeof d[1]);
  if (base == SFTEST_FLOAT) {
    memcpy(&f[0], a, sizeof f[0]);
    memcpy(&f[1], b, sizeof f[1]);
    d[0] = (double)f[0];
    d[1] = (double)f[1];
  }
  *nan_p = isnan(d[0]) || isnan(d[1]);
  return (d[0] > d[1]) - (d[0] < d[1]);
}

static void combine_pairs(sftest_base_t base, sftest_op_t op, char *present, const char *in)
{
  size_t at = pairs[base].index_at;
  bool nan;
  int order = compare_values(pairs[base].value, in, present, &nan);
  if (op == SFTEST_MINLOC)
    order = -order;
  if (order == 0 && !nan)
    order = (int64_t)get_integer(pairs[base].index, in + at) < (int64_t)get_integer(pairs[base].index, present + at);
  if (order <= 0 || nan)
    return;
  memcpy(present, in, bases[base].size);
}

static void combine_element(sftest_base_t base, sftest_op_t op, void *present, const void *in)
{
  union {
    float f[2];
    double d[2];
  } a, b;
  size_t size = bases[base].size;
  if (is_pair(base)) {
    combine_pairs(base, op, present, in);
    return;
  }
  if (is_integer(base)) {
    uint64_t result = combine_integers(base, op, get_integer(base, present), get_integer(base, in));
    memcpy(present, &result, size);
    return;
  }
  memcpy(&a, present, size);
  memcpy(&b, in, size);
  if (base == SFTEST_FLOAT)
    a.f[0] = combine_floats(op, a.f[0], b.f[0]);
  else if (base == SFTEST_DOUBLE)
    a.d[0] = combine_doubles(op, a.d[0], b.d[0]);
  else if (base == SFTEST_FLOAT_COMPLEX)
    combine_float_pairs(op, a.f, b.f);
  else
    combine_double_pairs(op, a.d, b.d);
  memcpy(present, &a, size);
}

void sftest_combine(sftest_unit_t unit, sftest_op_t op, void *present, const void *in)
{
  size_t size = bases[unit.base].size;
  if (op == SFTEST_REPLACE) {
    memcpy(present, in, sftest_unit_size(unit));
    return;
  }
  for (int64_t i = 0; i < unit.count; i++)
    combine_element(unit.base, op, (char *)present + (size_t)i * size, (const char *)in + (size_t)i * size);
}
