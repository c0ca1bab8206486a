/* Accumulation of rows: of any unit, position, length and stride; and atomically, by several threads at a time. */
#include "shm/array/accumulate.h"

#include <complex.h>
#include <pthread.h>

#include "tests/unit/runner.h"

#define ROOM 48
#define LONGEST 21

/* X(base, type) for all numbers. */
#define NUMBERS(X)                                                                                                     \
  X(SFSHM_BASE_INT8, int8_t)                                                                                           \
  X(SFSHM_BASE_UINT8, uint8_t)                                                                                         \
  X(SFSHM_BASE_INT16, int16_t)                                                                                         \
  X(SFSHM_BASE_UINT16, uint16_t)                                                                                       \
  X(SFSHM_BASE_INT32, int32_t)                                                                                         \
  X(SFSHM_BASE_UINT32, uint32_t)                                                                                       \
  X(SFSHM_BASE_INT64, int64_t)                                                                                         \
  X(SFSHM_BASE_UINT64, uint64_t)                                                                                       \
  X(SFSHM_BASE_FLOAT, float)                                                                                           \
  X(SFSHM_BASE_DOUBLE, double)                                                                                         \
  X(SFSHM_BASE_FLOAT_COMPLEX, float complex)                                                                           \
  X(SFSHM_BASE_DOUBLE_COMPLEX, double complex)

/* ---- One row ----------------------------------------------------------------------------------------------------- */

/* An element that no neighbour has, exact in every unit. */
static int number_at(int64_t i)
{
  return (int)(i * 7 % 23);
}

/* Rows of n elements from element first of the part on. The buffer begins at an odd address. */
#define DEFINE_TRY(base_name, type)                                                                                    \
  static void try_##base_name(sfshm_array_row_t *add, int64_t first, int64_t n, int64_t stride, bool scaled)           \
  {                                                                                                                    \
    _Alignas(16) type part[ROOM], value;                                                                               \
    char bytes[LONGEST * 3 * sizeof(type) + 1];                                                                        \
    const type alpha = (type)3;                                                                                        \
    for (int64_t i = 0; i < ROOM; i++)                                                                                 \
      part[i] = (type)number_at(i);                                                                                    \
    for (int64_t i = 0; i < n * stride; i++) {                                                                         \
      value = (type)number_at(i + 5);                                                                                  \
      memcpy(bytes + 1 + (size_t)i * sizeof value, &value, sizeof value);                                              \
    }                                                                                                                  \
    add((char *)&part[first], bytes + 1, n, stride, scaled ? &alpha : NULL);                                           \
    for (int64_t i = 0; i < ROOM; i++) {                                                                               \
      type expected = (type)number_at(i);                                                                              \
      if (i >= first && i < first + n)                                                                                 \
        expected = (type)(expected + (scaled ? alpha : (type)1) * (type)number_at((i - first) * stride + 5));          \
      ck_assert_msg(part[i] == expected, "%s: element %d of a row of %d from %d on, stride %d", #type, (int)i, (int)n, \
                    (int)first, (int)stride);                                                                          \
    }                                                                                                                  \
  }
NUMBERS(DEFINE_TRY)

SFTEST(rows)
{
  for (int64_t first = 0; first < 18; first++)
    for (int64_t n = 0; n <= LONGEST; n++)
      for (int64_t stride = 1; stride <= 3; stride++)
        for (int scaled = 0; scaled < 2; scaled++) {
#define TRY(base_name, type)                                                                                           \
  try_##base_name(sfshm_array_arithmetic[base_name].accumulate, first, n, stride, scaled != 0);                        \
  if (sfshm_array_arithmetic[base_name].add != NULL)                                                                   \
    try_##base_name(sfshm_array_arithmetic[base_name].add, first, n, stride, scaled != 0);
          NUMBERS(TRY)
#undef TRY
        }
}

/* ---- Several threads --------------------------------------------------------------------------------------------- */

#define THREADS 4
#define ELEMENTS 61
#define TURNS 4000

typedef struct adder {
  sfshm_base_t base;
  char *part;
  int64_t first; /* threads begin at different elements: their words and single elements overlap */
  pthread_t thread;
} adder_t;

static void *add_rows(void *argument)
{
  const adder_t *adder = argument;
  size_t unit = sfshm_base_size(adder->base);
  union {
    double real[ELEMENTS];
    int32_t integer[ELEMENTS];
    double complex complex_number[ELEMENTS];
  } values;
  for (int i = 0; i < ELEMENTS; i++) {
    if (adder->base == SFSHM_BASE_DOUBLE)
      values.real[i] = 1;
    else if (adder->base == SFSHM_BASE_INT32)
      values.integer[i] = 1;
    else
      values.complex_number[i] = 1 + 2 * I;
  }
  for (int turn = 0; turn < TURNS; turn++)
    sfshm_array_arithmetic[adder->base].accumulate(adder->part + (size_t)adder->first * unit, (char *)&values,
                                                   ELEMENTS - 2 * adder->first, 1, NULL);
  return NULL;
}

static void expect_sum(const adder_t *adder, int i, int sum)
{
  if (adder->base == SFSHM_BASE_DOUBLE)
    ck_assert_double_eq(((double *)(void *)adder->part)[i], sum);
  else if (adder->base == SFSHM_BASE_INT32)
    ck_assert_int_eq(((int32_t *)(void *)adder->part)[i], sum);
  else
    ck_assert(((double complex *)(void *)adder->part)[i] == (double)sum * (1 + 2 * I));
}

SFTEST_FOR(threads, 3)
{
  static const sfshm_base_t bases[] = {SFSHM_BASE_DOUBLE, SFSHM_BASE_INT32, SFSHM_BASE_DOUBLE_COMPLEX};
  static _Alignas(16) char part[ELEMENTS * sizeof(double complex)];
  adder_t adders[THREADS];
  memset(part, 0, sizeof part);
  for (int i = 0; i < THREADS; i++) {
    adders[i] = (adder_t){.base = bases[_i], .part = part, .first = i};
    ck_assert_int_eq(pthread_create(&adders[i].thread, NULL, add_rows, &adders[i]), 0);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(adders[i].thread, NULL);
  for (int i = 0; i < ELEMENTS; i++) {
    int adding = 0;
    for (int k = 0; k < THREADS; k++)
      adding += i >= k && i < ELEMENTS - k;
    expect_sum(&adders[0], i, adding * TURNS);
  }
}
