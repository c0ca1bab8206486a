/* Kernels: cases with known answers, and what is found for which unit and op. */
#include "shm/kernels/kernels.h"
#include "tests/unit/runner.h"

#include <math.h>

/* Nine elements, so that vectorised code and what it leaves over both take part. */
#define EXPECT_COMBINED(base, type, op, present, in, expected)                                                         \
  do {                                                                                                                 \
    type array[9];                                                                                                     \
    type packed[9];                                                                                                    \
    for (int i = 0; i < 9; i++) {                                                                                      \
      array[i] = (present);                                                                                            \
      packed[i] = (in);                                                                                                \
    }                                                                                                                  \
    sfshm_unit_t unit = {SFSHM_BASE_##base, 1};                                                                        \
    sfshm_pattern_t pattern = sfshm_pattern_contiguous(0, 9);                                                          \
    sfshm_kernels_find(unit, SFSHM_OP_##op)->unpack(unit, &pattern, 0, 9, packed, array);                              \
    type wanted = (expected);                                                                                          \
    for (int i = 0; i < 9; i++)                                                                                        \
      ck_assert_mem_eq(&array[i], &wanted, sizeof wanted);                                                             \
  } while (0)

SFTEST(integers_wrap)
{
  EXPECT_COMBINED(INT8, int8_t, SUM, 127, 1, -128);
  EXPECT_COMBINED(UINT8, uint8_t, SUM, 255, 2, 1);
  EXPECT_COMBINED(INT16, int16_t, PROD, 300, 300, 24464);
  EXPECT_COMBINED(UINT16, uint16_t, PROD, 65535, 65535, 1);
  EXPECT_COMBINED(INT32, int32_t, SUM, INT32_MAX, 1, INT32_MIN);
  EXPECT_COMBINED(INT32, int32_t, PROD, INT32_MIN, -1, INT32_MIN);
  EXPECT_COMBINED(UINT32, uint32_t, PROD, UINT32_MAX, UINT32_MAX, 1);
  EXPECT_COMBINED(INT64, int64_t, SUM, INT64_MIN, -1, INT64_MAX);
  EXPECT_COMBINED(INT64, int64_t, PROD, INT64_MIN, -1, INT64_MIN);
  EXPECT_COMBINED(UINT64, uint64_t, SUM, UINT64_MAX, 1, 0);
}

SFTEST(signs_count_in_max_and_min)
{
  EXPECT_COMBINED(INT8, int8_t, MAX, -1, 1, 1);
  EXPECT_COMBINED(UINT8, uint8_t, MAX, 255, 1, 255);
  EXPECT_COMBINED(INT16, int16_t, MIN, -1, 1, -1);
  EXPECT_COMBINED(UINT16, uint16_t, MIN, 65535, 1, 1);
  EXPECT_COMBINED(INT64, int64_t, MAX, INT64_MIN, INT64_MAX, INT64_MAX);
  EXPECT_COMBINED(UINT64, uint64_t, MIN, UINT64_MAX, 0, 0);
}

SFTEST(logical_ops_give_0_or_1)
{
  EXPECT_COMBINED(INT32, int32_t, LAND, 6, -9, 1);
  EXPECT_COMBINED(INT32, int32_t, LAND, 6, 0, 0);
  EXPECT_COMBINED(UINT8, uint8_t, LOR, 0, 128, 1);
  EXPECT_COMBINED(UINT8, uint8_t, LOR, 0, 0, 0);
  EXPECT_COMBINED(INT64, int64_t, LXOR, 5, 7, 0);
  EXPECT_COMBINED(INT64, int64_t, LXOR, INT64_MIN, 0, 1);
}

SFTEST(nan_present_stays_and_arriving_is_ignored)
{
  const double nan = NAN;
  const float nanf32 = NAN;
  EXPECT_COMBINED(DOUBLE, double, MAX, nan, 1.0, nan);
  EXPECT_COMBINED(DOUBLE, double, MAX, 1.0, nan, 1.0);
  EXPECT_COMBINED(DOUBLE, double, MIN, nan, 1.0, nan);
  EXPECT_COMBINED(DOUBLE, double, MIN, 1.0, nan, 1.0);
  EXPECT_COMBINED(FLOAT, float, MAX, nanf32, -1.0f, nanf32);
  EXPECT_COMBINED(FLOAT, float, MAX, -1.0f, nanf32, -1.0f);
  EXPECT_COMBINED(FLOAT, float, MIN, nanf32, -1.0f, nanf32);
  EXPECT_COMBINED(FLOAT, float, MIN, -1.0f, nanf32, -1.0f);
  EXPECT_COMBINED(DOUBLE, double, MAX, 0.0, -0.0, 0.0);
  EXPECT_COMBINED(DOUBLE, double, MIN, 0.0, -0.0, 0.0); /* equal: the present one stays */
}

SFTEST(last_of_several_replaces)
{
  uint32_t index[] = {2, 0, 2, 2};
  sfshm_pattern_t pattern = sfshm_pattern_from_index32(index, 4);
  sfshm_unit_t unit = {SFSHM_BASE_INT32, 1};
  int32_t packed[] = {1, 2, 3, 4}, array[] = {10, 11, 12};
  sfshm_kernels_find(unit, SFSHM_OP_REPLACE)->unpack(unit, &pattern, 0, 4, packed, array);
  ck_assert_mem_eq(array, ((int32_t[]){2, 11, 4}), sizeof array);
}

/* Sums of doubles depend on the order: 1e16 + 1 + 1 - 1e16 is 0 from the left, 2 in other orders. */
SFTEST(sums_go_in_order)
{
  uint32_t index[] = {0, 0, 0, 0};
  sfshm_pattern_t pattern = sfshm_pattern_from_index32(index, 4);
  sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};
  double packed[] = {1e16, 1, 1, -1e16}, array[] = {0};
  sfshm_kernels_find(unit, SFSHM_OP_SUM)->unpack(unit, &pattern, 0, 4, packed, array);
  ck_assert_double_eq(array[0], 0);
}

SFTEST(pairs_keep_the_lower_index)
{
#define PAIR(type, value, index) (sfshm_##type##_t){value, index}
#define EXPECT_PAIR(type, op, value1, index1, value2, index2, value3, index3)                                          \
  EXPECT_COMBINED(type, sfshm_##type##_t, op, (PAIR(type, value1, index1)), (PAIR(type, value2, index2)),              \
                  (PAIR(type, value3, index3)))
  EXPECT_PAIR(INT32_INT32, MAXLOC, 5, 3, 7, 9, 7, 9);
  EXPECT_PAIR(INT32_INT32, MAXLOC, 7, 3, 5, 2, 7, 3);
  EXPECT_PAIR(INT32_INT32, MINLOC, 5, 3, 5, 2, 5, 2);
  EXPECT_PAIR(INT64_INT64, MINLOC, -5, 3, 5, 2, -5, 3);
  EXPECT_PAIR(INT64_INT64, MAXLOC, 1, INT64_MAX, 1, INT64_MIN, 1, INT64_MIN);
  EXPECT_PAIR(FLOAT_INT32, MAXLOC, -1.0f, 1, -2.0f, 0, -1.0f, 1);
  EXPECT_PAIR(DOUBLE_INT64, MINLOC, -1.0, 1, -2.0, 7, -2.0, 7);
  EXPECT_PAIR(DOUBLE_INT64, MAXLOC, 3.0, 1, (double)NAN, 0, 3.0, 1);
}

SFTEST(found_where_the_op_applies)
{
  for (int op = -1; op <= SFSHM_OP_COUNT; op++)
    for (int base = -1; base <= SFSHM_BASE_COUNT; base++)
      for (int64_t count = -1; count < 40; count++) {
        const sfshm_kernels_t *kernels = sfshm_kernels_find((sfshm_unit_t){(sfshm_base_t)base, count}, (sfshm_op_t)op);
        bool expected = count >= 1 && sfshm_op_applies((sfshm_op_t)op, (sfshm_base_t)base);
        ck_assert((kernels != NULL) == expected);
        ck_assert(!kernels || (kernels->pack && kernels->unpack && kernels->scatter && kernels->fetch));
      }
}

SFTEST(nothing_to_do_touches_nothing)
{
  sfshm_pattern_t patterns[] = {sfshm_pattern_contiguous(0, 0), {.kind = SFSHM_PATTERN_INDEX32}};
  for (int op = SFSHM_OP_REPLACE; op <= SFSHM_OP_SUM; op++)
    for (int64_t count = 1; count < 20; count++)
      for (int i = 0; i < 2; i++) {
        sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, count};
        const sfshm_kernels_t *kernels = sfshm_kernels_find(unit, (sfshm_op_t)op);
        kernels->pack(unit, &patterns[i], 0, 0, NULL, NULL);
        kernels->unpack(unit, &patterns[i], 0, 0, NULL, NULL);
        kernels->scatter(unit, &patterns[i], 0, NULL, &patterns[i], NULL, 0, 0);
        kernels->fetch(unit, &patterns[i], 0, 0, NULL, NULL);
      }
}
