/* Kernels for every op and base type: see kernels_generic.h. Any thread. */
#include "shm/kernels/kernels_generic.h"

#include "shm/kernels/kernels_loops.h"
#include "shm/kernels/kernels_move.h"

#if defined(__GNUC__) && !defined(__clang__)
/* Only the dense loops are vectorised; complex products would be fused: see there. */
#pragma GCC optimize("no-tree-vectorize", "fp-contract=off")
#endif

/* What is to be done. A fetch writes the previous values to where new ones come from. */
typedef struct work {
  sfshm_op_t op;
  bool fetch;
  sfshm_unit_t unit;
  sfshm_part_t from_part;
  const char *from;
  sfshm_part_t to_part;
  char *to;
  int64_t n;
} work_t;

#define CASE(op, OP, suffix)                                                                                           \
  case SFSHM_OP_##OP:                                                                                                  \
    sfshm_##op##_##suffix(to, from, 0);                                                                                \
    break;

/* ordered: the suffix that max and min go by; all other ops take signed integers as unsigned. */
#define INTEGER_CASES(suffix, ordered)                                                                                 \
  CASE(sum, SUM, suffix)                                                                                               \
  CASE(prod, PROD, suffix)                                                                                             \
  CASE(max, MAX, ordered)                                                                                              \
  CASE(min, MIN, ordered)                                                                                              \
  CASE(land, LAND, suffix)                                                                                             \
  CASE(lor, LOR, suffix)                                                                                               \
  CASE(lxor, LXOR, suffix)                                                                                             \
  CASE(band, BAND, suffix)                                                                                             \
  CASE(bor, BOR, suffix)                                                                                               \
  CASE(bxor, BXOR, suffix)
#define COMPLEX_CASES(suffix, unused) CASE(sum, SUM, suffix) CASE(prod, PROD, suffix)
#define REAL_CASES(suffix, unused) COMPLEX_CASES(suffix, ) CASE(max, MAX, suffix) CASE(min, MIN, suffix)
#define PAIR_CASES(suffix, unused) CASE(maxloc, MAXLOC, suffix) CASE(minloc, MINLOC, suffix)

#define DEFINE_LOOP(BASE, type, cases, suffix, ordered)                                                                \
  static void loop_##BASE(const work_t *work)                                                                          \
  {                                                                                                                    \
    sfshm_pattern_kind_t from_kind = work->from_part.pattern->kind, to_kind = work->to_part.pattern->kind;             \
    sfshm_place_t from_place = sfshm_place(from_kind, work->from_part);                                                \
    sfshm_place_t to_place = sfshm_place(to_kind, work->to_part);                                                      \
    size_t size_bytes = (size_t)work->unit.count * sizeof(type);                                                       \
    sfshm_op_t op = work->op;                                                                                          \
    bool fetch = work->fetch;                                                                                          \
    for (int64_t i = 0; i < work->n; i++) {                                                                            \
      char *to = work->to + sfshm_place_offset(to_kind, to_place, i, size_bytes), *end = to + size_bytes;              \
      const char *from = work->from + sfshm_place_offset(from_kind, from_place, i, size_bytes);                        \
      for (; to < end; to += sizeof(type), from += sizeof(type)) {                                                     \
        type before;                                                                                                   \
        memcpy(&before, to, sizeof before);                                                                            \
        switch (op) {                                                                                                  \
          cases(suffix, ordered) default : break;                                                                      \
        }                                                                                                              \
        if (fetch)                                                                                                     \
          memcpy((char *)(uintptr_t)from, &before, sizeof before);                                                     \
      }                                                                                                                \
    }                                                                                                                  \
  }
#define DEFINE_PAIR_LOOP(name, value_type, index_type, text) DEFINE_LOOP(name, sfshm_##name##_t, PAIR_CASES, name, )

DEFINE_LOOP(INT8, int8_t, INTEGER_CASES, u8, i8)
DEFINE_LOOP(UINT8, uint8_t, INTEGER_CASES, u8, u8)
DEFINE_LOOP(INT16, int16_t, INTEGER_CASES, u16, i16)
DEFINE_LOOP(UINT16, uint16_t, INTEGER_CASES, u16, u16)
DEFINE_LOOP(INT32, int32_t, INTEGER_CASES, u32, i32)
DEFINE_LOOP(UINT32, uint32_t, INTEGER_CASES, u32, u32)
DEFINE_LOOP(INT64, int64_t, INTEGER_CASES, u64, i64)
DEFINE_LOOP(UINT64, uint64_t, INTEGER_CASES, u64, u64)
DEFINE_LOOP(FLOAT, float, REAL_CASES, f32, )
DEFINE_LOOP(DOUBLE, double, REAL_CASES, f64, )
DEFINE_LOOP(FLOAT_COMPLEX, sfshm_c32_t, COMPLEX_CASES, c32, )
DEFINE_LOOP(DOUBLE_COMPLEX, sfshm_c64_t, COMPLEX_CASES, c64, )
SFSHM_PAIR_TABLE(DEFINE_PAIR_LOOP)

#define LOOP(name, ...) [SFSHM_BASE_##name] = loop_##name,
static void (*const loops[SFSHM_BASE_COUNT])(const work_t *work) = {SFSHM_BASE_TABLE(LOOP) SFSHM_PAIR_TABLE(LOOP)};

static void combine(const work_t *work)
{
  size_t size_bytes = sfshm_unit_size(work->unit);
  sfshm_dense_t dense = sfshm_dense_find(work->op, work->unit.base);
  if (!work->fetch &&
      sfshm_dense_done(dense, size_bytes, work->from_part, work->from, work->to_part, work->to, work->n))
    return;
  if (!work->fetch && size_bytes >= SFSHM_DENSE_BLOCK_BYTES)
    sfshm_units_plain(dense, dense, size_bytes, work->from_part, work->from, work->to_part, work->to, work->n);
  else
    loops[work->unit.base](work);
}

/* The kernels for the unit's size are looked up here and not when kernels are found, which saves a table of all ops and
 * sizes. */
void sfshm_kernels_pack(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n, const void *array,
                        void *packed)
{
  sfshm_kernels_move(sfshm_unit_size(unit))->pack(unit, pattern, first, n, array, packed);
}

#define DEFINE_KERNELS(OP, text)                                                                                       \
  static void unpack_##OP(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n,                 \
                          const void *packed, void *array)                                                             \
  {                                                                                                                    \
    combine(&(work_t){SFSHM_OP_##OP, false, unit, sfshm_packed_part, packed, {pattern, first, 0}, array, n});          \
  }                                                                                                                    \
  void sfshm_fetch_##OP(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n, void *packed,     \
                        void *array)                                                                                   \
  {                                                                                                                    \
    combine(&(work_t){SFSHM_OP_##OP, true, unit, sfshm_packed_part, packed, {pattern, first, 0}, array, n});           \
  }                                                                                                                    \
  static void scatter_##OP(sfshm_unit_t unit, const sfshm_pattern_t *from_pattern, int64_t from_bias,                  \
                           const void *from, const sfshm_pattern_t *to_pattern, void *to, int64_t first, int64_t n)    \
  {                                                                                                                    \
    combine(                                                                                                           \
        &(work_t){SFSHM_OP_##OP, false, unit, {from_pattern, first, from_bias}, from, {to_pattern, first, 0}, to, n}); \
  }
SFSHM_OP_TABLE(DEFINE_KERNELS)

#define ROW(OP, text) [SFSHM_OP_##OP] = {sfshm_kernels_pack, unpack_##OP, scatter_##OP, sfshm_fetch_##OP},
static const sfshm_kernels_t kernels[SFSHM_OP_COUNT] = {SFSHM_OP_TABLE(ROW)};

const sfshm_kernels_t *sfshm_kernels_generic(sfshm_op_t op)
{
  return &kernels[op];
}
