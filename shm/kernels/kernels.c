/* Lookup of the kernels of a unit and an op. Any thread. */
#include "shm/kernels/kernels.h"

#include <math.h>
#include <string.h>

#include "shm/kernels/kernels_arith.h"
#include "shm/kernels/kernels_move.h"

const sfshm_kernels_t *sfshm_kernels_find(sfshm_unit_t unit, sfshm_op_t op)
{
  if (unit.count < 1 || !sfshm_op_applies(op, unit.base))
    return NULL;
  if (op == SFSHM_OP_REPLACE)
    return sfshm_kernels_move(sfshm_unit_size(unit));
  return sfshm_kernels_arith(op, unit.base, unit.count > 1);
}

/* Only a NaN differs from itself. The value of a pair comes first. */
#define START(type)                                                                                                    \
  static void start_##type(size_t element_bytes, int64_t count, const sfshm_pattern_t *pattern, int64_t n,             \
                           const char *extreme, char *array)                                                           \
  {                                                                                                                    \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
      char *element = array + (size_t)(sfshm_pattern_at(pattern, i) * count) * element_bytes;                          \
      for (int64_t k = 0; k < count; k++, element += element_bytes) {                                                  \
        type value;                                                                                                    \
        memcpy(&value, element, sizeof value);                                                                         \
        if (isnan(value))                                                                                              \
          memcpy(element, extreme, element_bytes);                                                                     \
      }                                                                                                                \
    }                                                                                                                  \
  }
START(float)
START(double)
#undef START

void sfshm_kernels_start(sfshm_unit_t unit, sfshm_op_t op, const sfshm_pattern_t *pattern, int64_t n, void *array)
{
  char extreme[2 * sizeof(int64_t)];
  if (n == 0 || !sfshm_op_extreme(op, unit.base, extreme))
    return;
  bool is_float = unit.base == SFSHM_BASE_FLOAT || unit.base == SFSHM_BASE_FLOAT_INT32;
  (is_float ? start_float : start_double)(sfshm_base_size(unit.base), unit.count, pattern, n, extreme, array);
}
