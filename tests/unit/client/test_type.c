/* Units and ops as the application sees them. */
#include "client/core/type.h"

#include "tests/unit/runner.h"

#define MAX_BYTES (INT64_C(1) << 40)

SFTEST(predefined_units)
{
#define EXPECT_BASE(name, type, text)                                                                                  \
  ck_assert_uint_eq(sf_type_size(SF_##name), sizeof(type));                                                            \
  ck_assert_int_eq(SF_##name->unit.base, SFSHM_BASE_##name);                                                           \
  ck_assert_int_eq(SF_##name->unit.count, 1);                                                                          \
  ck_assert_int_eq(sf_type_destroy(SF_##name), SF_OK);                                                                 \
  ck_assert_uint_eq(sf_type_size(SF_##name), sizeof(type)); /* still there */
  SFSHM_BASE_TABLE(EXPECT_BASE)
#undef EXPECT_BASE
#define EXPECT_PAIR(name, value_type, index_type, text)                                                                \
  ck_assert_uint_eq(sf_type_size(SF_##name), sizeof(struct {                                                           \
                      value_type v;                                                                                    \
                      index_type i;                                                                                    \
                    }));                                                                                               \
  ck_assert_int_eq(SF_##name->unit.base, SFSHM_BASE_##name);                                                           \
  ck_assert_int_eq(sf_type_destroy(SF_##name), SF_OK);
  SFSHM_PAIR_TABLE(EXPECT_PAIR)
#undef EXPECT_PAIR
#define EXPECT_OP(name, text) ck_assert_int_eq(SF_##name->op, SFSHM_OP_##name);
  SFSHM_OP_TABLE(EXPECT_OP)
#undef EXPECT_OP
}

SFTEST(blocks)
{
  const sf_type_t *three, *twelve;
  ck_assert_int_eq(sf_type_create_block(3, SF_DOUBLE, &three), SF_OK);
  ck_assert_uint_eq(sf_type_size(three), 24);
  ck_assert_int_eq(sf_type_create_block(4, three, &twelve), SF_OK);
  ck_assert_int_eq(sf_type_destroy(three), SF_OK); /* a block does not need what it was made of */
  ck_assert_uint_eq(sf_type_size(twelve), 96);
  ck_assert_int_eq(twelve->unit.base, SFSHM_BASE_DOUBLE);
  ck_assert_int_eq(twelve->unit.count, 12);
  ck_assert_int_eq(sf_type_destroy(twelve), SF_OK);
}

SFTEST(opaque_units)
{
  const sf_type_t *opaque, *block;
  ck_assert_int_eq(sf_type_create_opaque(7, &opaque), SF_OK);
  ck_assert_uint_eq(sf_type_size(opaque), 7);
  ck_assert_int_eq(opaque->unit.base, SFSHM_BASE_OPAQUE);
  ck_assert_int_eq(sf_type_create_block(3, opaque, &block), SF_OK);
  ck_assert_uint_eq(sf_type_size(block), 21);
  ck_assert_int_eq(sf_type_destroy(block), SF_OK);
  ck_assert_int_eq(sf_type_destroy(opaque), SF_OK);
}

static void expect_refused(sf_status_t status, const char *text)
{
  ck_assert_int_eq(status, SF_ERR_ARG);
  ck_assert_msg(strstr(sf_error_detail(), text) != NULL, "%s", sf_error_detail());
}

SFTEST(limits)
{
  const sf_type_t *type = SF_INT8;
  ck_assert_int_eq(sf_type_create_opaque(MAX_BYTES, &type), SF_OK);
  ck_assert_uint_eq(sf_type_size(type), (size_t)MAX_BYTES);
  const sf_type_t *more = NULL;
  expect_refused(sf_type_create_block(2, type, &more), "count 2 of units of 1099511627776 bytes");
  ck_assert_int_eq(sf_type_create_block(1, type, &more), SF_OK);
  ck_assert_int_eq(sf_type_destroy(more), SF_OK);
  ck_assert_int_eq(sf_type_destroy(type), SF_OK);
  ck_assert_int_eq(sf_type_create_block(MAX_BYTES / 16, SF_DOUBLE_COMPLEX, &type), SF_OK);
  ck_assert_int_eq(sf_type_destroy(type), SF_OK);
  expect_refused(sf_type_create_block(MAX_BYTES / 16 + 1, SF_DOUBLE_COMPLEX, &more), "1 to 2^40 bytes expected");
  const int64_t bad[] = {0, -1, INT64_MIN, INT64_MAX, MAX_BYTES + 1};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    expect_refused(sf_type_create_block(bad[i], SF_INT8, &more), "sf_type_create_block: count");
    expect_refused(sf_type_create_opaque(bad[i], &more), "sf_type_create_opaque");
  }
}

SFTEST(missing_arguments)
{
  const sf_type_t *type = NULL;
  expect_refused(sf_type_create_block(1, NULL, &type), "base is NULL");
  expect_refused(sf_type_create_block(1, SF_INT8, NULL), "type_p is NULL");
  expect_refused(sf_type_create_opaque(1, NULL), "type_p is NULL");
  ck_assert_ptr_null(type);
  ck_assert_int_eq(sf_type_destroy(NULL), SF_OK);
  ck_assert_uint_eq(sf_type_size(NULL), 0);
}
