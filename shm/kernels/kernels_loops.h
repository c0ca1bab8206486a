/* Loops over vertices, as inline functions; each instantiation passes a visit function that the compiler can inline.
 * Part of the kernels; see kernels.h.
 *
 * Each loop visits i in ascending order and does nothing ahead of order, because destinations may contain a vertex
 * several times. Only dense ranges, which cannot, are combined at once by a dense function. */
#ifndef SFSHM_KERNELS_KERNELS_LOOPS_H
#define SFSHM_KERNELS_KERNELS_LOOPS_H

#include <stdbool.h>

#include "shm/edges/pattern.h"
#include "shm/kernels/kernels_dense.h"

/* Combines the unit at from into the unit at to. size_bytes is the unit's size. */
typedef void (*sfshm_visit_t)(char *to, const char *from, size_t size_bytes);

/* A part of a pattern, from vertex first; bias is subtracted from every vertex. */
typedef struct sfshm_part {
  const sfshm_pattern_t *pattern;
  int64_t first;
  int64_t bias;
} sfshm_part_t;

/* Packed data as an array. */
static const sfshm_pattern_t sfshm_packed_pattern = {.kind = SFSHM_PATTERN_CONTIGUOUS, .n = INT64_MAX, .stride = 1};
static const sfshm_part_t sfshm_packed_part = {.pattern = &sfshm_packed_pattern};

/* Position of a vertex: base + i * stride, or base + index[i]. */
typedef struct sfshm_place {
  int64_t base;
  int64_t stride;
  const uint32_t *index32;
  const int64_t *index64;
} sfshm_place_t;

SFSHM_INLINE sfshm_place_t sfshm_place(sfshm_pattern_kind_t kind, sfshm_part_t part)
{
  const sfshm_pattern_t *pattern = part.pattern;
  switch (kind) {
  case SFSHM_PATTERN_INDEX32:
    return (sfshm_place_t){.base = -part.bias, .index32 = pattern->index32 + part.first};
  case SFSHM_PATTERN_INDEX64:
    return (sfshm_place_t){.base = -part.bias, .index64 = pattern->index64 + part.first};
  default:
    return (sfshm_place_t){.base = pattern->start + part.first * pattern->stride - part.bias,
                           .stride = pattern->stride};
  }
}

/* Offset of vertex number i in bytes. */
SFSHM_INLINE int64_t sfshm_place_offset(sfshm_pattern_kind_t kind, sfshm_place_t place, int64_t i, size_t size_bytes)
{
  switch (kind) {
  case SFSHM_PATTERN_INDEX32:
    return (place.base + place.index32[i]) * (int64_t)size_bytes;
  case SFSHM_PATTERN_INDEX64:
    return (place.base + place.index64[i]) * (int64_t)size_bytes;
  default:
    return (place.base + i * place.stride) * (int64_t)size_bytes;
  }
}

/* The loop. If the kinds are constants the compiler resolves the choices above. Only packing by lists and unpacking are
 * unrolled: the many other variants would not gain noticeably. */
SFSHM_INLINE void sfshm_loop(sfshm_visit_t visit, size_t size_bytes, sfshm_pattern_kind_t from_kind,
                             sfshm_part_t from_part, const char *from, sfshm_pattern_kind_t to_kind,
                             sfshm_part_t to_part, char *to, int64_t n)
{
  sfshm_place_t from_place = sfshm_place(from_kind, from_part);
  sfshm_place_t to_place = sfshm_place(to_kind, to_part);
  if ((from_kind == SFSHM_PATTERN_INDEX32 && to_kind == SFSHM_PATTERN_STRIDED) ||
      (from_kind == SFSHM_PATTERN_STRIDED && to_kind == SFSHM_PATTERN_INDEX32)) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; i++)
      visit(to + sfshm_place_offset(to_kind, to_place, i, size_bytes),
            from + sfshm_place_offset(from_kind, from_place, i, size_bytes), size_bytes);
    return;
  }
  for (int64_t i = 0; i < n; i++)
    visit(to + sfshm_place_offset(to_kind, to_place, i, size_bytes),
          from + sfshm_place_offset(from_kind, from_place, i, size_bytes), size_bytes);
}

/* Lists of 64-bit indices are of huge arrays, where memory is what takes time: one loop tests the kinds for every unit.
 */
SFSHM_INLINE void sfshm_loop_any(sfshm_visit_t visit, size_t size_bytes, sfshm_part_t from_part, const char *from,
                                 sfshm_part_t to_part, char *to, int64_t n)
{
  sfshm_loop(visit, size_bytes, from_part.pattern->kind, from_part, from, to_part.pattern->kind, to_part, to, n);
}

SFSHM_INLINE void sfshm_loops(sfshm_visit_t visit, size_t size_bytes, sfshm_part_t from_part, const char *from,
                              sfshm_part_t to_part, char *to, int64_t n)
{
  bool from_list = from_part.pattern->kind == SFSHM_PATTERN_INDEX32;
  bool to_list = to_part.pattern->kind == SFSHM_PATTERN_INDEX32;
  if (from_part.pattern->kind == SFSHM_PATTERN_INDEX64 || to_part.pattern->kind == SFSHM_PATTERN_INDEX64)
    sfshm_loop_any(visit, size_bytes, from_part, from, to_part, to, n);
  else if (from_list && to_list)
    sfshm_loop(visit, size_bytes, SFSHM_PATTERN_INDEX32, from_part, from, SFSHM_PATTERN_INDEX32, to_part, to, n);
  else if (from_list)
    sfshm_loop(visit, size_bytes, SFSHM_PATTERN_INDEX32, from_part, from, SFSHM_PATTERN_STRIDED, to_part, to, n);
  else if (to_list)
    sfshm_loop(visit, size_bytes, SFSHM_PATTERN_STRIDED, from_part, from, SFSHM_PATTERN_INDEX32, to_part, to, n);
  else
    sfshm_loop(visit, size_bytes, SFSHM_PATTERN_STRIDED, from_part, from, SFSHM_PATTERN_STRIDED, to_part, to, n);
}

/* Processes the range densely if both parts are contiguous. n == 0 counts as processed: the arrays may be NULL. */
SFSHM_INLINE bool sfshm_dense_done(sfshm_dense_t dense, size_t size_bytes, sfshm_part_t from_part, const char *from,
                                   sfshm_part_t to_part, char *to, int64_t n)
{
  if (n <= 0)
    return true;
  if (from_part.pattern->kind != SFSHM_PATTERN_CONTIGUOUS || to_part.pattern->kind != SFSHM_PATTERN_CONTIGUOUS)
    return false;
  int64_t from_start = from_part.pattern->start + from_part.first - from_part.bias;
  int64_t to_start = to_part.pattern->start + to_part.first - to_part.bias;
  dense(to + to_start * (int64_t)size_bytes, from + from_start * (int64_t)size_bytes, (size_t)n * size_bytes);
  return true;
}

/* Processes the range line by line, if at least one part is a box and the other one is not a plain list. Returns
 * whether it did. */
SFSHM_INLINE bool sfshm_lines_done(sfshm_visit_t visit, sfshm_dense_t dense, size_t size_bytes, sfshm_part_t from_part,
                                   const char *from, sfshm_part_t to_part, char *to, int64_t n)
{
  const sfshm_pattern_t *from_pattern = from_part.pattern, *to_pattern = to_part.pattern;
  if ((from_pattern->row == 0 && to_pattern->row == 0) || !sfshm_pattern_walks(from_pattern) ||
      !sfshm_pattern_walks(to_pattern))
    return false;
  sfshm_walk_t source = sfshm_walk_begin(from_pattern, from_part.first, from_part.bias);
  sfshm_walk_t target = sfshm_walk_begin(to_pattern, to_part.first, to_part.bias);
  for (int64_t some; n > 0; n -= some) {
    const char *line = from + source.at * (int64_t)size_bytes;
    char *to_line = to + target.at * (int64_t)size_bytes;
    some = source.left < target.left ? source.left : target.left;
    some = some < n ? some : n;
    if (source.stride == 1 && target.stride == 1)
      dense(to_line, line, (size_t)some * size_bytes);
    else {
      int64_t step = source.stride * (int64_t)size_bytes, to_step = target.stride * (int64_t)size_bytes;
#pragma GCC unroll 4
      for (int64_t i = 0; i < some; i++)
        visit(to_line + i * to_step, line + i * step, size_bytes);
    }
    sfshm_walk_on(&source, from_pattern, some);
    sfshm_walk_on(&target, to_pattern, some);
  }
  return true;
}

/* Ranges that are not dense. Small units of constant size: a separate loop for each pair of common kinds. */
SFSHM_INLINE void sfshm_units_small(sfshm_visit_t visit, sfshm_dense_t dense, size_t size_bytes, sfshm_part_t from_part,
                                    const void *from, sfshm_part_t to_part, void *to, int64_t n)
{
  if (!sfshm_lines_done(visit, dense, size_bytes, from_part, from, to_part, to, n))
    sfshm_loops(visit, size_bytes, from_part, from, to_part, to, n);
}

/* Units of any size: they are so large that one loop suffices. */
SFSHM_INLINE void sfshm_units_large(sfshm_visit_t visit, sfshm_dense_t dense, size_t size_bytes, sfshm_part_t from_part,
                                    const void *from, sfshm_part_t to_part, void *to, int64_t n)
{
  if (!sfshm_lines_done(visit, dense, size_bytes, from_part, from, to_part, to, n))
    sfshm_loop_any(visit, size_bytes, from_part, from, to_part, to, n);
}

/* For what is rare. */
SFSHM_INLINE void sfshm_units_plain(sfshm_visit_t visit, sfshm_dense_t dense, size_t size_bytes, sfshm_part_t from_part,
                                    const void *from, sfshm_part_t to_part, void *to, int64_t n)
{
  (void)dense;
  sfshm_loop_any(visit, size_bytes, from_part, from, to_part, to, n);
}

/* What kernels do with ranges that are not dense; dense is for units, or lines of them, that are large enough. */
typedef void (*sfshm_units_t)(sfshm_dense_t dense, size_t size_bytes, const sfshm_part_t *from_part, const char *from,
                              const sfshm_part_t *to_part, char *to, int64_t n);

/* Such a function, units_NAME. flavour: small, large or plain; size: a constant, or the parameter size_bytes. */
#define SFSHM_DEFINE_UNITS(name, flavour, visit, size)                                                                 \
  static __attribute__((noinline)) void units_##name(sfshm_dense_t dense, size_t size_bytes,                           \
                                                     const sfshm_part_t *from_part, const char *from,                  \
                                                     const sfshm_part_t *to_part, char *to, int64_t n)                 \
  {                                                                                                                    \
    (void)size_bytes;                                                                                                  \
    sfshm_units_##flavour(visit, dense, size, *from_part, from, *to_part, to, n);                                      \
  }

SFSHM_INLINE void sfshm_visit(sfshm_units_t units, sfshm_dense_t dense, size_t size_bytes, sfshm_part_t from_part,
                              const void *from, sfshm_part_t to_part, void *to, int64_t n)
{
  if (!sfshm_dense_done(dense, size_bytes, from_part, from, to_part, to, n))
    units(dense, size_bytes, &from_part, from, &to_part, to, n);
}

/* The kernels of kernels.h, named sfshm_pack_NAME (visible), unpack_NAME, scatter_NAME and fetch_NAME (static). What
 * fetch visits at "from" it writes, too. */
#define SFSHM_DEFINE_PACK(name, units, dense, size_bytes)                                                              \
  void sfshm_pack_##name(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n,                  \
                         const void *array, void *packed)                                                              \
  {                                                                                                                    \
    (void)unit;                                                                                                        \
    sfshm_visit(units, dense, size_bytes, (sfshm_part_t){pattern, first, 0}, array, sfshm_packed_part, packed, n);     \
  }
#define SFSHM_DEFINE_UNPACK(name, units, dense, size_bytes)                                                            \
  static void unpack_##name(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n,               \
                            const void *packed, void *array)                                                           \
  {                                                                                                                    \
    (void)unit;                                                                                                        \
    sfshm_visit(units, dense, size_bytes, sfshm_packed_part, packed, (sfshm_part_t){pattern, first, 0}, array, n);     \
  }
#define SFSHM_DEFINE_SCATTER(name, units, dense, size_bytes)                                                           \
  static void scatter_##name(sfshm_unit_t unit, const sfshm_pattern_t *from_pattern, int64_t from_bias,                \
                             const void *from, const sfshm_pattern_t *to_pattern, void *to, int64_t first, int64_t n)  \
  {                                                                                                                    \
    (void)unit;                                                                                                        \
    sfshm_visit(units, dense, size_bytes, (sfshm_part_t){from_pattern, first, from_bias}, from,                        \
                (sfshm_part_t){to_pattern, first, 0}, to, n);                                                          \
  }
#define SFSHM_DEFINE_FETCH(name, units, dense, size_bytes)                                                             \
  static void fetch_##name(sfshm_unit_t unit, const sfshm_pattern_t *pattern, int64_t first, int64_t n, void *packed,  \
                           void *array)                                                                                \
  {                                                                                                                    \
    (void)unit;                                                                                                        \
    units(dense, size_bytes, &sfshm_packed_part, packed, &(sfshm_part_t){pattern, first, 0}, array, n);                \
  }

#endif
