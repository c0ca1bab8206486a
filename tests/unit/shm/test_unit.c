/* Tables of base types and ops. */
#include "shm/kernels/unit.h"

#include <math.h>

#include "shm/kernels/kernels.h"
#include "tests/unit/runner.h"

static const sfshm_base_t beyond_bases = SFSHM_BASE_COUNT;
static const sfshm_op_t beyond_ops = SFSHM_OP_COUNT;

SFTEST(numbers_are_pinned)
{
  ck_assert_int_eq(SFSHM_BASE_INT8, 0);
  ck_assert_int_eq(SFSHM_BASE_DOUBLE, 9);
  ck_assert_int_eq(SFSHM_BASE_DOUBLE_COMPLEX, 11);
  ck_assert_int_eq(SFSHM_BASE_OPAQUE, 12);
  ck_assert_int_eq(SFSHM_BASE_INT16_INT32, 13);
  ck_assert_int_eq(SFSHM_BASE_DOUBLE_INT64, 19);
  ck_assert_int_eq(SFSHM_BASE_COUNT, 20);
  ck_assert_int_eq(SFSHM_OP_REPLACE, 0);
  ck_assert_int_eq(SFSHM_OP_SUM, 1);
  ck_assert_int_eq(SFSHM_OP_BXOR, 10);
  ck_assert_int_eq(SFSHM_OP_MINLOC, 12);
  ck_assert_int_eq(SFSHM_OP_COUNT, 13);
}

SFTEST(sizes)
{
  static const size_t expected[SFSHM_BASE_COUNT] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16, 1, 8, 8, 16, 16, 8, 16, 16};
  for (int base = 0; base < SFSHM_BASE_COUNT; base++) {
    ck_assert_uint_eq(sfshm_base_size((sfshm_base_t)base), expected[base]);
    for (int64_t count = 1; count < 10; count++) {
      sfshm_unit_t unit = {(sfshm_base_t)base, count};
      ck_assert_uint_eq(sfshm_unit_size(unit), expected[base] * (size_t)count);
    }
  }
  ck_assert_uint_eq(sfshm_base_size(beyond_bases), 0);
  ck_assert_uint_eq(sfshm_base_size((sfshm_base_t)-1), 0);
}

SFTEST(names)
{
  ck_assert_str_eq(sfshm_base_name(SFSHM_BASE_INT8), "int8");
  ck_assert_str_eq(sfshm_base_name(SFSHM_BASE_DOUBLE_COMPLEX), "double complex");
  ck_assert_str_eq(sfshm_base_name(SFSHM_BASE_OPAQUE), "opaque");
  ck_assert_str_eq(sfshm_base_name(beyond_bases), "?");
  ck_assert_str_eq(sfshm_base_name((sfshm_base_t)-1), "?");
  ck_assert_str_eq(sfshm_op_name(SFSHM_OP_REPLACE), "replace");
  ck_assert_str_eq(sfshm_op_name(SFSHM_OP_BXOR), "bxor");
  ck_assert_str_eq(sfshm_op_name(beyond_ops), "?");
  ck_assert_str_eq(sfshm_op_name((sfshm_op_t)-1), "?");
  for (int base = 0; base < SFSHM_BASE_COUNT; base++)
    ck_assert_ptr_nonnull(sfshm_base_name((sfshm_base_t)base));
  for (int op = 0; op < SFSHM_OP_COUNT; op++)
    ck_assert_ptr_nonnull(sfshm_op_name((sfshm_op_t)op));
}

/* One row per op, one letter per base: y where the op is defined. */
static const char *const defined[SFSHM_OP_COUNT] = {
    "yyyyyyyyyyyyyyyyyyyy", /* replace */
    "yyyyyyyyyyyy--------", /* sum */
    "yyyyyyyyyyyy--------", /* prod */
    "yyyyyyyyyy----------", /* max */
    "yyyyyyyyyy----------", /* min */
    "yyyyyyyy------------", /* land */
    "yyyyyyyy------------", /* lor */
    "yyyyyyyy------------", /* lxor */
    "yyyyyyyy------------", /* band */
    "yyyyyyyy------------", /* bor */
    "yyyyyyyy------------", /* bxor */
    "-------------yyyyyyy", /* maxloc */
    "-------------yyyyyyy", /* minloc */
};

SFTEST(which_ops_apply)
{
  for (int op = 0; op < SFSHM_OP_COUNT; op++) {
    for (int base = 0; base < SFSHM_BASE_COUNT; base++)
      ck_assert_msg(sfshm_op_applies((sfshm_op_t)op, (sfshm_base_t)base) == (defined[op][base] == 'y'), "%s of %s",
                    sfshm_op_name((sfshm_op_t)op), sfshm_base_name((sfshm_base_t)base));
    ck_assert(!sfshm_op_applies((sfshm_op_t)op, beyond_bases));
    ck_assert(!sfshm_op_applies((sfshm_op_t)op, (sfshm_base_t)-1));
  }
  ck_assert(!sfshm_op_applies(beyond_ops, SFSHM_BASE_INT8));
  ck_assert(!sfshm_op_applies((sfshm_op_t)-1, SFSHM_BASE_INT8));
}

SFTEST(which_ops_are_order_free)
{
  for (int op = 0; op < SFSHM_OP_COUNT; op++)
    for (int base = 0; base < SFSHM_BASE_COUNT; base++) {
      bool pair = base >= SFSHM_BASE_INT16_INT32 && base <= SFSHM_BASE_INT64_INT64;
      bool expected = (op != SFSHM_OP_REPLACE && op < SFSHM_OP_MAXLOC && base <= SFSHM_BASE_UINT64) ||
                      (op >= SFSHM_OP_MAXLOC && pair);
      ck_assert_msg(sfshm_op_order_free((sfshm_op_t)op, (sfshm_base_t)base) == expected, "%s of %s",
                    sfshm_op_name((sfshm_op_t)op), sfshm_base_name((sfshm_base_t)base));
    }
  ck_assert(!sfshm_op_order_free(beyond_ops, SFSHM_BASE_INT8));
  ck_assert(!sfshm_op_order_free(SFSHM_OP_SUM, beyond_bases));
}

/* a op b op c is a op (e op b op c), bit by bit, also with NaNs, infinities and zeros of both signs. */
SFTEST(extremes_are_neutral)
{
  static const double values[] = {-0.0, 0.0, 1.5, -2.0, (double)INFINITY, -(double)INFINITY, (double)NAN};
  const int n = sizeof values / sizeof values[0];
  const sfshm_unit_t unit = {SFSHM_BASE_DOUBLE, 1};
  const sfshm_pattern_t one = sfshm_pattern_contiguous(0, 1);
  for (int i = 0; i < 2 * n * n * n; i++) {
    sfshm_op_t op = i % 2 == 0 ? SFSHM_OP_MAX : SFSHM_OP_MIN;
    const sfshm_kernels_t *kernels = sfshm_kernels_find(unit, op);
    double a = values[i / 2 % n], b = values[i / 2 / n % n], c = values[i / 2 / n / n], stepwise = a, run;
    ck_assert(sfshm_op_extreme(op, SFSHM_BASE_DOUBLE, &run));
    kernels->unpack(unit, &one, 0, 1, &b, &stepwise);
    kernels->unpack(unit, &one, 0, 1, &c, &stepwise);
    kernels->unpack(unit, &one, 0, 1, &b, &run);
    kernels->unpack(unit, &one, 0, 1, &c, &run);
    kernels->unpack(unit, &one, 0, 1, &run, &a);
    ck_assert_msg(memcmp(&a, &stepwise, sizeof a) == 0, "%g %g: %g by itself, %g as a run", b, c, stepwise, a);
  }
}
