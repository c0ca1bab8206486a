/* Tables of base types and ops: sizes, names, and the base types of each op. Constant data; any thread. */
#include "shm/kernels/unit.h"

#include <math.h>
#include <string.h>

/* Properties of base types that ops need. */
typedef enum base_class {
  CLASS_INTEGER = 1,
  CLASS_REAL = 2,
  CLASS_COMPLEX = 4,
  CLASS_OPAQUE = 8,
  CLASS_INTEGER_PAIR = 16,
  CLASS_REAL_PAIR = 32
} base_class_t;

#define CLASS_ARITHMETIC (CLASS_INTEGER | CLASS_REAL | CLASS_COMPLEX)
#define CLASS_PAIR (CLASS_INTEGER_PAIR | CLASS_REAL_PAIR)

static const struct {
  size_t size_bytes;
  size_t alignment_bytes;
  const char *name;
} bases[SFSHM_BASE_COUNT] = {
#define BASE_ROW(name, type, text) [SFSHM_BASE_##name] = {sizeof(type), _Alignof(type), text},
    SFSHM_BASE_TABLE(BASE_ROW)
#undef BASE_ROW
        [SFSHM_BASE_OPAQUE] = {1, 1, "opaque"},
#define PAIR_ROW(name, value_type, index_type, text)                                                                   \
  [SFSHM_BASE_##name] = {sizeof(sfshm_##name##_t), _Alignof(sfshm_##name##_t), text},
    SFSHM_PAIR_TABLE(PAIR_ROW)
#undef PAIR_ROW
};

static const char *const op_names[SFSHM_OP_COUNT] = {
#define OP_NAME(name, text) [SFSHM_OP_##name] = text,
    SFSHM_OP_TABLE(OP_NAME)
#undef OP_NAME
};

/* Classes of base types that each op is defined for. */
static const uint8_t op_classes[SFSHM_OP_COUNT] = {
    [SFSHM_OP_REPLACE] = CLASS_ARITHMETIC | CLASS_OPAQUE | CLASS_PAIR,
    [SFSHM_OP_SUM] = CLASS_ARITHMETIC,
    [SFSHM_OP_PROD] = CLASS_ARITHMETIC,
    [SFSHM_OP_MAX] = CLASS_INTEGER | CLASS_REAL,
    [SFSHM_OP_MIN] = CLASS_INTEGER | CLASS_REAL,
    [SFSHM_OP_LAND] = CLASS_INTEGER,
    [SFSHM_OP_LOR] = CLASS_INTEGER,
    [SFSHM_OP_LXOR] = CLASS_INTEGER,
    [SFSHM_OP_BAND] = CLASS_INTEGER,
    [SFSHM_OP_BOR] = CLASS_INTEGER,
    [SFSHM_OP_BXOR] = CLASS_INTEGER,
    [SFSHM_OP_MAXLOC] = CLASS_PAIR,
    [SFSHM_OP_MINLOC] = CLASS_PAIR,
};

/* The numbers may come from another process: they are compared as unsigned. */
static bool base_known(sfshm_base_t base)
{
  return (unsigned)base < SFSHM_BASE_COUNT;
}

static bool op_known(sfshm_op_t op)
{
  return (unsigned)op < SFSHM_OP_COUNT;
}

static base_class_t class_of(sfshm_base_t base)
{
  switch (base) {
  case SFSHM_BASE_FLOAT:
  case SFSHM_BASE_DOUBLE:
    return CLASS_REAL;
  case SFSHM_BASE_FLOAT_COMPLEX:
  case SFSHM_BASE_DOUBLE_COMPLEX:
    return CLASS_COMPLEX;
  case SFSHM_BASE_OPAQUE:
    return CLASS_OPAQUE;
  case SFSHM_BASE_INT16_INT32:
  case SFSHM_BASE_INT32_INT32:
  case SFSHM_BASE_INT64_INT32:
  case SFSHM_BASE_INT64_INT64:
    return CLASS_INTEGER_PAIR;
  case SFSHM_BASE_FLOAT_INT32:
  case SFSHM_BASE_DOUBLE_INT32:
  case SFSHM_BASE_DOUBLE_INT64:
    return CLASS_REAL_PAIR;
  default:
    return CLASS_INTEGER;
  }
}

size_t sfshm_base_alignment(sfshm_base_t base)
{
  return base_known(base) ? bases[base].alignment_bytes : 1;
}

size_t sfshm_base_size(sfshm_base_t base)
{
  return base_known(base) ? bases[base].size_bytes : 0;
}

size_t sfshm_unit_size(sfshm_unit_t unit)
{
  return sfshm_base_size(unit.base) * (size_t)unit.count;
}

const char *sfshm_base_name(sfshm_base_t base)
{
  return base_known(base) ? bases[base].name : "?";
}

const char *sfshm_op_name(sfshm_op_t op)
{
  return op_known(op) ? op_names[op] : op == SFSHM_OP_APPLICATION ? "application's op" : "?";
}

bool sfshm_op_applies(sfshm_op_t op, sfshm_base_t base)
{
  return op_known(op) && base_known(base) && (op_classes[op] & class_of(base)) != 0;
}

bool sfshm_op_order_free(sfshm_op_t op, sfshm_base_t base)
{
  return op != SFSHM_OP_REPLACE && sfshm_op_applies(op, base) &&
         (class_of(base) & (CLASS_INTEGER | CLASS_INTEGER_PAIR)) != 0;
}

/* Padding of pairs is defined as well. */
#define EXTREME_PAIR(name, most)                                                                                       \
  case SFSHM_BASE_##name: {                                                                                            \
    sfshm_##name##_t pair;                                                                                             \
    memset(&pair, 0, sizeof pair);                                                                                     \
    pair.value = (__typeof__(pair.value))value;                                                                        \
    pair.index = most;                                                                                                 \
    memcpy(element, &pair, sizeof pair);                                                                               \
    return true;                                                                                                       \
  }

bool sfshm_op_extreme(sfshm_op_t op, sfshm_base_t base, void *element)
{
  float value = op == SFSHM_OP_MIN || op == SFSHM_OP_MINLOC ? INFINITY : -INFINITY;
  double wide = (double)value;
  if (op == SFSHM_OP_REPLACE || op == SFSHM_OP_SUM || op == SFSHM_OP_PROD || !sfshm_op_applies(op, base))
    return false;
  switch (base) {
  case SFSHM_BASE_FLOAT:
    memcpy(element, &value, sizeof value);
    return true;
  case SFSHM_BASE_DOUBLE:
    memcpy(element, &wide, sizeof wide);
    return true;
    EXTREME_PAIR(FLOAT_INT32, INT32_MAX)
    EXTREME_PAIR(DOUBLE_INT32, INT32_MAX)
    EXTREME_PAIR(DOUBLE_INT64, INT64_MAX)
  default:
    return false;
  }
}
#undef EXTREME_PAIR
