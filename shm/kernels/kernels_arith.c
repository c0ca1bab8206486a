/* Specialised kernels for the common ops and base types: loops for units of one element, and for blocks; all else goes
 * through the generic ones. Any thread. */
#include "shm/kernels/kernels_arith.h"

#include "shm/kernels/kernels_dense.h"
#include "shm/kernels/kernels_generic.h"
#include "shm/kernels/kernels_loops.h"
#include "shm/kernels/kernels_move.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-vectorize") /* only the dense loops: nothing is gained here */
#endif

#define DEFINE_CALLS(name, dense, size_bytes)                                                                          \
  SFSHM_DEFINE_UNPACK(name, units_##name, dense, size_bytes)                                                           \
  SFSHM_DEFINE_SCATTER(name, units_##name, dense, size_bytes)
#define DEFINE_ELEMENTS(op, suffix, type)                                                                              \
  SFSHM_DEFINE_UNITS(op##_##suffix, small, sfshm_##op##_##suffix, sfshm_dense_##op##_##suffix, sizeof(type))           \
  DEFINE_CALLS(op##_##suffix, sfshm_dense_##op##_##suffix, sizeof(type))
#define DEFINE_BLOCKS(op, suffix, type)                                                                                \
  SFSHM_INLINE void block_##op##_##suffix(char *to, const char *from, size_t size_bytes)                               \
  {                                                                                                                    \
    if (size_bytes >= SFSHM_DENSE_BLOCK_BYTES)                                                                         \
      sfshm_dense_##op##_##suffix(to, from, size_bytes);                                                               \
    else                                                                                                               \
      for (size_t offset = 0; offset < size_bytes; offset += sizeof(type))                                             \
        sfshm_##op##_##suffix(to + offset, from + offset, sizeof(type));                                               \
  }                                                                                                                    \
  SFSHM_DEFINE_UNITS(block_##op##_##suffix, large, block_##op##_##suffix, sfshm_dense_##op##_##suffix, size_bytes)     \
  DEFINE_CALLS(block_##op##_##suffix, sfshm_dense_##op##_##suffix, sizeof(type) * (size_t)unit.count)

#define COMMON(X, op)                                                                                                  \
  X(op, u32, uint32_t)                                                                                                 \
  X(op, u64, uint64_t)                                                                                                 \
  X(op, f32, float)                                                                                                    \
  X(op, f64, double)
#define SIGNED(X, op)                                                                                                  \
  X(op, i32, int32_t)                                                                                                  \
  X(op, i64, int64_t)
COMMON(DEFINE_ELEMENTS, sum) /* signed integers as unsigned */
COMMON(DEFINE_BLOCKS, sum)
COMMON(DEFINE_ELEMENTS, max)
SIGNED(DEFINE_ELEMENTS, max)
COMMON(DEFINE_ELEMENTS, min)
SIGNED(DEFINE_ELEMENTS, min)

/* [op][base][block]; empty: generic. */
#define FIRST_BASE SFSHM_BASE_INT32
#define ELEMENTS(op, OP, BASE, suffix, size_bytes)                                                                     \
  [SFSHM_OP_##OP][SFSHM_BASE_##BASE - FIRST_BASE][0] = {sfshm_pack_##size_bytes, unpack_##op##_##suffix,               \
                                                        scatter_##op##_##suffix, sfshm_fetch_##OP},
#define SUMS(op, OP, BASE, suffix, size_bytes)                                                                         \
  ELEMENTS(op, OP, BASE, suffix, size_bytes)                                                                           \
  [SFSHM_OP_SUM][SFSHM_BASE_##BASE - FIRST_BASE][1] = {sfshm_kernels_pack, unpack_block_sum_##suffix,                  \
                                                       scatter_block_sum_##suffix, sfshm_fetch_SUM},
#define ROWS(X, op, OP, ordered32, ordered64)                                                                          \
  X(op, OP, INT32, ordered32, 4)                                                                                       \
  X(op, OP, UINT32, u32, 4)                                                                                            \
  X(op, OP, INT64, ordered64, 8)                                                                                       \
  X(op, OP, UINT64, u64, 8)                                                                                            \
  X(op, OP, FLOAT, f32, 4)                                                                                             \
  X(op, OP, DOUBLE, f64, 8)

static const sfshm_kernels_t special[SFSHM_OP_MIN + 1][SFSHM_BASE_DOUBLE - FIRST_BASE + 1][2] = {
    ROWS(SUMS, sum, SUM, u32, u64) ROWS(ELEMENTS, max, MAX, i32, i64) ROWS(ELEMENTS, min, MIN, i32, i64)};

const sfshm_kernels_t *sfshm_kernels_arith(sfshm_op_t op, sfshm_base_t base, bool block)
{
  if (op <= SFSHM_OP_MIN && base >= FIRST_BASE && base <= SFSHM_BASE_DOUBLE &&
      special[op][base - FIRST_BASE][block].pack != NULL)
    return &special[op][base - FIRST_BASE][block];
  return sfshm_kernels_generic(op);
}
