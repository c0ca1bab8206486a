/* Message descriptors: every field keeps to its bits, and the text says what was called. */
#include "shm/lane/message.h"

#include "tests/unit/runner.h"

#define MAX_COUNT (SFSHM_DESC_COUNT_HASHED - 1) /* that is said as it is */
#define COUNT_BITS (UINT64_C(0x1ffffff) << 36)

static uint64_t signature(sfshm_call_t operation, sfshm_base_t base, int64_t count, sfshm_op_t op)
{
  return sfshm_desc_signature(operation, (sfshm_unit_t){base, count}, op);
}

SFTEST(fields_do_not_overlap)
{
  uint64_t operations = signature(SFSHM_CALL_REDUCE, 0, 0, 0) | signature(SFSHM_CALL_GATHER, 0, 0, 0);
  uint64_t bases = signature(0, (sfshm_base_t)31, 0, 0), ops = signature(0, 0, 0, (sfshm_op_t)31), counts = COUNT_BITS;
  uint64_t methods = sfshm_desc_with_method(0, (sfshm_method_t)7);
  uint64_t fields[] = {SFSHM_DESC_SEQUENCE_MASK, operations, bases, ops, counts, methods}, all = 0;
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    ck_assert_uint_eq(all & fields[i], 0);
    all |= fields[i];
  }
  ck_assert_uint_eq(all, UINT64_MAX);
  ck_assert_uint_eq(SFSHM_DESC_MATCH_MASK, ~methods);
}

SFTEST(counts_stay_in_their_field)
{
  const int64_t counts[] = {1, MAX_COUNT, MAX_COUNT + 1, INT64_C(1) << 40, INT64_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    uint64_t with = signature(SFSHM_CALL_BCAST, SFSHM_BASE_DOUBLE, counts[i], SFSHM_OP_SUM);
    uint64_t without = signature(SFSHM_CALL_BCAST, SFSHM_BASE_DOUBLE, 0, SFSHM_OP_SUM);
    ck_assert_uint_eq(with & ~COUNT_BITS, without);
  }
}

SFTEST(methods_come_back)
{
  uint64_t match =
      (signature(SFSHM_CALL_REDUCE, SFSHM_BASE_OPAQUE, MAX_COUNT, SFSHM_OP_BXOR) | SFSHM_DESC_SEQUENCE_MASK);
  for (sfshm_method_t method = SFSHM_METHOD_INLINE; method <= SFSHM_METHOD_GROW; method++) {
    uint64_t desc = sfshm_desc_with_method(match, method);
    ck_assert_int_eq(sfshm_desc_method(desc), method);
    ck_assert_uint_eq(desc & SFSHM_DESC_MATCH_MASK, match);
  }
}

SFTEST(different_calls_differ)
{
  uint64_t mine = signature(SFSHM_CALL_BCAST, SFSHM_BASE_INT32, 3, SFSHM_OP_MAX);
  ck_assert_uint_ne(mine, signature(SFSHM_CALL_REDUCE, SFSHM_BASE_INT32, 3, SFSHM_OP_MAX));
  ck_assert_uint_ne(mine, signature(SFSHM_CALL_BCAST, SFSHM_BASE_UINT32, 3, SFSHM_OP_MAX));
  ck_assert_uint_ne(mine, signature(SFSHM_CALL_BCAST, SFSHM_BASE_INT32, 4, SFSHM_OP_MAX));
  ck_assert_uint_ne(mine, signature(SFSHM_CALL_BCAST, SFSHM_BASE_INT32, 3, SFSHM_OP_MIN));
}

/* Small counts are never taken for others; of large ones, which are hashed, those that are close or differ by powers of
 * two. */
SFTEST(different_counts_differ)
{
  const int64_t large = INT64_C(1) << 30;
  for (int64_t near = 1; near < 5000; near++) {
    ck_assert_uint_ne(sfshm_desc_count(large), sfshm_desc_count(large + near));
    ck_assert_uint_ne(sfshm_desc_count(near), sfshm_desc_count(large + near));
    ck_assert_uint_ne(sfshm_desc_count(near), sfshm_desc_count(near + MAX_COUNT));
  }
  for (int bit = 0; bit < 40; bit++) {
    ck_assert_uint_ne(sfshm_desc_count(3), sfshm_desc_count(3 + (INT64_C(1) << bit)));
    ck_assert_uint_ne(sfshm_desc_count(large + 3), sfshm_desc_count(large + 3 + (INT64_C(1) << bit)));
  }
}

static void expect_text(uint64_t desc, const char *expected)
{
  char text[64];
  sfshm_desc_text(desc, text, sizeof text);
  ck_assert_str_eq(text, expected);
}

SFTEST(texts)
{
  expect_text(signature(SFSHM_CALL_BCAST, SFSHM_BASE_DOUBLE, 3, SFSHM_OP_SUM), "bcast(double x 3, sum)");
  expect_text(signature(SFSHM_CALL_REDUCE, SFSHM_BASE_INT8, 1, SFSHM_OP_BXOR), "reduce(int8, bxor)");
  expect_text(signature(SFSHM_CALL_GATHER, SFSHM_BASE_INT8, 2, SFSHM_OP_REPLACE), "gather(int8 x 2, replace)");
  expect_text(signature(SFSHM_CALL_SCATTER, SFSHM_BASE_INT8, 1, SFSHM_OP_REPLACE), "scatter(int8, replace)");
  expect_text(signature(SFSHM_CALL_REDUCE, SFSHM_BASE_OPAQUE, 1, SFSHM_OP_APPLICATION),
              "reduce(opaque, application's op)");
  for (int half = SFSHM_CALL_SCATTER; half <= SFSHM_CALL_GATHER; half++)
    expect_text(signature((sfshm_call_t)(SFSHM_CALL_FETCH | half), SFSHM_BASE_INT8, 1, SFSHM_OP_MAX),
                "fetch_op(int8, max)");
  expect_text(signature(SFSHM_CALL_BCAST, SFSHM_BASE_OPAQUE, MAX_COUNT, SFSHM_OP_REPLACE),
              "bcast(opaque x 16777215, replace)");
  expect_text(sfshm_desc_with_method(signature(SFSHM_CALL_REDUCE, SFSHM_BASE_DOUBLE_COMPLEX, 1, SFSHM_OP_PROD) | 12345,
                                     SFSHM_METHOD_GROW),
              "reduce(double complex, prod)");
}

/* What a peer wrote may be anything. */
SFTEST(texts_of_garbage)
{
  const uint64_t no_base = UINT64_MAX & ~(UINT64_C(4) << 26);
  expect_text(no_base, "fetch_op(? x many [ffffff], application's op)");
  expect_text(UINT64_MAX, "what all ranks call together");
  expect_text(UINT64_MAX & ~(UINT64_C(1) << 26), "fetch_op(255 fields [1fffff])");
  expect_text(signature(SFSHM_CALL_BCAST, (sfshm_base_t)28, 1, SFSHM_OP_COUNT), "bcast(?, ?)");
  expect_text(signature(SFSHM_CALL_BCAST, (sfshm_base_t)29, 1, SFSHM_OP_COUNT), "exchange");
  expect_text(0, "bcast(int8 x 0, replace)");
  char text[8];
  memset(text, 'x', sizeof text);
  sfshm_desc_text(no_base, text, sizeof text - 1);
  ck_assert_str_eq(text, "fetch_");
  ck_assert_int_eq(text[sizeof text - 1], 'x');
}
