/* Kernels that move units: one set for each common size, one for all others. Any thread. */
#include "shm/kernels/kernels_move.h"

#include "shm/kernels/kernels_dense.h"
#include "shm/kernels/kernels_loops.h"

#define SWAP_BYTES 64u

/* Where size_bytes is constant this is a load and a store. */
SFSHM_INLINE void copy_unit(char *to, const char *from, size_t size_bytes)
{
  memcpy(to, from, size_bytes);
}

/* Fetch: the two units are exchanged. */
SFSHM_INLINE void swap_unit(char *to, const char *from, size_t size_bytes)
{
  char *in = (char *)(uintptr_t)from; /* packed data, which fetch may write */
  char before[SWAP_BYTES];
  for (size_t done = 0, some; done < size_bytes; done += some) {
    some = size_bytes - done < SWAP_BYTES ? size_bytes - done : SWAP_BYTES;
    memcpy(before, to + done, some);
    memcpy(to + done, in + done, some);
    memcpy(in + done, before, some);
  }
}

/* ---- Runs in lists -------------------------------------------------------------------------------------------------
 *
 * Lists of several boxes, such as the halos of a grid between two ranks, are no pattern that is known, but mostly runs
 * of consecutive vertices. Indices are looked at in groups: of those that are no run a single comparison tells most. */

#define GROUP 8
#define AHEAD (16 * GROUP) /* vertices between a move and the one whose lines are fetched */

typedef uint32_t four_indices_t __attribute__((vector_size(16)));
typedef uint64_t two_words_t __attribute__((vector_size(16)));

/* Units of an array by a list, or without gaps. is_list is a constant where these functions are inlined. */
typedef struct units {
  bool is_list;
  char *base;
  const uint32_t *index;
} units_t;

SFSHM_INLINE char *unit_at(units_t units, int64_t i, size_t size_bytes)
{
  return units.base + (units.is_list ? (int64_t)units.index[i] : i) * (int64_t)size_bytes;
}

SFSHM_INLINE bool is_run(units_t units, int64_t i)
{
  if (!units.is_list)
    return true;
  const uint32_t *index = units.index + i;
  if (__builtin_expect(index[GROUP - 1] - index[0] != GROUP - 1, true))
    return false;
  four_indices_t low, high;
  memcpy(&low, index, sizeof low);
  memcpy(&high, index + 4, sizeof high);
  two_words_t wrong = (two_words_t)((low - (index[0] + (four_indices_t){0, 1, 2, 3})) |
                                    (high - (index[0] + (four_indices_t){4, 5, 6, 7})));
  return (wrong[0] | wrong[1]) == 0;
}

/* Whether the group at next continues the run from vertex i on. */
SFSHM_INLINE bool is_run_on(units_t units, int64_t i, int64_t next)
{
  return !units.is_list || (units.index[next] == units.index[i] + (uint32_t)(next - i) && is_run(units, next));
}

/* Moves a group that is no run. Between two lists, such as within a rank that is its own neighbour, lines are fetched
 * early: the processor sees few loads and stores ahead, and stores that miss the cache wait for each other. */
SFSHM_INLINE void move_group(units_t from, units_t to, int64_t i, int64_t n, size_t size_bytes)
{
  if (from.is_list && to.is_list && n - i >= AHEAD + GROUP)
    for (int64_t k = i + AHEAD; k < i + AHEAD + GROUP; k += GROUP / 2) {
      __builtin_prefetch(unit_at(from, k, size_bytes));
      __builtin_prefetch(unit_at(to, k, size_bytes), 1);
    }
#pragma GCC unroll 8
  for (int64_t k = i; k < i + GROUP; k++)
    copy_unit(unit_at(to, k, size_bytes), unit_at(from, k, size_bytes), size_bytes);
}

SFSHM_INLINE void move_runs(units_t from, units_t to, int64_t n, size_t size_bytes)
{
  int64_t i = 0;
  while (n - i >= GROUP) {
    if (__builtin_expect(!is_run(from, i) || !is_run(to, i), true)) {
      move_group(from, to, i, n, size_bytes);
      i += GROUP;
      continue;
    }
    int64_t end = i + GROUP;
    while (n - end >= GROUP && is_run_on(from, i, end) && is_run_on(to, i, end))
      end += GROUP;
    sfshm_dense_copy(unit_at(to, i, size_bytes), unit_at(from, i, size_bytes), (size_t)(end - i) * size_bytes);
    i = end;
  }
  for (; i < n; i++)
    copy_unit(unit_at(to, i, size_bytes), unit_at(from, i, size_bytes), size_bytes);
}

/* Whether the part is a list, or without gaps. */
SFSHM_INLINE bool has_units(sfshm_part_t part)
{
  return part.bias == 0 &&
         (part.pattern->kind == SFSHM_PATTERN_INDEX32 || part.pattern->kind == SFSHM_PATTERN_CONTIGUOUS);
}

SFSHM_INLINE bool is_list(sfshm_part_t part)
{
  return part.pattern->kind == SFSHM_PATTERN_INDEX32;
}

SFSHM_INLINE units_t list_of(sfshm_part_t part, const void *base)
{
  return (units_t){true, (char *)(uintptr_t)base, part.pattern->index32 + part.first};
}

SFSHM_INLINE units_t range_of(sfshm_part_t part, const void *base, size_t size_bytes)
{
  int64_t start = part.pattern->start + part.first;
  return (units_t){false, (char *)(uintptr_t)base + start * (int64_t)size_bytes, NULL};
}

/* As sfshm_units_small. */
SFSHM_INLINE void sfshm_units_moved(sfshm_visit_t visit, sfshm_dense_t dense, size_t size_bytes, sfshm_part_t from_part,
                                    const void *from, sfshm_part_t to_part, void *to, int64_t n)
{
  if (sfshm_lines_done(visit, dense, size_bytes, from_part, from, to_part, to, n))
    return;
  if (!has_units(from_part) || !has_units(to_part))
    sfshm_loops(visit, size_bytes, from_part, from, to_part, to, n);
  else if (!is_list(to_part))
    move_runs(list_of(from_part, from), range_of(to_part, to, size_bytes), n, size_bytes);
  else if (!is_list(from_part))
    move_runs(range_of(from_part, from, size_bytes), list_of(to_part, to), n, size_bytes);
  else
    move_runs(list_of(from_part, from), list_of(to_part, to), n, size_bytes);
}
#define DEFINE_MOVE(name, flavour, size, unit_bytes)                                                                   \
  SFSHM_DEFINE_UNITS(move_##name, flavour, copy_unit, size)                                                            \
  SFSHM_DEFINE_UNITS(swap_##name, plain, swap_unit, size)                                                              \
  SFSHM_DEFINE_PACK(name, units_move_##name, sfshm_dense_copy, unit_bytes)                                             \
  SFSHM_DEFINE_UNPACK(name, units_move_##name, sfshm_dense_copy, unit_bytes)                                           \
  SFSHM_DEFINE_SCATTER(name, units_move_##name, sfshm_dense_copy, unit_bytes)                                          \
  SFSHM_DEFINE_FETCH(name, units_swap_##name, NULL, unit_bytes)                                                        \
  static const sfshm_kernels_t move_##name = {sfshm_pack_##name, unpack_##name, scatter_##name, fetch_##name};
#define DEFINE_MOVE_SMALL(size_bytes) DEFINE_MOVE(size_bytes, moved, size_bytes, size_bytes)

DEFINE_MOVE_SMALL(1)
DEFINE_MOVE_SMALL(2)
DEFINE_MOVE_SMALL(4)
DEFINE_MOVE_SMALL(8)
DEFINE_MOVE_SMALL(12)
DEFINE_MOVE_SMALL(16)
DEFINE_MOVE_SMALL(24)
DEFINE_MOVE_SMALL(32)
DEFINE_MOVE(any, large, size_bytes, sfshm_unit_size(unit))

const sfshm_kernels_t *sfshm_kernels_move(size_t size_bytes)
{
  switch (size_bytes) {
  case 1:
    return &move_1;
  case 2:
    return &move_2;
  case 4:
    return &move_4;
  case 8:
    return &move_8;
  case 12:
    return &move_12;
  case 16:
    return &move_16;
  case 24:
    return &move_24;
  case 32:
    return &move_32;
  default:
    return &move_any;
  }
}
