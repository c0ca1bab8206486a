/* Tables of the plugin's kernels, with the interface of the host's (shm/kernels/kernels.h): each call becomes a job.
 * Any thread. */
#include "shm/cuda/internal.h"

static void pack(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n, const void *array,
                 void *packed)
{
  sfshm_pattern_t to = sfshm_cuda_packed_from(first, n);
  sfshm_cuda_run(&(sfshm_cuda_job_t){.unit = unit,
                                     .op = SFSHM_OP_REPLACE,
                                     .from_pattern = pattern,
                                     .from = array,
                                     .to_pattern = &to,
                                     .to = packed,
                                     .first = first,
                                     .n = n});
}

/* Kernels don't get their op as an argument, but by what they are. */
#define DEFINE_TABLE_OF(name, form, any_order)                                                                         \
  static void unpack_##form##_##name(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n,      \
                                     const void *packed, void *array)                                                  \
  {                                                                                                                    \
    sfshm_pattern_t from = sfshm_cuda_packed_from(first, n);                                                           \
    sfshm_cuda_run(&(sfshm_cuda_job_t){.unit = unit,                                                                   \
                                       .unordered = any_order,                                                         \
                                       .op = SFSHM_OP_##name,                                                          \
                                       .from_pattern = &from,                                                          \
                                       .from = packed,                                                                 \
                                       .to_pattern = pattern,                                                          \
                                       .to = array,                                                                    \
                                       .first = first,                                                                 \
                                       .n = n});                                                                       \
  }                                                                                                                    \
  static void scatter_##form##_##name(sfshm_unit_t unit, const sfshm_pattern_t *from_pattern, int64_t from_bias,       \
                                      const void *from, const sfshm_pattern_t *to_pattern, void *to, int64_t first,    \
                                      int64_t n)                                                                       \
  {                                                                                                                    \
    sfshm_cuda_run(&(sfshm_cuda_job_t){.unit = unit,                                                                   \
                                       .unordered = any_order,                                                         \
                                       .op = SFSHM_OP_##name,                                                          \
                                       .from_pattern = from_pattern,                                                   \
                                       .from_bias = from_bias,                                                         \
                                       .from = from,                                                                   \
                                       .to_pattern = to_pattern,                                                       \
                                       .to = to,                                                                       \
                                       .first = first,                                                                 \
                                       .n = n});                                                                       \
  }                                                                                                                    \
  static const sfshm_kernels_t form##_##name = {pack, unpack_##form##_##name, scatter_##form##_##name, NULL};
#define DEFINE_TABLE(name, text) DEFINE_TABLE_OF(name, ordered, false) DEFINE_TABLE_OF(name, unordered, true)
SFSHM_OP_TABLE(DEFINE_TABLE)

const sfshm_kernels_t *sfshm_cuda_kernels(sfshm_unit_t unit, sfshm_op_t op)
{
  static const sfshm_kernels_t *const tables[SFSHM_OP_COUNT] = {
#define TABLE(name, text) [SFSHM_OP_##name] = &ordered_##name,
      SFSHM_OP_TABLE(TABLE)
#undef TABLE
  };
  return unit.count >= 1 && sfshm_op_applies(op, unit.base) ? tables[op] : NULL;
}

const sfshm_kernels_t *sfshm_cuda_unordered(sfshm_unit_t unit, sfshm_op_t op)
{
  static const sfshm_kernels_t *const tables[SFSHM_OP_COUNT] = {
#define TABLE(name, text) [SFSHM_OP_##name] = &unordered_##name,
      SFSHM_OP_TABLE(TABLE)
#undef TABLE
  };
  return unit.count >= 1 && sfshm_op_applies(op, unit.base) ? tables[op] : NULL;
}
