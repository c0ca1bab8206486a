/* Units, ops and values as an independent model sees them: what the library's kernels are compared with. Values are
 * functions of a seed, so that every rank knows what every other one has. Stateless. */
#ifndef SFTEST_MODEL_UNITS_H
#define SFTEST_MODEL_UNITS_H

#include <stddef.h>

#include <sf/sf.h>

#include "tests/system/clock.h"

typedef enum sftest_base {
  SFTEST_INT8,
  SFTEST_UINT8,
  SFTEST_INT16,
  SFTEST_UINT16,
  SFTEST_INT32,
  SFTEST_UINT32,
  SFTEST_INT64,
  SFTEST_UINT64,
  SFTEST_FLOAT,
  SFTEST_DOUBLE,
  SFTEST_FLOAT_COMPLEX,
  SFTEST_DOUBLE_COMPLEX,
  SFTEST_OPAQUE,
  SFTEST_INT16_INT32,
  SFTEST_INT32_INT32,
  SFTEST_INT64_INT32,
  SFTEST_INT64_INT64,
  SFTEST_FLOAT_INT32,
  SFTEST_DOUBLE_INT32,
  SFTEST_DOUBLE_INT64,
  SFTEST_BASE_COUNT
} sftest_base_t;

typedef enum sftest_op {
  SFTEST_REPLACE,
  SFTEST_SUM,
  SFTEST_PROD,
  SFTEST_MAX,
  SFTEST_MIN,
  SFTEST_LAND,
  SFTEST_LOR,
  SFTEST_LXOR,
  SFTEST_BAND,
  SFTEST_BOR,
  SFTEST_BXOR,
  SFTEST_MAXLOC,
  SFTEST_MINLOC,
  SFTEST_OP_COUNT
} sftest_op_t;

typedef struct sftest_unit {
  sftest_base_t base;
  int64_t count; /* of base values; of bytes if opaque */
} sftest_unit_t;

size_t sftest_base_size(sftest_base_t base);
size_t sftest_unit_size(sftest_unit_t unit);
bool sftest_op_applies(sftest_op_t op, sftest_base_t base);

/* The library's handles. Units are the caller's to destroy. */
const sf_type_t *sftest_unit_make(sftest_unit_t unit);
const sf_op_t *sftest_op_handle(sftest_op_t op);

/* "sum of int32 x 3" */
void sftest_describe(sftest_unit_t unit, sftest_op_t op, char *text, size_t text_bytes);

/* Values made from now on have no NaNs: between nodes, in slots on devices, one that comes first hides others. */
void sftest_avoid_nans(void);

/* The value that the seed says, of the kind that shows mistakes with that op: results depend on the order of
 * combination, and no result is a NaN that an ordinary value could have been. */
void sftest_make_value(sftest_unit_t unit, sftest_op_t op, uint64_t seed, void *value);

/* Whether the real number at that offset in both arrays of such units is a NaN. NaNs of devices have other bits. */
bool sftest_both_nan(sftest_unit_t unit, const char *a, const char *b, int64_t byte);

/* present = present op in */
void sftest_combine(sftest_unit_t unit, sftest_op_t op, void *present, const void *in);

#endif
