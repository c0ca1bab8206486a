/* Vectorised loops: copy a dense range or combine two, for every base type and op, cloned for several instruction sets.
 * All clones give bitwise the same results: elements are independent, and products and sums are never contracted. Any
 * thread. */
#include "shm/kernels/kernels_dense.h"
#include "shm/base/clones.h"

#if defined(__GNUC__) && !defined(__clang__)
/* Options that -O2 lacks: vectorise loops of unknown length; and do not turn loops into calls of memcpy. */
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic", "fp-contract=off", "no-tree-loop-distribute-patterns")
#endif

/* Ranges for memcpy: small ones, for which starting costs more than copying, and ranges larger than caches, which
 * memcpy writes with non-temporal stores. Sanitizers check each byte of a loop, but ranges of memcpy as a whole. */
#define COPY_MIN_BYTES ((size_t)1 << 10)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COPY_MAX_BYTES ((size_t)8 << 10)
#else
#define COPY_MAX_BYTES ((size_t)4 << 20)
#endif
#define COPY_BLOCK_BYTES ((size_t)32)

/* Stores are aligned between the first and the last block, which may overlap others. The loop is unrolled so that more
 * cache lines of another core are in flight. */
SFSHM_CLONES static void copy_range(char *restrict to, const char *restrict from, size_t size_bytes)
{
  size_t head = -(uintptr_t)to % COPY_BLOCK_BYTES;
  size_t n = (size_bytes - head) / COPY_BLOCK_BYTES * COPY_BLOCK_BYTES, last = size_bytes - COPY_BLOCK_BYTES;
  memcpy(to, from, COPY_BLOCK_BYTES);
#pragma GCC unroll 4
  for (size_t i = 0; i < n; i++)
    to[head + i] = from[head + i];
  memcpy(to + last, from + last, COPY_BLOCK_BYTES);
}

void sfshm_dense_copy(char *restrict to, const char *restrict from, size_t size_bytes)
{
  if (size_bytes < COPY_MIN_BYTES || size_bytes > COPY_MAX_BYTES)
    memcpy(to, from, size_bytes);
  else
    copy_range(to, from, size_bytes);
}

/* Sanitizers don't see these stores. */
#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <emmintrin.h>

#define LINE_BYTES ((size_t)64)

/* Whole lines go past the caches; bytes before the first and behind the last one do not. */
void sfshm_dense_copy_nontemporal(char *restrict to, const char *restrict from, size_t size_bytes)
{
  size_t head = -(uintptr_t)to % LINE_BYTES;
  if (size_bytes < head + LINE_BYTES) {
    sfshm_dense_copy(to, from, size_bytes);
    return;
  }
  size_t end = head + (size_bytes - head) / LINE_BYTES * LINE_BYTES;
  memcpy(to, from, head);
  for (size_t i = head; i < end; i += LINE_BYTES)
    for (size_t part = i; part < i + LINE_BYTES; part += sizeof(__m128i))
      _mm_stream_si128((__m128i *)(void *)(to + part), _mm_loadu_si128((const __m128i *)(const void *)(from + part)));
  memcpy(to + end, from + end, size_bytes - end);
  _mm_sfence();
}

#else

void sfshm_dense_copy_nontemporal(char *restrict to, const char *restrict from, size_t size_bytes)
{
  sfshm_dense_copy(to, from, size_bytes);
}

#endif

/* Unrolled: with one vector for each turn, the loop's own instructions limit ranges in the first-level cache. One
 * element, which the loops over units call this for, does without. */
#define DENSE(op, suffix, type, expression)                                                                            \
  void sfshm_dense_##op##_##suffix(char *restrict to, const char *restrict from, size_t size_bytes)                    \
  {                                                                                                                    \
    size_t n = size_bytes / sizeof(type);                                                                              \
    if (n == 1) {                                                                                                      \
      sfshm_##op##_##suffix(to, from, sizeof(type));                                                                   \
      return;                                                                                                          \
    }                                                                                                                  \
    _Pragma("GCC unroll 4") for (size_t i = 0; i < n; i++)                                                             \
        sfshm_##op##_##suffix(to + i * sizeof(type), from + i * sizeof(type), sizeof(type));                           \
  }

/* Sums, maxima and minima are common enough for clones. */
#define DENSE_sum SFSHM_CLONES
#define DENSE_max SFSHM_CLONES
#define DENSE_min SFSHM_CLONES
#define DENSE_prod
#define DENSE_land
#define DENSE_lor
#define DENSE_lxor
#define DENSE_band
#define DENSE_bor
#define DENSE_bxor
#define SCALAR_DENSE(op, suffix, type, expression) DENSE_##op DENSE(op, suffix, type, expression)
SFSHM_SCALAR_TABLE(SCALAR_DENSE)

/* Complex sums are sums of twice as many real components. */
void sfshm_dense_sum_c32(char *restrict to, const char *restrict from, size_t size_bytes)
{
  if (size_bytes == sizeof(sfshm_c32_t))
    sfshm_sum_c32(to, from, size_bytes);
  else
    sfshm_dense_sum_f32(to, from, size_bytes);
}

void sfshm_dense_sum_c64(char *restrict to, const char *restrict from, size_t size_bytes)
{
  if (size_bytes == sizeof(sfshm_c64_t))
    sfshm_sum_c64(to, from, size_bytes);
  else
    sfshm_dense_sum_f64(to, from, size_bytes);
}

/* With fused multiply-adds GCC 12 contracts vectorised complex products despite -ffp-contract=off, so the last bit
 * would depend on the machine. Therefore complex products have no clones, and builds for such machines do not vectorise
 * them. */
#if defined(__FMA__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-vectorize")
#endif
DENSE(prod, c32, sfshm_c32_t, )
DENSE(prod, c64, sfshm_c64_t, )

/* Pairs are selected by comparisons: nothing to vectorise. */
SFSHM_PAIR_OPS_TABLE(DENSE)

#define CELL(op, OP, BASE, suffix) [SFSHM_OP_##OP][SFSHM_BASE_##BASE] = sfshm_dense_##op##_##suffix

/* ordered: the suffix that max and min go by; all other ops take signed integers as unsigned. */
#define INTEGER_CELLS(BASE, ordered, suffix)                                                                           \
  CELL(sum, SUM, BASE, suffix), CELL(prod, PROD, BASE, suffix), CELL(max, MAX, BASE, ordered),                         \
      CELL(min, MIN, BASE, ordered), CELL(land, LAND, BASE, suffix), CELL(lor, LOR, BASE, suffix),                     \
      CELL(lxor, LXOR, BASE, suffix), CELL(band, BAND, BASE, suffix), CELL(bor, BOR, BASE, suffix),                    \
      CELL(bxor, BXOR, BASE, suffix)
#define COMPLEX_CELLS(BASE, suffix) CELL(sum, SUM, BASE, suffix), CELL(prod, PROD, BASE, suffix)
#define REAL_CELLS(BASE, suffix) COMPLEX_CELLS(BASE, suffix), CELL(max, MAX, BASE, suffix), CELL(min, MIN, BASE, suffix)
#define PAIR_CELLS(BASE, value_type, index_type, text)                                                                 \
  CELL(maxloc, MAXLOC, BASE, BASE), CELL(minloc, MINLOC, BASE, BASE),

static const sfshm_dense_t table[SFSHM_OP_COUNT][SFSHM_BASE_COUNT] = {
    INTEGER_CELLS(INT8, i8, u8),     INTEGER_CELLS(UINT8, u8, u8),      INTEGER_CELLS(INT16, i16, u16),
    INTEGER_CELLS(UINT16, u16, u16), INTEGER_CELLS(INT32, i32, u32),    INTEGER_CELLS(UINT32, u32, u32),
    INTEGER_CELLS(INT64, i64, u64),  INTEGER_CELLS(UINT64, u64, u64),   REAL_CELLS(FLOAT, f32),
    REAL_CELLS(DOUBLE, f64),         COMPLEX_CELLS(FLOAT_COMPLEX, c32), COMPLEX_CELLS(DOUBLE_COMPLEX, c64),
    SFSHM_PAIR_TABLE(PAIR_CELLS)};

sfshm_dense_t sfshm_dense_find(sfshm_op_t op, sfshm_base_t base)
{
  return table[op][base];
}
