/* Kernels with arithmetic: specialised loops for the common ops and base types; for all else a loop that calls the
 * dense kernel for each unit. Any thread. */
#include "shm/kernels/kernels_arith.h"

#include "shm/kernels/kernels_dense.h"
#include "shm/kernels/kernels_loops.h"
#include "shm/kernels/kernels_move.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-vectorize") /* only the dense loops: nothing is gained here */
#endif

/* Blocks from this size on are worth a call of the vectorised loop. */
#define DENSE_BLOCK_BYTES 64

/* Packing does not depend on the op. The kernels for the unit's size are looked up here and not when kernels are found,
 * which saves a table of all ops and sizes. */
static void pack_by_size(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n, const void *array,
                         void *packed)
{
  sfshm_kernels_move(sfshm_unit_size(unit))->pack(unit, pattern, first, n, array, packed);
}

/* ---- All ops, base types and blocks ------------------------------------------------------------------------------ */

SFSHM_DEFINE_UNITS(any, plain, dense, size_bytes)

/* Blocks in parts, for which there is room; all elements fit into them without a remainder. */
static void units_fetch_any(sfshm_dense_t dense, size_t size_bytes, const sfshm_part_t *from_part, const char *from,
                            const sfshm_part_t *to_part, char *to, int64_t n)
{
  char before[DENSE_BLOCK_BYTES];
  for (int64_t i = 0; i < n; i++) {
    char *present = to + sfshm_pattern_at(to_part->pattern, to_part->first + i) * (int64_t)size_bytes;
    char *in = (char *)(uintptr_t)from + (from_part->first + i) * (int64_t)size_bytes; /* packed data: see fetch */
    for (size_t done = 0, some; done < size_bytes; done += some) {
      some = size_bytes - done < sizeof before ? size_bytes - done : sizeof before;
      memcpy(before, present + done, some);
      dense(present + done, in + done, some);
      memcpy(in + done, before, some);
    }
  }
}

#define DEFINE_ANY(OP, text)                                                                                           \
  SFSHM_DEFINE_UNPACK(OP, units_any, sfshm_dense_find(SFSHM_OP_##OP, unit.base), sfshm_unit_size(unit))                \
  SFSHM_DEFINE_SCATTER(OP, units_any, sfshm_dense_find(SFSHM_OP_##OP, unit.base), sfshm_unit_size(unit))               \
  SFSHM_DEFINE_FETCH(OP, units_fetch_any, sfshm_dense_find(SFSHM_OP_##OP, unit.base), sfshm_unit_size(unit))
SFSHM_OP_TABLE(DEFINE_ANY)

#define ANY(OP, text) [SFSHM_OP_##OP] = {pack_by_size, unpack_##OP, scatter_##OP, fetch_##OP},
static const sfshm_kernels_t any[SFSHM_OP_COUNT] = {SFSHM_OP_TABLE(ANY)};

/* ---- Common ones ------------------------------------------------------------------------------------------------- */

#define DEFINE_CALLS(name, dense, size_bytes)                                                                          \
  SFSHM_DEFINE_UNPACK(name, units_##name, dense, size_bytes)                                                           \
  SFSHM_DEFINE_SCATTER(name, units_##name, dense, size_bytes)

#define DEFINE_ELEMENTS(op, suffix, type)                                                                              \
  SFSHM_INLINE void fetch_visit_##op##_##suffix(char *to, const char *from, size_t size_bytes)                         \
  {                                                                                                                    \
    type before;                                                                                                       \
    memcpy(&before, to, sizeof before);                                                                                \
    sfshm_##op##_##suffix(to, from, size_bytes);                                                                       \
    memcpy((char *)(uintptr_t)from, &before, sizeof before);                                                           \
  }                                                                                                                    \
  SFSHM_DEFINE_UNITS(op##_##suffix, small, sfshm_##op##_##suffix, sizeof(type))                                        \
  SFSHM_DEFINE_UNITS(fetch_##op##_##suffix, plain, fetch_visit_##op##_##suffix, sizeof(type))                          \
  DEFINE_CALLS(op##_##suffix, sfshm_dense_##op##_##suffix, sizeof(type))                                               \
  SFSHM_DEFINE_FETCH(op##_##suffix, units_fetch_##op##_##suffix, NULL, sizeof(type))

#define DEFINE_BLOCKS(op, suffix, type)                                                                                \
  SFSHM_INLINE void block_##op##_##suffix(char *to, const char *from, size_t size_bytes)                               \
  {                                                                                                                    \
    if (size_bytes >= DENSE_BLOCK_BYTES)                                                                               \
      sfshm_dense_##op##_##suffix(to, from, size_bytes);                                                               \
    else                                                                                                               \
      for (size_t offset = 0; offset < size_bytes; offset += sizeof(type))                                             \
        sfshm_##op##_##suffix(to + offset, from + offset, sizeof(type));                                               \
  }                                                                                                                    \
  SFSHM_DEFINE_UNITS(block_##op##_##suffix, large, block_##op##_##suffix, size_bytes)                                  \
  DEFINE_CALLS(block_##op##_##suffix, sfshm_dense_##op##_##suffix, sizeof(type) * (size_t)unit.count)

#define UNSIGNED_AND_REAL(X, op)                                                                                       \
  X(op, u32, uint32_t)                                                                                                 \
  X(op, u64, uint64_t)                                                                                                 \
  X(op, f32, float)                                                                                                    \
  X(op, f64, double)
#define SIGNED(X, op)                                                                                                  \
  X(op, i32, int32_t)                                                                                                  \
  X(op, i64, int64_t)
UNSIGNED_AND_REAL(DEFINE_ELEMENTS, sum) /* of signed integers, too */
UNSIGNED_AND_REAL(DEFINE_BLOCKS, sum)
UNSIGNED_AND_REAL(DEFINE_ELEMENTS, max)
SIGNED(DEFINE_ELEMENTS, max)
UNSIGNED_AND_REAL(DEFINE_ELEMENTS, min)
SIGNED(DEFINE_ELEMENTS, min)

#define FIRST_BASE SFSHM_BASE_INT32
#define ELEMENTS(op, OP, BASE, suffix, size_bytes)                                                                     \
  [SFSHM_OP_##OP][SFSHM_BASE_##BASE - FIRST_BASE][0] = {sfshm_pack_##size_bytes, unpack_##op##_##suffix,               \
                                                        scatter_##op##_##suffix, fetch_##op##_##suffix},
#define SUMS(op, OP, BASE, suffix, size_bytes)                                                                         \
  ELEMENTS(op, OP, BASE, suffix, size_bytes)                                                                           \
  [SFSHM_OP_SUM][SFSHM_BASE_##BASE - FIRST_BASE][1] = {pack_by_size, unpack_block_sum_##suffix,                        \
                                                       scatter_block_sum_##suffix, fetch_SUM},
/* ordered: the suffixes that max and min of signed integers go by. */
#define ROWS(X, op, OP, ordered32, ordered64)                                                                          \
  X(op, OP, INT32, ordered32, 4)                                                                                       \
  X(op, OP, UINT32, u32, 4)                                                                                            \
  X(op, OP, INT64, ordered64, 8)                                                                                       \
  X(op, OP, UINT64, u64, 8)                                                                                            \
  X(op, OP, FLOAT, f32, 4)                                                                                             \
  X(op, OP, DOUBLE, f64, 8)

/* [op][base][block]; empty where none are common. */
static const sfshm_kernels_t common[SFSHM_OP_MIN + 1][SFSHM_BASE_DOUBLE - FIRST_BASE + 1][2] = {
    ROWS(SUMS, sum, SUM, u32, u64) ROWS(ELEMENTS, max, MAX, i32, i64) ROWS(ELEMENTS, min, MIN, i32, i64)};

const sfshm_kernels_t *sfshm_kernels_arith(sfshm_op_t op, sfshm_base_t base, bool block)
{
  if (op <= SFSHM_OP_MIN && base >= FIRST_BASE && base <= SFSHM_BASE_DOUBLE &&
      common[op][base - FIRST_BASE][block].pack != NULL)
    return &common[op][base - FIRST_BASE][block];
  return &any[op];
}
