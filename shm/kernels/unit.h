/* Units and ops, shared by client and daemon: the type of the value at a vertex, and how values are combined. Plain
 * values without handles; the public handles of libsfclient wrap these. */
#ifndef SFSHM_KERNELS_UNIT_H
#define SFSHM_KERNELS_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(enumerator suffix, C type, text). The numbers are part of messages: append, never renumber. */
#define SFSHM_BASE_TABLE(X)                                                                                            \
  X(INT8, int8_t, "int8")                                                                                              \
  X(UINT8, uint8_t, "uint8")                                                                                           \
  X(INT16, int16_t, "int16")                                                                                           \
  X(UINT16, uint16_t, "uint16")                                                                                        \
  X(INT32, int32_t, "int32")                                                                                           \
  X(UINT32, uint32_t, "uint32")                                                                                        \
  X(INT64, int64_t, "int64")                                                                                           \
  X(UINT64, uint64_t, "uint64")                                                                                        \
  X(FLOAT, float, "float")                                                                                             \
  X(DOUBLE, double, "double")                                                                                          \
  X(FLOAT_COMPLEX, float _Complex, "float complex")                                                                    \
  X(DOUBLE_COMPLEX, double _Complex, "double complex")

/* X(enumerator suffix, C type of the value, of the index, text): pairs with C layout. */
#define SFSHM_PAIR_TABLE(X)                                                                                            \
  X(INT16_INT32, int16_t, int32_t, "int16/int32")                                                                      \
  X(INT32_INT32, int32_t, int32_t, "int32/int32")                                                                      \
  X(INT64_INT32, int64_t, int32_t, "int64/int32")                                                                      \
  X(INT64_INT64, int64_t, int64_t, "int64/int64")                                                                      \
  X(FLOAT_INT32, float, int32_t, "float/int32")                                                                        \
  X(DOUBLE_INT32, double, int32_t, "double/int32")                                                                     \
  X(DOUBLE_INT64, double, int64_t, "double/int64")

#define SFSHM_PAIR_TYPE(name, value_type, index_type, text)                                                            \
  typedef struct sfshm_##name {                                                                                        \
    value_type value;                                                                                                  \
    index_type index;                                                                                                  \
  } sfshm_##name##_t;
SFSHM_PAIR_TABLE(SFSHM_PAIR_TYPE)
#undef SFSHM_PAIR_TYPE

typedef enum sfshm_base {
#define SFSHM_BASE_ENUM(name, type, text) SFSHM_BASE_##name,
  SFSHM_BASE_TABLE(SFSHM_BASE_ENUM)
#undef SFSHM_BASE_ENUM
      SFSHM_BASE_OPAQUE, /* bytes without arithmetic */
#define SFSHM_PAIR_ENUM(name, value_type, index_type, text) SFSHM_BASE_##name,
  SFSHM_PAIR_TABLE(SFSHM_PAIR_ENUM)
#undef SFSHM_PAIR_ENUM
      SFSHM_BASE_COUNT
} sfshm_base_t;

/* X(enumerator suffix, text). The numbers are part of messages: append, never renumber. */
#define SFSHM_OP_TABLE(X)                                                                                              \
  X(REPLACE, "replace")                                                                                                \
  X(SUM, "sum")                                                                                                        \
  X(PROD, "prod")                                                                                                      \
  X(MAX, "max")                                                                                                        \
  X(MIN, "min")                                                                                                        \
  X(LAND, "land")                                                                                                      \
  X(LOR, "lor")                                                                                                        \
  X(LXOR, "lxor")                                                                                                      \
  X(BAND, "band")                                                                                                      \
  X(BOR, "bor")                                                                                                        \
  X(BXOR, "bxor")                                                                                                      \
  X(MAXLOC, "maxloc")                                                                                                  \
  X(MINLOC, "minloc")

typedef enum sfshm_op {
#define SFSHM_OP_ENUM(name, text) SFSHM_OP_##name,
  SFSHM_OP_TABLE(SFSHM_OP_ENUM)
#undef SFSHM_OP_ENUM
      SFSHM_OP_COUNT,
  SFSHM_OP_APPLICATION = 15 /* op of the application; in messages only */
} sfshm_op_t;
_Static_assert(SFSHM_OP_COUNT <= SFSHM_OP_APPLICATION, "4 bits of a descriptor");

/* count consecutive base elements; for OPAQUE count is the size in bytes. */
typedef struct sfshm_unit {
  sfshm_base_t base;
  int64_t count;
} sfshm_unit_t;

/* Bytes of one base element (1 for OPAQUE), and of the whole unit. */
size_t sfshm_base_size(sfshm_base_t base);

/* To which devices need numbers of that type aligned that they combine. */
size_t sfshm_base_alignment(sfshm_base_t base);
size_t sfshm_unit_size(sfshm_unit_t unit);

const char *sfshm_base_name(sfshm_base_t base); /* "?" for numbers out of range */
const char *sfshm_op_name(sfshm_op_t op);

/* Whether the op is defined for the base type. */
bool sfshm_op_applies(sfshm_op_t op, sfshm_base_t base);

/* Whether any order of combining gives bitwise the same result: all ops of integers except replace, and of pairs of
 * integers. */
bool sfshm_op_order_free(sfshm_op_t op, sfshm_base_t base);

/* Writes the neutral start of partial results of max, min and their pairs: below everything for max, above everything
 * for min. A partial result must not start with a contribution, because max and min ignore arriving NaNs but keep a
 * present NaN. Returns false if the op needs no such element. */
bool sfshm_op_extreme(sfshm_op_t op, sfshm_base_t base, void *element);

#endif
