/* Kernels with arithmetic: specialised loops for units of one element; for blocks a loop over the elements of each
 * vertex. Any thread. */
#include "shm/kernels/kernels_arith.h"

#include "shm/kernels/kernels_dense.h"
#include "shm/kernels/kernels_loops.h"
#include "shm/kernels/kernels_move.h"

#if defined(__GNUC__) && !defined(__clang__)
/* Only the dense loops are vectorised. Vectorising gains nothing here, and complex products would be fused: see there.
 */
#pragma GCC optimize("no-tree-vectorize", "fp-contract=off")
#endif

/* Blocks from this size on are worth a call of the vectorised loop. */
#define DENSE_BLOCK_BYTES 64

/* Packing does not depend on the op. The kernels for the unit's size are looked up here and not when kernels are found,
 * which saves a table of all ops, base types and sizes. */
static void pack_by_size(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n, const void *array,
                         void *packed)
{
  sfshm_kernels_move(sfshm_unit_size(unit))->pack(unit, pattern, first, n, array, packed);
}

#define DEFINE_KERNELS(op, suffix, type, expression)                                                                   \
  SFSHM_DEFINE_UNPACK(op##_##suffix, small, sfshm_##op##_##suffix, sfshm_dense_##op##_##suffix, sizeof(type))          \
  SFSHM_DEFINE_SCATTER(op##_##suffix, small, sfshm_##op##_##suffix, sfshm_dense_##op##_##suffix, sizeof(type))         \
                                                                                                                       \
  SFSHM_INLINE void block_##op##_##suffix(char *to, const char *from, size_t size_bytes)                               \
  {                                                                                                                    \
    if (size_bytes >= DENSE_BLOCK_BYTES)                                                                               \
      sfshm_dense_##op##_##suffix(to, from, size_bytes);                                                               \
    else                                                                                                               \
      for (size_t offset = 0; offset < size_bytes; offset += sizeof(type))                                             \
        sfshm_##op##_##suffix(to + offset, from + offset, sizeof(type));                                               \
  }                                                                                                                    \
  SFSHM_DEFINE_UNPACK(block_##op##_##suffix, large, block_##op##_##suffix, sfshm_dense_##op##_##suffix,                \
                      sizeof(type) * (size_t)unit.count)                                                               \
  SFSHM_DEFINE_SCATTER(block_##op##_##suffix, large, block_##op##_##suffix, sfshm_dense_##op##_##suffix,               \
                       sizeof(type) * (size_t)unit.count)                                                              \
                                                                                                                       \
  SFSHM_INLINE void fetch_all_##op##_##suffix(char *restrict to, const char *restrict from, size_t size_bytes)         \
  {                                                                                                                    \
    char *in = (char *)(uintptr_t)from; /* packed data, which fetch may write */                                       \
    type before;                                                                                                       \
    for (size_t offset = 0; offset < size_bytes; offset += sizeof(type)) {                                             \
      memcpy(&before, to + offset, sizeof(type));                                                                      \
      sfshm_##op##_##suffix(to + offset, in + offset, sizeof(type));                                                   \
      memcpy(in + offset, &before, sizeof(type));                                                                      \
    }                                                                                                                  \
  }                                                                                                                    \
  SFSHM_INLINE void fetch_each_##op##_##suffix(char *to, const char *from, size_t size_bytes)                          \
  {                                                                                                                    \
    fetch_all_##op##_##suffix(to, from, size_bytes);                                                                   \
  }                                                                                                                    \
  SFSHM_DEFINE_FETCH(op##_##suffix, small, fetch_each_##op##_##suffix, fetch_all_##op##_##suffix, sizeof(type))        \
  SFSHM_DEFINE_FETCH(block_##op##_##suffix, large, fetch_each_##op##_##suffix, fetch_all_##op##_##suffix,              \
                     sizeof(type) * (size_t)unit.count)

SFSHM_ELEMENT_TABLE(DEFINE_KERNELS)

#define CELL(op, OP, BASE, suffix, size_bytes)                                                                         \
  [SFSHM_OP_##OP][SFSHM_BASE_##BASE] = {                                                                               \
      {sfshm_pack_##size_bytes, unpack_##op##_##suffix, scatter_##op##_##suffix, fetch_##op##_##suffix},               \
      {pack_by_size, unpack_block_##op##_##suffix, scatter_block_##op##_##suffix, fetch_block_##op##_##suffix},        \
  }

/* ordered: the suffix that max and min go by; all other ops take signed integers as unsigned. */
#define INTEGER_CELLS(BASE, ordered, suffix, size_bytes)                                                               \
  CELL(sum, SUM, BASE, suffix, size_bytes), CELL(prod, PROD, BASE, suffix, size_bytes),                                \
      CELL(max, MAX, BASE, ordered, size_bytes), CELL(min, MIN, BASE, ordered, size_bytes),                            \
      CELL(land, LAND, BASE, suffix, size_bytes), CELL(lor, LOR, BASE, suffix, size_bytes),                            \
      CELL(lxor, LXOR, BASE, suffix, size_bytes), CELL(band, BAND, BASE, suffix, size_bytes),                          \
      CELL(bor, BOR, BASE, suffix, size_bytes), CELL(bxor, BXOR, BASE, suffix, size_bytes)
#define REAL_CELLS(BASE, suffix, size_bytes)                                                                           \
  CELL(sum, SUM, BASE, suffix, size_bytes), CELL(prod, PROD, BASE, suffix, size_bytes),                                \
      CELL(max, MAX, BASE, suffix, size_bytes), CELL(min, MIN, BASE, suffix, size_bytes)
#define COMPLEX_CELLS(BASE, suffix, size_bytes)                                                                        \
  CELL(sum, SUM, BASE, suffix, size_bytes), CELL(prod, PROD, BASE, suffix, size_bytes)

#define PAIR_CELLS(NAME, size_bytes)                                                                                   \
  CELL(maxloc, MAXLOC, NAME, NAME, size_bytes), CELL(minloc, MINLOC, NAME, NAME, size_bytes)

/* [op][base][block] */
static const sfshm_kernels_t kernels[SFSHM_OP_COUNT][SFSHM_BASE_COUNT][2] = {
    INTEGER_CELLS(INT8, i8, u8, 1),     INTEGER_CELLS(UINT8, u8, u8, 1),      INTEGER_CELLS(INT16, i16, u16, 2),
    INTEGER_CELLS(UINT16, u16, u16, 2), INTEGER_CELLS(INT32, i32, u32, 4),    INTEGER_CELLS(UINT32, u32, u32, 4),
    INTEGER_CELLS(INT64, i64, u64, 8),  INTEGER_CELLS(UINT64, u64, u64, 8),   REAL_CELLS(FLOAT, f32, 4),
    REAL_CELLS(DOUBLE, f64, 8),         COMPLEX_CELLS(FLOAT_COMPLEX, c32, 8), COMPLEX_CELLS(DOUBLE_COMPLEX, c64, 16),
    PAIR_CELLS(INT16_INT32, 8),         PAIR_CELLS(INT32_INT32, 8),           PAIR_CELLS(INT64_INT32, 16),
    PAIR_CELLS(INT64_INT64, 16),        PAIR_CELLS(FLOAT_INT32, 8),           PAIR_CELLS(DOUBLE_INT32, 16),
    PAIR_CELLS(DOUBLE_INT64, 16),
};

const sfshm_kernels_t *sfshm_kernels_arith(sfshm_op_t op, sfshm_base_t base, bool block)
{
  return &kernels[op][base][block];
}
